// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/str_cat.h"
#include "kernels/quant/dequantize.h"

namespace minfer::testing {
namespace {

using Floats = std::vector<float>;

const float* InF(const ScalarCall& call, size_t i) {
  return static_cast<const float*>(call.inputs[i]);
}
const int32_t* InI(const ScalarCall& call, size_t i) {
  return static_cast<const int32_t*>(call.inputs[i]);
}

// Results are complete before the first byte of an output is written, so an output may be an input.
void Put(const ScalarCall& call, size_t i, const Floats& values) {
  if (!values.empty()) std::memcpy(call.outputs[i], values.data(), values.size() * 4);
}

StatusOr<const float*> WeightOf(const ScalarCall& call, size_t i) {
  const auto id = static_cast<size_t>(call.node.weights[i]);
  if (call.weights == nullptr || id >= call.weights->size() || (*call.weights)[id].empty()) {
    return ScalarError(call, StrCat("weight ", call.node.weights[i], " was not registered"));
  }
  return (*call.weights)[id].data();
}

StatusOr<Floats> Product(const ScalarCall& call, size_t weight) {
  MF_ASSIGN_OR_RETURN(const float* w, WeightOf(call, weight));
  const int64_t k = call.weight_shapes[weight][0];
  const int64_t n = call.weight_shapes[weight][1];
  const int64_t rows = call.input_shapes[0].rows;
  Floats out;
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = InF(call, 0) + r * k;
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        sum += static_cast<double>(x[i]) * static_cast<double>(w[j * k + i]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

Status RunMatMulGroup(const ScalarCall& call) {
  const size_t count = call.node.outputs.size();
  std::vector<Floats> results;
  for (size_t i = 0; i < count; ++i) {
    MF_ASSIGN_OR_RETURN(Floats out, Product(call, i));
    if (call.node.weights[count + i] != kNoId) {
      MF_ASSIGN_OR_RETURN(const float* bias, WeightOf(call, count + i));
      const auto n = static_cast<size_t>(call.output_shapes[i].cols);
      for (size_t j = 0; j < out.size(); ++j) out[j] += bias[j % n];
    }
    results.push_back(std::move(out));
  }
  for (size_t i = 0; i < count; ++i) Put(call, i, results[i]);
  return OkStatus();
}

float Act(Activation activation, float x) {
  const double d = x;
  if (activation == Activation::kSilu) return static_cast<float>(d / (1.0 + std::exp(-d)));
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (d + 0.044715 * d * d * d);
  return static_cast<float>(0.5 * d * (1.0 + std::tanh(inner)));
}

float ClampedSwiglu(const OpAttributes& a, double gate, double up) {
  const double limit = a.limit;
  gate = std::min(gate, limit);
  up = std::clamp(up, -limit, limit);
  return static_cast<float>(gate / (1.0 + std::exp(-a.alpha * gate)) * (up + 1.0));
}

Status RunGatedMatMul(const ScalarCall& call) {
  MF_ASSIGN_OR_RETURN(const Floats gate, Product(call, 0));
  MF_ASSIGN_OR_RETURN(Floats out, Product(call, 1));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] *= Act(call.node.attributes.activation, gate[i]);
  }
  Put(call, 0, out);
  return OkStatus();
}

// One element of the operations that work element by element. b: the second input or the bias.
float Element(const Node& node, float a, float b) {
  switch (node.op) {
    case OpKind::kAddBias:
    case OpKind::kAdd:
      return a + b;
    case OpKind::kMul:
      return a * b;
    case OpKind::kScale:
      return a * node.attributes.factor;
    case OpKind::kSoftcap: {
      const double cap = node.attributes.softcap;
      return static_cast<float>(cap * std::tanh(a / cap));
    }
    case OpKind::kAct:
      return Act(node.attributes.activation, a);
    default:
      if (node.attributes.activation == Activation::kClampedSwiglu) {
        return ClampedSwiglu(node.attributes, a, b);
      }
      return b * Act(node.attributes.activation, a);
  }
}

Status RunElements(const ScalarCall& call) {
  const ValueShape& shape = call.input_shapes[0];
  const float* other = nullptr;
  if (call.node.op == OpKind::kAddBias) {
    MF_ASSIGN_OR_RETURN(other, WeightOf(call, 0));
  } else if (call.inputs.size() > 1) {
    other = InF(call, 1);
  }
  const int64_t period = call.node.op == OpKind::kAddBias ? shape.cols : shape.elements();
  Floats out;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    out.push_back(Element(call.node, InF(call, 0)[i], other == nullptr ? 0.0f : other[i % period]));
  }
  Put(call, 0, out);
  return OkStatus();
}

Status RunRmsNorm(const ScalarCall& call) {
  MF_ASSIGN_OR_RETURN(const float* weight, WeightOf(call, 0));
  const OpAttributes& a = call.node.attributes;
  Floats out;
  for (int64_t group = 0; group < call.input_shapes[0].rows * a.n_heads; ++group) {
    const float* x = InF(call, 0) + group * a.head_dim;
    double sum = 0.0;
    for (int32_t i = 0; i < a.head_dim; ++i) {
      sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    const double scale = 1.0 / std::sqrt(sum / a.head_dim + static_cast<double>(a.eps));
    for (int32_t i = 0; i < a.head_dim; ++i) {
      out.push_back(static_cast<float>(x[i] * scale * static_cast<double>(weight[i])));
    }
  }
  Put(call, 0, out);
  return OkStatus();
}

Status RunLayerNorm(const ScalarCall& call) {
  MF_ASSIGN_OR_RETURN(const float* weight, WeightOf(call, 0));
  const float* bias = nullptr;
  if (call.node.weights[1] != kNoId) {
    MF_ASSIGN_OR_RETURN(bias, WeightOf(call, 1));
  }
  const int64_t cols = call.input_shapes[0].cols;
  Floats out;
  for (int64_t r = 0; r < call.input_shapes[0].rows; ++r) {
    const float* x = InF(call, 0) + r * cols;
    double mean = 0.0;
    for (int64_t i = 0; i < cols; ++i) mean += x[i] / static_cast<double>(cols);
    double variance = static_cast<double>(call.node.attributes.eps);
    for (int64_t i = 0; i < cols; ++i) {
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(cols);
    }
    for (int64_t i = 0; i < cols; ++i) {
      const double shift = bias == nullptr ? 0.0 : static_cast<double>(bias[i]);
      out.push_back(static_cast<float>(
          (x[i] - mean) / std::sqrt(variance) * static_cast<double>(weight[i]) + shift));
    }
  }
  Put(call, 0, out);
  return OkStatus();
}

// Copies rows of a table that the int32 input `ids` names.
Status CopyRows(const ScalarCall& call, const float* table, int64_t table_rows, int64_t cols,
                size_t ids) {
  Floats out;
  for (int64_t r = 0; r < call.input_shapes[ids].rows; ++r) {
    const int32_t id = InI(call, ids)[r];
    if (id < 0 || id >= table_rows) {
      return ScalarError(call, StrCat("row ", id, " of ", table_rows));
    }
    out.insert(out.end(), table + id * cols, table + (id + 1) * cols);
  }
  Put(call, 0, out);
  return OkStatus();
}

double PairAngle(const RopeConfig& config, int32_t pair) {
  double angle = std::pow(config.base, -2.0 * pair / config.rope_dim);
  if (!config.frequency_factors.empty()) {
    angle /= config.frequency_factors[static_cast<size_t>(pair)];
  }
  if (!config.yarn) return angle / config.linear_factor;
  const auto pair_of = [&config](double turns) {
    return config.rope_dim *
           std::log(config.yarn_original_context / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(config.base));
  };
  const double low = std::max(0.0, std::floor(pair_of(config.yarn_beta_fast)));
  const double high = std::min(config.rope_dim - 1.0, std::ceil(pair_of(config.yarn_beta_slow)));
  const double ramp = std::min(1.0, std::max(0.0, (pair - low) / std::max(0.001, high - low)));
  const double keep = (1.0 - ramp) * config.yarn_ext_factor;
  return angle * keep + angle / config.yarn_factor * (1.0 - keep);
}

Status RunRopeTable(const ScalarCall& call) {
  Floats out;
  for (int64_t r = 0; r < call.input_shapes[0].rows; ++r) {
    for (int32_t pair = 0; pair < call.node.attributes.rope_dim / 2; ++pair) {
      const double angle = InI(call, 0)[r] * PairAngle(call.rope_config, pair);
      out.push_back(static_cast<float>(std::cos(angle) * call.rope_config.magnitude));
      out.push_back(static_cast<float>(std::sin(angle) * call.rope_config.magnitude));
    }
  }
  Put(call, 0, out);
  return OkStatus();
}

}  // namespace

Status ScalarError(const ScalarCall& call, const std::string& what) {
  return Status(StatusCode::kInternal, Subsystem::kBackend, StrCat("scalar: ", what))
      .WithName(call.node.name);
}

std::vector<float> ScalarRotate(const float* x, const float* cos_sin, int64_t rows, int32_t n_heads,
                                const OpAttributes& a) {
  Floats out(x, x + rows * n_heads * a.head_dim);
  const int32_t half = a.rope_dim / 2;
  for (int64_t r = 0; r < rows; ++r) {
    for (int32_t head = 0; head < n_heads; ++head) {
      float* const to = out.data() + (r * n_heads + head) * a.head_dim;
      for (int32_t pair = 0; pair < half; ++pair) {
        const bool neox = a.rope_style == RopeStyle::kNeox;
        float* const first = to + (neox ? pair : 2 * pair);
        float* const second = to + (neox ? pair + half : 2 * pair + 1);
        const double c = cos_sin[r * a.rope_dim + 2 * pair];
        const double s = cos_sin[r * a.rope_dim + 2 * pair + 1];
        const double x0 = *first;
        const double x1 = *second;
        *first = static_cast<float>(x0 * c - x1 * s);
        *second = static_cast<float>(x0 * s + x1 * c);
      }
    }
  }
  return out;
}

ScalarCall MakeScalarCall(const Graph& graph, const Node& node,
                          absl::Span<const RopeConfig> rope_configs) {
  ScalarCall call;
  call.node = node;
  for (const ValueId id : node.inputs) call.input_shapes.push_back(graph.value(id).shape);
  for (const ValueId id : node.outputs) call.output_shapes.push_back(graph.value(id).shape);
  for (const WeightId id : node.weights) {
    call.weight_shapes.emplace_back();
    if (id != kNoId) call.weight_shapes.back() = {graph.weight(id).ne0, graph.weight(id).ne1};
  }
  if (node.op == OpKind::kRopeTable) {
    call.rope_config = rope_configs[static_cast<size_t>(node.attributes.rope_config)];
  }
  return call;
}

Status RunScalar(const ScalarCall& call) {
  switch (call.node.op) {
    case OpKind::kGetRows: {
      MF_ASSIGN_OR_RETURN(const float* table, WeightOf(call, 0));
      return CopyRows(call, table, call.weight_shapes[0][1], call.weight_shapes[0][0], 0);
    }
    case OpKind::kSelectRows:
      return CopyRows(call, InF(call, 0), call.input_shapes[0].rows, call.input_shapes[0].cols, 1);
    case OpKind::kRmsNorm:
      return RunRmsNorm(call);
    case OpKind::kLayerNorm:
      return RunLayerNorm(call);
    case OpKind::kMatMul: {
      MF_ASSIGN_OR_RETURN(const Floats out, Product(call, 0));
      Put(call, 0, out);
      return OkStatus();
    }
    case OpKind::kMatMulGroup:
      return RunMatMulGroup(call);
    case OpKind::kGatedMatMul:
      return RunGatedMatMul(call);
    case OpKind::kAddBias:
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kGatedAct:
      return RunElements(call);
    case OpKind::kRopeTable:
      return RunRopeTable(call);
    case OpKind::kRope:
      Put(call, 0,
          ScalarRotate(InF(call, 0), InF(call, 1), call.input_shapes[0].rows,
                       call.node.attributes.n_heads, call.node.attributes));
      return OkStatus();
    case OpKind::kKvStore:
      return ScalarKvStore(call, InF(call, 0), InF(call, 1), InI(call, 2));
    case OpKind::kRopeKvStore: {
      const Floats k = ScalarRotate(InF(call, 0), InF(call, 2), call.input_shapes[0].rows,
                                    call.node.attributes.n_kv_heads, call.node.attributes);
      return ScalarKvStore(call, k.data(), InF(call, 1), InI(call, 3));
    }
    case OpKind::kAttention: {
      Floats out;
      const float* sinks = nullptr;
      if (!call.node.weights.empty()) {
        MF_ASSIGN_OR_RETURN(sinks, WeightOf(call, 0));
      }
      MF_RETURN_IF_ERROR(ScalarAttention(call, sinks, &out));
      Put(call, 0, out);
      return OkStatus();
    }
    case OpKind::kTopExperts:
      return ScalarTopExperts(call);
    case OpKind::kGroupExperts:
      return ScalarGroupExperts(call);
    case OpKind::kExpertMatMul: {
      MF_ASSIGN_OR_RETURN(const float* weights, WeightOf(call, 0));
      const float* bias = nullptr;
      if (call.node.weights[1] != kNoId) {
        MF_ASSIGN_OR_RETURN(bias, WeightOf(call, 1));
      }
      return ScalarExpertMatMul(call, weights, bias);
    }
    case OpKind::kCombineExperts:
      return ScalarCombineExperts(call);
    case OpKind::kGateRows:
      return ScalarGateRows(call);
  }
  return ScalarError(call, "no such operation");
}

StatusOr<std::vector<float>> DecodeWeight(const WeightInfo& info, const void* data) {
  std::vector<float> values(static_cast<size_t>(info.elements()));
  const kernels::KernelStatus status =
      kernels::DequantizeRow(info.type, data, values.data(), info.elements());
  if (status != kernels::KernelStatus::kOk) {
    return Status(StatusCode::kInternal, Subsystem::kBackend, "the weight cannot be decoded")
        .WithName(info.name);
  }
  return values;
}

}  // namespace minfer::testing
