// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Streamed MMVQ for blocks of 32 weights.
#include "kernels/cuda/mmvq/mmvq_stream.cuh"

namespace minfer::kernels::cuda {

KernelStatus MmvqStream32(const MmvqArgs& args, KernelStream stream);

KernelStatus MmvqStream32(const MmvqArgs& args, KernelStream stream) {
  switch (args.type) {
    case ElementType::kQ4_0:
      return RunStream<ElementType::kQ4_0>(args, stream);
    case ElementType::kQ4_1:
      return RunStream<ElementType::kQ4_1>(args, stream);
    case ElementType::kQ5_0:
      return RunStream<ElementType::kQ5_0>(args, stream);
    case ElementType::kQ5_1:
      return RunStream<ElementType::kQ5_1>(args, stream);
    case ElementType::kQ8_0:
      return RunStream<ElementType::kQ8_0>(args, stream);
    default:
      return KernelStatus::kUnsupportedType;
  }
}

}  // namespace minfer::kernels::cuda
