// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/attention/attention.h"

#include "kernels/cuda/attention/attention_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

template <KvFormat k_format, KvFormat v_format, int kHeads>
KernelStatus LaunchShaped(const AttentionArgs& args, KernelStream stream) {
  const int64_t group = args.n_heads / args.n_kv_heads;
  const int64_t grid_y = args.n_kv_heads * CeilDiv(group, kHeads);
  if (grid_y > kMaxGridYz) return KernelStatus::kBadShape;
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(args.rows), static_cast<unsigned>(grid_y),
                    args.partials == nullptr ? 1 : kAttentionStripes);
  shape.block = dim3(kAttentionThreads);
  shape.shared_bytes =
      static_cast<size_t>(AttentionSharedFloats<v_format, kHeads>(args.k.dim)) * sizeof(float);
  return Launch(AttentionKernel<k_format, v_format, kHeads>, shape, stream, args);
}

template <KvFormat k_format, KvFormat v_format>
KernelStatus LaunchFormats(const AttentionArgs& args, KernelStream stream) {
  // Heads that share a KV head read K and V once; those of one block.
  const int32_t group = args.n_heads / args.n_kv_heads;
  if (group == 1) return LaunchShaped<k_format, v_format, 1>(args, stream);
  if (group <= 4) return LaunchShaped<k_format, v_format, 4>(args, stream);
  return LaunchShaped<k_format, v_format, 8>(args, stream);
}

template <KvFormat k_format>
KernelStatus LaunchKFormat(const AttentionArgs& args, KernelStream stream) {
  switch (args.v.format) {
    case KvFormat::kF32:
      return LaunchFormats<k_format, KvFormat::kF32>(args, stream);
    case KvFormat::kF16:
      return LaunchFormats<k_format, KvFormat::kF16>(args, stream);
    case KvFormat::kQ8_0:
      return LaunchFormats<k_format, KvFormat::kQ8_0>(args, stream);
  }
  return KernelStatus::kUnsupportedType;
}

KernelStatus LaunchAttention(const AttentionArgs& args, KernelStream stream) {
  switch (args.k.format) {
    case KvFormat::kF32:
      return LaunchKFormat<KvFormat::kF32>(args, stream);
    case KvFormat::kF16:
      return LaunchKFormat<KvFormat::kF16>(args, stream);
    case KvFormat::kQ8_0:
      return LaunchKFormat<KvFormat::kQ8_0>(args, stream);
  }
  return KernelStatus::kUnsupportedType;
}

}  // namespace

int64_t AttentionPartialFloats(int64_t rows, int32_t n_heads, int32_t head_dim_v) {
  return rows * n_heads * kAttentionStripes * (int64_t{head_dim_v} + 4);
}

KernelStatus Attention(const AttentionArgs& args, KernelStream stream) {
  if (args.rows < 0 || args.n_kv_heads <= 0 || args.n_heads <= 0 ||
      args.n_heads % args.n_kv_heads != 0 || args.k.dim <= 0 || args.k.dim > kMaxHeadDim ||
      args.v.dim <= 0 || args.v.dim > kMaxHeadDim || args.rows * args.n_heads > kMaxGridX) {
    return KernelStatus::kBadShape;
  }
  if (args.planes.out != nullptr && (args.partials == nullptr || args.v.dim % 32 != 0)) {
    return KernelStatus::kBadShape;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  const KernelStatus status = LaunchAttention(args, stream);
  if (status != KernelStatus::kOk || args.partials == nullptr) return status;
  const int64_t rows = args.planes.out == nullptr ? args.rows : PlaneRows(args.planes, args.rows);
  return Launch(CombineKernel,
                {dim3(static_cast<unsigned>(rows * args.n_heads)), dim3(kAttentionThreads)}, stream,
                args);
}

}  // namespace minfer::kernels::cuda
