// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the executor sees of a processor. A Device is one entry of the machine; a WeightStore holds
// a model's weights on it, shared by contexts; a Backend is one context's pool, stream and captured
// steps on it. Work enqueued on a Backend runs in order; it may run later.
//
// Threads: a Device is thread-safe, a WeightStore is thread-safe once Finish has returned, a
// Backend is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "backend/buffer.h"
#include "backend/event.h"
#include "base/memory_class.h"
#include "base/status.h"
#include "graph/graph.h"
#include "tensor/element_type.h"

namespace minfer {

// Whether a node can run, and if not, why: "Q2_K has no kernel".
struct Support {
  bool supported = true;
  std::string reason;
};

// One layer's KV store on a backend: two ranges and their page sizes. Page p of K starts at
// k.offset + p * k_page_bytes. The layout inside a page belongs to the backend.
struct KvLayerBinding {
  BufferRange k;
  BufferRange v;
  uint64_t k_page_bytes = 0;
  uint64_t v_page_bytes = 0;
  KvFormat k_format = KvFormat::kF32;
  KvFormat v_format = KvFormat::kF32;
};

// Shape of a layer's KV store, enough to size its pages.
struct KvLayerShape {
  int32_t n_kv_heads = 0;
  int32_t head_dim_k = 0;
  int32_t head_dim_v = 0;
  KvFormat k_format = KvFormat::kF32;
  KvFormat v_format = KvFormat::kF32;
};

struct KvPageBytes {
  uint64_t k = 0;
  uint64_t v = 0;
};

// RoPE settings of a model; a kRopeTable node names one by index. Formulas:
// kernels/cpu/rope_table.h.
struct RopeConfig {
  int32_t rope_dim = 0;
  double base = 10000.0;
  double linear_factor = 1.0;  // positions are divided by it
  bool yarn = false;
  double yarn_factor = 1.0;
  double yarn_original_context = 0.0;
  double yarn_beta_fast = 32.0;
  double yarn_beta_slow = 1.0;
  double yarn_ext_factor = 1.0;
  double magnitude = 1.0;                // cos and sin are multiplied by it
  std::vector<float> frequency_factors;  // rope_dim / 2 divisors, or empty
};

class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // The bytes of one weight. in_place: they stay valid and unchanged while the store lives (a
  // mapping, or the caller's memory), so that the store may point at them instead of copying.
  virtual Status Register(WeightId id, const WeightInfo& info, const void* data, bool in_place) = 0;
  // Host memory for the bytes of one weight, to be filled before Finish: no second copy where the
  // weights live in host memory.
  virtual StatusOr<void*> Reserve(WeightId id, const WeightInfo& info) = 0;
  // After the last Register: all uploads are done and checked.
  virtual Status Finish() = 0;
  // Bytes that Register will take from the device for this weight.
  virtual uint64_t BytesFor(const WeightInfo& info, bool in_place) const = 0;
};

// One call of a node: where its values live, and what it shares with the step.
struct NodeCall {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  absl::Span<const BufferRange> inputs;   // one an input of the node, in this backend's pool
  absl::Span<const BufferRange> outputs;  // an output may be the same range as an input (in place)
  const KvLayerBinding* kv = nullptr;     // of the node's layer, when it has one
  const WeightStore* weights = nullptr;   // of this backend's device
  absl::Span<const RopeConfig> rope_configs;
};

// Which kernel ran for a kind of work, and why: the "which kernels" report.
struct KernelReport {
  std::string op;      // "matmul decode"
  std::string detail;  // "Q4_1 k=576"
  std::string kernel;  // "avx512_vnni q4_1 x q8"
  std::string reason;  // "VNNI present", "tuning reference=1"
  uint64_t calls = 0;
};

struct BackendStatistics {
  uint64_t nodes_executed = 0;
  uint64_t matmul_nodes = 0;
  uint64_t weight_bytes_read = 0;  // each weight once a node that reads it
  uint64_t cancel_polls = 0;
  uint64_t work_between_polls_max = 0;  // multiply-adds of the largest stretch between two polls
  uint64_t steps_captured = 0;
  uint64_t launches_captured = 0;  // kernels and copies in them
  uint64_t steps_replayed = 0;
};

// One of the best entries of a row of logits: the highest value first, of equal ones the lower
// index. A NaN ranks above all, so that one anywhere in a row is its first entry.
struct TopEntry {
  int32_t index = -1;  // -1 where the row has fewer entries
  float value = 0.0f;
};
inline constexpr int32_t kMaxTopEntries = 64;

// Rows whose best entries are wanted.
struct TopRows {
  BufferRange x;
  int64_t rows = 0;
  int64_t stride = 0;  // floats from row to row
  int64_t count = 0;   // entries of a row that are looked at
  int32_t k = 0;       // entries wanted of each, at most kMaxTopEntries
};

// Bytes of the host for a range.
struct HostWrite {
  BufferRange to;
  const void* data = nullptr;
};

enum class SplitAction : int32_t {
  kExecute,   // the caller executes the nodes (they may be recorded) and then calls EndSplit
  kReplayed,  // a captured step was enqueued; the caller skips the nodes and does not call EndSplit
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  // Depends on the node's operation, types and shapes alone.
  virtual Support Supports(const Graph& graph, const Node& node) const = 0;
  // Whether the output may share the buffer of input `input` of this node.
  virtual bool CanRunInPlace(const Graph& graph, const Node& node, int input) const = 0;

  // Pool. Buffers are zeroed or not as they come; a freed one is recycled for the same size. Every
  // change that can move an address bumps the generation.
  virtual StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) = 0;
  virtual void Recycle(BufferId buffer) = 0;
  virtual uint64_t pool_generation() const = 0;
  // Bytes that Allocate takes for `bytes`: what a plan counts.
  virtual uint64_t AllocationBytes(uint64_t bytes) const = 0;
  // True while enqueued work that writes the buffer has not been waited for.
  virtual bool IsPending(BufferId buffer) const = 0;
  // The bytes in host memory, or nullptr where the host cannot read them. INTERNAL, naming the
  // backend, on a pending buffer.
  virtual StatusOr<void*> HostPointer(const BufferRange& range) = 0;

  // Transfers, in stream order. Write copies `data` before it returns. Read's host memory is valid
  // once the event is done and must stay until then.
  virtual Status Write(const BufferRange& to, const void* data) = 0;
  // The same for several ranges, in any order.
  virtual Status WriteAll(absl::Span<const HostWrite> writes) {
    for (const HostWrite& write : writes) MF_RETURN_IF_ERROR(Write(write.to, write.data));
    return OkStatus();
  }
  virtual StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) = 0;
  virtual Status Copy(const BufferRange& from, const BufferRange& to) = 0;

  // The best entries of rows, in stream order, outside of splits or, where RecordsTail says so,
  // behind the last node of one: `host`, [rows, k], has them after the next Synchronize and must
  // stay until then. `work` is memory to work in. Copies that come after it may still be under way
  // then: they are for later work on the device.
  virtual Status TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) {
    (void)rows;
    (void)work;
    (void)host;
    return Status(StatusCode::kUnimplemented, Subsystem::kBackend, "no kernel for the best entries")
        .WithName(name());
  }
  // Whether the split that is open is recorded, and what is enqueued behind its nodes with them.
  virtual bool RecordsTail() const { return false; }
  // Bytes of `work` for rows of `count` entries; 0: such rows have no kernel.
  virtual uint64_t TopBytes(int64_t rows, int64_t count) const {
    (void)rows;
    (void)count;
    return 0;
  }

  // Sizes that a plan needs. Scratch covers every node of the graph.
  virtual uint64_t ScratchBytes(const Graph& graph) const = 0;
  virtual StatusOr<KvPageBytes> PageBytes(const KvLayerShape& shape) const = 0;
  // Host memory that the backend takes for transfers when it is made.
  virtual uint64_t StagingBytes() const { return 0; }
  // Takes the scratch memory once, at creation.
  virtual Status ReserveScratch(uint64_t bytes) = 0;

  // A split: nodes [begin, end) of a graph, executed in order between BeginSplit and EndSplit, all
  // inputs filled before. BeginSplit may answer with a replay of a captured step of the same key
  // (graph uid, range) and pool generation. AbortSplit after an error inside: nothing half-recorded
  // is kept.
  virtual StatusOr<SplitAction> BeginSplit(const Graph& graph, NodeId begin, NodeId end) = 0;
  virtual Status Execute(const NodeCall& call) = 0;
  virtual Status EndSplit() = 0;
  virtual void AbortSplit(const Status& why) = 0;
  // While set, splits are neither recorded nor replayed, so that their nodes can be waited for.
  virtual void SetDirect(bool direct) { (void)direct; }
  // Destroys captured steps of a graph that is going away.
  virtual void ForgetGraph(uint64_t graph_uid) = 0;
  // Waits for all enqueued work; its error, if any. Clears memos.
  virtual Status Synchronize() = 0;

  // Polled by long work: when one of them is set, Execute returns CANCELLED. They stay valid until
  // the next call; empty: never cancelled.
  virtual void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) = 0;

  virtual BackendStatistics statistics() const = 0;
  virtual std::vector<KernelReport> kernel_report() const = 0;
  // Makes `report`, which an earlier call filled or which is empty, what kernel_report() is:
  // cheaply where only calls were counted since.
  virtual void UpdateReport(std::vector<KernelReport>* report) const { *report = kernel_report(); }
};

}  // namespace minfer
