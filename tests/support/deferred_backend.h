// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A backend that behaves like a device where there is none: memory of its own that the host cannot
// read, work that runs only when it is waited for, buffers that show NaNs until then, captured
// steps, and any operation that can be made to fail. It answers misuse with INTERNAL.
//
// Violations are planted by subclasses that override one hook or one call.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "tests/support/deferred_stream.h"
#include "tests/support/scalar_ops.h"

namespace minfer::testing {

class DeferredWeightStore final : public WeightStore {
 public:
  Status Register(WeightId id, const WeightInfo& info, const void* data, bool in_place) override;
  StatusOr<void*> Reserve(WeightId id, const WeightInfo& info) override;
  Status Finish() override;
  uint64_t BytesFor(const WeightInfo& info, bool in_place) const override;
  const ScalarWeights& weights() const { return weights_; }

 private:
  struct Reserved {
    WeightInfo info;
    std::vector<uint8_t> bytes;
  };
  ScalarWeights weights_;
  std::map<WeightId, Reserved> reserved_;
};

// What can be made to fail.
enum class DeferredOp {
  kAllocate,
  kWrite,
  kRead,
  kCopy,
  kBeginSplit,
  kExecute,
  kEndSplit,
  kRun,  // work, when it runs: the error comes out of a later wait
  kSynchronize,
};
inline constexpr int kDeferredOpCount = static_cast<int>(DeferredOp::kSynchronize) + 1;

struct DeferredOptions {
  std::string name = "deferred";
  bool capture = true;
  bool in_place = true;
  size_t max_captured_steps = 8;
};

class DeferredBackend : public Backend {
 public:
  explicit DeferredBackend(DeferredOptions options = {});
  ~DeferredBackend() override;

  // The n-th next operation of the kind fails (1 is the next one); 0 takes that back.
  void FailNth(DeferredOp op, uint64_t n) { countdown_[static_cast<size_t>(op)] = n; }
  // Operations of the kind so far.
  uint64_t count(DeferredOp op) const { return counts_[static_cast<size_t>(op)]; }
  size_t captured_steps() const { return captured_.size(); }
  uint64_t memo_hits() const { return memo_hits_; }
  // Rules that a caller broke where the interface has no status to say so.
  const std::vector<std::string>& misuses() const { return misuses_; }

  std::string_view name() const override { return options_.name; }
  Support Supports(const Graph& graph, const Node& node) const override;
  bool CanRunInPlace(const Graph& graph, const Node& node, int input) const override;
  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) override;
  void Recycle(BufferId buffer) override;
  uint64_t pool_generation() const override { return generation_; }
  uint64_t AllocationBytes(uint64_t bytes) const override;
  bool IsPending(BufferId buffer) const override;
  StatusOr<void*> HostPointer(const BufferRange& range) override;
  Status Write(const BufferRange& to, const void* data) override;
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) override;
  Status Copy(const BufferRange& from, const BufferRange& to) override;
  uint64_t ScratchBytes(const Graph& graph) const override;
  StatusOr<KvPageBytes> PageBytes(const KvLayerShape& shape) const override;
  Status ReserveScratch(uint64_t bytes) override;
  StatusOr<SplitAction> BeginSplit(const Graph& graph, NodeId begin, NodeId end) override;
  Status Execute(const NodeCall& call) override;
  Status EndSplit() override;
  void AbortSplit(const Status& why) override;
  void ForgetGraph(uint64_t graph_uid) override;
  Status Synchronize() override;
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) override;
  BackendStatistics statistics() const override { return statistics_; }
  std::vector<KernelReport> kernel_report() const override { return report_; }

 protected:
  struct CapturedStep {
    uint64_t uid = 0;
    NodeId begin = 0;
    NodeId end = 0;
    uint64_t generation = 0;
    std::vector<DeferredWork> work;
    BackendStatistics counted;  // what one replay counts
  };

  // Hooks for planted violations.
  virtual bool IsCurrent(const CapturedStep& step) const { return step.generation == generation_; }
  virtual void ClearMemos() { memos_.clear(); }

  // What somebody who does not wait would see: NaNs where work is unfinished.
  std::vector<uint8_t> Peek(const BufferRange& range) const;
  void Enqueue(const DeferredWork& work);
  uint8_t* Device(const BufferRange& range);

 private:
  struct Buffer {
    std::vector<uint8_t> device;
    std::vector<uint8_t> visible;
    MemoryClass memory_class = MemoryClass::kActivations;
    bool free = false;
  };
  struct Split {
    const Graph* graph = nullptr;
    NodeId next = 0;
    NodeId begin = 0;
    NodeId end = 0;
    bool failed = false;
  };
  struct Runs {
    uint64_t generation = 0;
    int count = 0;
  };
  struct Memo {
    BufferRange range;
    std::vector<uint8_t> bytes;
  };

  Status Fault(DeferredOp op);
  Status Internal(std::string message) const;
  Status CheckRange(const BufferRange& range) const;
  Status OutsideWindow(const char* what);
  void AbortWindow();
  bool WantsWindow(uint64_t uid, NodeId begin, NodeId end);
  void Replay(const CapturedStep& step);
  void EnqueueMemoClear();
  StatusOr<DeferredWork> NodeWork(const NodeCall& call);
  Status RunNode(ScalarCall* call, const std::vector<BufferRange>& inputs,
                 const std::vector<BufferRange>& outputs, const KvLayerBinding& kv);
  const void* MemoOf(const BufferRange& range);
  void ForgetMemos(const BufferRange& written);
  void Finish(const std::vector<BufferId>& written);
  void CountNode(const NodeCall& call, BackendStatistics* statistics);

  const DeferredOptions options_;
  std::shared_ptr<DeferredStream> stream_;
  std::vector<Buffer> buffers_;
  uint64_t generation_ = 0;
  BufferId scratch_;
  std::array<uint64_t, kDeferredOpCount> countdown_{};
  std::array<uint64_t, kDeferredOpCount> counts_{};
  Split split_;
  std::vector<DeferredWork> recorded_;
  BackendStatistics recorded_counts_;
  std::vector<CapturedStep> captured_;
  std::map<std::array<uint64_t, 3>, Runs> runs_;
  std::vector<Memo> memos_;
  uint64_t memo_hits_ = 0;
  absl::Span<const std::atomic<bool>* const> cancel_flags_;
  BackendStatistics statistics_;
  std::vector<KernelReport> report_;
  std::vector<std::string> misuses_;
};

}  // namespace minfer::testing
