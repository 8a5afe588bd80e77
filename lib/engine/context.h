// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A place to run a model: threads, KV pages, buffers, and the loop that advances sessions. Thread-
// safe. One thread at a time leads a step; calls on other sessions join the next one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/context_options.h"
#include "engine/model.h"
#include "engine/session.h"
#include "engine/step_graphs.h"
#include "engine/trace.h"
#include "kv/kv_cache.h"
#include "plan/executor.h"

namespace minfer {

struct StepOptions {
  uint64_t time_budget_ns = 0;  // 0: none; looked at between micro-batches
  const std::atomic<bool>* cancel = nullptr;
};

struct StepResult {
  int64_t n_rows = 0;      // committed
  int64_t n_sessions = 0;  // that went forward
  int64_t n_failed = 0;
  int64_t n_runnable = 0;  // with something left to do
};

struct ContextStatistics {
  uint64_t n_sessions = 0;
  uint64_t n_steps = 0;  // micro-batches that ran
  uint64_t n_prefill_rows = 0;
  uint64_t n_decode_rows = 0;
  uint64_t n_graphs_built = 0;
  uint64_t n_graphs_reused = 0;
  uint64_t step_time_ns = 0;
  uint64_t n_kv_pages_used = 0;
  uint64_t n_kv_pages = 0;
  BackendStatistics backend;
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  // RESOURCE_EXHAUSTED before anything is taken when the plan is more than the budget.
  static StatusOr<std::shared_ptr<Context>> Create(std::shared_ptr<const Model> model,
                                                   const ContextOptions& options);
  ~Context();

  // RESOURCE_EXHAUSTED when n_sessions exist.
  StatusOr<std::unique_ptr<Session>> CreateSession();
  // One batch over all sessions that have pending tokens or generate.
  Status Step(const StepOptions& options, StepResult* result);

  // FAILED_PRECONDITION when a trace is on already, or off, or a step is running.
  Status StartTrace(const TraceOptions& options);
  Status StopTrace();
  // Of the largest step.
  StatusOr<std::string> PrintGraph(bool dot) const;

  // Cancels all calls; later ones fail.
  void RequestShutdown();
  // The same, and waits until all calls have returned.
  void Shutdown();

  const Model& model() const { return *model_; }
  const ContextConfig& config() const { return config_; }
  ContextStatistics statistics() const;
  std::vector<KernelReport> kernel_report() const;
  // Of all devices, and of the one of an index.
  MemoryAccount::Snapshot memory() const;
  MemoryAccount::Snapshot memory(int32_t device) const {
    return UseOn(model_->placement(), accounts_, device);
  }
  const Logger& logger() const { return *logger_; }

 private:
  friend class Session;
  friend class StepRunner;

  // The pages of a group's layers on one backend.
  struct KvPart {
    int32_t group = 0;
    size_t backend = 0;
    size_t n_layers = 0;
    BufferId buffer;
    KvGroupBytes bytes;
  };

  Context() = default;
  Status Initialize(const ContextOptions& options);
  Status AllocateKv();
  void BindKvLayers(const KvPart& part, const KvGroup& group,
                    std::vector<KvLayerBinding>* layers) const;
  Status CopyPages(const std::vector<PageCopy>& copies);
  Status CopyPage(const PageCopy& copy, const KvPart& part);
  float* SessionLogits(int32_t slot) const;
  // What the host keeps is counted with the last device, which is the CPU where there are two.
  HostMemory& host_memory() const { return *memories_.back(); }
  Status CheckBudget(const ContextOptions& options) const;
  Status CreateBackends(const ContextOptions& options);
  Status AllocateTop();
  // Which has the logits: what stands behind the last layer runs on the last device.
  Backend& LogitsBackend() const { return *backends_.back(); }
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags);
  // What the leader saw of the backends, for others.
  void PublishStatistics();
  BufferRange DeviceLogits(int32_t side, int32_t slot, int64_t rows) const;
  // Brings the session's row of logits to the host, where it is not there yet. `leads`: the caller
  // leads a step, and the backend is its own.
  Status FetchLogits(Session* session, bool leads);

  // Blocks until the session's pending tokens are computed, leading steps when nobody else does.
  Status RunPending(Session* session, const std::atomic<bool>* cancel);
  void LeadOneStep(std::unique_lock<std::mutex>* lock);
  void WaitForStragglers(std::unique_lock<std::mutex>* lock);
  bool IsCancelled(const Session& session) const;
  void ReleaseSession(Session* session);
  Status CheckUsable() const;
  Status CheckNoStep() const;

  std::shared_ptr<const Model> model_;
  ContextConfig config_;
  const std::atomic<bool>* cancel_ = nullptr;
  std::shared_ptr<const Logger> logger_;
  MemoryAccounts accounts_;  // one a device of the model's placement
  std::vector<std::shared_ptr<HostMemory>> memories_;
  std::shared_ptr<ParallelRunner> runner_;
  std::vector<std::unique_ptr<Backend>> backends_;  // one a device of the model's placement
  std::unique_ptr<KvCache> kv_;
  std::vector<KvPart> kv_parts_;
  std::unique_ptr<Trace> trace_;  // outlives the executor, which tells it of its nodes
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StepGraphs> graphs_;
  HostBuffer logits_;  // a row a session, then the rows of a micro-batch
  // Where tokens are picked on the device: the newest row of each session there, and the best
  // entries of the rows of a micro-batch there and here.
  TopSizes top_sizes_;
  BufferId device_logits_;
  BufferId top_buffer_;
  HostBuffer top_entries_;
  SamplerScratch sampler_scratch_;  // of the leader of a step

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Session*> sessions_;  // by slot; nullptr: free
  bool leading_ = false;
  std::thread::id leader_;  // whose thread that is; the host's callbacks run on it too
  std::atomic<bool> shutdown_{false};
  int32_t active_calls_ = 0;
  int32_t next_slot_ = 0;  // where the next step begins to look, for fairness
  // The backend belongs to the thread that leads: others see what it had done after the last
  // micro-batch.
  ContextStatistics statistics_;
  std::vector<std::vector<KernelReport>> kernel_reports_;  // one a backend
};

}  // namespace minfer
