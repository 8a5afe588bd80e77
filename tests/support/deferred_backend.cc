// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/deferred_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/str_cat.h"
#include "kernels/quant/dequantize.h"

namespace minfer::testing {
namespace {

constexpr uint8_t kPoison = 0xff;  // four of them are a NaN

std::string_view DeferredOpName(DeferredOp op) {
  constexpr std::string_view kNames[kDeferredOpCount] = {"allocate",  "write",       "read",
                                                         "copy",      "begin split", "execute",
                                                         "end split", "run",         "synchronize"};
  return kNames[static_cast<size_t>(op)];
}

void Fill(std::vector<uint8_t>* bytes, const BufferRange& range) {
  const auto begin = bytes->begin() + static_cast<std::ptrdiff_t>(range.offset);
  std::fill(begin, begin + static_cast<std::ptrdiff_t>(range.bytes), kPoison);
}

}  // namespace

Status DeferredWeightStore::Register(WeightId id, const WeightInfo& info, const void* data, bool) {
  MF_ASSIGN_OR_RETURN(std::vector<float> values, DecodeWeight(info, data));
  const auto index = static_cast<size_t>(id);
  if (index >= weights_.size()) weights_.resize(index + 1);
  weights_[index] = std::move(values);
  return OkStatus();
}

StatusOr<void*> DeferredWeightStore::Reserve(WeightId id, const WeightInfo& info) {
  Reserved& reserved = reserved_[id];
  reserved.info = info;
  reserved.bytes.resize(info.bytes);
  return static_cast<void*>(reserved.bytes.data());
}

Status DeferredWeightStore::Finish() {
  for (const auto& [id, reserved] : reserved_) {
    MF_RETURN_IF_ERROR(Register(id, reserved.info, reserved.bytes.data(), false));
  }
  reserved_.clear();
  return OkStatus();
}

uint64_t DeferredWeightStore::BytesFor(const WeightInfo& info, bool) const {
  return static_cast<uint64_t>(info.elements()) * 4;
}

DeferredBackend::DeferredBackend(DeferredOptions options)
    : options_(std::move(options)), stream_(std::make_shared<DeferredStream>()) {}

DeferredBackend::~DeferredBackend() { stream_->Drop(); }

Status DeferredBackend::Internal(std::string message) const {
  return Status(StatusCode::kInternal, Subsystem::kBackend, StrCat(options_.name, ": ", message))
      .WithName(options_.name);
}

Status DeferredBackend::Fault(DeferredOp op) {
  const auto index = static_cast<size_t>(op);
  ++counts_[index];
  if (countdown_[index] == 0 || --countdown_[index] != 0) return OkStatus();
  const StatusCode code =
      op == DeferredOp::kAllocate ? StatusCode::kResourceExhausted : StatusCode::kUnavailable;
  return Status(code, Subsystem::kBackend, StrCat("planted fault: ", DeferredOpName(op)))
      .WithName(options_.name);
}

Status DeferredBackend::CheckRange(const BufferRange& range) const {
  const auto index = static_cast<size_t>(range.buffer.index);
  if (!range.buffer.valid() || index >= buffers_.size() || buffers_[index].free) {
    return Internal(StrCat("buffer ", range.buffer.index, " is not in use"));
  }
  const uint64_t size = buffers_[index].device.size();
  if (range.offset > size || range.bytes > size - range.offset) {
    return Internal(StrCat("bytes [", range.offset, ", +", range.bytes, ") of buffer ",
                           range.buffer.index, " with ", size));
  }
  return OkStatus();
}

Support DeferredBackend::Supports(const Graph& graph, const Node& node) const {
  for (const WeightId id : node.weights) {
    if (id == kNoId || kernels::CanDequantize(graph.weight(id).type)) continue;
    return Support{false, StrCat("'", graph.weight(id).name, "' cannot be decoded")};
  }
  return Support();
}

bool DeferredBackend::CanRunInPlace(const Graph&, const Node& node, int input) const {
  switch (node.op) {
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kGatedAct:
      return options_.in_place;
    case OpKind::kAddBias:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kRope:
    case OpKind::kGateRows:
      return options_.in_place && input == 0;
    default:
      return false;
  }
}

// Pool.

StatusOr<BufferId> DeferredBackend::Allocate(uint64_t bytes, MemoryClass memory_class) {
  MF_RETURN_IF_ERROR(OutsideWindow("allocate"));
  MF_RETURN_IF_ERROR(Fault(DeferredOp::kAllocate));
  ++generation_;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    const BufferId id{static_cast<int32_t>(i)};
    if (!buffer.free || buffer.device.size() != bytes || stream_->Uses(id)) continue;
    buffer.free = false;
    buffer.memory_class = memory_class;
    Fill(&buffer.device, {id, 0, bytes});
    Fill(&buffer.visible, {id, 0, bytes});
    return id;
  }
  Buffer buffer;
  buffer.device.resize(bytes, kPoison);
  buffer.visible.resize(bytes, kPoison);
  buffer.memory_class = memory_class;
  buffers_.push_back(std::move(buffer));
  return BufferId{static_cast<int32_t>(buffers_.size()) - 1};
}

void DeferredBackend::Recycle(BufferId buffer) {
  const auto index = static_cast<size_t>(buffer.index);
  if (!buffer.valid() || index >= buffers_.size() || buffers_[index].free) {
    misuses_.push_back(StrCat("recycled buffer ", buffer.index, ", which is not in use"));
    return;
  }
  buffers_[index].free = true;
}

uint64_t DeferredBackend::AllocationBytes(uint64_t bytes) const { return bytes; }

bool DeferredBackend::IsPending(BufferId buffer) const { return stream_->Writes(buffer); }

StatusOr<void*> DeferredBackend::HostPointer(const BufferRange& range) {
  MF_RETURN_IF_ERROR(CheckRange(range));
  if (IsPending(range.buffer)) {
    return Internal(StrCat("buffer ", range.buffer.index, " is pending"));
  }
  return static_cast<void*>(nullptr);
}

std::vector<uint8_t> DeferredBackend::Peek(const BufferRange& range) const {
  const std::vector<uint8_t>& bytes = buffers_[static_cast<size_t>(range.buffer.index)].visible;
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(range.offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(range.bytes)};
}

uint8_t* DeferredBackend::Device(const BufferRange& range) {
  if (!range.buffer.valid()) return nullptr;
  return buffers_[static_cast<size_t>(range.buffer.index)].device.data() + range.offset;
}

uint64_t DeferredBackend::ScratchBytes(const Graph& graph) const {
  uint64_t most = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) most = std::max(most, graph.value(input).bytes());
  }
  return most;
}

StatusOr<KvPageBytes> DeferredBackend::PageBytes(const KvLayerShape& shape) const {
  return ScalarPageBytes(shape);
}

Status DeferredBackend::ReserveScratch(uint64_t bytes) {
  if (scratch_.valid() && buffers_[static_cast<size_t>(scratch_.index)].device.size() >= bytes) {
    return OkStatus();
  }
  MF_ASSIGN_OR_RETURN(const BufferId larger, Allocate(bytes, MemoryClass::kScratch));
  if (scratch_.valid()) Recycle(scratch_);
  scratch_ = larger;
  return OkStatus();
}

// Stream.

void DeferredBackend::Enqueue(const DeferredWork& work) {
  for (const BufferRange& range : work.fills) {
    Fill(&buffers_[static_cast<size_t>(range.buffer.index)].visible, range);
  }
  DeferredWork queued = work;
  queued.run = [this, run = work.run, writes = work.writes]() -> Status {
    MF_RETURN_IF_ERROR(Fault(DeferredOp::kRun));
    MF_RETURN_IF_ERROR(run());
    Finish(writes);
    return OkStatus();
  };
  stream_->Enqueue(std::move(queued));
}

void DeferredBackend::Finish(const std::vector<BufferId>& written) {
  for (const BufferId id : written) {
    Buffer& buffer = buffers_[static_cast<size_t>(id.index)];
    if (!stream_->Writes(id)) buffer.visible = buffer.device;
  }
}

Status DeferredBackend::Write(const BufferRange& to, const void* data) {
  MF_RETURN_IF_ERROR(OutsideWindow("write"));
  MF_RETURN_IF_ERROR(CheckRange(to));
  MF_RETURN_IF_ERROR(Fault(DeferredOp::kWrite));
  const auto* bytes = static_cast<const uint8_t*>(data);
  DeferredWork work;
  work.writes = {to.buffer};
  work.fills = {to};
  work.run = [this, to, copy = std::vector<uint8_t>(bytes, bytes + to.bytes)]() -> Status {
    std::copy(copy.begin(), copy.end(), Device(to));
    return OkStatus();
  };
  Enqueue(work);
  return OkStatus();
}

StatusOr<std::shared_ptr<Event>> DeferredBackend::Read(const BufferRange& from, void* host) {
  MF_RETURN_IF_ERROR(OutsideWindow("read"));
  MF_RETURN_IF_ERROR(CheckRange(from));
  MF_RETURN_IF_ERROR(Fault(DeferredOp::kRead));
  std::memset(host, kPoison, from.bytes);
  DeferredWork work;
  work.reads = {from.buffer};
  work.run = [this, from, host]() -> Status {
    std::memcpy(host, Device(from), from.bytes);
    return OkStatus();
  };
  Enqueue(work);
  return std::shared_ptr<Event>(std::make_shared<DeferredEvent>(stream_, stream_->last()));
}

Status DeferredBackend::Copy(const BufferRange& from, const BufferRange& to) {
  MF_RETURN_IF_ERROR(OutsideWindow("copy"));
  MF_RETURN_IF_ERROR(CheckRange(from));
  MF_RETURN_IF_ERROR(CheckRange(to));
  if (from.bytes != to.bytes) {
    return Internal(StrCat("copy of ", from.bytes, " bytes to ", to.bytes));
  }
  MF_RETURN_IF_ERROR(Fault(DeferredOp::kCopy));
  DeferredWork work;
  work.reads = {from.buffer};
  work.writes = {to.buffer};
  work.fills = {to};
  work.run = [this, from, to]() -> Status {
    std::memmove(Device(to), Device(from), to.bytes);
    return OkStatus();
  };
  Enqueue(work);
  return OkStatus();
}

Status DeferredBackend::Synchronize() {
  MF_RETURN_IF_ERROR(OutsideWindow("synchronize"));
  Status fault = Fault(DeferredOp::kSynchronize);
  stream_->RunUntil(stream_->last());
  Status error = stream_->TakeError();
  ClearMemos();
  return fault.ok() ? error : fault;
}

void DeferredBackend::SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) {
  cancel_flags_ = flags;
}

}  // namespace minfer::testing
