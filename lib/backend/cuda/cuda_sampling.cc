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

// Where the entries of all rows of outputs have room to be delivered.
bool CudaBackend::RecordsTail() const {
  if (!window_open_ || !split_.records_top) return false;
  const int64_t rows = split_.graph->params.output_rows;
  const auto bytes = static_cast<uint64_t>(rows * kMaxTopEntries) * sizeof(TopEntry);
  return readback_->RecordedPlace(bytes, rows).staged != nullptr;
}

StatusOr<kernels::cuda::TopEntriesArgs> CudaBackend::TopArgs(const TopRows& rows,
                                                             const BufferRange& work) const {
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
  return args;
}

// The last kernel writes into pinned memory, and a mark behind each row's entries, for which
// Synchronize looks: neither a copy nor an event stands between the device and the host. Recorded
// with a split they write to one place, and a replayed step is one launch, from its inputs to the
// entries.
Status CudaBackend::TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) {
  constexpr const char* kWhat = "a search for the best entries";
  MF_RETURN_IF_ERROR(window_open_ ? CheckUsable(kWhat) : CheckReady(kWhat));
  MF_ASSIGN_OR_RETURN(kernels::cuda::TopEntriesArgs args, TopArgs(rows, work));
  const auto bytes = static_cast<uint64_t>(rows.rows * rows.k) * sizeof(TopEntry);
  uint8_t* const room = reinterpret_cast<uint8_t*>(args.out);
  CudaReadback::Delivery delivery = readback_->RecordedPlace(bytes, rows.rows);
  const auto deliver = [&] {
    args.out = reinterpret_cast<kernels::cuda::TopEntry*>(delivery.staged);
    args.marks = delivery.marks;
  };
  pool_->SetWriter(work.buffer, ++enqueued_work_);
  ++top_calls_;
  if (replays_top_) {
    deliver();
    if (args == replayed_top_) {
      replays_top_ = false;
      readback_->Expect(delivery, host, bytes);
      readback_->Enqueued(enqueued_work_);
      return OkStatus();
    }
    MF_ASSIGN_OR_RETURN(args, TopArgs(rows, work));
  }
  if (window_open_) {
    if (delivery.staged == nullptr) return Internal("entries without room in a recording");
    CudaReadback::Clear(delivery);
    readback_->Expect(delivery, host, bytes);
  } else {
    delivery = readback_->Expect(host, bytes, rows.rows);
  }
  if (delivery.staged != nullptr) deliver();
  const CudaDeviceScope scope(*runtime_);
  const kernels::KernelStatus status = kernels::cuda::TopEntries(args, queue());
  if (status == kernels::KernelStatus::kDeviceError) {
    return runtime_->Error(cudaPeekAtLastError(), "launching a search for the best entries");
  }
  if (status != kernels::KernelStatus::kOk) {
    return Internal(StrCat("best ", rows.k, " of ", rows.count,
                           " entries: ", kernels::KernelStatusName(status)));
  }
  if (window_open_) split_.top = args;
  if (delivery.staged == nullptr) {
    return readback_->Read(room, host, bytes, stream_->get()).status();
  }
  readback_->Enqueued(enqueued_work_);
  return OkStatus();
}

}  // namespace minfer
