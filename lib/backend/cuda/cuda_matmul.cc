// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products of few rows, and where they part from those of many (cuda_many_rows.cc). The
// choice (product_choice.h) depends on the shape and the type alone, so fused and unfused graphs
// make the same one.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/matvec/matvec.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

namespace minfer {
namespace {

using kernels::cuda::HasMmvq;
using kernels::cuda::kMatvecMaxRows;
using kernels::cuda::kMmvqMaxRows;

uint64_t Align256(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

const Node* FirstReader(const Graph& graph, ValueId value) {
  for (const Node& node : graph.nodes) {
    if (std::count(node.inputs.begin(), node.inputs.end(), value) != 0) return &node;
  }
  return nullptr;
}

kernels::KernelStatus LaunchMmvq(const kernels::cuda::MmvqArgs& args, const ElementType* types,
                                 kernels::cuda::KernelStream stream) {
  const bool one_type =
      std::all_of(types, types + args.n_parts, [&](ElementType type) { return type == args.type; });
  return one_type ? kernels::cuda::Mmvq(args, stream)
                  : kernels::cuda::MmvqMixed(args, types, stream);
}

}  // namespace

// Scratch for the activations of a node as MMVQ takes them.
uint64_t CudaBackend::ActivationBytes(int64_t m, int64_t k, bool residual) {
  if (k % 32 != 0) return 0;
  const int64_t few = std::min<int64_t>(m, kMmvqMaxRows);
  return Align256(
      static_cast<uint64_t>(std::max(kernels::cuda::QuantizedBytes(few, k, residual, false),
                                     kernels::cuda::QuantizedBytes(few, k, residual, true))));
}

// Where 8-bit activations cost the most: the output matrix, and W_down. As on the CPU, only
// products that no pass takes into a group.
bool CudaBackend::UsesResidual(const Graph& graph, const Node& node) const {
  const WeightInfo& info = graph.weight(node.weights[0]);
  if (!options_.residual_activations || !UsesMmvq(options_, info.type)) return false;
  const Node* reader = FirstReader(graph, node.outputs[0]);
  if (reader == nullptr) return graph.value(node.outputs[0]).is_output;
  const NodeId producer = graph.value(node.inputs[0]).producer;
  const bool attends =
      producer != kNoId && graph.nodes[static_cast<size_t>(producer)].op == OpKind::kAttention;
  return info.ne0 > info.ne1 && reader->op == OpKind::kAdd && !attends;
}

// What the products of a node need besides a gate's result: of both ways, so that the scratch of
// the largest graph covers every other.
uint64_t CudaBackend::ProductScratch(const Graph& graph, const Node& node) const {
  const ValueShape& x = graph.value(node.inputs[0]).shape;
  const bool residual = node.op == OpKind::kMatMul && UsesResidual(graph, node);
  return std::max(ActivationBytes(x.rows, x.cols, residual),
                  ManyRowsScratch(graph, node, residual));
}

// Whether one launch gives the activation of gate and up.
bool CudaBackend::FusesGate(absl::Span<const Product> products, int64_t m) const {
  const ElementType type = products[0].info->type;
  return TakesFewRows(options_, m) ? UsesMmvq(options_, type) && type == products[1].info->type
                                   : TakesTogether(products, m, true);
}

// Where the halves of few rows lie: behind all else that the node needs.
uint64_t CudaBackend::FewHalvesAt(const Graph& graph, const Node& node) const {
  uint64_t bytes = ProductScratch(graph, node);
  if (node.op != OpKind::kGatedMatMul) return bytes;
  Product products[2];
  for (size_t i = 0; i < 2; ++i) products[i].info = &graph.weight(node.weights[i]);
  const ValueShape& shape = graph.value(node.outputs[0]).shape;
  bytes =
      std::max(bytes, ActivationBytes(shape.rows, graph.value(node.inputs[0]).shape.cols, false) +
                          ActivationBytes(shape.rows, shape.cols, true));
  // The most rows, of those that a graph of this size or a smaller one has, whose gate goes to
  // scratch; the kernels change after these.
  int64_t rows = 0;
  for (const int64_t m : {kFewRows, kSmallRows, kTurnRows, kTwoTurnRows, shape.rows}) {
    if (m <= shape.rows && !FusesGate(products, m)) rows = m;
  }
  return bytes + Align256(static_cast<uint64_t>(rows * shape.cols) * sizeof(float));
}

uint64_t CudaBackend::MatMulScratch(const Graph& graph, const Node& node) const {
  const ValueShape& x = graph.value(node.inputs[0]).shape;
  const int64_t few = std::min<int64_t>(x.rows, kMmvqMaxRows);
  return FewHalvesAt(graph, node) + Align256(static_cast<uint64_t>(2 * few * x.cols));
}

void CudaBackend::ReportMatMul(const NodeCall& call, const WeightInfo& info,
                               const ActivationForm& form, int64_t m, bool result_planes,
                               bool mixed) {
  const bool integer = UsesMmvq(options_, info.type);
  const bool normed = held_.norm && held_.norm->value == call.node->inputs[0];
  const bool made = !normed && planes_.by_producer && planes_.value == call.node->inputs[0];
  const char* type = FindElementTraits(info.type)->name;
  KernelReport row;
  const bool small = KernelFor(info, m) == ProductKernel::kSmall;
  const bool halves = kernels::cuda::HasSmallGemm(info.type, info.ne0);
  row.detail = StrCat(type, " k=", info.ne0, ", 1 to 8 rows");
  row.kernel = integer ? StrCat(form.streamed ? "mmvq mma, streamed" : "mmvq dp4a",
                                form.residual ? ", residual activations" : "",
                                normed ? ", norm on the way" : "",
                                made ? ", quantised where they are made" : "",
                                result_planes ? ", result quantised too" : "",
                                mixed ? ", another type in the same launch" : "")
               : small ? "f16 tensor cores, few rows"
                       : "decode, then float dot";
  row.reason = integer && form.streamed           ? "few rows"
               : integer && !options_.mmvq_mma    ? "tuning mmvq_mma=0"
               : integer && !tier().async_copy    ? StrCat("tier ", tier().name)
               : integer                          ? "few rows, planes not aligned"
               : options_.reference               ? "tuning reference=1"
               : small                            ? "few rows of halves"
               : halves && !options_.small_m_gemm ? "tuning small_m_gemm=0"
               : !HasMmvq(info.type)              ? StrCat("no integer dot for ", type)
               : options_.mmvq                    ? "tuning kq_mmvq=0"
                                                  : "tuning mmvq=0";
  const int32_t variant = static_cast<int32_t>(info.type) * 32 + (mixed ? 16 : 0) +
                          (result_planes ? 8 : 0) + (normed ? 4 : 0) + (made ? 2 : 0) +
                          (form.residual ? 1 : 0);
  CountReport(call, info.ne0, variant, std::move(row));
}

// Activations that stay f32.
Status CudaBackend::RunFloat(const NodeCall& call, const Product& product, const float* x,
                             int64_t m) {
  if (m <= kMatvecMaxRows && !options_.deterministic) {
    return FromKernel(call,
                      kernels::cuda::Matvec(MatrixArgs<kernels::cuda::MatvecArgs>(product, x, m),
                                            stream_->get()));
  }
  auto args = MatrixArgs<kernels::cuda::GemmArgs>(product, x, m);
  args.exact = options_.reference;
  return FromKernel(call, kernels::cuda::Gemm(args, stream_->get()));
}

Status CudaBackend::RunSmall(const NodeCall& call, const Product& product, const void* halves,
                             int64_t m) {
  const auto args = MatrixArgs<kernels::cuda::SmallGemmArgs>(product, halves, m);
  return FromKernel(call, kernels::cuda::SmallGemm(args, in_turn()));
}

// Few rows as halves, behind the quantised ones: a node may have products of both kinds.
StatusOr<const void*> CudaBackend::FewHalves(const NodeCall& call, const float* x) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  const auto bytes = static_cast<uint64_t>(2 * shape.elements());
  MF_ASSIGN_OR_RETURN(uint8_t * halves,
                      pool_->Resolve({scratch_, FewHalvesAt(*call.graph, *call.node), bytes}));
  // Planes that were made so far behind are overwritten, or tiles that reach there.
  const bool behind = static_cast<const uint8_t*>(planes_.target.out) >= halves;
  if (behind || planes_.slots != kNoId) planes_ = Planes();
  MF_RETURN_IF_ERROR(FromKernel(
      call, kernels::cuda::RowsToHalf(x, shape.rows, shape.cols, halves, stream_->get())));
  return static_cast<const void*>(halves);
}

// The quantised activations of a node: as scratch holds them already, or made now.
StatusOr<const void*> CudaBackend::QuantizedInput(const NodeCall& call,
                                                  const ActivationForm& form) {
  const ValueId value = call.node->inputs[0];
  if (planes_.value == value && planes_.slots == kNoId && planes_.form.residual == form.residual &&
      planes_.form.streamed == form.streamed) {
    return planes_.target.out;
  }
  if (planes_.value == value && planes_.only) return NodeError(call, "its input has another form");
  const ValueShape& shape = call.graph->value(value).shape;
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  const auto bytes = static_cast<uint64_t>(
      kernels::cuda::QuantizedBytes(shape.rows, shape.cols, form.residual, form.streamed));
  MF_ASSIGN_OR_RETURN(uint8_t * rows, pool_->Resolve({scratch_, 0, bytes}));
  planes_ = Planes();
  planes_.value = value;
  planes_.form = form;
  planes_.target =
      kernels::cuda::MakePlaneTarget(rows, shape.rows, shape.cols, form.residual, form.streamed);
  MF_RETURN_IF_ERROR(FromKernel(
      call, kernels::cuda::QuantizeRows(x, shape.rows, shape.cols, planes_.target, queue())));
  return planes_.target.out;
}

// The activations are quantised once for all products of the node.
Status CudaBackend::RunProducts(const NodeCall& call, absl::Span<const Product> products,
                                kernels::cuda::MmvqGate gate, const Planes* result) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  if (!TakesFewRows(options_, shape.rows)) {
    planes_ = Planes();
    const bool residual = call.node->op == OpKind::kMatMul && UsesResidual(*call.graph, *call.node);
    return RunManyRows(call, products, residual, gate);
  }
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  const ActivationForm form = FormOf(*call.graph, *call.node);
  kernels::cuda::MmvqArgs group;
  group.m = shape.rows;
  group.residual = form.residual;
  group.gate = gate;
  group.streamed = form.streamed;
  ElementType types[kernels::cuda::kMmvqMaxParts] = {};
  const void* halves = nullptr;
  if (result != nullptr) group.planes = result->target;
  const bool norms = held_.norm && held_.norm->value == call.node->inputs[0];
  const bool mixes = form.streamed && form.all_quantized && !form.residual && !norms;
  for (const Product& product : products) {
    const ElementType type = product.info->type;
    const bool mixed =
        mixes && std::any_of(products.begin(), products.end(), [&](const Product& p) {
          return p.info->type != type && kernels::cuda::MixesMmvq(p.info->type, type);
        });
    ReportMatMul(call, *product.info, form, shape.rows, result != nullptr, mixed);
  }
  MF_ASSIGN_OR_RETURN(group.norm, TakeNorm(call, products));
  for (const Product& product : products) {
    const ElementType type = product.info->type;
    if (KernelFor(*product.info, shape.rows) == ProductKernel::kSmall) {
      if (halves == nullptr) {
        MF_ASSIGN_OR_RETURN(halves, FewHalves(call, x));
      }
      MF_RETURN_IF_ERROR(RunSmall(call, product, halves, shape.rows));
      continue;
    }
    if (!UsesMmvq(options_, type)) {
      MF_RETURN_IF_ERROR(RunFloat(call, product, x, shape.rows));
      continue;
    }
    if (group.norm.x == nullptr) {
      MF_ASSIGN_OR_RETURN(group.activations, QuantizedInput(call, form));
    }
    // Neighbours share the launch: of the same type, or of types that a kernel takes together.
    const auto joins = [&](ElementType other) {
      return other == type || (mixes && kernels::cuda::MixesMmvq(other, type));
    };
    if (group.n_parts == kernels::cuda::kMmvqMaxParts ||
        !std::all_of(types, types + group.n_parts, joins)) {
      MF_RETURN_IF_ERROR(FromKernel(call, LaunchMmvq(group, types, queue())));
      group.n_parts = 0;
    }
    types[group.n_parts] = type;
    group.type = type;
    group.k = product.info->ne0;
    group.parts[group.n_parts++] = {product.weights, product.info->ne1, product.bias, product.out,
                                    product.info->ne1};
  }
  if (group.n_parts == 0) return OkStatus();
  if (HoldsForAdd(call, group)) {
    HeldSum& sum = held_.sum.emplace();
    sum.value = call.node->outputs[0];
    sum.product = group;
    sum.selections = SelectsThenAdds(call) ? 2 : 0;
    return OkStatus();
  }
  MF_RETURN_IF_ERROR(FromKernel(call, LaunchMmvq(group, types, queue())));
  if (result != nullptr) planes_ = *result;
  return OkStatus();
}

// Where the launch of gate and up quantises its result, behind the activations that it reads.
StatusOr<CudaBackend::Planes> CudaBackend::PlanesOfGate(const NodeCall& call) {
  const ValueShape& x = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  if (!options_.fuse_ffn || !FormOf(*call.graph, *call.node).streamed ||
      x.cols > kernels::cuda::kMaxPlaneColumns || shape.cols % 32 != 0) {
    return Planes();
  }
  return PlanesForNext(call, ActivationBytes(x.rows, x.cols, false));
}

Status CudaBackend::ExecuteMatMul(const NodeCall& call) {
  Product product;
  MF_RETURN_IF_ERROR(TakeMatrix(call, 0, &product));
  MF_ASSIGN_OR_RETURN(product.out, Floats(call.outputs[0]));
  return RunProducts(call, {&product, 1});
}

Status CudaBackend::ExecuteMatMulGroup(const NodeCall& call) {
  const size_t count = call.outputs.size();
  std::vector<Product> products(count);
  for (size_t i = 0; i < count; ++i) {
    MF_RETURN_IF_ERROR(TakeMatrix(call, i, &products[i]));
    MF_ASSIGN_OR_RETURN(products[i].out, Floats(call.outputs[i]));
    if (call.node->weights[count + i] == kNoId) continue;
    MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, count + i));
    products[i].bias = static_cast<const float*>(bias);
  }
  return RunProducts(call, products);
}

// One launch where a kernel takes both. Otherwise the gate goes to scratch, up to the output, and
// the activation combines them there.
Status CudaBackend::ExecuteGatedMatMul(const NodeCall& call) {
  const ValueShape& x = call.graph->value(call.node->inputs[0]).shape;
  const Value& out = call.graph->value(call.node->outputs[0]);
  Product products[2];
  for (size_t i = 0; i < 2; ++i) {
    MF_RETURN_IF_ERROR(TakeMatrix(call, i, &products[i]));
  }
  MF_ASSIGN_OR_RETURN(products[1].out, Floats(call.outputs[0]));
  const bool silu = call.node->attributes.activation == Activation::kSilu;
  if (FusesGate(products, x.rows)) {
    MF_ASSIGN_OR_RETURN(const Planes planes, PlanesOfGate(call));
    if (planes.only) products[1].out = nullptr;
    return RunProducts(call, products,
                       silu ? kernels::cuda::MmvqGate::kSilu : kernels::cuda::MmvqGate::kGelu,
                       planes.value == kNoId ? nullptr : &planes);
  }
  MF_ASSIGN_OR_RETURN(products[0].out,
                      Floats({scratch_, ProductScratch(*call.graph, *call.node), out.bytes()}));
  MF_RETURN_IF_ERROR(RunProducts(call, products));
  kernels::cuda::ElementwiseArgs args;
  args.a = products[0].out;
  args.b = products[1].out;
  args.out = products[1].out;
  args.count = out.shape.elements();
  const auto op =
      silu ? kernels::cuda::Elementwise::kSiluMul : kernels::cuda::Elementwise::kGeluMul;
  return FromKernel(call, kernels::cuda::RunElementwise(op, args, queue()));
}

}  // namespace minfer
