// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// general.file_type in words.
#pragma once

#include <cstdint>

namespace minfer::capi {

// The main type that a file's number names; "" for a number that is not known.
constexpr const char* FileTypeName(int64_t file_type) {
  constexpr const char* kNames[] = {
      "F32",   "F16",     "Q4_0",   "Q4_1",   "Q4_1+F16", "",        "",       "Q8_0",   "Q5_0",
      "Q5_1",  "Q2_K",    "Q3_K_S", "Q3_K_M", "Q3_K_L",   "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
      "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS",   "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
      "IQ3_M", "IQ2_S",   "IQ2_M",  "IQ4_XS", "IQ1_M",    "BF16",    "",       "",       "",
      "TQ1_0", "TQ2_0",   "MXFP4",  "NVFP4",  "Q1_0"};
  constexpr int64_t kCount = sizeof(kNames) / sizeof(kNames[0]);
  return file_type >= 0 && file_type < kCount ? kNames[file_type] : "";
}

}  // namespace minfer::capi
