// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMQ for super-blocks of 256 weights: one a unit.
#include "kernels/cuda/mmq/mmq_types_256.cuh"

namespace minfer::kernels::cuda {

KernelStatus Mmq256(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                    KernelStream stream);

KernelStatus Mmq256(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                    KernelStream stream) {
  switch (type) {
    case ElementType::kQ4_K:
      return RunMmq<ElementType::kQ4_K>(args, scratch, stream);
    case ElementType::kQ5_K:
      return RunMmq<ElementType::kQ5_K>(args, scratch, stream);
    case ElementType::kQ6_K:
      return RunMmq<ElementType::kQ6_K>(args, scratch, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
