// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The best entries of rows, as devices find them: for tests of what stands on it. The CPU's own way
// is to give the rows themselves.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

bool RanksBefore(const TopEntry& a, const TopEntry& b) {
  const bool a_nan = std::isnan(a.value);
  const bool b_nan = std::isnan(b.value);
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.value != b.value) return a.value > b.value;
  return a.index < b.index;
}

}  // namespace

uint64_t CpuBackend::TopBytes(int64_t rows, int64_t count) const {
  if (count <= 0) return 0;
  return static_cast<uint64_t>(rows) * kMaxTopEntries * sizeof(TopEntry);
}

Status CpuBackend::TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) {
  if (work.bytes < TopBytes(rows.rows, rows.count) || rows.k <= 0 || rows.k > kMaxTopEntries) {
    return Status(StatusCode::kInternal, Subsystem::kBackend,
                  StrCat("cpu: ", work.bytes, " bytes for the best ", rows.k, " of ", rows.rows,
                         " rows"))
        .WithName("cpu");
  }
  TopEntry* out = host;
  const float* x = Floats(rows.x);
  for (int64_t r = 0; r < rows.rows; ++r, out += rows.k) {
    int32_t found = 0;
    for (int64_t i = 0; i < rows.count; ++i) {
      const TopEntry entry{static_cast<int32_t>(i), x[r * rows.stride + i]};
      if (found == rows.k && !RanksBefore(entry, out[found - 1])) continue;
      int32_t place = found < rows.k ? found++ : found - 1;
      for (; place > 0 && RanksBefore(entry, out[place - 1]); --place) out[place] = out[place - 1];
      out[place] = entry;
    }
    for (; found < rows.k; ++found) out[found] = {-1, -INFINITY};
  }
  return OkStatus();
}

}  // namespace minfer
