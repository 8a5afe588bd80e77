// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMQ for blocks of 32 weights: eight blocks a unit, from the planes of a row.
#include "kernels/cuda/mmq/mmq_types_32.cuh"

namespace minfer::kernels::cuda {

KernelStatus Mmq32(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                   KernelStream stream);

KernelStatus Mmq32(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                   KernelStream stream) {
  switch (type) {
    case ElementType::kQ4_0:
      return RunMmq<ElementType::kQ4_0>(args, scratch, stream);
    case ElementType::kQ4_1:
      return RunMmq<ElementType::kQ4_1>(args, scratch, stream);
    case ElementType::kQ5_0:
      return RunMmq<ElementType::kQ5_0>(args, scratch, stream);
    case ElementType::kQ5_1:
      return RunMmq<ElementType::kQ5_1>(args, scratch, stream);
    case ElementType::kQ8_0:
      return RunMmq<ElementType::kQ8_0>(args, scratch, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
