// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Parts of several types in one launch: super-blocks of 256 weights, and Q8_0.
#include "kernels/cuda/mmvq/mmvq_mixed.cuh"

namespace minfer::kernels::cuda {

KernelStatus MmvqMixed256(const MmvqArgs& args, const ElementType* types, KernelStream stream);

// Those with more bits come first: their blocks read the most.
KernelStatus MmvqMixed256(const MmvqArgs& args, const ElementType* types, KernelStream stream) {
  return RunMixedTypes<ElementType::kQ8_0, ElementType::kQ6_K, ElementType::kQ5_K,
                       ElementType::kQ4_K>(args, types, stream);
}

}  // namespace minfer::kernels::cuda
