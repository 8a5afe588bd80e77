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
  row.kernel = "experts with slots, decode, then float dot";
  row.reason = "counts are on the device";
  CountReport(call, info.ne0, static_cast<int32_t>(info.type), std::move(row));
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
