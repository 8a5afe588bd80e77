// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixture of experts. The rows of an expert are gathered, multiplied by the kernels that every
// product uses, and scattered to their slots; a task is one expert and one tile of its weight rows.
// An element of a result has the kernels' order of additions, whatever rows share its expert.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "base/str_cat.h"
#include "kernels/cpu/expert_routing.h"

namespace minfer {
namespace {

// Gathered activations of one task at a time: they share a second-level cache with the weights.
constexpr int64_t kGatherBytes = 256 << 10;
constexpr int64_t kMaxGatherRows = 64;

uint64_t Align64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// An expert that has slots: those at [begin, end) of the ordered ones.
struct ActiveExpert {
  int32_t expert = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

}  // namespace

struct CpuBackend::ExpertProduct {
  Product product;  // weights and bias of expert 0; the whole output
  int64_t fan_out = 1;
  const uint8_t* rows = nullptr;  // activations, before the gather
  size_t row_bytes = 0;
  const int32_t* slots = nullptr;
  ActiveExpert* active = nullptr;  // room for all experts
  int64_t n_active = 0;
  int64_t most_slots = 0;  // of one expert
  int64_t tile = 0;        // weight rows of a task
  int64_t tiles = 0;       // of one expert
  int64_t block = 0;       // slots gathered at a time
  uint8_t* workers = nullptr;
  uint64_t gather_bytes = 0;  // of one worker, and its tile of results behind them
  uint64_t worker_bytes = 0;
};

Status CpuBackend::ExecuteTopExperts(const NodeCall& call) {
  const OpAttributes& attributes = call.node->attributes;
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  kernels::TopExpertsArgs args;
  args.n_experts = static_cast<int32_t>(shape.cols);
  args.n_used = attributes.n_used;
  args.normalise = attributes.normalise;
  args.factor = attributes.factor;
  const float* scores = Floats(call.inputs[0]);
  int32_t* ids = Ints(call.outputs[0]);
  float* weights = Floats(call.outputs[1]);
  // A power costs some 20 operations.
  return Parallel(call, shape.rows, shape.elements() * 20, [=](int64_t r, int32_t) {
    kernels::TopExpertsArgs row = args;
    row.scores = scores + r * shape.cols;
    row.ids = ids + r * args.n_used;
    row.weights = weights + r * args.n_used;
    return kernels::TopExperts(row);
  });
}

Status CpuBackend::ExecuteGroupExperts(const NodeCall& call) {
  const int64_t n_slots = call.graph->value(call.node->outputs[0]).shape.rows;
  return FromKernel(
      call, kernels::GroupExperts(Ints(call.inputs[0]), n_slots, call.node->attributes.n_experts,
                                  Ints(call.outputs[0]), Ints(call.outputs[1])));
}

int64_t CpuBackend::ExpertBlockRows(const Graph& graph, const Node& node) const {
  const kernels::ActivationFormat format = FormatFor(graph.weight(node.weights[0]).type);
  const int64_t k = graph.value(node.inputs[0]).shape.cols;
  const auto row_bytes =
      static_cast<int64_t>(kernels_->matmul->activation_row_bytes(format, k)) + 1;
  const int64_t slots = graph.value(node.inputs[1]).shape.rows;
  return std::min(slots, std::clamp<int64_t>(kGatherBytes / row_bytes, 8, kMaxGatherRows));
}

uint64_t CpuBackend::ExpertScratch(const Graph& graph, const Node& node) const {
  const kernels::ActivationFormat format = FormatFor(graph.weight(node.weights[0]).type);
  const int64_t k = graph.value(node.inputs[0]).shape.cols;
  const auto block = static_cast<uint64_t>(ExpertBlockRows(graph, node));
  const uint64_t gather = Align64(block * kernels_->matmul->activation_row_bytes(format, k));
  const uint64_t tile = Align64(block * kMaxTileRows * sizeof(float));
  const auto experts = static_cast<uint64_t>(graph.value(node.inputs[2]).shape.rows);
  return ActivationScratch(graph, node) + Align64(experts * sizeof(ActiveExpert)) +
         static_cast<uint64_t>(options_.runner->concurrency()) * (gather + tile);
}

// Counts and slots come from a buffer: nothing is indexed by them before they are checked.
Status CpuBackend::FindActiveExperts(const NodeCall& call, ExpertProduct* product) {
  const int64_t n_slots = call.graph->value(call.node->inputs[1]).shape.rows;
  const int64_t n_experts = call.graph->value(call.node->inputs[2]).shape.rows;
  const int32_t* counts = Ints(call.inputs[2]);
  int64_t begin = 0;
  for (int64_t e = 0; e < n_experts; ++e) {
    if (counts[e] < 0 || counts[e] > n_slots - begin) {
      return Internal(call, StrCat("expert ", e, " has ", counts[e], " slots, ", n_slots - begin,
                                   " of ", n_slots, " are left"));
    }
    if (counts[e] == 0) continue;
    const auto first = static_cast<int32_t>(begin);
    product->active[product->n_active++] = {static_cast<int32_t>(e), first, first + counts[e]};
    product->most_slots = std::max<int64_t>(product->most_slots, counts[e]);
    begin += counts[e];
  }
  if (begin != n_slots) {
    return Internal(call, StrCat(begin, " slots are counted, there are ", n_slots));
  }
  for (int64_t s = 0; s < n_slots; ++s) {
    if (product->slots[s] < 0 || product->slots[s] >= n_slots) {
      return Internal(call, StrCat("slot ", product->slots[s], " of ", n_slots));
    }
  }
  const auto active = static_cast<uint64_t>(product->n_active);
  for (const WeightId id : call.node->weights) {
    if (id == kNoId) continue;
    statistics_.weight_bytes_read +=
        call.graph->weight(id).bytes / static_cast<uint64_t>(n_experts) * active;
  }
  return OkStatus();
}

kernels::KernelStatus CpuBackend::ExpertTile(const ExpertProduct& p, int64_t task,
                                             int32_t worker) const {
  const ActiveExpert& active = p.active[task / p.tiles];
  const int64_t n = p.product.info->ne1;
  const int64_t first = task % p.tiles * p.tile;
  const int64_t count = std::min(p.tile, n - first);
  const int64_t weight_row = active.expert * n + first;
  Product part = p.product;
  part.weights = static_cast<const uint8_t*>(part.weights) +
                 static_cast<uint64_t>(weight_row) * part.info->row_bytes();
  if (part.bias != nullptr) part.bias += weight_row;
  uint8_t* gathered = p.workers + p.worker_bytes * static_cast<uint64_t>(worker);
  auto* results = reinterpret_cast<float*>(gathered + p.gather_bytes);
  const auto row_of = [&p](int64_t s) {
    return p.rows + static_cast<size_t>(p.slots[s] / p.fan_out) * p.row_bytes;
  };
  for (int64_t begin = active.begin; begin < active.end; begin += p.block) {
    const int64_t m = std::min<int64_t>(p.block, active.end - begin);
    if (m == 1) {
      float* out = p.product.out + p.slots[begin] * n + first;
      const kernels::KernelStatus status =
          ProductTile(part, row_of(begin), p.row_bytes, 1, 0, count, out, n);
      if (status != kernels::KernelStatus::kOk) return status;
      continue;
    }
    for (int64_t i = 0; i < m; ++i) {
      std::memcpy(gathered + static_cast<size_t>(i) * p.row_bytes, row_of(begin + i), p.row_bytes);
    }
    const kernels::KernelStatus status =
        ProductTile(part, gathered, p.row_bytes, m, 0, count, results, count);
    if (status != kernels::KernelStatus::kOk) return status;
    for (int64_t i = 0; i < m; ++i) {
      std::memcpy(p.product.out + p.slots[begin + i] * n + first, results + i * count,
                  static_cast<size_t>(count) * sizeof(float));
    }
  }
  return kernels::KernelStatus::kOk;
}

Status CpuBackend::ExecuteExpertMatMul(const NodeCall& call) {
  ++statistics_.matmul_nodes;
  const Graph& graph = *call.graph;
  const ValueShape& shape = graph.value(call.node->inputs[0]).shape;
  if (shape.rows == 0) return OkStatus();
  ExpertProduct p;
  p.product.info = &graph.weight(call.node->weights[0]);
  MF_ASSIGN_OR_RETURN(p.product.weights, Weight(call, 0));
  if (call.node->weights[1] != kNoId) {
    MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, 1));
    p.product.bias = static_cast<const float*>(bias);
  }
  p.product.out = Floats(call.outputs[0]);
  p.fan_out = call.node->attributes.fan_out;
  p.slots = Ints(call.inputs[1]);
  p.block = ExpertBlockRows(graph, *call.node);

  const kernels::ActivationFormat format = FormatFor(p.product.info->type);
  if (ExpertScratch(graph, *call.node) > scratch_.size()) {
    return Internal(call, StrCat("wants ", ExpertScratch(graph, *call.node), " bytes of scratch, ",
                                 scratch_.size(), " were reserved"));
  }
  const void* rows = nullptr;
  MF_RETURN_IF_ERROR(QuantizeRows(call, Floats(call.inputs[0]), shape.rows, shape.cols, format,
                                  &rows, &p.row_bytes));
  p.rows = static_cast<const uint8_t*>(rows);
  uint8_t* scratch = scratch_.data() + ActivationScratch(graph, *call.node);
  p.active = reinterpret_cast<ActiveExpert*>(scratch);
  const auto experts = static_cast<uint64_t>(graph.value(call.node->inputs[2]).shape.rows);
  p.workers = scratch + Align64(experts * sizeof(ActiveExpert));
  p.gather_bytes = Align64(static_cast<uint64_t>(p.block) *
                           kernels_->matmul->activation_row_bytes(format, shape.cols));
  p.worker_bytes =
      p.gather_bytes + Align64(static_cast<uint64_t>(p.block * kMaxTileRows) * sizeof(float));
  MF_RETURN_IF_ERROR(FindActiveExperts(call, &p));

  const int64_t n = p.product.info->ne1;
  p.tile = TileRows(n * p.n_active, p.most_slots, shape.cols);
  p.tiles = (n + p.tile - 1) / p.tile;
  const int64_t tasks = p.n_active * p.tiles;
  // The work of the fullest expert, for all: what lies between two polls is at most that.
  const int64_t work = tasks * p.most_slots * shape.cols * std::min(p.tile, n);
  MF_RETURN_IF_ERROR(Parallel(call, tasks, work, [&p, this](int64_t task, int32_t worker) {
    return ExpertTile(p, task, worker);
  }));
  ReportMatMul(call, p.product.info->type, shape.cols);
  return OkStatus();
}

Status CpuBackend::ExecuteCombineExperts(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const int64_t n_used = call.graph->value(call.node->inputs[1]).shape.cols;
  const float* y = Floats(call.inputs[0]);
  const float* weights = Floats(call.inputs[1]);
  float* out = Floats(call.outputs[0]);
  return Parallel(call, shape.rows, shape.elements() * n_used, [=, this](int64_t r, int32_t) {
    float* to = out + r * shape.cols;
    const float* from = y + r * n_used * shape.cols;
    const float* w = weights + r * n_used;
    kernels_->vector->scale(from, w[0], to, shape.cols);
    for (int64_t j = 1; j < n_used; ++j) {
      kernels_->vector->scale_add(from + j * shape.cols, w[j], to, to, shape.cols);
    }
    return kernels::KernelStatus::kOk;
  });
}

Status CpuBackend::ExecuteGateRows(const NodeCall& call) {
  const ValueShape& shape = call.graph->value(call.node->outputs[0]).shape;
  const float* x = Floats(call.inputs[0]);
  const float* gate = Floats(call.inputs[1]);
  float* out = Floats(call.outputs[0]);
  return Parallel(call, shape.rows, shape.elements(), [=, this](int64_t r, int32_t) {
    kernels_->vector->scale(x + r * shape.cols, kernels::Sigmoid(gate[r]), out + r * shape.cols,
                            shape.cols);
    return kernels::KernelStatus::kOk;
  });
}

}  // namespace minfer
