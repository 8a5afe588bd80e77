// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Streamed MMVQ for super-blocks of 256 weights.
#include "kernels/cuda/mmvq/mmvq_stream.cuh"

namespace minfer::kernels::cuda {

KernelStatus MmvqStream256(const MmvqArgs& args, KernelStream stream);

KernelStatus MmvqStream256(const MmvqArgs& args, KernelStream stream) {
  switch (args.type) {
    case ElementType::kQ4_K:
      return RunStream<ElementType::kQ4_K>(args, stream);
    case ElementType::kQ5_K:
      return RunStream<ElementType::kQ5_K>(args, stream);
    case ElementType::kQ6_K:
      return RunStream<ElementType::kQ6_K>(args, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
