// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What picking tokens needs of logits that stay on the device.
#include "backend/cuda/cuda_backend.h"
#include "base/str_cat.h"
#include "kernels/cuda/sampling/top_entries.h"

namespace minfer {

static_assert(sizeof(TopEntry) == sizeof(kernels::cuda::TopEntry));
static_assert(kMaxTopEntries == kernels::cuda::kMaxTopEntries);

uint64_t CudaBackend::TopBytes(int64_t rows, int64_t count) const {
  if (count <= 0 || count > kernels::cuda::kTopPart * kernels::cuda::kMaxTopParts) return 0;
  return static_cast<uint64_t>(rows) * kMaxTopEntries * sizeof(TopEntry) +
         static_cast<uint64_t>(kernels::cuda::TopPartsWords(rows, count, kMaxTopEntries)) *
             sizeof(uint64_t);
}

Status CudaBackend::TopEntries(const TopRows& rows, const BufferRange& to) {
  MF_RETURN_IF_ERROR(OutsideWindow("a search for the best entries"));
  MF_RETURN_IF_ERROR(CheckUsable("a search for the best entries"));
  if (to.bytes < TopBytes(rows.rows, rows.count) || to.offset % sizeof(uint64_t) != 0) {
    return Internal(
        StrCat(to.bytes, " bytes at ", to.offset, " for the best entries of ", rows.rows, " rows"));
  }
  kernels::cuda::TopEntriesArgs args;
  MF_ASSIGN_OR_RETURN(args.x, Floats(rows.x));
  MF_ASSIGN_OR_RETURN(uint8_t * out, pool_->Resolve(to));
  args.rows = rows.rows;
  args.stride = rows.stride;
  args.count = rows.count;
  args.k = rows.k;
  args.out = reinterpret_cast<kernels::cuda::TopEntry*>(out);
  args.parts = reinterpret_cast<uint64_t*>(out + static_cast<size_t>(rows.rows) * kMaxTopEntries *
                                                     sizeof(TopEntry));
  const CudaDeviceScope scope(*runtime_);
  const kernels::KernelStatus status = kernels::cuda::TopEntries(args, queue());
  if (status == kernels::KernelStatus::kDeviceError) {
    return runtime_->Error(cudaPeekAtLastError(), "launching a search for the best entries");
  }
  if (status != kernels::KernelStatus::kOk) {
    return Internal(StrCat("best ", rows.k, " of ", rows.count,
                           " entries: ", kernels::KernelStatusName(status)));
  }
  pool_->SetWriter(to.buffer, ++enqueued_work_);
  ++top_calls_;
  return OkStatus();
}

}  // namespace minfer
