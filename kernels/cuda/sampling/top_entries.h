// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The best entries of rows of logits, in the order that sampling ranks them: the highest value
// first, of equal ones the lower index. A NaN ranks above all, so that one anywhere in a row is its
// first entry.
#pragma once

#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"

namespace minfer::kernels::cuda {

inline constexpr int kMaxTopEntries = 64;
// Entries of a row that are looked at.
inline constexpr int64_t kMaxTopCount = 1 << 20;

struct TopEntry {
  int32_t index;  // -1 where the row has fewer entries
  float value;
};

struct TopEntriesArgs {
  const float* x = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;  // floats from row to row
  int64_t count = 0;   // entries of a row that are looked at, at most kMaxTopCount
  int32_t k = 0;
  TopEntry* out = nullptr;    // [rows, k]; may be pinned memory of the host
  uint32_t* marks = nullptr;  // [rows], or none: 1 once the host can see the row's entries
  uint32_t* parts = nullptr;  // TopPartsWords
  friend bool operator==(const TopEntriesArgs&, const TopEntriesArgs&) = default;
};

// Words of working memory.
int64_t TopPartsWords(int64_t rows);

KernelStatus TopEntries(const TopEntriesArgs& args, KernelStream stream);

}  // namespace minfer::kernels::cuda
