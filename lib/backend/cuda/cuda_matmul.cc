// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products of few rows, and where they part from those of many (cuda_many_rows.cc). The
// ladder: a type with an integer dot product goes to MMVQ, others to the float product. The choice
// depends on the node's shape and type alone, so fused and unfused graphs make the same one.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/matvec/matvec.h"
#include "kernels/cuda/mmvq/mmvq.h"

namespace minfer {
namespace {

using kernels::cuda::HasMmvq;
using kernels::cuda::kMatvecMaxRows;
using kernels::cuda::kMmvqMaxRows;
using kernels::cuda::QuantizedRowBytes;

uint64_t Align256(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Scratch for the activations of a node as MMVQ takes them.
uint64_t ActivationBytes(int64_t m, int64_t k, bool residual) {
  const int64_t quantized =
      std::min<int64_t>(m, kMmvqMaxRows) * QuantizedRowBytes(k) * (residual ? 2 : 1);
  return Align256(static_cast<uint64_t>(quantized));
}

const Node* FirstReader(const Graph& graph, ValueId value) {
  for (const Node& node : graph.nodes) {
    if (std::count(node.inputs.begin(), node.inputs.end(), value) != 0) return &node;
  }
  return nullptr;
}

}  // namespace

// Where 8-bit activations cost the most: the output matrix, and W_down. As on the CPU, only
// products that no pass takes into a group.
bool CudaBackend::UsesResidual(const Graph& graph, const Node& node) const {
  const WeightInfo& info = graph.weight(node.weights[0]);
  if (!options_.residual_activations || !UsesMmvq(info.type)) return false;
  const Node* reader = FirstReader(graph, node.outputs[0]);
  if (reader == nullptr) return graph.value(node.outputs[0]).is_output;
  return info.ne0 > info.ne1 && reader->op == OpKind::kAdd;
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
  return m <= kMmvqMaxRows ? UsesMmvq(type) && type == products[1].info->type
                           : TakesTogether(products, m, true);
}

uint64_t CudaBackend::MatMulScratch(const Graph& graph, const Node& node) const {
  uint64_t bytes = ProductScratch(graph, node);
  if (node.op != OpKind::kGatedMatMul) return bytes;
  Product products[2];
  for (size_t i = 0; i < 2; ++i) products[i].info = &graph.weight(node.weights[i]);
  const ValueShape& shape = graph.value(node.outputs[0]).shape;
  // The most rows, of those that a graph of this size or a smaller one has, whose gate goes to
  // scratch; the kernels change after these.
  int64_t rows = 0;
  for (const int64_t m :
       {int64_t{kMmvqMaxRows}, kFloatRows, kIntegerRows, kDecodingRows, shape.rows}) {
    if (m <= shape.rows && !FusesGate(products, m)) rows = m;
  }
  return bytes + Align256(static_cast<uint64_t>(rows * shape.cols) * sizeof(float));
}

void CudaBackend::ReportMatMul(const NodeCall& call, const WeightInfo& info, bool residual) {
  const bool integer = UsesMmvq(info.type);
  const char* type = FindElementTraits(info.type)->name;
  KernelReport row;
  row.detail = StrCat(type, " k=", info.ne0, ", 1 to 8 rows");
  row.kernel = integer ? StrCat("mmvq dp4a", residual ? ", residual activations" : "")
                       : "decode, then float dot";
  row.reason = integer               ? "few rows"
               : options_.reference  ? "tuning reference=1"
               : !HasMmvq(info.type) ? StrCat("no integer dot for ", type)
                                     : "tuning mmvq=0";
  const int32_t variant = static_cast<int32_t>(info.type) * 32 + (residual ? 1 : 0);
  CountReport(call, info.ne0, variant, std::move(row));
}

bool CudaBackend::UsesMmvq(ElementType type) const {
  return options_.mmvq && !options_.reference && HasMmvq(type);
}

// Activations that stay f32.
Status CudaBackend::RunFloat(const NodeCall& call, const Product& product, const float* x,
                             int64_t m) {
  if (m <= kMatvecMaxRows) {
    kernels::cuda::MatvecArgs args;
    args.type = product.info->type;
    args.weights = product.weights;
    args.n = product.info->ne1;
    args.k = product.info->ne0;
    args.x = x;
    args.m = m;
    args.bias = product.bias;
    args.out = product.out;
    args.out_stride = product.info->ne1;
    return FromKernel(call, kernels::cuda::Matvec(args, stream_->get()));
  }
  kernels::cuda::GemmArgs args;
  args.type = product.info->type;
  args.weights = product.weights;
  args.n = product.info->ne1;
  args.k = product.info->ne0;
  args.x = x;
  args.m = m;
  args.bias = product.bias;
  args.out = product.out;
  args.out_stride = product.info->ne1;
  args.exact = options_.reference;
  return FromKernel(call, kernels::cuda::Gemm(args, stream_->get()));
}

// The activations are quantised once for all products of the node.
Status CudaBackend::RunProducts(const NodeCall& call, absl::Span<const Product> products,
                                bool residual, kernels::cuda::MmvqGate gate) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  if (shape.rows > kMmvqMaxRows) return RunManyRows(call, products, residual, gate);
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  bool prepared = false;
  kernels::cuda::MmvqArgs group;
  group.m = shape.rows;
  group.residual = residual;
  group.gate = gate;
  const uint64_t bytes = ActivationBytes(shape.rows, shape.cols, residual);
  for (const Product& product : products) {
    const ElementType type = product.info->type;
    ReportMatMul(call, *product.info, residual);
    if (!UsesMmvq(type)) {
      MF_RETURN_IF_ERROR(RunFloat(call, product, x, shape.rows));
      continue;
    }
    MF_ASSIGN_OR_RETURN(uint8_t * rows, pool_->Resolve({scratch_, 0, bytes}));
    if (!prepared) {
      MF_RETURN_IF_ERROR(FromKernel(
          call,
          kernels::cuda::QuantizeRows(x, shape.rows, shape.cols, residual, rows, stream_->get())));
      prepared = true;
    }
    // Neighbours of the same type share the launch.
    if (group.n_parts > 0 &&
        (group.type != type || group.n_parts == kernels::cuda::kMmvqMaxParts)) {
      MF_RETURN_IF_ERROR(FromKernel(call, kernels::cuda::Mmvq(group, stream_->get())));
      group.n_parts = 0;
    }
    group.type = type;
    group.k = product.info->ne0;
    group.activations = rows;
    group.parts[group.n_parts++] = {product.weights, product.info->ne1, product.bias, product.out,
                                    product.info->ne1};
  }
  return group.n_parts == 0 ? OkStatus()
                            : FromKernel(call, kernels::cuda::Mmvq(group, stream_->get()));
}

Status CudaBackend::ExecuteMatMul(const NodeCall& call) {
  Product product;
  product.info = &call.graph->weight(call.node->weights[0]);
  MF_ASSIGN_OR_RETURN(product.weights, Weight(call, 0));
  MF_ASSIGN_OR_RETURN(product.out, Floats(call.outputs[0]));
  return RunProducts(call, {&product, 1}, UsesResidual(*call.graph, *call.node));
}

Status CudaBackend::ExecuteMatMulGroup(const NodeCall& call) {
  const size_t count = call.outputs.size();
  std::vector<Product> products(count);
  for (size_t i = 0; i < count; ++i) {
    products[i].info = &call.graph->weight(call.node->weights[i]);
    MF_ASSIGN_OR_RETURN(products[i].weights, Weight(call, i));
    MF_ASSIGN_OR_RETURN(products[i].out, Floats(call.outputs[i]));
    if (call.node->weights[count + i] == kNoId) continue;
    MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, count + i));
    products[i].bias = static_cast<const float*>(bias);
  }
  return RunProducts(call, products, false);
}

// One launch where a kernel takes both. Otherwise the gate goes to scratch, up to the output, and
// the activation combines them there.
Status CudaBackend::ExecuteGatedMatMul(const NodeCall& call) {
  const ValueShape& x = call.graph->value(call.node->inputs[0]).shape;
  const Value& out = call.graph->value(call.node->outputs[0]);
  Product products[2];
  for (size_t i = 0; i < 2; ++i) {
    products[i].info = &call.graph->weight(call.node->weights[i]);
    MF_ASSIGN_OR_RETURN(products[i].weights, Weight(call, i));
  }
  MF_ASSIGN_OR_RETURN(products[1].out, Floats(call.outputs[0]));
  const bool silu = call.node->attributes.activation == Activation::kSilu;
  if (FusesGate(products, x.rows)) {
    return RunProducts(call, products, false,
                       silu ? kernels::cuda::MmvqGate::kSilu : kernels::cuda::MmvqGate::kGelu);
  }
  MF_ASSIGN_OR_RETURN(products[0].out,
                      Floats({scratch_, ProductScratch(*call.graph, *call.node), out.bytes()}));
  MF_RETURN_IF_ERROR(RunProducts(call, products, false));
  kernels::cuda::ElementwiseArgs args;
  args.a = products[0].out;
  args.b = products[1].out;
  args.out = products[1].out;
  args.count = out.shape.elements();
  const auto op =
      silu ? kernels::cuda::Elementwise::kSiluMul : kernels::cuda::Elementwise::kGeluMul;
  return FromKernel(call, kernels::cuda::RunElementwise(op, args, stream_->get()));
}

}  // namespace minfer
