// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The inputs of a step. They are packed into pinned memory and then wait for the split that reads
// them, so that its recording holds the kernel that takes them to their places: a replayed step is
// one launch, inputs included. Where the split begins with embeddings, they and the RoPE table come
// by the same kernel.
#include <algorithm>
#include <cstring>

#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/vector/rows.h"

namespace minfer {
namespace {

// Rows that read their ids over the bus.
constexpr int64_t kBeginRows = 64;

// Where `place` lies in pinned memory; nullptr where it is no input.
const int32_t* PinnedOf(const kernels::cuda::ScatterArgs& inputs, const int32_t* place) {
  for (int32_t p = 0; p < inputs.n_pieces; ++p) {
    const kernels::cuda::ScatterPiece& piece = inputs.pieces[p];
    if (reinterpret_cast<const int32_t*>(piece.to) == place) {
      return reinterpret_cast<const int32_t*>(piece.from);
    }
  }
  return nullptr;
}

}  // namespace

// Where each range lies, in the order of the writes, or not at all where one launch is not for
// them.
StatusOr<bool> CudaBackend::PlanScatter(absl::Span<const HostWrite> writes,
                                        kernels::cuda::ScatterArgs* args) const {
  if (writes.size() < 2 || writes.size() > kernels::cuda::kMaxScatterPieces) return false;
  for (const HostWrite& write : writes) {
    MF_ASSIGN_OR_RETURN(uint8_t * to, pool_->Resolve(write.to));
    if (write.to.bytes % 4 != 0 || reinterpret_cast<uintptr_t>(to) % 4 != 0) return false;
    kernels::cuda::ScatterPiece& piece = args->pieces[args->n_pieces++];
    piece.to = reinterpret_cast<uint32_t*>(to);
    piece.words = static_cast<int64_t>(write.to.bytes / 4);
  }
  return true;
}

Status CudaBackend::WriteAll(absl::Span<const HostWrite> writes) {
  // A step begins with its inputs: whatever the host's stream holds by now comes before it, also
  // where rows of logits were kept or read since the last wait.
  follows_host_ = false;
  MF_RETURN_IF_ERROR(CheckReady("write"));
  uint64_t bytes = 0;
  for (const HostWrite& write : writes) bytes += write.to.bytes;
  kernels::cuda::ScatterArgs args;
  MF_ASSIGN_OR_RETURN(const bool scatters, PlanScatter(writes, &args));
  if (!scatters || bytes > CudaUploadRing::kInputBytes || !upload_->pinned()) {
    return Backend::WriteAll(writes);
  }
  const CudaDeviceScope scope(*runtime_);
  // A step that was not waited for may still read those before.
  const bool waits = !inputs_read_;
  uint8_t* room = upload_->inputs();
  if (!waits) {
    MF_ASSIGN_OR_RETURN(room, upload_->Room(bytes, stream_->get()));
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    args.pieces[i].from = reinterpret_cast<const uint32_t*>(room);
    if (writes[i].to.bytes > 0) std::memcpy(room, writes[i].data, writes[i].to.bytes);
    room += writes[i].to.bytes;
  }
  ++enqueued_work_;
  for (const HostWrite& write : writes) pool_->SetWriter(write.to.buffer, enqueued_work_);
  inputs_ = args;
  if (!waits) return SendInputs();
  inputs_read_ = true;
  return OkStatus();
}

// By a kernel of their own.
Status CudaBackend::SendInputs() {
  if (inputs_.n_pieces == 0) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  const kernels::KernelStatus status = kernels::cuda::Scatter(inputs_, stream_->get());
  inputs_ = kernels::cuda::ScatterArgs();
  if (status == kernels::KernelStatus::kOk) return OkStatus();
  return runtime_->Error(cudaPeekAtLastError(), "launching an upload");
}

// Embeddings of tokens that are among the inputs wait for them, and for the table after them.
bool CudaBackend::BeginsStep(const NodeCall& call) const {
  if (inputs_.n_pieces == 0 || direct_ || !options_.fuse_inputs ||
      call.node->op != OpKind::kGetRows) {
    return false;
  }
  const StatusOr<const int32_t*> ids = Ints(call.inputs[0]);
  return ids.ok() && PinnedOf(inputs_, *ids) != nullptr &&
         call.graph->value(call.node->outputs[0]).shape.rows <= kBeginRows;
}

// Before a node: inputs that it does not take with it go by themselves.
Status CudaBackend::InputsBefore(const NodeCall& call) {
  if (inputs_.n_pieces == 0 || BeginsStep(call)) return OkStatus();
  return SendInputs();
}

Status CudaBackend::BeginStep(const NodeCall& call, kernels::cuda::StepBeginArgs args) {
  MF_ASSIGN_OR_RETURN(const int32_t* ids, Ints(call.inputs[0]));
  args.inputs = inputs_;
  args.ids = PinnedOf(inputs_, ids);
  inputs_ = kernels::cuda::ScatterArgs();
  KernelReport row;
  row.kernel = "with the inputs, by one kernel";
  row.reason = StrCat("a step begins, of at most ", kBeginRows, " rows");
  CountReport(call, 0, 1, std::move(row));
  const Node* next = NextNode();
  const bool table = next != nullptr && next->op == OpKind::kRopeTable &&
                     call.graph->value(next->outputs[0]).shape.rows == args.rows;
  if (!table) return FromKernel(call, kernels::cuda::StepBegin(args, stream_->get()));
  held_.begin = args;
  return OkStatus();
}

Status CudaBackend::TableForBegin(const NodeCall& call, kernels::cuda::StepBeginArgs begin,
                                  const kernels::cuda::RopeAngles& angles, const int32_t* positions,
                                  float* out) {
  held_.begin.reset();
  const int32_t* pinned = PinnedOf(begin.inputs, positions);
  if (pinned != nullptr) {
    begin.angles = angles;
    begin.positions = pinned;
    begin.cos_sin = out;
  }
  MF_RETURN_IF_ERROR(FromKernel(call, kernels::cuda::StepBegin(begin, stream_->get())));
  if (pinned != nullptr) return OkStatus();
  return FromKernel(call, kernels::cuda::RopeTable(angles, positions, begin.rows, out, queue()));
}

}  // namespace minfer
