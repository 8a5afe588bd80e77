// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/attention_decode/attention_decode.h"

#include <algorithm>

#include "kernels/cuda/attention_decode/attention_decode_kernel.cuh"

namespace minfer::kernels::cuda {
namespace {

// Blocks of a launch: more would only wait, and those without a stripe cost their start. A block
// takes several stripes then.
constexpr int64_t kMostBlocks = 512;

int64_t BlocksOfHeads(int32_t n_heads, int32_t n_kv_heads) {
  return n_kv_heads * CeilDiv(n_heads / n_kv_heads, kDecodeHeads);
}

template <int kDim>
KernelStatus LaunchDecode(const AttentionDecodeArgs& args, KernelStream stream) {
  const AttentionArgs& a = args.attention;
  const int64_t rows = a.planes.out == nullptr ? a.rows : PlaneRows(a.planes, a.rows);
  const int64_t grid_y = BlocksOfHeads(a.n_heads, a.n_kv_heads);
  if (grid_y > kMaxGridYz || rows > kMaxGridX) return KernelStatus::kBadShape;
  const int64_t depth = std::clamp<int64_t>(kMostBlocks / (a.rows * grid_y), 1, kAttentionStripes);
  LaunchShape shape{dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y),
                         static_cast<unsigned>(depth)),
                    dim3(kDecodeThreads), sizeof(DecodeShared<kDim>)};
  if (sizeof(DecodeShared<kDim>) > 48 * 1024) {
    constexpr auto kBytes = static_cast<int>(sizeof(DecodeShared<kDim>));
    KernelStatus allowed = AllowSharedBytes(AttentionDecodeKernel<kDim>, kBytes, stream);
    if (allowed == KernelStatus::kOk && args.counters == nullptr) {
      allowed = AllowSharedBytes(DecodeCombineKernel<kDim>, kBytes, stream);
    }
    if (allowed != KernelStatus::kOk) return allowed;
  }
  const int32_t group = a.n_heads / a.n_kv_heads;
  const DecodeGroups groups = {group, static_cast<int>(CeilDiv(group, kDecodeHeads))};
  const KernelStatus status = Launch(AttentionDecodeKernel<kDim>, shape, stream, args, groups);
  if (status != KernelStatus::kOk || args.counters != nullptr) return status;
  shape.grid.z = 1;
  return Launch(DecodeCombineKernel<kDim>, shape, stream, args, groups);
}

bool IsAligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

KernelStatus CheckTail(const AttentionDecodeArgs& args) {
  const DecodeTail& tail = args.tail;
  if (tail.k == nullptr) {
    return tail.cos_sin == nullptr && tail.q_norm == nullptr && !args.settled
               ? KernelStatus::kOk
               : KernelStatus::kBadShape;
  }
  if (tail.v == nullptr || tail.cells == nullptr || tail.rope_dim < 0 || tail.rope_dim % 2 != 0 ||
      tail.rope_dim > args.attention.k.dim ||
      (tail.q_norm == nullptr) != (tail.k_norm == nullptr)) {
    return KernelStatus::kBadShape;
  }
  return IsAligned(tail.k) && IsAligned(tail.v) && IsAligned(tail.q_norm) && IsAligned(tail.k_norm)
             ? KernelStatus::kOk
             : KernelStatus::kBadAlignment;
}

}  // namespace

bool HasAttentionDecode(KvFormat k_format, KvFormat v_format, int32_t head_dim_k,
                        int32_t head_dim_v) {
  if (k_format != KvFormat::kF16 || v_format != KvFormat::kF16 || head_dim_k != head_dim_v) {
    return false;
  }
  return head_dim_k == 16 || head_dim_k == 32 || head_dim_k == 64 || head_dim_k == 256 ||
         (head_dim_k >= 80 && head_dim_k <= 128 && head_dim_k % 16 == 0);
}

int64_t AttentionDecodeCounters(int64_t rows, int32_t n_heads, int32_t n_kv_heads) {
  return rows * BlocksOfHeads(n_heads, n_kv_heads);
}

KernelStatus AttentionDecode(const AttentionDecodeArgs& args, KernelStream stream) {
  const AttentionArgs& a = args.attention;
  if (a.rows < 0 || a.n_kv_heads <= 0 || a.n_heads <= 0 || a.n_heads % a.n_kv_heads != 0 ||
      a.partials == nullptr || (a.planes.out != nullptr && a.v.dim % 32 != 0) ||
      !HasAttentionDecode(a.k.format, a.v.format, a.k.dim, a.v.dim)) {
    return KernelStatus::kBadShape;
  }
  if (!IsAligned(a.q) || !IsAligned(a.out) || !IsAligned(a.partials))
    return KernelStatus::kBadAlignment;
  const KernelStatus tail = CheckTail(args);
  if (tail != KernelStatus::kOk || a.rows == 0) return tail;
  switch (a.k.dim) {
    case 16:
      return LaunchDecode<16>(args, stream);
    case 32:
      return LaunchDecode<32>(args, stream);
    case 64:
      return LaunchDecode<64>(args, stream);
    case 80:
      return LaunchDecode<80>(args, stream);
    case 96:
      return LaunchDecode<96>(args, stream);
    case 112:
      return LaunchDecode<112>(args, stream);
    case 128:
      return LaunchDecode<128>(args, stream);
    default:
      return LaunchDecode<256>(args, stream);
  }
}

}  // namespace minfer::kernels::cuda
