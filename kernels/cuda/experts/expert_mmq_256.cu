// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of experts for super-blocks of 256 weights.
#include "kernels/cuda/experts/expert_mmq_kernel.cuh"
#include "kernels/cuda/mmq/mmq_types_256.cuh"

namespace minfer::kernels::cuda {

KernelStatus ExpertMmq256(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                          KernelStream stream);

KernelStatus ExpertMmq256(ElementType type, const ExpertMmqKernelArgs& args, int32_t shared_limit,
                          KernelStream stream) {
  switch (type) {
    case ElementType::kQ4_K:
      return RunExpertMmq<ElementType::kQ4_K>(args, shared_limit, stream);
    case ElementType::kQ5_K:
      return RunExpertMmq<ElementType::kQ5_K>(args, shared_limit, stream);
    case ElementType::kQ6_K:
      return RunExpertMmq<ElementType::kQ6_K>(args, shared_limit, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
