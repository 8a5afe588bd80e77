// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products: the rows of activations are converted once, then tiles of weight rows are tasks.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/str_cat.h"
#include "kernels/quant/activation_residual.h"
#include "kernels/reference/matmul_reference.h"

namespace minfer {
namespace {

// Multiply-adds of one task at most: some 5 ms of the slowest unit, far below the 50 ms that a
// cancel may take, and a bound on the work between two polls.
constexpr int64_t kMaxTaskWork = int64_t{1} << 25;
// Activation rows of one kernel call are cut so that they stay in a 1 MiB second-level cache beside
// the tile of weights.
constexpr int64_t kActivationBlockBytes = 384 << 10;
constexpr int64_t kMinTileRows = 16;
constexpr int64_t kMinTileColumns = 16;

uint64_t Align64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// The next node that reads a computed value, or nullptr.
const Node* FirstReader(const Graph& graph, ValueId value) {
  for (size_t i = static_cast<size_t>(graph.value(value).producer) + 1; i < graph.nodes.size();
       ++i) {
    const std::vector<ValueId>& inputs = graph.nodes[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) return &graph.nodes[i];
  }
  return nullptr;
}

}  // namespace

kernels::ActivationFormat CpuBackend::FormatFor(ElementType type) const {
  if (options_.reference) return kernels::ActivationFormat::kF32;
  return kernels_->matmul->activation_format(type);
}

// Rows of weights in a task: enough tasks for every thread, bounded work in each.
int64_t CpuBackend::TileRows(int64_t n, int64_t m, int64_t k) const {
  const int64_t shares = int64_t{options_.runner->concurrency()} * 4;
  int64_t rows = std::clamp((n / shares + kMinTileRows - 1) / kMinTileRows * kMinTileRows,
                            kMinTileRows, kMaxTileRows);
  const int64_t limit = kMaxTaskWork / std::max<int64_t>(1, m * k);
  if (rows > limit) rows = std::max<int64_t>(1, limit);
  // Whole tiles of the kernels, where that leaves any.
  return rows > kMinTileRows ? rows / kMinTileRows * kMinTileRows : rows;
}

// Columns first: as many as stay in the second-level cache while a task's weights pass by. Were
// they more, each few rows of weights would take them from the third level anew.
CpuBackend::TaskShape CpuBackend::TaskOf(int64_t n, int64_t m, int64_t k, size_t row_bytes) const {
  const int64_t fitting = kActivationBlockBytes / static_cast<int64_t>(row_bytes + 1) / 16 * 16;
  TaskShape shape;
  shape.columns = std::min(m, std::max(kMinTileColumns, fitting));
  shape.rows = std::max(TileRows(n, shape.columns, k), kMinTileRows);
  return shape;
}

uint64_t CpuBackend::ActivationScratch(const Graph& graph, const Node& node) const {
  const ValueShape& shape = graph.value(node.inputs[0]).shape;
  uint64_t most = 0;
  for (WeightId id : node.weights) {
    if (id == kNoId) continue;
    const kernels::ActivationFormat format = FormatFor(graph.weight(id).type);
    if (format == kernels::ActivationFormat::kF32) continue;
    const uint64_t row = kernels_->matmul->activation_row_bytes(format, shape.cols);
    most = std::max(most, row * static_cast<uint64_t>(shape.rows));
  }
  return Align64(most);
}

uint64_t CpuBackend::GatedScratch(const Graph& graph, const Node& node) const {
  const int64_t m = graph.value(node.inputs[0]).shape.rows;
  return Align64(static_cast<uint64_t>(m * kMaxTileRows) * 4) *
         static_cast<uint64_t>(options_.runner->concurrency());
}

Status CpuBackend::QuantizeRows(const NodeCall& call, const float* x, int64_t m, int64_t k,
                                kernels::ActivationFormat format, const void** rows,
                                size_t* row_bytes) {
  if (format == kernels::ActivationFormat::kF32) {
    *rows = x;
    *row_bytes = static_cast<size_t>(k) * 4;
    return OkStatus();
  }
  *row_bytes = kernels_->matmul->activation_row_bytes(format, k);
  if (*row_bytes * static_cast<size_t>(m) > scratch_.size()) {
    return Internal(call, StrCat("activations want ", *row_bytes * static_cast<size_t>(m),
                                 " bytes of scratch, ", scratch_.size(), " were reserved"));
  }
  uint8_t* target = scratch_.data();
  *rows = target;
  const size_t stride = *row_bytes;
  constexpr int64_t kRowsPerTask = 8;
  return Parallel(call, (m + kRowsPerTask - 1) / kRowsPerTask, m * k,
                  [=, this](int64_t task, int32_t) {
                    const int64_t end = std::min(m, (task + 1) * kRowsPerTask);
                    for (int64_t r = task * kRowsPerTask; r < end; ++r) {
                      kernels::KernelStatus status = kernels_->matmul->quantize_row(
                          format, x + r * k, k, target + static_cast<size_t>(r) * stride);
                      if (status != kernels::KernelStatus::kOk) return status;
                    }
                    return kernels::KernelStatus::kOk;
                  });
}

// out[m][row_begin..row_end) of one product, the activation rows in blocks.
kernels::KernelStatus CpuBackend::ProductTile(const Product& product, const void* rows,
                                              size_t row_bytes, int64_t m, int64_t row_begin,
                                              int64_t row_end, float* out,
                                              int64_t out_stride) const {
  const WeightInfo& info = *product.info;
  kernels::MatMulArgs args;
  args.weight_type = info.type;
  args.weights = product.weights;
  args.weight_row_bytes = info.row_bytes();
  args.k = info.ne0;
  args.row_begin = row_begin;
  args.row_end = row_end;
  args.activation_row_bytes = row_bytes;
  args.out_stride = out_stride;
  const int64_t block =
      std::max<int64_t>(16, kActivationBlockBytes / static_cast<int64_t>(row_bytes) / 16 * 16);
  for (int64_t begin = 0; begin < m; begin += block) {
    args.m = std::min(block, m - begin);
    args.activations = static_cast<const uint8_t*>(rows) + static_cast<size_t>(begin) * row_bytes;
    args.out = out + begin * out_stride;
    kernels::KernelStatus status =
        options_.reference ? kernels::ReferenceFloatMatMul(args) : kernels_->matmul->matmul(args);
    if (status != kernels::KernelStatus::kOk) return status;
  }
  if (product.bias == nullptr) return kernels::KernelStatus::kOk;
  for (int64_t r = 0; r < m; ++r) {
    float* row = out + r * out_stride + row_begin;
    kernels_->vector->add(row, product.bias + row_begin, row, row_end - row_begin);
  }
  return kernels::KernelStatus::kOk;
}

void CpuBackend::ReportMatMul(const NodeCall& call, ElementType type, int64_t k) {
  const bool residual = call.node->op == OpKind::kMatMul && UsesResidual(*call.graph, *call.node);
  const int32_t variant = static_cast<int32_t>(type) * 2 + (residual ? 1 : 0);
  Count(call, k, variant, [&] {
    const char* type_name = FindElementTraits(type)->name;
    KernelReport row;
    row.detail = StrCat(type_name, " k=", k);
    if (options_.reference) {
      row.kernel = "reference, float activations";
      row.reason = "tuning reference=1";
      return row;
    }
    const bool fast = kernels_->matmul->has_fast_dot(type);
    row.kernel = StrCat(kernels_->name, fast ? " dot" : " decode, then float dot",
                        residual ? ", residual activations" : "");
    row.reason = fast ? StrCat("instruction set ", kernels_->name)
                      : StrCat("no dot of its own for ", type_name);
    return row;
  });
}

Status CpuBackend::RunProducts(const NodeCall& call, const float* x,
                               absl::Span<const Product> products) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  const int64_t m = shape.rows;
  const int64_t k = shape.cols;
  if (m == 0) return OkStatus();
  // Products that want the same activations run as one set of tasks; the order of the rest stays.
  size_t first = 0;
  while (first < products.size()) {
    const kernels::ActivationFormat format = FormatFor(products[first].info->type);
    size_t last = first;
    int64_t tile_ends[8];
    int64_t n_tasks = 0;
    int64_t work = 0;
    size_t row_bytes = kernels_->matmul->activation_row_bytes(format, k);
    TaskShape tile = {.rows = kMaxTileRows, .columns = m};
    while (last < products.size() && last - first < 8 &&
           FormatFor(products[last].info->type) == format) {
      const TaskShape wanted = TaskOf(products[last].info->ne1, m, k, row_bytes);
      tile = {.rows = std::min(tile.rows, wanted.rows), .columns = wanted.columns};
      ++last;
    }
    const int64_t blocks = (m + tile.columns - 1) / tile.columns;
    for (size_t p = first; p < last; ++p) {
      const int64_t n = products[p].info->ne1;
      n_tasks += (n + tile.rows - 1) / tile.rows * blocks;
      tile_ends[p - first] = n_tasks;
      work += n * m * k;
    }
    const void* rows = nullptr;
    MF_RETURN_IF_ERROR(QuantizeRows(call, x, m, k, format, &rows, &row_bytes));
    MF_RETURN_IF_ERROR(Parallel(call, n_tasks, work, [&, this](int64_t task, int32_t) {
      size_t p = first;
      while (task >= tile_ends[p - first]) ++p;
      const int64_t t = task - (p == first ? 0 : tile_ends[p - first - 1]);
      const int64_t n = products[p].info->ne1;
      const int64_t begin = t / blocks * tile.rows;
      const int64_t column = t % blocks * tile.columns;
      return ProductTile(
          products[p], static_cast<const uint8_t*>(rows) + static_cast<size_t>(column) * row_bytes,
          row_bytes, std::min(tile.columns, m - column), begin, std::min(n, begin + tile.rows),
          products[p].out + column * n, n);
    }));
    first = last;
  }
  for (const Product& product : products) ReportMatMul(call, product.info->type, k);
  return OkStatus();
}

Status CpuBackend::ExecuteMatMul(const NodeCall& call) {
  ++statistics_.matmul_nodes;
  Product product;
  product.info = &call.graph->weight(call.node->weights[0]);
  MF_ASSIGN_OR_RETURN(product.weights, Weight(call, 0));
  product.out = Floats(call.outputs[0]);
  if (UsesResidual(*call.graph, *call.node)) return ExecuteResidualMatMul(call, product);
  return RunProducts(call, Floats(call.inputs[0]), {&product, 1});
}

// Only for products that no pass takes into a group, so that fused and unfused graphs make the same
// choice: those that nobody but the host reads (the logits), and those of long rows that are added
// to the residual stream, where attention has not averaged them.
bool CpuBackend::UsesResidual(const Graph& graph, const Node& node) const {
  const WeightInfo& info = graph.weight(node.weights[0]);
  if (!options_.residual_activations || !kernels::HasResidual(FormatFor(info.type))) {
    return false;
  }
  const Node* reader = FirstReader(graph, node.outputs[0]);
  if (reader == nullptr) return graph.value(node.outputs[0]).is_output;
  const NodeId producer = graph.value(node.inputs[0]).producer;
  const bool attends =
      producer != kNoId && graph.nodes[static_cast<size_t>(producer)].op == OpKind::kAttention;
  return info.ne0 > info.ne1 && reader->op == OpKind::kAdd && !attends;
}

// Twice the 8-bit rows, the residuals in between as floats, and a tile of the second product for
// each worker.
uint64_t CpuBackend::ResidualScratch(const Graph& graph, const Node& node) const {
  const ValueShape& shape = graph.value(node.inputs[0]).shape;
  return 2 * ActivationScratch(graph, node) + Align64(static_cast<uint64_t>(shape.elements()) * 4) +
         GatedScratch(graph, node);
}

Status CpuBackend::ExecuteResidualMatMul(const NodeCall& call, const Product& product) {
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  const int64_t m = shape.rows;
  const int64_t k = shape.cols;
  const int64_t n = product.info->ne1;
  if (m == 0) return OkStatus();
  const kernels::ActivationFormat format = FormatFor(product.info->type);
  const void* rows = nullptr;
  size_t row_bytes = 0;
  const float* x = Floats(call.inputs[0]);
  MF_RETURN_IF_ERROR(QuantizeRows(call, x, m, k, format, &rows, &row_bytes));
  // Rows m to 2 m of the 8-bit rows are the residuals of rows 0 to m.
  uint8_t* second = scratch_.data() + static_cast<size_t>(m) * row_bytes;
  float* residual =
      reinterpret_cast<float*>(scratch_.data() + 2 * ActivationScratch(*call.graph, *call.node));
  uint8_t* tiles =
      reinterpret_cast<uint8_t*>(residual) + Align64(static_cast<uint64_t>(shape.elements()) * 4);
  MF_RETURN_IF_ERROR(Parallel(call, m, 2 * m * k, [&, this](int64_t r, int32_t) {
    const size_t offset = static_cast<size_t>(r) * row_bytes;
    kernels::KernelStatus status = kernels::ActivationResidual(
        format, x + r * k, static_cast<const uint8_t*>(rows) + offset, k, residual + r * k);
    if (status != kernels::KernelStatus::kOk) return status;
    return kernels_->matmul->quantize_row(format, residual + r * k, k, second + offset);
  }));
  const TaskShape shape_of_both = TaskOf(n, 2 * m, k, row_bytes);
  const int64_t tile = std::min(shape_of_both.rows, kMaxTileRows / 2);
  const int64_t columns = (shape_of_both.columns + 1) / 2;
  const int64_t blocks = (m + columns - 1) / columns;
  const uint64_t per_worker = Align64(static_cast<uint64_t>(m * kMaxTileRows) * 4);
  const uint64_t weight_row = product.info->bytes / static_cast<uint64_t>(n);
  const int64_t n_tasks = (n + tile - 1) / tile * blocks;
  MF_RETURN_IF_ERROR(
      Parallel(call, n_tasks, 2 * n * m * k, [&, this](int64_t task, int32_t worker) {
        const int64_t begin = task / blocks * tile;
        const int64_t end = std::min(n, begin + tile);
        const int64_t column = task % blocks * columns;
        const int64_t count = std::min(columns, m - column);
        Product shifted = product;
        shifted.weights = static_cast<const uint8_t*>(product.weights) +
                          static_cast<uint64_t>(begin) * weight_row;
        float* both = reinterpret_cast<float*>(tiles + per_worker * static_cast<uint64_t>(worker));
        float* sums = product.out + column * n + begin;
        const auto* part =
            static_cast<const uint8_t*>(rows) + static_cast<size_t>(column) * row_bytes;
        // With all rows of activations the residuals follow at once: the weights are read once.
        kernels::KernelStatus status = ProductTile(
            shifted, part, row_bytes, count == m ? 2 * m : count, 0, end - begin, both, tile);
        if (status == kernels::KernelStatus::kOk && count < m) {
          status = ProductTile(shifted, part + static_cast<size_t>(m) * row_bytes, row_bytes, count,
                               0, end - begin, both + count * tile, tile);
        }
        if (status != kernels::KernelStatus::kOk) return status;
        for (int64_t r = 0; r < count; ++r) {
          kernels_->vector->add(both + r * tile, both + (count + r) * tile, sums + r * n,
                                end - begin);
        }
        return kernels::KernelStatus::kOk;
      }));
  ReportMatMul(call, product.info->type, k);
  return OkStatus();
}

Status CpuBackend::ExecuteMatMulGroup(const NodeCall& call) {
  ++statistics_.matmul_nodes;
  const size_t n = call.node->outputs.size();
  Product products[8];
  if (n > 8 || call.node->weights.size() != 2 * n) {
    return Internal(call, StrCat(n, " products in a group, at most 8"));
  }
  for (size_t i = 0; i < n; ++i) {
    products[i].info = &call.graph->weight(call.node->weights[i]);
    MF_ASSIGN_OR_RETURN(products[i].weights, Weight(call, i));
    products[i].out = Floats(call.outputs[i]);
    if (call.node->weights[n + i] != kNoId) {
      MF_ASSIGN_OR_RETURN(const void* bias, Weight(call, n + i));
      products[i].bias = static_cast<const float*>(bias);
    }
  }
  return RunProducts(call, Floats(call.inputs[0]), {products, n});
}

Status CpuBackend::ExecuteGatedMatMul(const NodeCall& call) {
  ++statistics_.matmul_nodes;
  Product gate;
  Product up;
  gate.info = &call.graph->weight(call.node->weights[0]);
  up.info = &call.graph->weight(call.node->weights[1]);
  MF_ASSIGN_OR_RETURN(gate.weights, Weight(call, 0));
  MF_ASSIGN_OR_RETURN(up.weights, Weight(call, 1));
  const ValueShape& shape = call.graph->value(call.node->inputs[0]).shape;
  const int64_t m = shape.rows;
  const int64_t k = shape.cols;
  const int64_t n = gate.info->ne1;
  if (m == 0) return OkStatus();
  const kernels::ActivationFormat format = FormatFor(gate.info->type);
  if (FormatFor(up.info->type) != format) {
    return Internal(call, "gate and up want different activations");
  }
  const void* rows = nullptr;
  size_t row_bytes = 0;
  MF_RETURN_IF_ERROR(QuantizeRows(call, Floats(call.inputs[0]), m, k, format, &rows, &row_bytes));
  const TaskShape shape_of_both = TaskOf(n, 2 * m, k, row_bytes);
  const int64_t tile = shape_of_both.rows;
  const int64_t columns = (shape_of_both.columns + 1) / 2;
  const int64_t blocks = (m + columns - 1) / columns;
  float* out = Floats(call.outputs[0]);
  const uint64_t per_worker = Align64(static_cast<uint64_t>(m * kMaxTileRows) * 4);
  uint8_t* up_scratch = scratch_.data() + ActivationScratch(*call.graph, *call.node);
  const bool silu = call.node->attributes.activation == Activation::kSilu;
  auto activate = silu ? kernels_->vector->silu_mul : kernels_->vector->gelu_tanh_mul;
  const int64_t n_tasks = (n + tile - 1) / tile * blocks;
  MF_RETURN_IF_ERROR(
      Parallel(call, n_tasks, 2 * n * m * k, [&, this](int64_t task, int32_t worker) {
        const int64_t begin = task / blocks * tile;
        const int64_t end = std::min(n, begin + tile);
        const int64_t column = task % blocks * columns;
        const int64_t count = std::min(columns, m - column);
        const auto* part =
            static_cast<const uint8_t*>(rows) + static_cast<size_t>(column) * row_bytes;
        float* gated = out + column * n;
        kernels::KernelStatus status =
            ProductTile(gate, part, row_bytes, count, begin, end, gated, n);
        if (status != kernels::KernelStatus::kOk) return status;
        // The up tile sits at column 0 of this worker's scratch.
        float* up_tile =
            reinterpret_cast<float*>(up_scratch + per_worker * static_cast<uint64_t>(worker));
        Product shifted = up;
        shifted.weights =
            static_cast<const uint8_t*>(up.weights) +
            static_cast<uint64_t>(begin) * (up.info->bytes / static_cast<uint64_t>(up.info->ne1));
        status = ProductTile(shifted, part, row_bytes, count, 0, end - begin, up_tile, tile);
        if (status != kernels::KernelStatus::kOk) return status;
        for (int64_t r = 0; r < count; ++r) {
          float* row = gated + r * n + begin;
          activate(row, up_tile + r * tile, row, end - begin);
        }
        return kernels::KernelStatus::kOk;
      }));
  ReportMatMul(call, gate.info->type, k);
  return OkStatus();
}

}  // namespace minfer
