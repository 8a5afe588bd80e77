// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/attention_prefill/attention_prefill.h"

#include "kernels/cuda/attention_prefill/attention_prefill_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

template <int kDim, KvFormat format>
KernelStatus LaunchPrefill(const AttentionArgs& args, KernelStream stream) {
  const int64_t grid_x = CeilDiv(args.rows, kPrefillRows);
  if (grid_x > kMaxGridX || args.n_heads > kMaxGridYz) return KernelStatus::kBadShape;
  const KernelStatus status =
      AllowSharedBytes(AttentionPrefillKernel<kDim, format, format>,
                       static_cast<int>(sizeof(PrefillShared<kDim>)), stream);
  if (status != KernelStatus::kOk) return status;
  return Launch(AttentionPrefillKernel<kDim, format, format>,
                {dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(args.n_heads)),
                 dim3(kPrefillThreads), sizeof(PrefillShared<kDim>)},
                stream, args);
}

template <KvFormat format>
KernelStatus LaunchDim(const AttentionArgs& args, KernelStream stream) {
  switch (args.k.dim) {
    case 64:
      return LaunchPrefill<64, format>(args, stream);
    case 80:
      return LaunchPrefill<80, format>(args, stream);
    case 96:
      return LaunchPrefill<96, format>(args, stream);
    case 112:
      return LaunchPrefill<112, format>(args, stream);
    case 128:
      return LaunchPrefill<128, format>(args, stream);
    case 256:
      return LaunchPrefill<256, format>(args, stream);
    default:
      return KernelStatus::kBadShape;
  }
}

}  // namespace

int AttentionPrefillSharedBytes(int32_t head_dim) {
  // Queries, K and V of heads that leave no room for a second page, otherwise two pages of each.
  const int rows = head_dim > 128 ? 3 * kKvPageCells : 4 * kKvPageCells + 1;
  return rows * (head_dim + 8) * 2 + 4 * 3 * kPrefillRows + 16;
}

bool HasAttentionPrefill(KvFormat k_format, KvFormat v_format, int32_t head_dim_k,
                         int32_t head_dim_v) {
  return k_format == v_format && k_format != KvFormat::kF32 && head_dim_k == head_dim_v &&
         (head_dim_k == 64 || head_dim_k == 256 ||
          (head_dim_k >= 80 && head_dim_k <= 128 && head_dim_k % 16 == 0));
}

KernelStatus AttentionPrefill(const AttentionArgs& args, KernelStream stream) {
  if (args.rows < 0 || args.n_kv_heads <= 0 || args.n_heads <= 0 ||
      args.n_heads % args.n_kv_heads != 0 ||
      !HasAttentionPrefill(args.k.format, args.v.format, args.k.dim, args.v.dim)) {
    return KernelStatus::kBadShape;
  }
  if (reinterpret_cast<uintptr_t>(args.q) % 16 != 0 ||
      reinterpret_cast<uintptr_t>(args.out) % 8 != 0) {
    return KernelStatus::kBadAlignment;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  return args.k.format == KvFormat::kF16 ? LaunchDim<KvFormat::kF16>(args, stream)
                                         : LaunchDim<KvFormat::kQ8_0>(args, stream);
}

}  // namespace minfer::kernels::cuda
