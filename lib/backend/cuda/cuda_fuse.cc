// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Nodes that share work with the node after them: activations quantised by the kernel that makes
// them, and launches that wait for the next node to join in. Each has the bits of the nodes alone.
//
// What scratch holds quantised is remembered by the value, of which a graph has one each, until
// scratch is used otherwise or the split ends; so a buffer that is used again is never taken for
// what it held before. While a trace reads values (SetDirect) each node writes its own.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"

namespace minfer {

const Node* CudaBackend::NextNode() const {
  const NodeId next = split_.next + 1;
  return next < split_.key.end ? &split_.graph->nodes[static_cast<size_t>(next)] : nullptr;
}

int64_t CudaBackend::CountReads(const Graph& graph, ValueId value) {
  int64_t reads = graph.value(value).is_output ? 1 : 0;
  for (const Node& node : graph.nodes) {
    reads += std::count(node.inputs.begin(), node.inputs.end(), value);
  }
  return reads;
}

CudaBackend::ActivationForm CudaBackend::FormOf(const Graph& graph, const Node& node) const {
  size_t products = 0;
  if (node.op == OpKind::kMatMul) products = 1;
  if (node.op == OpKind::kMatMulGroup) products = node.outputs.size();
  if (node.op == OpKind::kGatedMatMul) products = 2;
  ActivationForm form;
  const ValueShape& x = graph.value(node.inputs[0]).shape;
  if (products == 0 || !TakesFewRows(options_, x.rows) || x.cols % 32 != 0) return form;
  form.all_quantized = true;
  form.streamed = options_.mmvq_mma && tier().integer_matrix && tier().async_copy;
  for (size_t i = 0; i < products; ++i) {
    const WeightInfo& info = graph.weight(node.weights[i]);
    const bool quantized = UsesMmvq(options_, info.type);
    form.quantized = form.quantized || quantized;
    form.all_quantized = form.all_quantized && quantized;
    if (quantized && !kernels::cuda::StreamsMmvq(info.type, info.ne0)) form.streamed = false;
  }
  form.residual = node.op == OpKind::kMatMul && form.quantized && UsesResidual(graph, node);
  return form;
}

StatusOr<CudaBackend::Planes> CudaBackend::PlanesForNext(const NodeCall& call,
                                                         uint64_t scratch_offset) {
  Planes planes;
  const Node* next = NextNode();
  const ValueId value = call.node->outputs[0];
  if (options_.decode_a_fuse == 0 || next == nullptr || next->inputs[0] != value) return planes;
  const ActivationForm form = FormOf(*call.graph, *next);
  if (!form.quantized) return planes;
  const ValueShape& shape = call.graph->value(value).shape;
  planes.value = value;
  planes.by_producer = true;
  planes.form = form;
  planes.only = options_.decode_a_fuse == 2 && !direct_ && form.all_quantized &&
                CountReads(*call.graph, value) == 1;
  const auto bytes = static_cast<uint64_t>(
      kernels::cuda::QuantizedBytes(shape.rows, shape.cols, form.residual, form.streamed));
  MF_ASSIGN_OR_RETURN(uint8_t * to, pool_->Resolve({scratch_, scratch_offset, bytes}));
  planes.target =
      kernels::cuda::MakePlaneTarget(to, shape.rows, shape.cols, form.residual, form.streamed);
  return planes;
}

// A product that only the next node reads, to add something to it.
bool CudaBackend::HoldsForAdd(const NodeCall& call, const kernels::cuda::MmvqArgs& product) const {
  const Node* next = NextNode();
  if (direct_ || !options_.fuse_add || call.node->op != OpKind::kMatMul || !product.streamed ||
      product.norm.x != nullptr || next == nullptr) {
    return false;
  }
  const ValueId value = call.node->outputs[0];
  if (CountReads(*call.graph, value) != 1) return false;
  return SelectsThenAdds(call) ||
         (next->op == OpKind::kAdd &&
          std::count(next->inputs.begin(), next->inputs.end(), value) == 1);
}

// The last layer selects the rows that are wanted, of a product and of what is added to it. Where
// those are all rows, in their order, nothing is to be done.
bool CudaBackend::SelectsThenAdds(const NodeCall& call) const {
  if (!call.graph->params.outputs_all || split_.next + 3 >= split_.key.end) return false;
  const Node* nodes = &split_.graph->nodes[static_cast<size_t>(split_.next)];
  const Node& first = nodes[1];
  const Node& second = nodes[2];
  const Node& add = nodes[3];
  if (first.op != OpKind::kSelectRows || second.op != OpKind::kSelectRows ||
      add.op != OpKind::kAdd || first.inputs[0] != call.node->outputs[0] ||
      second.inputs[0] == first.outputs[0]) {
    return false;
  }
  const auto adds = [&](const Node& node) {
    return std::count(add.inputs.begin(), add.inputs.end(), node.outputs[0]) == 1 &&
           CountReads(*call.graph, node.outputs[0]) == 1;
  };
  return adds(first) && adds(second);
}

Status CudaBackend::SelectHeld(const NodeCall& call, HeldSum* sum) {
  KernelReport row;
  row.kernel = "none";
  row.reason = "all rows are outputs";
  CountReport(call, 0, 1, std::move(row));
  --sum->selections;
  if (call.node->inputs[0] == sum->value) {
    sum->value = call.node->outputs[0];
  } else {
    sum->selected = call.node->outputs[0];
    sum->selected_from = call.inputs[0];
  }
  return OkStatus();
}

Status CudaBackend::AddToHeld(const NodeCall& call, HeldSum sum) {
  held_.sum.reset();
  const size_t other = call.node->inputs[0] == sum.value ? 1 : 0;
  kernels::cuda::MmvqPart& part = sum.product.parts[0];
  MF_ASSIGN_OR_RETURN(part.add, Floats(call.inputs[other]));
  MF_ASSIGN_OR_RETURN(part.out, Floats(call.outputs[0]));
  if (sum.selected == call.node->inputs[other]) {
    const BufferRange& from = sum.selected_from;
    const BufferRange& out = call.outputs[0];
    const bool apart = from.offset + from.bytes <= out.offset ||
                       out.offset + out.bytes <= from.offset || from.offset == out.offset;
    if (from.buffer != out.buffer || apart) {
      MF_ASSIGN_OR_RETURN(part.add, Floats(from));
    } else {
      // The sum may lie across what the selection reads, which has ended for the plan.
      MF_ASSIGN_OR_RETURN(const float* source, Floats(from));
      MF_ASSIGN_OR_RETURN(float* target, Floats(call.inputs[other]));
      MF_RETURN_IF_ERROR(runtime_->Check(
          cudaMemcpyAsync(target, source, from.bytes, cudaMemcpyDeviceToDevice, stream_->get()),
          "enqueuing a copy"));
    }
  }
  KernelReport row;
  row.kernel = "added to the product by its kernel";
  row.reason = "the product has no other reader";
  CountReport(call, 0, 1, std::move(row));
  return FromKernel(call, kernels::cuda::Mmvq(sum.product, queue()));
}

// A rotation of Q right before K is rotated by the same table and stored.
bool CudaBackend::HoldsForStore(const NodeCall& call) const {
  const Node* next = NextNode();
  if (direct_ || !options_.fuse_rope || next == nullptr || next->op != OpKind::kRopeKvStore)
    return false;
  const OpAttributes& a = call.node->attributes;
  const OpAttributes& b = next->attributes;
  return next->inputs[2] == call.node->inputs[1] && a.rope_dim == b.rope_dim &&
         a.rope_style == b.rope_style && a.head_dim <= kernels::cuda::kMaxStoredQDim;
}

// A norm of one short row that nobody reads but the products of the next node. For more rows every
// block would repeat more than the launch costs.
bool CudaBackend::HoldsForProduct(const NodeCall& call, const kernels::cuda::MmvqNorm& norm) const {
  const Node* next = NextNode();
  const ValueId value = call.node->outputs[0];
  if (direct_ || !options_.fuse_norm || next == nullptr || next->inputs.empty() ||
      next->inputs[0] != value || CountReads(*call.graph, value) != 1) {
    return false;
  }
  const bool aligned =
      (reinterpret_cast<uintptr_t>(norm.x) | reinterpret_cast<uintptr_t>(norm.weight)) % 16 == 0;
  const ActivationForm form = FormOf(*call.graph, *next);
  const ValueShape& shape = call.graph->value(value).shape;
  return aligned && form.all_quantized && form.streamed && !form.residual && shape.rows == 1 &&
         shape.cols <= kernels::cuda::kMaxNormedColumns;
}

StatusOr<kernels::cuda::MmvqNorm> CudaBackend::TakeNorm(const NodeCall& call,
                                                        absl::Span<const Product> products) {
  const ValueId value = call.node->inputs[0];
  if (!held_.norm || held_.norm->value != value) return kernels::cuda::MmvqNorm();
  const kernels::cuda::MmvqNorm norm = held_.norm->norm;
  held_.norm.reset();
  const ValueShape& shape = call.graph->value(value).shape;
  // Every block reads all of x: no other may have written a result there.
  const float* end = norm.x + shape.elements();
  const auto overlaps = [&](const Product& product) {
    return product.out != nullptr && product.out < end &&
           norm.x < product.out + shape.rows * product.info->ne1;
  };
  if (std::none_of(products.begin(), products.end(), overlaps)) return norm;
  const ActivationForm form = FormOf(*call.graph, *call.node);
  const auto bytes = static_cast<uint64_t>(
      kernels::cuda::QuantizedBytes(shape.rows, shape.cols, form.residual, form.streamed));
  MF_ASSIGN_OR_RETURN(uint8_t * to, pool_->Resolve({scratch_, 0, bytes}));
  planes_ = Planes();
  planes_.value = value;
  planes_.by_producer = planes_.only = true;
  planes_.form = form;
  planes_.target =
      kernels::cuda::MakePlaneTarget(to, shape.rows, shape.cols, form.residual, form.streamed);
  MF_RETURN_IF_ERROR(
      FromKernel(call, kernels::cuda::RmsNorm(norm.x, norm.weight, nullptr, shape.rows, shape.cols,
                                              norm.eps, queue(), planes_.target)));
  return kernels::cuda::MmvqNorm();
}

Status CudaBackend::CheckHeld(const NodeCall& call) const {
  const OpKind op = call.node->op;
  const auto& inputs = call.node->inputs;
  if (held_.sum) {
    const bool adds =
        op == OpKind::kAdd && std::count(inputs.begin(), inputs.end(), held_.sum->value) == 1;
    if (!(held_.sum->selections > 0 ? op == OpKind::kSelectRows : adds)) {
      return NodeError(call, "a product still waits for its sum");
    }
  }
  if (held_.norm && (inputs.empty() || inputs[0] != held_.norm->value)) {
    return NodeError(call, "a norm still waits for its product");
  }
  if (held_.begin && op != OpKind::kRopeTable) {
    return NodeError(call, "a step's begin still waits for its table");
  }
  if (held_.rope && op != OpKind::kRopeKvStore) {
    return NodeError(call, "a rotation still waits for the store");
  }
  if (held_.experts && op != (held_.experts->has_up ? OpKind::kGatedAct : OpKind::kExpertMatMul)) {
    return NodeError(call, "products of experts still wait for their activation");
  }
  if (held_.tail && held_.tail->stores && op != OpKind::kAttention) {
    return NodeError(call, "a store still waits for attention");
  }
  if (held_.tail && !held_.tail->stores && op != OpKind::kRmsNorm && op != OpKind::kRope &&
      op != OpKind::kRopeKvStore) {
    return NodeError(call, "norms of heads still wait for attention");
  }
  return OkStatus();
}

}  // namespace minfer
