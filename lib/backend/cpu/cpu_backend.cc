// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>

#include "base/str_cat.h"
#include "kernels/cpu/kv_layout.h"
#include "kernels/quant/dequantize.h"

namespace minfer {
namespace {

// Work is done when it was enqueued.
class DoneEvent final : public Event {
 public:
  bool IsDone() const override { return true; }
  Status Wait() override { return OkStatus(); }
};

}  // namespace

CpuBackend::CpuBackend(const kernels::CpuKernels* kernels, const BackendOptions& options)
    : kernels_(kernels), options_(options), memory_(options.memory) {}

CpuBackend::~CpuBackend() = default;

Support CpuBackend::Supports(const Graph& graph, const Node& node) const {
  for (WeightId id : node.weights) {
    if (id == kNoId) continue;
    const WeightInfo& info = graph.weight(id);
    if (!kernels::CanDequantize(info.type)) {
      const ElementTraits* traits = FindElementTraits(info.type);
      return {false, StrCat("no kernel reads type ", traits == nullptr ? "?" : traits->name,
                            " of '", info.name, "'")};
    }
  }
  return {};
}

bool CpuBackend::CanRunInPlace(const Graph&, const Node& node, int input) const {
  switch (node.op) {
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kGatedAct:
      return input == 0 || input == 1;
    case OpKind::kAddBias:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
      return input == 0;
    case OpKind::kRope:
    case OpKind::kGateRows:
      return input == 0;
    default:
      return false;
  }
}

StatusOr<BufferId> CpuBackend::Allocate(uint64_t bytes, MemoryClass memory_class) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.free && slot.bytes == bytes && slot.memory_class == memory_class) {
      slot.free = false;
      ++pool_generation_;
      return BufferId{static_cast<int32_t>(i)};
    }
  }
  slots_.reserve(slots_.size() + 1);
  MF_ASSIGN_OR_RETURN(HostBuffer buffer, memory_->Allocate(memory_class, bytes));
  Slot slot;
  slot.buffer = std::move(buffer);
  slot.bytes = bytes;
  slot.memory_class = memory_class;
  slots_.push_back(std::move(slot));
  ++pool_generation_;
  return BufferId{static_cast<int32_t>(slots_.size() - 1)};
}

void CpuBackend::Recycle(BufferId buffer) {
  if (buffer.valid() && static_cast<size_t>(buffer.index) < slots_.size()) {
    slots_[static_cast<size_t>(buffer.index)].free = true;
  }
}

StatusOr<void*> CpuBackend::HostPointer(const BufferRange& range) {
  const size_t index = static_cast<size_t>(range.buffer.index);
  if (!range.buffer.valid() || index >= slots_.size() || range.offset > slots_[index].bytes ||
      range.bytes > slots_[index].bytes - range.offset) {
    return Status(StatusCode::kInternal, Subsystem::kBackend,
                  StrCat("cpu: bytes [", range.offset, ", +", range.bytes, ") are not in buffer ",
                         range.buffer.index));
  }
  return static_cast<void*>(slots_[index].buffer.data() + range.offset);
}

Status CpuBackend::Write(const BufferRange& to, const void* data) {
  MF_ASSIGN_OR_RETURN(void* target, HostPointer(to));
  if (to.bytes > 0) std::memcpy(target, data, to.bytes);
  return OkStatus();
}

StatusOr<std::shared_ptr<Event>> CpuBackend::Read(const BufferRange& from, void* host) {
  MF_ASSIGN_OR_RETURN(void* source, HostPointer(from));
  if (from.bytes > 0) std::memcpy(host, source, from.bytes);
  return std::shared_ptr<Event>(std::make_shared<DoneEvent>());
}

Status CpuBackend::Copy(const BufferRange& from, const BufferRange& to) {
  MF_ASSIGN_OR_RETURN(void* source, HostPointer(from));
  MF_ASSIGN_OR_RETURN(void* target, HostPointer(to));
  if (from.bytes != to.bytes) {
    return Status(StatusCode::kInternal, Subsystem::kBackend,
                  StrCat("cpu: copy of ", from.bytes, " bytes to ", to.bytes));
  }
  std::memmove(target, source, from.bytes);
  return OkStatus();
}

uint64_t CpuBackend::ScratchBytes(const Graph& graph) const {
  uint64_t most = 0;
  for (const Node& node : graph.nodes) {
    uint64_t bytes = 0;
    switch (node.op) {
      case OpKind::kMatMul:
        bytes = UsesResidual(graph, node) ? ResidualScratch(graph, node)
                                          : ActivationScratch(graph, node);
        break;
      case OpKind::kMatMulGroup:
        bytes = ActivationScratch(graph, node);
        break;
      case OpKind::kGatedMatMul:
        bytes = ActivationScratch(graph, node) + GatedScratch(graph, node);
        break;
      case OpKind::kRopeKvStore:
        bytes =
            static_cast<uint64_t>(options_.runner->concurrency()) *
            ((static_cast<uint64_t>(graph.value(node.inputs[0]).shape.cols) * 4 + 63) / 64 * 64);
        break;
      case OpKind::kAttention:
        bytes = AttentionScratch(graph, node);
        break;
      case OpKind::kExpertMatMul:
        bytes = ExpertScratch(graph, node);
        break;
      default:
        break;
    }
    most = std::max(most, bytes);
  }
  return most;
}

StatusOr<KvPageBytes> CpuBackend::PageBytes(const KvLayerShape& shape) const {
  KvPageBytes bytes;
  bytes.k = kernels::KPageBytes(shape.k_format, shape.n_kv_heads, shape.head_dim_k);
  bytes.v = kernels::VPageBytes(shape.v_format, shape.n_kv_heads, shape.head_dim_v);
  return bytes;
}

Status CpuBackend::ReserveScratch(uint64_t bytes) {
  if (scratch_.size() >= bytes) return OkStatus();
  MF_ASSIGN_OR_RETURN(scratch_, memory_->Allocate(MemoryClass::kScratch, bytes, "kernel scratch"));
  return OkStatus();
}

float* CpuBackend::Floats(const BufferRange& range) const {
  const Slot& slot = slots_[static_cast<size_t>(range.buffer.index)];
  return reinterpret_cast<float*>(slot.buffer.data() + range.offset);
}

int32_t* CpuBackend::Ints(const BufferRange& range) const {
  const Slot& slot = slots_[static_cast<size_t>(range.buffer.index)];
  return reinterpret_cast<int32_t*>(slot.buffer.data() + range.offset);
}

StatusOr<const void*> CpuBackend::Weight(const NodeCall& call, size_t index) const {
  const WeightId id = call.node->weights[index];
  const auto* store = static_cast<const CpuWeightStore*>(call.weights);
  const void* data = store == nullptr ? nullptr : store->data(id);
  if (data == nullptr) {
    return Internal(call, StrCat("weight '", call.graph->weight(id).name, "' is not registered"));
  }
  return data;
}

Status CpuBackend::TasksFailed(const NodeCall& call) const {
  if (!options_.runner->is_host()) return Internal(call, "a parallel task did not end well");
  return Status(StatusCode::kAborted, Subsystem::kBackend,
                "the host's parallel_for threw, skipped a task or ran one twice")
      .WithName("parallel_for");
}

Status CpuBackend::Internal(const NodeCall& call, const std::string& message) const {
  return Status(StatusCode::kInternal, Subsystem::kBackend, StrCat("cpu: ", message))
      .WithName(call.node->name);
}

Status CpuBackend::FromKernel(const NodeCall& call, kernels::KernelStatus status) const {
  if (status == kernels::KernelStatus::kOk) return OkStatus();
  if (status == kernels::KernelStatus::kCancelled) {
    return Status(StatusCode::kCancelled, Subsystem::kBackend, "cancelled between two tiles")
        .WithName(call.node->name);
  }
  return Internal(call, StrCat(OpName(call.node->op), ": ", kernels::KernelStatusName(status)));
}

std::vector<KernelReport> CpuBackend::kernel_report() const { return report_; }

// Rows are only added.
void CpuBackend::UpdateReport(std::vector<KernelReport>* report) const {
  if (report->size() != report_.size()) {
    *report = report_;
    return;
  }
  for (size_t i = 0; i < report_.size(); ++i) (*report)[i].calls = report_[i].calls;
}

Status CpuBackend::Execute(const NodeCall& call) {
  ++statistics_.nodes_executed;
  for (WeightId id : call.node->weights) {
    // A gather reads the rows it needs, experts count what they read; everything else reads its
    // weights whole.
    if (id == kNoId || call.node->op == OpKind::kGetRows ||
        call.node->op == OpKind::kExpertMatMul) {
      continue;
    }
    statistics_.weight_bytes_read += call.graph->weight(id).bytes;
  }
  switch (call.node->op) {
    case OpKind::kMatMul:
      return ExecuteMatMul(call);
    case OpKind::kMatMulGroup:
      return ExecuteMatMulGroup(call);
    case OpKind::kGatedMatMul:
      return ExecuteGatedMatMul(call);
    case OpKind::kGetRows:
      return ExecuteGetRows(call);
    case OpKind::kSelectRows:
      return ExecuteSelectRows(call);
    case OpKind::kRmsNorm:
      return ExecuteRmsNorm(call);
    case OpKind::kLayerNorm:
      return ExecuteLayerNorm(call);
    case OpKind::kAddBias:
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kGatedAct:
      return ExecuteVector(call);
    case OpKind::kRopeTable:
      return ExecuteRopeTable(call);
    case OpKind::kRope:
      return ExecuteRope(call);
    case OpKind::kKvStore:
      return ExecuteKvStore(call);
    case OpKind::kRopeKvStore:
      return ExecuteRopeKvStore(call);
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
  }
  return Internal(call, "no such operation");
}

}  // namespace minfer
