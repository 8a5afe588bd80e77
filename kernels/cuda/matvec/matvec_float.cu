// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/matvec/matvec_kernel.cuh"

namespace minfer::kernels::cuda {

KernelStatus MatvecDecoded(const MatvecArgs& args, cudaStream_t stream);

KernelStatus Matvec(const MatvecArgs& args, cudaStream_t stream) {
  if (args.m < 0 || args.n < 0 || args.k <= 0 || args.m > kMatvecMaxRows) {
    return KernelStatus::kBadShape;
  }
  if (args.m == 0 || args.n == 0) return KernelStatus::kOk;
  switch (args.type) {
    case ElementType::kF32:
      return LaunchMatvec<ElementType::kF32>(args, stream);
    case ElementType::kF16:
      return LaunchMatvec<ElementType::kF16>(args, stream);
    case ElementType::kBF16:
      return LaunchMatvec<ElementType::kBF16>(args, stream);
    default:
      return MatvecDecoded(args, stream);
  }
}

}  // namespace minfer::kernels::cuda
