// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixture of experts. What goes where is decided and read on the device; ids, counts and slots that
// do not fit are noted in a word of pinned memory, which Synchronize reads.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"

namespace minfer {

// A recorded launch carries the value, so a name keeps its number.
kernels::cuda::FaultWord CudaBackend::FaultOf(const NodeCall& call) {
  const auto found = std::find(fault_names_.begin(), fault_names_.end(), call.node->name);
  const auto index = static_cast<int32_t>(found - fault_names_.begin());
  if (found == fault_names_.end()) fault_names_.push_back(call.node->name);
  return {readback_->fault_word(), index + 1};
}

Status CudaBackend::TakeFault() {
  int32_t* word = readback_->fault_word();
  if (word == nullptr || *word == 0) return OkStatus();
  const auto index = static_cast<size_t>(*word) - 1;
  *word = 0;
  return Internal("ids, counts or slots of experts do not fit")
      .WithName(index < fault_names_.size() ? fault_names_[index] : "cuda");
}

Status CudaBackend::ExecuteTopExperts(const NodeCall& call) {
  const OpAttributes& a = call.node->attributes;
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  kernels::cuda::TopExpertsArgs args;
  args.rows = shape.rows;
  args.n_experts = static_cast<int32_t>(shape.cols);
  args.n_used = a.n_used;
  args.normalise = a.normalise;
  args.factor = a.factor;
  MF_ASSIGN_OR_RETURN(args.scores, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.ids, MutableInts(call.outputs[0]));
  MF_ASSIGN_OR_RETURN(args.weights, Floats(call.outputs[1]));
  return FromKernel(call, kernels::cuda::TopExperts(args, stream_->get()));
}

Status CudaBackend::ExecuteGroupExperts(const NodeCall& call) {
  const int64_t n_slots = call.graph->value(call.node->outputs[0]).shape.rows;
  MF_ASSIGN_OR_RETURN(const int32_t* ids, Ints(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(int32_t * slots, MutableInts(call.outputs[0]));
  MF_ASSIGN_OR_RETURN(int32_t * counts, MutableInts(call.outputs[1]));
  return FromKernel(
      call, kernels::cuda::GroupExperts(ids, n_slots, call.node->attributes.n_experts, slots,
                                        counts, FaultOf(call), stream_->get()));
}

bool CudaBackend::UsesExpertMmq(const WeightInfo& info, int64_t n_slots) const {
  return options_.expert_mmq && !options_.reference && tier().integer_matrix && tier().async_copy &&
         n_slots <= kernels::cuda::kMaxExpertSlots && kernels::cuda::HasMmq(info.type, info.ne0);
}

uint64_t CudaBackend::ExpertScratch(const Graph& graph, const Node& node) const {
  const WeightInfo& info = graph.weight(node.weights[0]);
  const int64_t n_slots = graph.value(node.inputs[1]).shape.rows;
  if (!UsesExpertMmq(info, n_slots)) return 0;
  return kernels::cuda::ExpertTileBytes(n_slots, graph.value(node.inputs[2]).shape.rows, info.ne0);
}

// The input of a node in tiles of its slots: as scratch holds them already, or made now.
StatusOr<const void*> CudaBackend::ExpertTiles(const NodeCall& call,
                                               const kernels::cuda::ExpertLists& lists,
                                               const float* x, int64_t k) {
  const ValueId value = call.node->inputs[0];
  if (planes_.value == value && planes_.slots == call.node->inputs[1]) return planes_.target.out;
  if (planes_.value == value && planes_.only) return NodeError(call, "its input has another form");
  const uint64_t bytes = kernels::cuda::ExpertTileBytes(lists.n_slots, lists.n_experts, k);
  MF_ASSIGN_OR_RETURN(uint8_t * tiles, pool_->Resolve({scratch_, 0, bytes}));
  planes_ = Planes();
  planes_.value = value;
  planes_.slots = call.node->inputs[1];
  planes_.target.out = tiles;
  kernels::cuda::QuantizeExpertsArgs args;
  args.lists = lists;
  args.x = x;
  args.k = k;
  args.fan_out = call.node->attributes.fan_out;
  args.out = tiles;
  args.fault = FaultOf(call);
  MF_RETURN_IF_ERROR(FromKernel(call, kernels::cuda::QuantizeExperts(args, queue())));
  return planes_.target.out;
}

Status CudaBackend::RunExpertMmq(const NodeCall& call,
                                 const kernels::cuda::ExpertMatMulArgs& given) {
  kernels::cuda::ExpertMmqArgs args;
  args.type = given.type;
  args.lists = {given.slots, given.counts, static_cast<int32_t>(given.n_slots), given.n_experts};
  args.weights = given.weights;
  args.bias = given.bias;
  args.n = given.n;
  args.k = given.k;
  args.out = given.out;
  args.shared_opt_in_bytes = tier().shared_opt_in_bytes;
  MF_ASSIGN_OR_RETURN(args.activations, ExpertTiles(call, args.lists, given.x, given.k));
  if (held_.experts) {
    held_.experts->args.up = given.weights;
    held_.experts->has_up = true;
    return OkStatus();
  }
  if (HoldsForExpertGate(call)) {
    held_.experts = {false, args};
    return OkStatus();
  }
  return FromKernel(call, kernels::cuda::ExpertMmq(args, queue()));
}

// The gate, right before up of the same rows and slots, and the activation that alone reads both;
// where experts have a slot or none each, since with more the launches apart are faster (the bits
// are the same). The input is in tiles by then, so nothing keeps its buffer.
bool CudaBackend::HoldsForExpertGate(const NodeCall& call) const {
  if (direct_ || !options_.fuse_experts || split_.next + 2 >= split_.key.end) return false;
  const Node& gate = *call.node;
  const Node* up = &gate + 1;
  const Node* act = &gate + 2;
  if (up->op != OpKind::kExpertMatMul || act->op != OpKind::kGatedAct ||
      act->attributes.activation == Activation::kClampedSwiglu || up->inputs != gate.inputs ||
      up->attributes.fan_out != gate.attributes.fan_out || gate.weights[1] != kNoId ||
      up->weights[1] != kNoId) {
    return false;
  }
  const WeightInfo& a = call.graph->weight(gate.weights[0]);
  const WeightInfo& b = call.graph->weight(up->weights[0]);
  const ValueShape& slots = call.graph->value(gate.inputs[1]).shape;
  const ValueShape& counts = call.graph->value(gate.inputs[2]).shape;
  return slots.rows <= counts.rows && a.type == b.type && a.ne1 == b.ne1 &&
         act->inputs[0] == gate.outputs[0] && act->inputs[1] == up->outputs[0] &&
         CountReads(*call.graph, gate.outputs[0]) == 1 &&
         CountReads(*call.graph, up->outputs[0]) == 1;
}

Status CudaBackend::RunHeldExperts(const NodeCall& call, kernels::cuda::ExpertMmqArgs args) {
  held_.experts.reset();
  args.gate = call.node->attributes.activation == Activation::kSilu
                  ? kernels::cuda::MmvqGate::kSilu
                  : kernels::cuda::MmvqGate::kGelu;
  MF_ASSIGN_OR_RETURN(args.out, Floats(call.outputs[0]));
  KernelReport row;
  row.kernel = "by the kernel of the experts' gate and up";
  row.reason = "few slots, and nothing else reads them";
  CountReport(call, 0, 2, std::move(row));
  return FromKernel(call, kernels::cuda::ExpertMmq(args, queue()));
}

Status CudaBackend::ExecuteExpertMatMul(const NodeCall& call) {
  const WeightInfo& info = call.graph->weight(call.node->weights[0]);
  kernels::cuda::ExpertMatMulArgs args;
  args.type = info.type;
  MF_ASSIGN_OR_RETURN(args.weights, Weight(call, 0));
  if (call.node->weights[1] != kNoId) {
    MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, 1));
    args.bias = static_cast<const float*>(bias);
  }
  args.n = info.ne1;
  args.k = info.ne0;
  args.n_experts = static_cast<int32_t>(call.graph->value(call.node->inputs[2]).shape.rows);
  args.fan_out = call.node->attributes.fan_out;
  args.n_slots = call.graph->value(call.node->inputs[1]).shape.rows;
  MF_ASSIGN_OR_RETURN(args.x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.slots, Ints(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(args.counts, Ints(call.inputs[2]));
  MF_ASSIGN_OR_RETURN(args.out, Floats(call.outputs[0]));
  args.fault = FaultOf(call);
  KernelReport row;
  row.detail = StrCat(FindElementTraits(info.type)->name, " k=", info.ne0);
  const bool integer = UsesExpertMmq(info, args.n_slots);
  row.kernel = integer ? "experts with slots, mmq int8 mma" : "experts with slots, float dot";
  row.reason = integer                ? "counts are on the device"
               : options_.reference   ? "tuning reference=1"
               : !options_.expert_mmq ? "tuning expert_mmq=0"
               : !tier().async_copy
                   ? StrCat("tier ", tier().name)
                   : StrCat("no integer tensor product for ", FindElementTraits(info.type)->name);
  const int32_t variant = static_cast<int32_t>(info.type) * 2 + (integer ? 1 : 0);
  CountReport(call, info.ne0, variant, std::move(row));
  if (integer) return RunExpertMmq(call, args);
  return FromKernel(call, kernels::cuda::ExpertMatMul(args, stream_->get()));
}

Status CudaBackend::ExecuteCombineExperts(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const int64_t n_used = call.graph->value(call.node->inputs[1]).shape.cols;
  MF_ASSIGN_OR_RETURN(const float* y, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(const float* weights, Floats(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  return FromKernel(
      call, kernels::cuda::CombineExperts(y, weights, shape.rows, shape.cols,
                                          static_cast<int32_t>(n_used), out, stream_->get()));
}

Status CudaBackend::ExecuteGateRows(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(const float* gate, Floats(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  return FromKernel(call,
                    kernels::cuda::GateRows(x, gate, shape.rows, shape.cols, out, stream_->get()));
}

Status CudaBackend::ExecuteClampedSwiglu(const NodeCall& call) {
  const OpAttributes& a = call.node->attributes;
  MF_ASSIGN_OR_RETURN(const float* gate, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(const float* up, Floats(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  return FromKernel(call, kernels::cuda::ClampedSwiglu(
                              gate, up, call.graph->value(call.node->outputs[0]).shape.elements(),
                              a.alpha, a.limit, out, stream_->get()));
}

}  // namespace minfer
