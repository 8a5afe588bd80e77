// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMQ for super-blocks of 256 weights: one a unit.
#include "kernels/cuda/mmq/mmq_types_256.cuh"

namespace minfer::kernels::cuda {

KernelStatus Mmq256(ElementType type, const MmqKernelArgs& args, int32_t shared_limit,
                    cudaStream_t stream);

KernelStatus Mmq256(ElementType type, const MmqKernelArgs& args, int32_t shared_limit,
                    cudaStream_t stream) {
  switch (type) {
    case ElementType::kQ4_K:
      return RunMmq<ElementType::kQ4_K>(args, shared_limit, stream);
    case ElementType::kQ5_K:
      return RunMmq<ElementType::kQ5_K>(args, shared_limit, stream);
    case ElementType::kQ6_K:
      return RunMmq<ElementType::kQ6_K>(args, shared_limit, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
