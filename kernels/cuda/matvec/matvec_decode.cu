// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/matvec/matvec_kernel.cuh"

namespace minfer::kernels::cuda {

KernelStatus MatvecDecoded(const MatvecArgs& args, cudaStream_t stream);

KernelStatus MatvecDecoded(const MatvecArgs& args, cudaStream_t stream) {
  return ForType(args.type, [&](auto tag) -> KernelStatus {
    constexpr ElementType kType = decltype(tag)::kType;
    if constexpr (RowDecoder<kType>::kIsFloat) {
      return KernelStatus::kUnsupportedType;
    } else {
      return LaunchMatvec<kType>(args, stream);
    }
  });
}

}  // namespace minfer::kernels::cuda
