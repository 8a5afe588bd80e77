// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Gathers, norms, elementwise operations and rotation.
#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/vector/rope_angles.h"
#include "kernels/cuda/vector/rows.h"

namespace minfer {
namespace {

using kernels::cuda::Elementwise;

Elementwise ElementwiseOf(const Node& node) {
  switch (node.op) {
    case OpKind::kAddBias:
      return Elementwise::kAddBias;
    case OpKind::kMul:
      return Elementwise::kMul;
    case OpKind::kScale:
      return Elementwise::kScale;
    case OpKind::kSoftcap:
      return Elementwise::kSoftcap;
    case OpKind::kAct:
      return node.attributes.activation == Activation::kSilu ? Elementwise::kSilu
                                                             : Elementwise::kGelu;
    case OpKind::kGatedAct:
      return node.attributes.activation == Activation::kSilu ? Elementwise::kSiluMul
                                                             : Elementwise::kGeluMul;
    default:
      return Elementwise::kAdd;
  }
}

kernels::RopeParams ParamsOf(const RopeConfig& config) {
  kernels::RopeParams params;
  params.rope_dim = config.rope_dim;
  params.base = config.base;
  params.linear_factor = config.linear_factor;
  params.yarn = config.yarn;
  params.yarn_factor = config.yarn_factor;
  params.yarn_original_context = config.yarn_original_context;
  params.yarn_beta_fast = config.yarn_beta_fast;
  params.yarn_beta_slow = config.yarn_beta_slow;
  params.yarn_ext_factor = config.yarn_ext_factor;
  params.magnitude = config.magnitude;
  if (!config.frequency_factors.empty()) params.frequency_factors = config.frequency_factors.data();
  return params;
}

}  // namespace

Status CudaBackend::ExecuteGetRows(const NodeCall& call) {
  const WeightInfo& info = call.graph->weight(call.node->weights[0]);
  MF_ASSIGN_OR_RETURN(const void* table, Weight(call, 0));
  MF_ASSIGN_OR_RETURN(const int32_t* ids, Ints(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  const int64_t rows = call.graph->value(call.node->outputs[0]).shape.rows;
  if (BeginsStep(call)) {
    kernels::cuda::StepBeginArgs begin;
    begin.type = info.type;
    begin.table = table;
    begin.table_rows = info.ne1;
    begin.k = info.ne0;
    begin.rows = rows;
    begin.embeddings = out;
    return BeginStep(call, begin);
  }
  return FromKernel(
      call, kernels::cuda::GetRows(info.type, table, info.ne1, info.ne0, ids, rows, out, queue()));
}

Status CudaBackend::ExecuteSelectRows(const NodeCall& call) {
  if (held_.sum) return SelectHeld(call, &*held_.sum);
  const ValueShape& from = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& to = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(const int32_t* ids, Ints(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  return FromKernel(call,
                    kernels::cuda::SelectRows(x, from.rows, from.cols, ids, to.rows, out, queue()));
}

Status CudaBackend::ExecuteRmsNorm(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const void* weight, Weight(call, 0));
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  const OpAttributes& a = call.node->attributes;
  if (HeldTail* tail = HoldsForAttention(call)) {
    tail->norms[tail->n_norms++] = {
        x, static_cast<const float*>(weight), out, shape.rows * a.n_heads, a.head_dim, a.eps};
    return OkStatus();
  }
  if (a.n_heads == 1 && a.head_dim <= kernels::cuda::kMaxPlaneNorm &&
      reinterpret_cast<uintptr_t>(weight) % 16 == 0) {
    const kernels::cuda::MmvqNorm norm{x, static_cast<const float*>(weight), a.eps};
    if (HoldsForProduct(call, norm)) {
      held_.norm = {call.node->outputs[0], norm};
      KernelReport row;
      row.kernel = "by the product that reads it";
      row.reason = StrCat("one row of at most ", kernels::cuda::kMaxNormedColumns);
      CountReport(call, a.head_dim, 1, std::move(row));
      return OkStatus();
    }
    MF_ASSIGN_OR_RETURN(const Planes planes, PlanesForNext(call, 0));
    if (planes.value != kNoId) {
      planes_ = planes;
      return FromKernel(call, kernels::cuda::RmsNorm(x, static_cast<const float*>(weight),
                                                     planes.only ? nullptr : out, shape.rows,
                                                     a.head_dim, a.eps, queue(), planes.target));
    }
  }
  return FromKernel(call,
                    kernels::cuda::RmsNorm(x, static_cast<const float*>(weight), out,
                                           shape.rows * a.n_heads, a.head_dim, a.eps, queue()));
}

Status CudaBackend::ExecuteLayerNorm(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const void* weight, Weight(call, 0));
  const void* bias = nullptr;
  if (call.node->weights[1] != kNoId) {
    MF_ASSIGN_OR_RETURN(bias, Weight(call, 1));
  }
  MF_ASSIGN_OR_RETURN(const float* x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  return FromKernel(call, kernels::cuda::LayerNorm(x, static_cast<const float*>(weight),
                                                   static_cast<const float*>(bias), out, shape.rows,
                                                   shape.cols, call.node->attributes.eps, queue()));
}

Status CudaBackend::ExecuteElementwise(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const OpAttributes& a = call.node->attributes;
  if (call.node->op == OpKind::kGatedAct && a.activation == Activation::kClampedSwiglu) {
    return ExecuteClampedSwiglu(call);
  }
  if (held_.sum) return AddToHeld(call, *held_.sum);
  if (held_.experts) return RunHeldExperts(call, held_.experts->args);
  kernels::cuda::ElementwiseArgs args;
  MF_ASSIGN_OR_RETURN(args.a, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.out, Floats(call.outputs[0]));
  if (call.node->op == OpKind::kAddBias) {
    MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, 0));
    args.b = static_cast<const float*>(bias);
  } else if (call.inputs.size() > 1) {
    MF_ASSIGN_OR_RETURN(args.b, Floats(call.inputs[1]));
  }
  args.count = shape.elements();
  args.cols = shape.cols;
  args.factor = call.node->op == OpKind::kSoftcap ? a.softcap : a.factor;
  return FromKernel(call, kernels::cuda::RunElementwise(ElementwiseOf(*call.node), args, queue()));
}

// The angles of all settings are worked out once, in double, and travel with each launch.
Status CudaBackend::ExecuteRopeTable(const NodeCall& call) {
  const auto index = static_cast<size_t>(call.node->attributes.rope_config);
  if (index >= call.rope_configs.size()) {
    return NodeError(call, StrCat("RoPE settings ", index, " of ", call.rope_configs.size()));
  }
  if (rope_angles_.size() != call.rope_configs.size()) {
    std::vector<kernels::cuda::RopeAngles> all;
    for (const RopeConfig& config : call.rope_configs) {
      all.push_back(kernels::cuda::RopeAngles());
      MF_RETURN_IF_ERROR(
          FromKernel(call, kernels::cuda::MakeRopeAngles(ParamsOf(config), &all.back())));
    }
    rope_angles_ = std::move(all);
  }
  const kernels::cuda::RopeAngles& angles = rope_angles_[index];
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  if (int64_t{angles.pairs} * 2 != shape.cols) {
    return NodeError(call, StrCat(angles.pairs, " angles for ", shape.cols, " columns"));
  }
  MF_ASSIGN_OR_RETURN(const int32_t* positions, Ints(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(float* out, Floats(call.outputs[0]));
  if (held_.begin) return TableForBegin(call, *held_.begin, angles, positions, out);
  return FromKernel(call, kernels::cuda::RopeTable(angles, positions, shape.rows, out, queue()));
}

Status CudaBackend::ExecuteRope(const NodeCall& call) {
  const OpAttributes& a = call.node->attributes;
  kernels::cuda::RopeArgs args;
  MF_ASSIGN_OR_RETURN(args.x, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.cos_sin, Floats(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(args.out, Floats(call.outputs[0]));
  args.rows = call.graph->value(call.node->outputs[0]).shape.rows;
  args.n_heads = a.n_heads;
  args.head_dim = a.head_dim;
  args.rope_dim = a.rope_dim;
  args.neox = a.rope_style == RopeStyle::kNeox;
  if (HoldsForAttention(call) != nullptr || HoldsForStore(call)) {
    held_.rope = args;
    return OkStatus();
  }
  return FromKernel(call, kernels::cuda::Rope(args, queue()));
}

}  // namespace minfer
