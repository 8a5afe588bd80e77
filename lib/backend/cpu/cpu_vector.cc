// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Operations that read and write each value once: gathers, norms, additions, rotations.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "base/str_cat.h"
#include "kernels/quant/dequantize.h"

namespace minfer {
namespace {

// Rows of a task, so that it moves some 64 KiB.
int64_t RowsPerTask(int64_t cols) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
}

int64_t Tasks(int64_t rows, int64_t rows_per_task) {
  return (rows + rows_per_task - 1) / rows_per_task;
}

}  // namespace

Status CpuBackend::ExecuteGetRows(const NodeCall& call) {
  const WeightInfo& info = call.graph->weight(call.node->weights[0]);
  MF_ASSIGN_OR_RETURN(const void* table, Weight(call, 0));
  const int32_t* ids = Ints(call.inputs[0]);
  float* out = Floats(call.outputs[0]);
  const int64_t rows = call.graph->value(call.node->outputs[0]).shape.rows;
  const uint64_t row_bytes = info.bytes / static_cast<uint64_t>(info.ne1);
  for (int64_t r = 0; r < rows; ++r) {
    if (ids[r] < 0 || ids[r] >= info.ne1) {
      return Internal(call, StrCat("row ", ids[r], " of '", info.name, "' (", info.ne1, " rows)"));
    }
  }
  return Parallel(call, rows, rows * info.ne0, [&](int64_t r, int32_t) {
    return kernels::DequantizeRow(
        info.type, static_cast<const uint8_t*>(table) + static_cast<uint64_t>(ids[r]) * row_bytes,
        out + r * info.ne0, info.ne0);
  });
}

Status CpuBackend::ExecuteSelectRows(const NodeCall& call) {
  const ValueShape& from = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& to = call.graph->value(call.node->outputs[0]).shape;
  const float* x = Floats(call.inputs[0]);
  const int32_t* ids = Ints(call.inputs[1]);
  float* out = Floats(call.outputs[0]);
  for (int64_t r = 0; r < to.rows; ++r) {
    if (ids[r] < 0 || ids[r] >= from.rows) {
      return Internal(call, StrCat("row ", ids[r], " of ", from.rows));
    }
    std::memcpy(out + r * to.cols, x + ids[r] * to.cols, static_cast<size_t>(to.cols) * 4);
  }
  return OkStatus();
}

Status CpuBackend::ExecuteRmsNorm(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const void* weight_data, Weight(call, 0));
  const float* weight = static_cast<const float*>(weight_data);
  const float* x = Floats(call.inputs[0]);
  float* out = Floats(call.outputs[0]);
  const float eps = call.node->attributes.eps;
  // A norm of heads is a norm of rows * heads short rows.
  const int64_t heads = std::max<int32_t>(1, call.node->attributes.n_heads);
  const int64_t width = shape.cols / heads;
  const int64_t rows = shape.rows * heads;
  const int64_t per_task = RowsPerTask(width);
  return Parallel(call, Tasks(rows, per_task), rows * width, [&, this](int64_t task, int32_t) {
    const int64_t end = std::min(rows, (task + 1) * per_task);
    for (int64_t r = task * per_task; r < end; ++r) {
      kernels_->vector->rms_norm(x + r * width, weight, out + r * width, width, eps);
    }
    return kernels::KernelStatus::kOk;
  });
}

Status CpuBackend::ExecuteLayerNorm(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  MF_ASSIGN_OR_RETURN(const void* weight_data, Weight(call, 0));
  const float* weight = static_cast<const float*>(weight_data);
  const float* bias = nullptr;
  if (call.node->weights[1] != kNoId) {
    MF_ASSIGN_OR_RETURN(const void* bias_data, Weight(call, 1));
    bias = static_cast<const float*>(bias_data);
  }
  const float* x = Floats(call.inputs[0]);
  float* out = Floats(call.outputs[0]);
  const float eps = call.node->attributes.eps;
  const int64_t cols = shape.cols;
  const int64_t per_task = RowsPerTask(cols);
  return Parallel(
      call, Tasks(shape.rows, per_task), shape.elements(), [&, this](int64_t task, int32_t) {
        const int64_t end = std::min(shape.rows, (task + 1) * per_task);
        for (int64_t r = task * per_task; r < end; ++r) {
          kernels_->vector->layer_norm(x + r * cols, weight, bias, out + r * cols, cols, eps);
        }
        return kernels::KernelStatus::kOk;
      });
}

Status CpuBackend::ExecuteVector(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const OpAttributes& attributes = call.node->attributes;
  const OpKind op = call.node->op;
  const kernels::VectorKernels& vector = *kernels_->vector;
  const float* a = Floats(call.inputs[0]);
  const float* b = call.inputs.size() > 1 ? Floats(call.inputs[1]) : nullptr;
  const float* bias = nullptr;
  if (op == OpKind::kAddBias) {
    MF_ASSIGN_OR_RETURN(const void* data, Weight(call, 0));
    bias = static_cast<const float*>(data);
  }
  float* out = Floats(call.outputs[0]);
  const int64_t cols = shape.cols;
  const int64_t per_task = RowsPerTask(cols);
  return Parallel(call, Tasks(shape.rows, per_task), shape.elements(), [&](int64_t task, int32_t) {
    const int64_t end = std::min(shape.rows, (task + 1) * per_task);
    for (int64_t r = task * per_task; r < end; ++r) {
      const float* x = a + r * cols;
      const float* y = b == nullptr ? nullptr : b + r * cols;
      float* z = out + r * cols;
      if (op == OpKind::kAdd) {
        vector.add(x, y, z, cols);
      } else if (op == OpKind::kMul) {
        vector.mul(x, y, z, cols);
      } else if (op == OpKind::kAddBias) {
        vector.add(x, bias, z, cols);
      } else if (op == OpKind::kScale) {
        vector.scale(x, attributes.factor, z, cols);
      } else if (op == OpKind::kSoftcap) {
        vector.softcap(x, attributes.softcap, z, cols);
      } else if (op == OpKind::kAct) {
        const bool silu = attributes.activation == Activation::kSilu;
        (silu ? vector.silu : vector.gelu_tanh)(x, z, cols);
      } else if (attributes.activation == Activation::kSilu) {
        vector.silu_mul(x, y, z, cols);
      } else if (attributes.activation == Activation::kClampedSwiglu) {
        vector.clamped_swiglu(x, y, z, cols, attributes.alpha, attributes.limit);
      } else {
        vector.gelu_tanh_mul(x, y, z, cols);
      }
    }
    return kernels::KernelStatus::kOk;
  });
}

Status CpuBackend::ExecuteRopeTable(const NodeCall& call) {
  const size_t index = static_cast<size_t>(call.node->attributes.rope_config);
  if (index >= call.rope_configs.size()) {
    return Internal(call, StrCat("RoPE settings ", index, " of ", call.rope_configs.size()));
  }
  if (rope_frequencies_.size() != call.rope_configs.size()) {
    std::vector<kernels::RopeFrequencies> all;
    for (const RopeConfig& config : call.rope_configs) {
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
      if (!config.frequency_factors.empty()) {
        params.frequency_factors = config.frequency_factors.data();
      }
      all.push_back(kernels::MakeRopeFrequencies(params));
    }
    rope_frequencies_ = std::move(all);
  }
  const kernels::RopeFrequencies& frequencies = rope_frequencies_[index];
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  if (static_cast<int64_t>(frequencies.per_position.size()) * 2 != shape.cols) {
    return Internal(
        call, StrCat(frequencies.per_position.size(), " frequencies for ", shape.cols, " columns"));
  }
  const int32_t* positions = Ints(call.inputs[0]);
  float* out = Floats(call.outputs[0]);
  // A sine and a cosine cost some 50 multiply-adds.
  return Parallel(call, shape.rows, shape.elements() * 50, [&](int64_t r, int32_t) {
    kernels::BuildRopeRow(frequencies, positions[r], out + r * shape.cols);
    return kernels::KernelStatus::kOk;
  });
}

Status CpuBackend::ExecuteRope(const NodeCall& call) {
  const OpAttributes& attributes = call.node->attributes;
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const float* x = Floats(call.inputs[0]);
  const float* table = Floats(call.inputs[1]);
  const int64_t table_cols = call.graph->value(call.node->inputs[1]).shape.cols;
  float* out = Floats(call.outputs[0]);
  const int64_t per_task = RowsPerTask(shape.cols);
  return Parallel(
      call, Tasks(shape.rows, per_task), shape.elements(), [&, this](int64_t task, int32_t) {
        const int64_t end = std::min(shape.rows, (task + 1) * per_task);
        for (int64_t r = task * per_task; r < end; ++r) {
          kernels_->vector->rope(x + r * shape.cols, out + r * shape.cols, table + r * table_cols,
                                 attributes.n_heads, attributes.head_dim, attributes.rope_dim,
                                 attributes.rope_style == RopeStyle::kNeox);
        }
        return kernels::KernelStatus::kOk;
      });
}

}  // namespace minfer
