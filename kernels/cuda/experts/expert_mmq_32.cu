// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of experts for blocks of 32 weights.
#include "kernels/cuda/experts/expert_mmq_kernel.cuh"
#include "kernels/cuda/mmq/mmq_types_32.cuh"

namespace minfer::kernels::cuda {

KernelStatus ExpertMmq32(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                         KernelStream stream);

KernelStatus ExpertMmq32(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                         KernelStream stream) {
  switch (type) {
    case ElementType::kQ4_0:
      return RunExpertMmq<ElementType::kQ4_0>(args, shared_limit, stream);
    case ElementType::kQ4_1:
      return RunExpertMmq<ElementType::kQ4_1>(args, shared_limit, stream);
    case ElementType::kQ5_0:
      return RunExpertMmq<ElementType::kQ5_0>(args, shared_limit, stream);
    case ElementType::kQ5_1:
      return RunExpertMmq<ElementType::kQ5_1>(args, shared_limit, stream);
    case ElementType::kQ8_0:
      return RunExpertMmq<ElementType::kQ8_0>(args, shared_limit, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
