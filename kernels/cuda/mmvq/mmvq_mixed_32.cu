// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Parts of several types in one launch: blocks of 32 weights.
#include "kernels/cuda/mmvq/mmvq_mixed.cuh"

namespace minfer::kernels::cuda {

KernelStatus MmvqMixed32(const MmvqArgs& args, const ElementType* types, KernelStream stream);

// What takes the place of super-blocks in files whose rows are no multiple of 256.
KernelStatus MmvqMixed32(const MmvqArgs& args, const ElementType* types, KernelStream stream) {
  return RunMixedTypes<ElementType::kQ8_0, ElementType::kQ5_1, ElementType::kQ5_0,
                       ElementType::kQ4_1, ElementType::kQ4_0>(args, types, stream);
}

}  // namespace minfer::kernels::cuda
