// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The backend between BeginSplit and EndSplit. Three runs: the first two executions of a split
// launch its kernels one by one, so that whatever they set up is there; the third records them and
// launches the recording once; later ones launch it again while no address has moved.
#include <algorithm>
#include <utility>

#include "backend/cuda/cuda_backend.h"
#include "base/log.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr int kDirectRuns = 2;
// Recordings kept; the oldest goes first.
constexpr size_t kMaxCaptured = 64;

bool IsMatMul(OpKind op) {
  return op == OpKind::kMatMul || op == OpKind::kMatMulGroup || op == OpKind::kGatedMatMul ||
         op == OpKind::kExpertMatMul;
}

void Add(const BackendStatistics& more, BackendStatistics* to) {
  to->nodes_executed += more.nodes_executed;
  to->matmul_nodes += more.matmul_nodes;
  to->weight_bytes_read += more.weight_bytes_read;
}

}  // namespace

Status CudaBackend::OutsideWindow(const char* what) {
  if (!window_open_) return OkStatus();
  AbortWindow();
  return Internal(StrCat(what, " inside a capture window"));
}

void CudaBackend::AbortWindow() {
  split_.failed = true;
  if (!window_open_) return;
  window_open_ = false;
  const CudaDeviceScope scope(*runtime_);
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_->get(), &graph) == cudaSuccess && graph != nullptr) {
    cudaGraphDestroy(graph);
  }
  cudaGetLastError();
}

// Whether splits of the graph are recorded at all.
bool CudaBackend::Records(const Graph& graph) const {
  return options_.cuda_graph && graphs_enabled_ && !direct_ && graph.uid != 0 &&
         (options_.prefill_capture || graph.params.prefill_rows == 0);
}

CudaBackend::Runs& CudaBackend::RunsOf(const SplitKey& key) {
  auto runs = std::find_if(runs_.begin(), runs_.end(),
                           [&](const Runs& candidate) { return candidate.key == key; });
  if (runs == runs_.end()) runs = runs_.insert(runs_.end(), Runs{key, pool_->generation(), 0});
  if (runs->generation != pool_->generation()) *runs = Runs{key, pool_->generation(), 0};
  return *runs;
}

bool CudaBackend::WantsWindow(const SplitKey& key) { return ++RunsOf(key).count > kDirectRuns; }

// A recording that ends with best entries which nobody took is made anew without them: what is
// asked for changes from step to step.
void CudaBackend::DropTop() {
  if (!replays_top_) return;
  replays_top_ = false;
  RunsOf(replayed_).without_top = true;
  const auto found = std::find_if(captured_.begin(), captured_.end(),
                                  [&](const CapturedStep& step) { return step.key == replayed_; });
  if (found == captured_.end()) return;
  Destroy(*found);
  captured_.erase(found);
}

void CudaBackend::OpenWindow() {
  const cudaError_t error =
      cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeThreadLocal);
  window_open_ = error == cudaSuccess;
  if (window_open_) return;
  cudaGetLastError();
  graphs_enabled_ = false;
  if (options_.logger != nullptr) {
    options_.logger->Warning("CUDA: recording refused (", cudaGetErrorName(error),
                             "); kernels are launched one by one from now on");
  }
}

StatusOr<SplitAction> CudaBackend::BeginSplit(const Graph& graph, NodeId begin, NodeId end) {
  if (split_.graph != nullptr) return Internal("a split begins inside a split");
  if (begin < 0 || begin > end || end > static_cast<NodeId>(graph.nodes.size())) {
    return Internal(StrCat("split [", begin, ", ", end, ") of ", graph.nodes.size(), " nodes"));
  }
  MF_RETURN_IF_ERROR(CheckUsable("a split"));
  const SplitKey key{graph.uid, begin, end};
  const CudaDeviceScope scope(*runtime_);
  for (const std::atomic<bool>* flag : cancel_flags_) {
    ++statistics_.cancel_polls;
    if (!flag->load(std::memory_order_relaxed)) continue;
    return Status(StatusCode::kCancelled, Subsystem::kBackend, "cancelled before a split");
  }
  const auto found = std::find_if(captured_.begin(), captured_.end(),
                                  [&](const CapturedStep& step) { return step.key == key; });
  bool records = Records(graph);
  if (found != captured_.end() && !direct_) {
    // Inputs that lie elsewhere, because a step was not waited for, are none of the recording's.
    const bool current = found->generation == pool_->generation() && graphs_enabled_;
    if (current && found->inputs.n_pieces == 0) MF_RETURN_IF_ERROR(SendInputs());
    const bool fits = found->inputs == inputs_;
    records = records && (fits || !current);
    if (current && fits) {
      if (Replay(*found).ok()) return SplitAction::kReplayed;
      graphs_enabled_ = records = false;
    }
    if (fits || !current) {
      Destroy(*found);
      captured_.erase(found);
    }
  }
  const bool window = records && WantsWindow(key);
  split_ = OpenSplit();
  split_.graph = &graph;
  split_.key = key;
  split_.next = begin;
  recorded_ = BackendStatistics();
  written_.clear();
  planes_ = Planes();
  held_ = HeldLaunches();
  if (window) OpenWindow();
  if (window_open_) {
    split_.inputs = inputs_;
    split_.records_top = inputs_.n_pieces > 0 && !RunsOf(key).without_top;
  }
  return SplitAction::kExecute;
}

Status CudaBackend::Replay(const CapturedStep& step) {
  if (step.top.rows > 0) {
    CudaReadback::Clear({nullptr, step.top.marks, step.top.rows});
    replays_top_ = true;
    replayed_ = step.key;
    replayed_top_ = step.top;
  }
  Status status =
      runtime_->Check(cudaGraphLaunch(step.graph, stream_->get()), "replaying a recorded split");
  if (!status.ok()) {
    if (options_.logger != nullptr) options_.logger->Warning(status.ToString());
    replays_top_ = false;
    return status;
  }
  inputs_ = kernels::cuda::ScatterArgs();
  ++enqueued_work_;
  for (const BufferId buffer : step.written) pool_->SetWriter(buffer, enqueued_work_);
  Add(step.counted, &statistics_);
  ++statistics_.steps_replayed;
  prompts_replayed_ += step.prompt ? 1 : 0;
  return OkStatus();
}

Status CudaBackend::Execute(const NodeCall& call) {
  if (split_.graph == nullptr) return Internal("a node outside a split");
  if (split_.failed) return Internal("a node after the split was aborted");
  const bool is_next = call.graph == split_.graph && split_.next < split_.key.end &&
                       call.node == &split_.graph->nodes[static_cast<size_t>(split_.next)];
  Status status = is_next ? OkStatus()
                          : Internal(StrCat("node '", call.node->name, "' is not node ",
                                            split_.next, " of the split"));
  for (const std::atomic<bool>* flag : cancel_flags_) {
    ++statistics_.cancel_polls;
    if (!status.ok() || !flag->load(std::memory_order_relaxed)) continue;
    status = Status(StatusCode::kCancelled, Subsystem::kBackend, "cancelled between two nodes")
                 .WithName(call.node->name);
  }
  const CudaDeviceScope scope(*runtime_);
  if (status.ok()) status = runtime_->TakeLatched();
  if (status.ok()) status = CheckHeld(call);
  if (status.ok()) status = InputsBefore(call);
  if (status.ok()) status = Dispatch(call);
  if (!status.ok()) {
    AbortWindow();
    return status;
  }
  ++split_.next;
  CountNode(call);
  return OkStatus();
}

void CudaBackend::CountNode(const NodeCall& call) {
  BackendStatistics& statistics = window_open_ ? recorded_ : statistics_;
  ++statistics.nodes_executed;
  if (IsMatMul(call.node->op)) ++statistics.matmul_nodes;
  for (const WeightId id : call.node->weights) {
    if (id == kNoId || call.node->op == OpKind::kGetRows) continue;
    statistics.weight_bytes_read += call.graph->weight(id).bytes;
  }
  ++enqueued_work_;
  const auto wrote = [this](BufferId buffer) {
    if (!buffer.valid()) return;
    pool_->SetWriter(buffer, enqueued_work_);
    if (window_open_) written_.push_back(buffer);
  };
  for (const BufferRange& output : call.outputs) wrote(output.buffer);
  if (call.kv != nullptr && call.node->op != OpKind::kAttention) {
    wrote(call.kv->k.buffer);
    wrote(call.kv->v.buffer);
  }
}

Status CudaBackend::Dispatch(const NodeCall& call) {
  switch (call.node->op) {
    case OpKind::kGetRows:
      return ExecuteGetRows(call);
    case OpKind::kSelectRows:
      return ExecuteSelectRows(call);
    case OpKind::kRmsNorm:
      return ExecuteRmsNorm(call);
    case OpKind::kLayerNorm:
      return ExecuteLayerNorm(call);
    case OpKind::kMatMul:
      return ExecuteMatMul(call);
    case OpKind::kMatMulGroup:
      return ExecuteMatMulGroup(call);
    case OpKind::kGatedMatMul:
      return ExecuteGatedMatMul(call);
    case OpKind::kAddBias:
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kGatedAct:
      return ExecuteElementwise(call);
    case OpKind::kRopeTable:
      return ExecuteRopeTable(call);
    case OpKind::kRope:
      return ExecuteRope(call);
    case OpKind::kKvStore:
    case OpKind::kRopeKvStore:
      return ExecuteKvStore(call);
    case OpKind::kAttention:
      return ExecuteAttention(call);
    case OpKind::kTopExperts:
      return ExecuteTopExperts(call);
    case OpKind::kGroupExperts:
      return ExecuteGroupExperts(call);
    case OpKind::kExpertMatMul:
      return ExecuteExpertMatMul(call);
    case OpKind::kCombineExperts:
      return ExecuteCombineExperts(call);
    case OpKind::kGateRows:
      return ExecuteGateRows(call);
    default:
      return NodeError(call, StrCat("no kernel for ", OpName(call.node->op)));
  }
}

Status CudaBackend::EndSplit() {
  if (split_.graph == nullptr) return Internal("a split ends that never began");
  if (split_.failed) return Internal("a split ends after it was aborted");
  if (split_.next != split_.key.end) {
    return Internal(StrCat("a split ends at node ", split_.next, " of ", split_.key.end));
  }
  if (held_.any()) return Internal("a split ends, and a launch still waits for its next node");
  if (window_open_) {
    const CudaDeviceScope scope(*runtime_);
    if (Status status = CloseWindow(); !status.ok()) {
      split_.failed = true;
      return status;
    }
  }
  split_ = OpenSplit();
  return OkStatus();
}

// Ends the recording, makes a graph of it, launches that once and keeps it.
Status CudaBackend::CloseWindow() {
  window_open_ = false;
  captured_.reserve(captured_.size() + 1);
  cudaGraph_t graph = nullptr;
  MF_RETURN_IF_ERROR(
      runtime_->Check(cudaStreamEndCapture(stream_->get(), &graph), "ending a recording"));
  CapturedStep step;
  step.key = split_.key;
  step.generation = pool_->generation();
  step.prompt = split_.graph->params.prefill_rows > 0;
  step.counted = recorded_;
  step.written = std::move(written_);
  step.inputs = split_.inputs;
  step.top = split_.top;
  size_t launches = 0;
  cudaError_t error = cudaGraphGetNodes(graph, nullptr, &launches);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&step.graph, graph, 0);
  cudaGraphDestroy(graph);
  MF_RETURN_IF_ERROR(runtime_->Check(error, "making a graph of a recording"));
  if (Status status = runtime_->Check(cudaGraphLaunch(step.graph, stream_->get()),
                                      "launching a recorded split");
      !status.ok()) {
    Destroy(step);
    return status;
  }
  Add(step.counted, &statistics_);
  ++statistics_.steps_captured;
  statistics_.launches_captured += launches;
  captured_.push_back(std::move(step));
  if (captured_.size() > kMaxCaptured) {
    Destroy(captured_.front());
    captured_.erase(captured_.begin());
  }
  return OkStatus();
}

void CudaBackend::AbortSplit(const Status&) {
  if (split_.graph == nullptr) return;
  AbortWindow();
  std::erase_if(runs_, [this](const Runs& runs) { return runs.key == split_.key; });
  split_ = OpenSplit();
}

void CudaBackend::ForgetGraph(uint64_t graph_uid) {
  for (const CapturedStep& step : captured_) {
    if (step.key.uid == graph_uid) Destroy(step);
  }
  std::erase_if(captured_,
                [graph_uid](const CapturedStep& step) { return step.key.uid == graph_uid; });
  std::erase_if(runs_, [graph_uid](const Runs& runs) { return runs.key.uid == graph_uid; });
}

void CudaBackend::Destroy(const CapturedStep& step) {
  if (step.graph == nullptr) return;
  const CudaDeviceScope scope(*runtime_);
  cudaGraphExecDestroy(step.graph);
}

}  // namespace minfer
