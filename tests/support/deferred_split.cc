// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The deferred backend between BeginSplit and EndSplit: execution, memos, capture and replay.
//
// Three runs: the first two executions of a (graph uid, range) go straight to the queue, the third
// is recorded and launched once, later ones are replays while the pool generation stands.
#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "tests/support/deferred_backend.h"

namespace minfer::testing {
namespace {

constexpr int kDirectRuns = 2;

bool ReadsActivations(OpKind op) {
  return op == OpKind::kMatMul || op == OpKind::kMatMulGroup || op == OpKind::kGatedMatMul ||
         op == OpKind::kExpertMatMul;
}

bool Overlap(const BufferRange& a, const BufferRange& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void Add(const BackendStatistics& more, BackendStatistics* to) {
  to->nodes_executed += more.nodes_executed;
  to->matmul_nodes += more.matmul_nodes;
  to->weight_bytes_read += more.weight_bytes_read;
}

}  // namespace

Status DeferredBackend::OutsideWindow(const char* what) {
  if (!stream_->window_open()) return OkStatus();
  AbortWindow();
  return Internal(StrCat(what, " inside a capture window"));
}

void DeferredBackend::AbortWindow() {
  stream_->set_window_open(false);
  recorded_.clear();
  split_.failed = true;
}

bool DeferredBackend::WantsWindow(uint64_t uid, NodeId begin, NodeId end) {
  if (!options_.capture || uid == 0) return false;
  Runs& runs = runs_[{uid, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)}];
  if (runs.generation != generation_) runs = {generation_, 0};
  return ++runs.count > kDirectRuns;
}

StatusOr<SplitAction> DeferredBackend::BeginSplit(const Graph& graph, NodeId begin, NodeId end) {
  if (split_.graph != nullptr) return Internal("a split begins inside a split");
  if (begin < 0 || begin > end || end > static_cast<NodeId>(graph.nodes.size())) {
    return Internal(StrCat("split [", begin, ", ", end, ") of ", graph.nodes.size(), " nodes"));
  }
  MF_RETURN_IF_ERROR(Fault(DeferredOp::kBeginSplit));
  const auto found = std::find_if(captured_.begin(), captured_.end(), [&](const auto& step) {
    return step.uid == graph.uid && step.begin == begin && step.end == end;
  });
  if (found != captured_.end()) {
    if (IsCurrent(*found)) {
      Replay(*found);
      return SplitAction::kReplayed;
    }
    captured_.erase(found);
  }
  const bool window = WantsWindow(graph.uid, begin, end);
  split_ = Split{&graph, begin, begin, end, false};
  recorded_.clear();
  recorded_counts_ = BackendStatistics();
  stream_->set_window_open(window);
  return SplitAction::kExecute;
}

void DeferredBackend::Replay(const CapturedStep& step) {
  for (const DeferredWork& work : step.work) Enqueue(work);
  EnqueueMemoClear();
  Add(step.counted, &statistics_);
  ++statistics_.steps_replayed;
}

Status DeferredBackend::Execute(const NodeCall& call) {
  if (split_.graph == nullptr) return Internal("a node outside a split");
  if (split_.failed) return Internal("a node after the split was aborted");
  const bool is_next = call.graph == split_.graph && split_.next < split_.end &&
                       call.node == &split_.graph->nodes[static_cast<size_t>(split_.next)];
  StatusOr<DeferredWork> work = is_next
                                    ? NodeWork(call)
                                    : Internal(StrCat("node '", call.node->name, "' is not node ",
                                                      split_.next, " of the split"));
  Status status = work.ok() ? Fault(DeferredOp::kExecute) : work.status();
  if (!status.ok()) {
    if (stream_->window_open()) AbortWindow();
    split_.failed = true;
    return status;
  }
  ++split_.next;
  if (stream_->window_open()) {
    recorded_.push_back(*std::move(work));
    CountNode(call, &recorded_counts_);
  } else {
    Enqueue(*work);
    CountNode(call, &statistics_);
  }
  return OkStatus();
}

void DeferredBackend::CountNode(const NodeCall& call, BackendStatistics* statistics) {
  ++statistics->nodes_executed;
  if (ReadsActivations(call.node->op)) ++statistics->matmul_nodes;
  for (const WeightId id : call.node->weights) {
    if (id != kNoId) statistics->weight_bytes_read += call.graph->weight(id).bytes;
  }
}

Status DeferredBackend::EndSplit() {
  if (split_.graph == nullptr) return Internal("a split ends that never began");
  if (split_.failed) return Internal("a split ends after it was aborted");
  if (split_.next != split_.end) {
    return Internal(StrCat("a split ends at node ", split_.next, " of ", split_.end));
  }
  if (Status fault = Fault(DeferredOp::kEndSplit); !fault.ok()) {
    if (stream_->window_open()) AbortWindow();
    split_.failed = true;
    return fault;
  }
  if (stream_->window_open()) {
    stream_->set_window_open(false);
    CapturedStep step{split_.graph->uid, split_.begin,         split_.end,
                      generation_,       std::move(recorded_), recorded_counts_};
    recorded_.clear();
    for (const DeferredWork& work : step.work) Enqueue(work);
    Add(step.counted, &statistics_);
    ++statistics_.steps_captured;
    captured_.push_back(std::move(step));
    if (captured_.size() > options_.max_captured_steps) captured_.erase(captured_.begin());
  }
  EnqueueMemoClear();
  split_ = Split();
  return OkStatus();
}

void DeferredBackend::AbortSplit(const Status&) {
  if (split_.graph == nullptr) {
    misuses_.push_back("aborted a split that never began");
    return;
  }
  AbortWindow();
  runs_.erase(
      {split_.graph->uid, static_cast<uint64_t>(split_.begin), static_cast<uint64_t>(split_.end)});
  EnqueueMemoClear();
  split_ = Split();
}

void DeferredBackend::ForgetGraph(uint64_t graph_uid) {
  std::erase_if(captured_, [graph_uid](const auto& step) { return step.uid == graph_uid; });
  std::erase_if(runs_, [graph_uid](const auto& entry) { return entry.first[0] == graph_uid; });
}

void DeferredBackend::EnqueueMemoClear() {
  DeferredWork work;
  work.run = [this]() -> Status {
    ClearMemos();
    return OkStatus();
  };
  stream_->Enqueue(std::move(work));
}

StatusOr<DeferredWork> DeferredBackend::NodeWork(const NodeCall& call) {
  for (const std::atomic<bool>* flag : cancel_flags_) {
    ++statistics_.cancel_polls;
    if (!flag->load(std::memory_order_relaxed)) continue;
    return Status(StatusCode::kCancelled, Subsystem::kBackend, "cancelled")
        .WithName(call.node->name);
  }
  DeferredWork work;
  std::vector<BufferRange> inputs(call.inputs.begin(), call.inputs.end());
  std::vector<BufferRange> outputs(call.outputs.begin(), call.outputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (call.graph->value(call.node->inputs[i]).type == DataType::kOrder) continue;
    MF_RETURN_IF_ERROR(CheckRange(inputs[i]));
    work.reads.push_back(inputs[i].buffer);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (call.graph->value(call.node->outputs[i]).type == DataType::kOrder) continue;
    MF_RETURN_IF_ERROR(CheckRange(outputs[i]));
    work.writes.push_back(outputs[i].buffer);
    work.fills.push_back(outputs[i]);
  }
  KvLayerBinding kv;
  if (call.kv != nullptr) {
    kv = *call.kv;
    MF_RETURN_IF_ERROR(CheckRange(kv.k));
    MF_RETURN_IF_ERROR(CheckRange(kv.v));
    std::vector<BufferId>& used = call.node->op == OpKind::kAttention ? work.reads : work.writes;
    used.insert(used.end(), {kv.k.buffer, kv.v.buffer});
  }
  ScalarCall scalar = MakeScalarCall(*call.graph, *call.node, call.rope_configs);
  if (call.weights != nullptr) {
    scalar.weights = &static_cast<const DeferredWeightStore*>(call.weights)->weights();
  }
  work.run = [this, scalar = std::move(scalar), inputs = std::move(inputs),
              outputs = std::move(outputs),
              kv]() mutable -> Status { return RunNode(&scalar, inputs, outputs, kv); };
  return work;
}

Status DeferredBackend::RunNode(ScalarCall* call, const std::vector<BufferRange>& inputs,
                                const std::vector<BufferRange>& outputs, const KvLayerBinding& kv) {
  call->inputs.clear();
  call->outputs.clear();
  for (const BufferRange& input : inputs) call->inputs.push_back(Device(input));
  if (ReadsActivations(call->node.op)) call->inputs[0] = MemoOf(inputs[0]);
  for (const BufferRange& output : outputs) {
    if (!output.buffer.valid()) continue;
    call->outputs.push_back(Device(output));
    ForgetMemos(output);
    const bool in_place = std::any_of(inputs.begin(), inputs.end(), [&](const BufferRange& input) {
      return Overlap(input, output);
    });
    if (!in_place) std::fill_n(Device(output), output.bytes, uint8_t{0xff});
  }
  call->kv = {Device(kv.k), Device(kv.v), kv.k_page_bytes, kv.v_page_bytes,
              kv.k.bytes,   kv.v.bytes,   kv.k_format,     kv.v_format};
  return RunScalar(*call);
}

// The activations of a product are taken from the buffer once a window, as a backend does that
// prepares them; a later write of a node to the buffer ends that.
const void* DeferredBackend::MemoOf(const BufferRange& range) {
  for (const Memo& memo : memos_) {
    if (memo.range.buffer == range.buffer && memo.range.offset == range.offset &&
        memo.range.bytes == range.bytes) {
      ++memo_hits_;
      return memo.bytes.data();
    }
  }
  const uint8_t* bytes = Device(range);
  memos_.push_back({range, std::vector<uint8_t>(bytes, bytes + range.bytes)});
  return memos_.back().bytes.data();
}

void DeferredBackend::ForgetMemos(const BufferRange& written) {
  std::erase_if(memos_, [&](const Memo& memo) { return Overlap(memo.range, written); });
}

}  // namespace minfer::testing
