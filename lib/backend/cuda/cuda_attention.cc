// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The KV store and attention.
#include <algorithm>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/attention_prefill/attention_prefill.h"
#include "kernels/cuda/kv/kv_store.h"

namespace minfer {
namespace {

// Prompts of fewer rows leave most of a tile empty.
constexpr int64_t kTiledRows = 16;

}  // namespace

StatusOr<kernels::cuda::KvSide> CudaBackend::Side(const NodeCall& call, bool key) const {
  if (call.kv == nullptr) return NodeError(call, "the layer has no KV store");
  const BufferRange& range = key ? call.kv->k : call.kv->v;
  kernels::cuda::KvSide side;
  MF_ASSIGN_OR_RETURN(side.pages, pool_->Resolve(range));
  side.page_bytes = static_cast<int64_t>(key ? call.kv->k_page_bytes : call.kv->v_page_bytes);
  side.n_pages = side.page_bytes == 0 ? 0 : static_cast<int64_t>(range.bytes) / side.page_bytes;
  side.format = key ? call.kv->k_format : call.kv->v_format;
  side.dim = key ? call.node->attributes.head_dim : call.node->attributes.head_dim_v;
  return side;
}

Status CudaBackend::ExecuteKvStore(const NodeCall& call) {
  const OpAttributes& a = call.node->attributes;
  const bool rotates = call.node->op == OpKind::kRopeKvStore;
  kernels::cuda::KvStoreArgs args;
  MF_ASSIGN_OR_RETURN(args.k_side, Side(call, true));
  MF_ASSIGN_OR_RETURN(args.v_side, Side(call, false));
  args.n_kv_heads = a.n_kv_heads;
  MF_ASSIGN_OR_RETURN(args.k, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.v, Floats(call.inputs[1]));
  MF_ASSIGN_OR_RETURN(args.cells, Ints(call.inputs[rotates ? 3 : 2]));
  args.rows = call.graph->value(call.node->inputs[0]).shape.rows;
  if (rotates) {
    MF_ASSIGN_OR_RETURN(args.cos_sin, Floats(call.inputs[2]));
    args.rope_dim = a.rope_dim;
    args.neox = a.rope_style == RopeStyle::kNeox;
  }
  const bool with_q = held_.rope.has_value();
  if (with_q) args.rope = *held_.rope;
  held_.rope.reset();
  if (held_.tail && kernels::cuda::HasAttentionDecode(args.k_side.format, args.v_side.format,
                                                      a.head_dim, a.head_dim_v)) {
    held_.tail->store = args;
    held_.tail->stores = true;
    return OkStatus();
  }
  if (held_.tail) MF_RETURN_IF_ERROR(FlushTail(call, *held_.tail));
  KernelReport row;
  row.detail = StrCat("head ", a.head_dim);
  row.kernel = with_q ? "rotate Q and K, store" : rotates ? "rotate and store" : "store";
  row.reason = rotates ? "rotation of K fused" : "rotation of K not fused";
  CountReport(call, a.head_dim, 0, std::move(row));
  return FromKernel(call, kernels::cuda::KvStore(args, queue()));
}

// Of decode rows, or of a prompt too short for tiles.
uint64_t CudaBackend::AttentionPartials(const Graph& graph, const Node& node) {
  const OpAttributes& a = node.attributes;
  const int64_t rows = std::max<int64_t>(graph.params.decode_rows,
                                         std::min<int64_t>(graph.params.rows(), kTiledRows - 1));
  const uint64_t bytes = 4 * static_cast<uint64_t>(kernels::cuda::AttentionPartialFloats(
                                 rows, a.n_heads, a.head_dim_v));
  return (bytes + 255) / 256 * 256;
}

// The partial results, and behind them the rows as the next product reads them.
uint64_t CudaBackend::AttentionScratch(const Graph& graph, const Node& node) {
  const int64_t k = int64_t{node.attributes.n_heads} * node.attributes.head_dim_v;
  return AttentionPartials(graph, node) +
         ActivationBytes(std::min<int64_t>(graph.params.decode_rows, kernels::cuda::kMmvqMaxRows),
                         k, true);
}

bool CudaBackend::UsesAttentionDecode(const kernels::cuda::AttentionArgs& args) const {
  return options_.fa_decode && !options_.reference && tier().async_copy &&
         kernels::cuda::HasAttentionDecode(args.k.format, args.v.format, args.k.dim, args.v.dim);
}

// Numbers of finished blocks; nullptr where the stripes have a launch of their own.
StatusOr<uint32_t*> CudaBackend::Counters(const kernels::cuda::AttentionArgs& args) const {
  const auto bytes = static_cast<uint64_t>(kernels::cuda::AttentionDecodeCounters(
                         args.rows, args.n_heads, args.n_kv_heads)) *
                     sizeof(uint32_t);
  if (!options_.fuse_combine || bytes > kCounterBytes || scratch_bytes_ < kCounterBytes) {
    return static_cast<uint32_t*>(nullptr);
  }
  MF_ASSIGN_OR_RETURN(uint8_t * counters,
                      pool_->Resolve({scratch_, scratch_bytes_ - kCounterBytes, kCounterBytes}));
  return reinterpret_cast<uint32_t*>(counters);
}

// Rows that each see a whole context; `whole`: all rows of the step, so that the next product may
// find them quantised.
Status CudaBackend::RunDecodeRows(const NodeCall& call, kernels::cuda::AttentionArgs args,
                                  bool whole) {
  const OpAttributes& a = call.node->attributes;
  const uint64_t partials = AttentionPartials(*call.graph, *call.node);
  MF_ASSIGN_OR_RETURN(args.partials, Floats({scratch_, 0, partials}));
  planes_ = Planes();
  if (whole && a.head_dim_v % 32 == 0) {
    MF_ASSIGN_OR_RETURN(planes_, PlanesForNext(call, partials));
    args.planes = planes_.target;
    if (planes_.only) args.out = nullptr;
  }
  KernelReport row;
  row.detail = StrCat("head ", a.head_dim);
  row.reason = "decode rows";
  if (!UsesAttentionDecode(args)) {
    if (held_.tail) MF_RETURN_IF_ERROR(FlushTail(call, *held_.tail));
    row.kernel = "split KV, combine";
    if (!options_.fa_decode) row.reason = "tuning fa_decode=0";
    CountReport(call, a.head_dim, 0, std::move(row));
    return FromKernel(call, kernels::cuda::Attention(args, queue()));
  }
  kernels::cuda::AttentionDecodeArgs decode;
  MF_ASSIGN_OR_RETURN(decode.counters, Counters(args));
  const bool tail = held_.tail && TakesTail(call, *held_.tail, args);
  const bool norms = tail && held_.tail->n_norms > 0;
  if (tail) {
    decode.tail = TakeTail(*held_.tail, &args);
    // A recording begins when all before it is complete. Where it brings the inputs itself, its
    // first attention waits for them, and those behind that one find them complete.
    decode.settled = window_open_ && (split_.inputs.n_pieces == 0 || split_.waited);
    split_.waited = true;
  } else if (held_.tail) {
    MF_RETURN_IF_ERROR(FlushTail(call, *held_.tail));
    row.reason = "what comes before it is not aligned, or lies under its output";
  }
  decode.attention = args;
  row.kernel = StrCat("split KV on tensor cores", decode.counters == nullptr ? ", combine" : "",
                      norms ? ", norms" : "", tail ? ", rotation and store in one" : "");
  const int32_t variant = 4 + (tail ? 1 : 0) + (decode.counters == nullptr ? 0 : 2);
  CountReport(call, a.head_dim, variant, std::move(row));
  return FromKernel(call, kernels::cuda::AttentionDecode(decode, queue()));
}

// Decode rows in stripes, prompts in tiles or, too short for these, like decode rows.
Status CudaBackend::ExecuteAttention(const NodeCall& call) {
  const OpAttributes& a = call.node->attributes;
  const int64_t rows = call.graph->value(call.node->inputs[0]).shape.rows;
  const ValueShape& table = call.graph->value(call.node->inputs[2]).shape;
  kernels::cuda::AttentionArgs args;
  MF_ASSIGN_OR_RETURN(args.k, Side(call, true));
  MF_ASSIGN_OR_RETURN(args.v, Side(call, false));
  MF_ASSIGN_OR_RETURN(args.q, Floats(call.inputs[0]));
  MF_ASSIGN_OR_RETURN(args.out, Floats(call.outputs[0]));
  MF_ASSIGN_OR_RETURN(args.page_table, Ints(call.inputs[2]));
  MF_ASSIGN_OR_RETURN(args.row_sequence, Ints(call.inputs[3]));
  MF_ASSIGN_OR_RETURN(args.row_length, Ints(call.inputs[4]));
  args.n_heads = a.n_heads;
  args.n_kv_heads = a.n_kv_heads;
  args.scale = a.scale;
  args.softcap = a.softcap;
  args.window = a.window;
  if (!call.node->weights.empty() && call.node->weights[0] != kNoId) {
    MF_ASSIGN_OR_RETURN(const void* sinks, Weight(call, 0));
    args.sinks = static_cast<const float*>(sinks);
  }
  args.page_table_columns = table.cols;
  args.page_table_rows = table.rows;
  const auto report = [&](int32_t variant, const char* kernel, const char* reason) {
    KernelReport row;
    row.detail = StrCat("head ", a.head_dim);
    row.kernel = kernel;
    row.reason = reason;
    CountReport(call, a.head_dim, variant, std::move(row));
  };
  const int64_t decode = std::min<int64_t>(call.graph->params.decode_rows, rows);
  if (decode > 0) {
    args.rows = decode;
    MF_RETURN_IF_ERROR(RunDecodeRows(call, args, rows == decode));
  }
  if (rows == decode) return OkStatus();
  args.q += decode * a.n_heads * a.head_dim;
  args.out += decode * a.n_heads * a.head_dim_v;
  args.row_sequence += decode;
  args.row_length += decode;
  args.rows = rows - decode;
  const bool tiles =
      options_.fa_prefill && !options_.reference && tier().async_copy &&
      (args.rows >= kTiledRows || options_.deterministic) &&
      kernels::cuda::HasAttentionPrefill(args.k.format, args.v.format, args.k.dim, args.v.dim) &&
      kernels::cuda::AttentionPrefillSharedBytes(args.k.dim) <= tier().shared_opt_in_bytes;
  if (tiles) {
    report(2, "f16 tensor cores, tiles of 64 rows", "prefill rows");
    return FromKernel(call, kernels::cuda::AttentionPrefill(args, in_turn()));
  }
  if (args.rows < kTiledRows && !options_.deterministic && UsesAttentionDecode(args)) {
    report(8, "split KV on tensor cores", "few prefill rows");
    planes_ = Planes();
    kernels::cuda::AttentionDecodeArgs few;
    few.attention = args;
    MF_ASSIGN_OR_RETURN(few.attention.partials,
                        Floats({scratch_, 0, AttentionPartials(*call.graph, *call.node)}));
    MF_ASSIGN_OR_RETURN(few.counters, Counters(args));
    return FromKernel(call, kernels::cuda::AttentionDecode(few, queue()));
  }
  report(1, "rows one by one",
         args.rows < kTiledRows ? "few prefill rows"
         : !tier().async_copy   ? tier().name
                                : "head or KV type");
  return FromKernel(call, kernels::cuda::Attention(args, queue()));
}

}  // namespace minfer
