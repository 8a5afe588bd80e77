// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products. The ladder: few rows and a type with an integer dot product go to MMVQ, few rows
// of other types to the float product; more rows and a quantised type to the tensor cores, where
// there are any, and others to tiles in f32. The choice depends on the node's shape and type alone,
// so fused and unfused graphs make the same one.
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
using kernels::cuda::QuantizedRowBytes;

uint64_t Align256(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Scratch for the activations of a node, as MMVQ or as the tensor cores take them. It grows with
// the rows, so that the largest graph's covers every other.
uint64_t ActivationBytes(int64_t m, int64_t k, bool residual) {
  const int64_t quantized =
      std::min<int64_t>(m, kMmvqMaxRows) * QuantizedRowBytes(k) * (residual ? 2 : 1);
  const int64_t halves = m > kMmvqMaxRows ? 2 * m * k : 0;
  return Align256(static_cast<uint64_t>(std::max(quantized, halves)));
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

uint64_t CudaBackend::MatMulScratch(const Graph& graph, const Node& node) const {
  const ValueShape& x = graph.value(node.inputs[0]).shape;
  const bool residual = node.op == OpKind::kMatMul && UsesResidual(graph, node);
  uint64_t bytes = ActivationBytes(x.rows, x.cols, residual);
  if (node.op == OpKind::kGatedMatMul) {
    bytes += Align256(graph.value(node.outputs[0]).bytes());
  }
  return bytes;
}

void CudaBackend::ReportMatMul(const NodeCall& call, const WeightInfo& info, int64_t m,
                               bool residual) {
  const bool few = m <= kMmvqMaxRows;
  const bool integer = few && UsesMmvq(info.type);
  const char* type = FindElementTraits(info.type)->name;
  KernelReport row;
  row.detail = StrCat(type, " k=", info.ne0, few ? ", 1 to 8 rows" : ", more than 8 rows");
  row.kernel = integer ? StrCat("mmvq dp4a", residual ? ", residual activations" : "")
               : few   ? "decode, then float dot"
               : UsesTensorCores(info.type) ? "f16 tensor cores, decoded on the way"
                                            : "f32 tiles, decoded on the way";
  row.reason = integer                      ? "few rows"
               : options_.reference         ? "tuning reference=1"
               : few && !HasMmvq(info.type) ? StrCat("no integer dot for ", type)
               : few                        ? "tuning mmvq=0"
               : !options_.prefill_gemm     ? "tuning prefill_gemm=0"
               : !tier().async_copy         ? StrCat("tier ", tier().name)
                                            : "many rows";
  const int32_t variant = static_cast<int32_t>(info.type) * 4 + (few ? 2 : 0) + (residual ? 1 : 0);
  CountReport(call, info.ne0, variant, std::move(row));
}

bool CudaBackend::UsesMmvq(ElementType type) const {
  return options_.mmvq && !options_.reference && HasMmvq(type);
}

bool CudaBackend::UsesTensorCores(ElementType type) const {
  return options_.prefill_gemm && !options_.reference && tier().async_copy &&
         kernels::cuda::HasTensorGemm(type);
}

Status CudaBackend::RunTensor(const NodeCall& call, const Product& product, const void* halves,
                              int64_t m) {
  kernels::cuda::TensorGemmArgs args;
  args.type = product.info->type;
  args.weights = product.weights;
  args.n = product.info->ne1;
  args.k = product.info->ne0;
  args.x = halves;
  args.m = m;
  args.bias = product.bias;
  args.out = product.out;
  args.out_stride = product.info->ne1;
  return FromKernel(call, kernels::cuda::TensorGemm(args, stream_->get()));
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

// The activations are quantised, or rounded to halves, once for all products of the node.
Status CudaBackend::RunProducts(const NodeCall& call, absl::Span<const Product> products,
                                bool residual, kernels::cuda::MmvqGate gate) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  bool prepared = false;
  kernels::cuda::MmvqArgs group;
  group.m = shape.rows;
  group.residual = residual;
  group.gate = gate;
  const bool few = shape.rows <= kMmvqMaxRows;
  const uint64_t bytes = ActivationBytes(shape.rows, shape.cols, residual);
  for (const Product& product : products) {
    const ElementType type = product.info->type;
    ReportMatMul(call, *product.info, shape.rows, residual);
    const bool integer = few && UsesMmvq(type);
    const bool tensor = !few && UsesTensorCores(type);
    if (!integer && !tensor) {
      MF_RETURN_IF_ERROR(RunFloat(call, product, x, shape.rows));
      continue;
    }
    MF_ASSIGN_OR_RETURN(uint8_t * rows, pool_->Resolve({scratch_, 0, bytes}));
    if (tensor) {
      if (!prepared) {
        MF_RETURN_IF_ERROR(FromKernel(
            call, kernels::cuda::RowsToHalf(x, shape.rows, shape.cols, rows, stream_->get())));
        prepared = true;
      }
      MF_RETURN_IF_ERROR(RunTensor(call, product, rows, shape.rows));
      continue;
    }
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

// Few rows: one launch. Otherwise the gate goes to scratch, up to the output, and the activation
// combines them there.
Status CudaBackend::ExecuteGatedMatMul(const NodeCall& call) {
  const ValueShape& x = call.graph->value(call.node->inputs[0]).shape;
  const Value& out = call.graph->value(call.node->outputs[0]);
  Product products[2];
  for (size_t i = 0; i < 2; ++i) {
    products[i].info = &call.graph->weight(call.node->weights[i]);
    MF_ASSIGN_OR_RETURN(products[i].weights, Weight(call, i));
  }
  MF_ASSIGN_OR_RETURN(products[0].out,
                      Floats({scratch_, ActivationBytes(x.rows, x.cols, false), out.bytes()}));
  MF_ASSIGN_OR_RETURN(products[1].out, Floats(call.outputs[0]));
  const bool silu = call.node->attributes.activation == Activation::kSilu;
  const ElementType type = products[0].info->type;
  if (x.rows <= kMmvqMaxRows && UsesMmvq(type) && type == products[1].info->type) {
    return RunProducts(call, products, false,
                       silu ? kernels::cuda::MmvqGate::kSilu : kernels::cuda::MmvqGate::kGelu);
  }
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
