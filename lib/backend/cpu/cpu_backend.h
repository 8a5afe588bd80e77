// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The CPU backend: work runs when it is enqueued, on the context's runner, with the kernels of one
// instruction set. Nothing is ever pending and nothing is captured.
//
// Every operation is cut into tasks whose results do not depend on the cut, and the cancel flag is
// polled before each task.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_weight_store.h"
#include "backend/device.h"
#include "base/host_memory.h"
#include "base/parallel_runner.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/rope_table.h"

namespace minfer {

class CpuBackend final : public Backend {
 public:
  CpuBackend(const kernels::CpuKernels* kernels, const BackendOptions& options);
  ~CpuBackend() override;

  std::string_view name() const override { return "cpu"; }
  Support Supports(const Graph& graph, const Node& node) const override;
  bool CanRunInPlace(const Graph& graph, const Node& node, int input) const override;

  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) override;
  void Recycle(BufferId buffer) override;
  uint64_t pool_generation() const override { return pool_generation_; }
  uint64_t AllocationBytes(uint64_t bytes) const override { return bytes; }
  bool IsPending(BufferId) const override { return false; }
  StatusOr<void*> HostPointer(const BufferRange& range) override;

  Status Write(const BufferRange& to, const void* data) override;
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) override;
  Status Copy(const BufferRange& from, const BufferRange& to) override;

  Status TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) override;
  uint64_t TopBytes(int64_t rows, int64_t count) const override;

  uint64_t ScratchBytes(const Graph& graph) const override;
  StatusOr<KvPageBytes> PageBytes(const KvLayerShape& shape) const override;
  Status ReserveScratch(uint64_t bytes) override;

  StatusOr<SplitAction> BeginSplit(const Graph&, NodeId, NodeId) override {
    return SplitAction::kExecute;
  }
  Status Execute(const NodeCall& call) override;
  Status EndSplit() override { return OkStatus(); }
  void AbortSplit(const Status&) override {}
  void ForgetGraph(uint64_t) override {}
  Status Synchronize() override { return OkStatus(); }
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) override {
    cancel_flags_ = flags;
  }

  BackendStatistics statistics() const override { return statistics_; }
  std::vector<KernelReport> kernel_report() const override;
  void UpdateReport(std::vector<KernelReport>* report) const override;

 private:
  struct Slot {
    HostBuffer buffer;
    uint64_t bytes = 0;
    MemoryClass memory_class = MemoryClass::kActivations;
    bool free = false;
  };
  // Weight rows of a task at most: with their results they fit the caches.
  static constexpr int64_t kMaxTileRows = 128;
  // A matrix product of one node: weights, where the result goes, and what follows it.
  struct Product {
    const WeightInfo* info = nullptr;
    const void* weights = nullptr;
    float* out = nullptr;
    const float* bias = nullptr;  // added to each row, or nullptr
  };

  // cpu_backend.cc
  float* Floats(const BufferRange& range) const;
  int32_t* Ints(const BufferRange& range) const;
  StatusOr<const void*> Weight(const NodeCall& call, size_t index) const;
  Status Internal(const NodeCall& call, const std::string& message) const;
  Status TasksFailed(const NodeCall& call) const;
  Status FromKernel(const NodeCall& call, kernels::KernelStatus status) const;
  // Runs fn(arg, task, worker) for each task, inline when `work` (multiply-adds or elements) is
  // small. CANCELLED when the flag was seen; the outputs are then undefined.
  template <typename Fn>
  Status Parallel(const NodeCall& call, int64_t n_tasks, int64_t work, const Fn& fn);
  // Counts a call of a kernel in the report. `shape` and `variant` tell rows of one operation
  // apart; make() gives detail, kernel and reason of a row that is new.
  template <typename Make>
  void Count(const NodeCall& call, int64_t shape, int32_t variant, const Make& make);

  // cpu_matmul.cc
  Status ExecuteMatMul(const NodeCall& call);
  Status ExecuteMatMulGroup(const NodeCall& call);
  Status ExecuteGatedMatMul(const NodeCall& call);
  // Where 8 bits cost the most: the output matrix, whose rounding goes straight into the logits,
  // and matrices with more columns than rows (W_down), whose gated inputs have the longest tails.
  // Their activations are kept in two 8-bit rows, the second the residual of the first; the weights
  // are read once.
  Status ExecuteResidualMatMul(const NodeCall& call, const Product& product);
  bool UsesResidual(const Graph& graph, const Node& node) const;
  uint64_t ResidualScratch(const Graph& graph, const Node& node) const;
  Status RunProducts(const NodeCall& call, const float* x, absl::Span<const Product> products);
  Status QuantizeRows(const NodeCall& call, const float* x, int64_t m, int64_t k,
                      kernels::ActivationFormat format, const void** rows, size_t* row_bytes);
  kernels::KernelStatus ProductTile(const Product& product, const void* rows, size_t row_bytes,
                                    int64_t m, int64_t row_begin, int64_t row_end, float* out,
                                    int64_t out_stride) const;
  kernels::ActivationFormat FormatFor(ElementType type) const;
  void ReportMatMul(const NodeCall& call, ElementType type, int64_t k);
  int64_t TileRows(int64_t n, int64_t m, int64_t k) const;
  // What one task of a product takes.
  struct TaskShape {
    int64_t rows;     // of weights
    int64_t columns;  // rows of activations
  };
  TaskShape TaskOf(int64_t n, int64_t m, int64_t k, size_t row_bytes) const;
  uint64_t ActivationScratch(const Graph& graph, const Node& node) const;
  uint64_t GatedScratch(const Graph& graph, const Node& node) const;

  // cpu_experts.cc
  Status ExecuteTopExperts(const NodeCall& call);
  Status ExecuteGroupExperts(const NodeCall& call);
  Status ExecuteExpertMatMul(const NodeCall& call);
  Status ExecuteCombineExperts(const NodeCall& call);
  Status ExecuteGateRows(const NodeCall& call);
  // What one expert product works with; see cpu_experts.cc.
  struct ExpertProduct;
  Status FindActiveExperts(const NodeCall& call, ExpertProduct* product);
  kernels::KernelStatus ExpertTile(const ExpertProduct& product, int64_t task,
                                   int32_t worker) const;
  int64_t ExpertBlockRows(const Graph& graph, const Node& node) const;
  uint64_t ExpertScratch(const Graph& graph, const Node& node) const;

  // cpu_vector.cc
  Status ExecuteVector(const NodeCall& call);
  Status ExecuteGetRows(const NodeCall& call);
  Status ExecuteSelectRows(const NodeCall& call);
  Status ExecuteRmsNorm(const NodeCall& call);
  Status ExecuteLayerNorm(const NodeCall& call);
  Status ExecuteRopeTable(const NodeCall& call);
  Status ExecuteRope(const NodeCall& call);

  // cpu_attention.cc
  Status ExecuteKvStore(const NodeCall& call);
  Status ExecuteRopeKvStore(const NodeCall& call);
  Status ExecuteAttention(const NodeCall& call);
  Status AttendRows(const NodeCall& call, const kernels::AttentionArgs& base, int64_t begin,
                    int64_t end);
  Status AttendStripes(const NodeCall& call, const kernels::AttentionArgs& base, int64_t begin,
                       int64_t end);
  bool UsesStripes(int64_t rows, int32_t n_kv_heads) const;
  uint64_t AttentionScratch(const Graph& graph, const Node& node) const;
  kernels::KvLayerView View(const NodeCall& call) const;
  void ReportAttention(const NodeCall& call, int32_t variant, const char* kernel,
                       const char* reason);

  const kernels::CpuKernels* kernels_;
  BackendOptions options_;
  std::shared_ptr<HostMemory> memory_;
  std::vector<Slot> slots_;
  uint64_t pool_generation_ = 0;
  HostBuffer scratch_;
  std::vector<kernels::RopeFrequencies> rope_frequencies_;
  absl::Span<const std::atomic<bool>* const> cancel_flags_;
  BackendStatistics statistics_;
  struct ReportKey {
    OpKind op;
    int64_t shape;
    int32_t variant;
    friend bool operator==(const ReportKey&, const ReportKey&) = default;
  };
  std::vector<ReportKey> report_keys_;  // of the rows of report_
  std::vector<KernelReport> report_;
};

template <typename Make>
void CpuBackend::Count(const NodeCall& call, int64_t shape, int32_t variant, const Make& make) {
  const ReportKey key{call.node->op, shape, variant};
  for (size_t i = 0; i < report_keys_.size(); ++i) {
    if (!(report_keys_[i] == key)) continue;
    ++report_[i].calls;
    return;
  }
  KernelReport row = make();
  row.op = std::string(OpName(call.node->op));
  row.calls = 1;
  report_.push_back(std::move(row));
  report_keys_.push_back(key);
}

template <typename Fn>
Status CpuBackend::Parallel(const NodeCall& call, int64_t n_tasks, int64_t work, const Fn& fn) {
  // Below this many operations a hand-over to other threads costs more than it saves.
  constexpr int64_t kInlineWork = 1 << 14;
  struct Shared {
    const Fn* fn;
    absl::Span<const std::atomic<bool>* const> cancel_flags;
    std::atomic<int32_t> status{static_cast<int32_t>(kernels::KernelStatus::kOk)};
  } shared{&fn, cancel_flags_};
  if (n_tasks <= 0) return OkStatus();
  auto task_fn = [](void* arg, int64_t task, int32_t worker) {
    Shared* s = static_cast<Shared*>(arg);
    for (const std::atomic<bool>* flag : s->cancel_flags) {
      if (!flag->load(std::memory_order_relaxed)) continue;
      s->status.store(static_cast<int32_t>(kernels::KernelStatus::kCancelled),
                      std::memory_order_relaxed);
      return;
    }
    kernels::KernelStatus status = (*s->fn)(task, worker);
    if (status != kernels::KernelStatus::kOk) {
      s->status.store(static_cast<int32_t>(status), std::memory_order_relaxed);
    }
  };
  statistics_.cancel_polls += static_cast<uint64_t>(n_tasks);
  const uint64_t per_task = static_cast<uint64_t>((work + n_tasks - 1) / n_tasks);
  if (per_task > statistics_.work_between_polls_max) {
    statistics_.work_between_polls_max = per_task;
  }
  if (work <= kInlineWork || n_tasks == 1) {
    for (int64_t task = 0; task < n_tasks; ++task) task_fn(&shared, task, 0);
  } else {
    options_.runner->For(n_tasks, task_fn, &shared);
    if (options_.runner->TakeFailure()) return TasksFailed(call);
  }
  return FromKernel(
      call, static_cast<kernels::KernelStatus>(shared.status.load(std::memory_order_relaxed)));
}

}  // namespace minfer
