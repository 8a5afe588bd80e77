// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The KV store and attention. A task is a tile of rows and one KV head; where decode rows are too
// few to occupy the threads, stripes of the cache are tasks too, with the same bits.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

// Rows of a prefill task share the keys they read; decode rows share nothing.
constexpr int64_t kPrefillRowsPerTask = 16;
constexpr int64_t kDecodeRowsPerTask = 1;

uint64_t Align64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

int32_t Stripes(int64_t max_cells) {
  return static_cast<int32_t>((max_cells + kernels::kAttentionStripeCells - 1) /
                              kernels::kAttentionStripeCells);
}

}  // namespace

kernels::KvLayerView CpuBackend::View(const NodeCall& call) const {
  const OpAttributes& attributes = call.node->attributes;
  kernels::KvLayerView view;
  view.k_format = call.kv->k_format;
  view.v_format = call.kv->v_format;
  view.n_kv_heads = attributes.n_kv_heads;
  view.head_dim_k = attributes.head_dim;
  view.head_dim_v = attributes.head_dim_v;
  view.k_pages = Floats(call.kv->k);
  view.v_pages = Floats(call.kv->v);
  view.k_page_bytes = call.kv->k_page_bytes;
  view.v_page_bytes = call.kv->v_page_bytes;
  return view;
}

void CpuBackend::ReportAttention(const NodeCall& call, int32_t variant, const char* kernel,
                                 const char* reason) {
  const int32_t head_dim = call.node->attributes.head_dim;
  Count(call, head_dim, variant, [&] {
    KernelReport row;
    row.detail = StrCat("head ", head_dim);
    row.kernel = StrCat(kernels_->name, kernel);
    row.reason = reason;
    return row;
  });
}

Status CpuBackend::ExecuteKvStore(const NodeCall& call) {
  if (call.kv == nullptr) return Internal(call, "the layer has no KV store");
  const kernels::KvLayerView view = View(call);
  const ValueShape& k_shape = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& v_shape = call.graph->value(call.node->inputs[1]).shape;
  const float* k = Floats(call.inputs[0]);
  const float* v = Floats(call.inputs[1]);
  const int32_t* cells = Ints(call.inputs[2]);
  ReportAttention(call, 0, " store", "rotation of K not fused");
  return Parallel(call, k_shape.rows, k_shape.elements() + v_shape.elements(),
                  [&, this](int64_t r, int32_t) {
                    return kernels_->attention->kv_store(view, k + r * k_shape.cols,
                                                         v + r * v_shape.cols, cells[r]);
                  });
}

Status CpuBackend::ExecuteRopeKvStore(const NodeCall& call) {
  if (call.kv == nullptr) return Internal(call, "the layer has no KV store");
  const kernels::KvLayerView view = View(call);
  const OpAttributes& attributes = call.node->attributes;
  const ValueShape& k_shape = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& v_shape = call.graph->value(call.node->inputs[1]).shape;
  const int64_t table_cols = call.graph->value(call.node->inputs[2]).shape.cols;
  const float* k = Floats(call.inputs[0]);
  const float* v = Floats(call.inputs[1]);
  const float* table = Floats(call.inputs[2]);
  const int32_t* cells = Ints(call.inputs[3]);
  const uint64_t per_worker = Align64(static_cast<uint64_t>(k_shape.cols) * 4);
  ReportAttention(call, 0, " rotate and store", "rotation of K fused");
  return Parallel(
      call, k_shape.rows, k_shape.elements() + v_shape.elements(),
      [&, this](int64_t r, int32_t worker) {
        float* rotated =
            reinterpret_cast<float*>(scratch_.data() + per_worker * static_cast<uint64_t>(worker));
        kernels_->vector->rope(k + r * k_shape.cols, rotated, table + r * table_cols,
                               attributes.n_kv_heads, attributes.head_dim, attributes.rope_dim,
                               attributes.rope_style == RopeStyle::kNeox);
        return kernels_->attention->kv_store(view, rotated, v + r * v_shape.cols, cells[r]);
      });
}

bool CpuBackend::UsesStripes(int64_t rows, int32_t n_kv_heads) const {
  const int64_t threads = options_.runner->concurrency();
  return options_.attention_stripes && threads > 1 && rows > 0 && rows * n_kv_heads < 2 * threads;
}

uint64_t CpuBackend::AttentionScratch(const Graph& graph, const Node& node) const {
  const OpAttributes& a = node.attributes;
  const uint64_t per_worker = Align64(
      kernels_->attention->scratch_bytes(a.n_heads, a.n_kv_heads, a.head_dim, a.head_dim_v));
  uint64_t bytes = per_worker * static_cast<uint64_t>(options_.runner->concurrency());
  // Any number of decode rows up to the graph's may use stripes.
  int64_t striped_rows = 0;
  for (int64_t rows = 1; rows <= graph.params.decode_rows && UsesStripes(rows, a.n_kv_heads);
       ++rows) {
    striped_rows = rows;
  }
  const int64_t cells = graph.value(node.inputs[2]).shape.cols * kKvPageCells;
  bytes += static_cast<uint64_t>(striped_rows * a.n_heads * Stripes(cells)) *
           kernels_->attention->partial_floats(a.head_dim_v) * 4;
  return Align64(bytes);
}

Status CpuBackend::ExecuteAttention(const NodeCall& call) {
  if (call.kv == nullptr) return Internal(call, "the layer has no KV store");
  const OpAttributes& attributes = call.node->attributes;
  const ValueShape& q_shape = call.graph->value(call.node->inputs[0]).shape;
  const ValueShape& out_shape = call.graph->value(call.node->outputs[0]).shape;
  kernels::AttentionArgs args;
  args.kv = View(call);
  args.q = Floats(call.inputs[0]);
  args.q_stride = q_shape.cols;
  args.out = Floats(call.outputs[0]);
  args.out_stride = out_shape.cols;
  args.n_heads = attributes.n_heads;
  args.scale = attributes.scale;
  args.softcap = attributes.softcap;
  args.window = attributes.window;
  if (!call.node->weights.empty()) {
    MF_ASSIGN_OR_RETURN(const void* sinks, Weight(call, 0));
    args.sinks = static_cast<const float*>(sinks);
  }
  args.page_table = Ints(call.inputs[2]);
  args.page_table_stride = call.graph->value(call.node->inputs[2]).shape.cols;
  args.row_sequence = Ints(call.inputs[3]);
  args.row_length = Ints(call.inputs[4]);

  const int64_t decode_rows = call.graph->params.decode_rows;
  if (UsesStripes(decode_rows, attributes.n_kv_heads)) {
    MF_RETURN_IF_ERROR(AttendStripes(call, args, 0, decode_rows));
  } else {
    MF_RETURN_IF_ERROR(AttendRows(call, args, 0, decode_rows));
  }
  return AttendRows(call, args, decode_rows, q_shape.rows);
}

Status CpuBackend::AttendRows(const NodeCall& call, const kernels::AttentionArgs& base,
                              int64_t begin, int64_t end) {
  if (begin >= end) return OkStatus();
  const int64_t rows_per_task =
      begin < call.graph->params.decode_rows ? kDecodeRowsPerTask : kPrefillRowsPerTask;
  const int32_t kv_heads = base.kv.n_kv_heads;
  const int32_t group = base.n_heads / kv_heads;
  const int64_t tiles = (end - begin + rows_per_task - 1) / rows_per_task;
  const uint64_t per_worker = Align64(kernels_->attention->scratch_bytes(
      base.n_heads, kv_heads, base.kv.head_dim_k, base.kv.head_dim_v));
  int64_t work = 0;
  for (int64_t r = begin; r < end; ++r) work += std::max(0, base.row_length[r]);
  work *= int64_t{base.n_heads} * (base.kv.head_dim_k + base.kv.head_dim_v);
  // The longest rows come last in a prompt: hand those tiles out first.
  MF_RETURN_IF_ERROR(
      Parallel(call, tiles * kv_heads, work, [&, this](int64_t task, int32_t worker) {
        kernels::AttentionArgs args = base;
        const int64_t tile = tiles - 1 - task / kv_heads;
        const int32_t kv_head = static_cast<int32_t>(task % kv_heads);
        args.row_begin = begin + tile * rows_per_task;
        args.row_end = std::min(end, args.row_begin + rows_per_task);
        args.head_begin = kv_head * group;
        args.head_end = args.head_begin + group;
        args.scratch = scratch_.data() + per_worker * static_cast<uint64_t>(worker);
        return kernels_->attention->attention(args);
      }));
  ReportAttention(call, 0, " rows", "tiles of rows and KV heads occupy the threads");
  return OkStatus();
}

Status CpuBackend::AttendStripes(const NodeCall& call, const kernels::AttentionArgs& base,
                                 int64_t begin, int64_t end) {
  const int32_t kv_heads = base.kv.n_kv_heads;
  const int32_t group = base.n_heads / kv_heads;
  int64_t longest = 0;
  int64_t work = 0;
  for (int64_t r = begin; r < end; ++r) {
    longest = std::max<int64_t>(longest, base.row_length[r]);
    work += std::max(0, base.row_length[r]);
  }
  const int32_t stripes = Stripes(longest);
  if (stripes <= 1) return AttendRows(call, base, begin, end);
  work *= int64_t{base.n_heads} * (base.kv.head_dim_k + base.kv.head_dim_v);
  const uint64_t per_worker = Align64(kernels_->attention->scratch_bytes(
      base.n_heads, kv_heads, base.kv.head_dim_k, base.kv.head_dim_v));
  kernels::AttentionArgs shared = base;
  shared.partials = reinterpret_cast<float*>(
      scratch_.data() + per_worker * static_cast<uint64_t>(options_.runner->concurrency()));
  shared.partial_stripes = stripes;
  const int64_t tasks = (end - begin) * kv_heads * stripes;
  MF_RETURN_IF_ERROR(Parallel(call, tasks, work, [&, this](int64_t task, int32_t worker) {
    kernels::AttentionArgs args = shared;
    args.stripe_begin = static_cast<int32_t>(task % stripes);
    args.stripe_end = args.stripe_begin + 1;
    const int64_t rest = task / stripes;
    args.head_begin = static_cast<int32_t>(rest % kv_heads) * group;
    args.head_end = args.head_begin + group;
    args.row_begin = begin + rest / kv_heads;
    args.row_end = args.row_begin + 1;
    args.scratch = scratch_.data() + per_worker * static_cast<uint64_t>(worker);
    return kernels_->attention->attention_stripes(args);
  }));
  MF_RETURN_IF_ERROR(
      Parallel(call, end - begin, (end - begin) * base.n_heads * stripes * base.kv.head_dim_v,
               [&, this](int64_t task, int32_t worker) {
                 kernels::AttentionArgs args = shared;
                 args.stripe_begin = 0;
                 args.stripe_end = stripes;
                 args.head_begin = 0;
                 args.head_end = base.n_heads;
                 args.row_begin = begin + task;
                 args.row_end = args.row_begin + 1;
                 args.scratch = scratch_.data() + per_worker * static_cast<uint64_t>(worker);
                 return kernels_->attention->attention_combine(args);
               }));
  ReportAttention(call, 1, " stripes", "fewer rows and KV heads than threads");
  return OkStatus();
}

}  // namespace minfer
