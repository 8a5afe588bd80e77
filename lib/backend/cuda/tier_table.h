// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the kernels may use on a device, by its compute capability. A capability that the table does
// not know gets the row below it, which holds for every later device too.
#pragma once

#include <cstdint>
#include <string_view>

namespace minfer {

struct CudaTier {
  int32_t capability;           // 10 * major + minor, the lowest that the row is for
  const char* name;             // of the architecture
  bool integer_dot;             // dp4a: MMVQ
  bool async_copy;              // cp.async
  bool integer_matrix;          // mma with int8: m16n8k32, before 8.0 m8n8k16
  bool hopper;                  // wgmma and bulk tensor copies: only at exactly 9.0
  int32_t shared_opt_in_bytes;  // shared memory a block may ask for
  bool measured;                // on such a device; false: from its data sheet
};

// The row for a device, or nullptr where it is too old.
const CudaTier* FindCudaTier(int32_t capability);

// The capability that the code was compiled for which a device of `capability` runs, of a build for
// `built_for`, as CMAKE_CUDA_ARCHITECTURES has it but with commas ("80-real,90a-real,80-virtual"):
// machine code of its own major version, otherwise the highest intermediate form that is not above
// it. 0: there is none.
int32_t FindCodeCapability(std::string_view built_for, int32_t capability);

// The row to use on a device of row `own` where `forced` is wanted: never one above its own, nor
// with more shared memory. 0: none is wanted; below the table: its first row.
CudaTier ForceCudaTier(const CudaTier& own, int32_t forced);

}  // namespace minfer
