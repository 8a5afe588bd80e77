// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What picking tokens needs of logits that stay on the device.
#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/sampling/top_entries.h"

namespace minfer {

static_assert(sizeof(TopEntry) == sizeof(kernels::cuda::TopEntry));
static_assert(kMaxTopEntries == kernels::cuda::kMaxTopEntries);

// The entries, where pinned memory can't take them, and the maxima of parts of the rows.
uint64_t CudaBackend::TopBytes(int64_t rows, int64_t count) const {
  if (count <= 0 || count > kernels::cuda::kMaxTopCount) return 0;
  return static_cast<uint64_t>(rows) * kMaxTopEntries * sizeof(TopEntry) +
         static_cast<uint64_t>(kernels::cuda::TopPartsWords(rows)) * sizeof(uint32_t);
}

// The last kernel writes into pinned memory, and a mark behind each row's entries, for which
// Synchronize looks: neither a copy nor an event stands between the device and the host.
Status CudaBackend::TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) {
  MF_RETURN_IF_ERROR(CheckReady("a search for the best entries"));
  if (work.bytes < TopBytes(rows.rows, rows.count) || work.offset % sizeof(uint64_t) != 0) {
    return Internal(StrCat(work.bytes, " bytes at ", work.offset, " for the best entries of ",
                           rows.rows, " rows"));
  }
  kernels::cuda::TopEntriesArgs args;
  MF_ASSIGN_OR_RETURN(args.x, Floats(rows.x));
  MF_ASSIGN_OR_RETURN(uint8_t * room, pool_->Resolve(work));
  args.rows = rows.rows;
  args.stride = rows.stride;
  args.count = rows.count;
  args.k = rows.k;
  args.out = reinterpret_cast<kernels::cuda::TopEntry*>(room);
  args.parts = reinterpret_cast<uint32_t*>(room + static_cast<size_t>(rows.rows) * kMaxTopEntries *
                                                      sizeof(TopEntry));
  const auto bytes = static_cast<uint64_t>(rows.rows * rows.k) * sizeof(TopEntry);
  const CudaReadback::Delivery delivery = readback_->Expect(host, bytes, rows.rows);
  if (delivery.staged != nullptr) {
    args.out = reinterpret_cast<kernels::cuda::TopEntry*>(delivery.staged);
    args.marks = delivery.marks;
  }
  const CudaDeviceScope scope(*runtime_);
  const kernels::KernelStatus status = kernels::cuda::TopEntries(args, queue());
  if (status == kernels::KernelStatus::kDeviceError) {
    return runtime_->Error(cudaPeekAtLastError(), "launching a search for the best entries");
  }
  if (status != kernels::KernelStatus::kOk) {
    return Internal(StrCat("best ", rows.k, " of ", rows.count,
                           " entries: ", kernels::KernelStatusName(status)));
  }
  pool_->SetWriter(work.buffer, ++enqueued_work_);
  if (delivery.staged != nullptr) readback_->Enqueued(enqueued_work_);
  ++top_calls_;
  if (delivery.staged != nullptr) return OkStatus();
  return readback_->Read(room, host, bytes, stream_->get()).status();
}

}  // namespace minfer
