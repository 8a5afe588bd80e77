// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Two steps: a block finds the k best of 4,096 entries of a row, then one block a row those of what
// was kept. An entry travels as one word that compares as sampling ranks. For k = 1 both steps are
// maxima; otherwise a radix select, byte by byte from the top, finds the k-th word, and only the k
// words are sorted. Bound by latency: a row is read once.
#include "kernels/cuda/sampling/top_entries.h"

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kKeys = static_cast<int>(kTopPart);
static_assert(kMaxTopParts * kMaxTopEntries <= kTopPart, "the second step fits one block");

// Larger is better; 0 is no entry.
__device__ __forceinline__ uint64_t KeyOf(float value, int index) {
  uint32_t bits = value == 0.0f ? 0u : __float_as_uint(value);
  bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  if (isnan(value)) bits = 0xffffffffu;
  return static_cast<uint64_t>(bits) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

__device__ __forceinline__ TopEntry EntryOf(uint64_t key) {
  if (key == 0) return {-1, -INFINITY};
  const auto bits = static_cast<uint32_t>(key >> 32);
  const uint32_t value = (bits & 0x80000000u) != 0 ? bits & 0x7fffffffu : ~bits;
  return {static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key)), __uint_as_float(value)};
}

__device__ __forceinline__ uint64_t Larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// The largest key of the block, in thread 0.
__device__ uint64_t BlockMax(uint64_t key) {
  __shared__ uint64_t warps[kThreads / kWarp];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    key = Larger(key, __shfl_xor_sync(0xffffffffu, key, offset));
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = key;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kThreads / kWarp; ++w) key = Larger(key, warps[w]);
  }
  return key;
}

// What one pass of the select has found out.
struct SelectPass {
  int bins[256];
  int bin;       // that the wanted word is in
  int above;     // words in higher bins
  int within;    // words in the bin
  int n_chosen;  // words written so far
};

// Warp 0: the bin in which the `wanted`-th largest word lies. Lane l looks at eight bins, the
// highest first.
__device__ __forceinline__ void FindBin(int wanted, SelectPass* pass) {
  const int lane = threadIdx.x;
  const int first = 255 - 8 * lane;
  int sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += pass->bins[first - j];
  int before = sum;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, before, offset);
    if (lane >= offset) before += below;
  }
  before -= sum;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int count = pass->bins[first - j];
    if (before < wanted && before + count >= wanted) {
      pass->bin = first - j;
      pass->above = before;
      pass->within = count;
    }
    before += count;
  }
}

// The k largest of n words, n at least k, in any order; words of 0 are no entries and are left out.
// `best` begins as zeros.
__device__ void SelectKeys(const uint64_t* keys, int n, int k, uint64_t* best) {
  __shared__ SelectPass pass;
  uint64_t prefix = 0;
  uint64_t mask = 0;
  int wanted = k;
  if (threadIdx.x == 0) pass.n_chosen = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256) pass.bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += kThreads) {
      if ((keys[i] & mask) != prefix) continue;
      const int bin = static_cast<int>(keys[i] >> shift & 255u);
      // The first byte is sign and exponent: most of a warp meets in a few bins.
      const unsigned same = shift == 56 ? __match_any_sync(__activemask(), bin) : 0;
      if (shift != 56) {
        atomicAdd(&pass.bins[bin], 1);
      } else if (static_cast<int>(threadIdx.x % kWarp) == __ffs(static_cast<int>(same)) - 1) {
        atomicAdd(&pass.bins[bin], __popc(same));
      }
    }
    __syncthreads();
    if (threadIdx.x < kWarp) FindBin(wanted, &pass);
    __syncthreads();
    prefix |= static_cast<uint64_t>(pass.bin) << shift;
    mask |= uint64_t{255} << shift;
    wanted -= pass.above;
    if (pass.within == wanted) break;  // all of the bin
  }
  for (int i = threadIdx.x; i < n; i += kThreads) {
    if (keys[i] != 0 && keys[i] >= prefix) best[atomicAdd(&pass.n_chosen, 1)] = keys[i];
  }
  __syncthreads();
}

// Sorts kMaxTopEntries words, the largest first.
__device__ void SortBest(uint64_t* best) {
  for (int size = 2; size <= kMaxTopEntries; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int i = threadIdx.x;
      if (i >= kMaxTopEntries / 2) continue;
      const int low = 2 * i - (i & (step - 1));
      const int high = low + step;
      const uint64_t a = best[low];
      const uint64_t b = best[high];
      if ((a < b) == ((low & size) == 0)) {
        best[low] = b;
        best[high] = a;
      }
    }
  }
  __syncthreads();
}

__device__ __forceinline__ uint64_t RowKey(const TopEntriesArgs& args, int64_t row, int64_t i) {
  return i < args.count ? KeyOf(args.x[row * args.stride + i], static_cast<int>(i)) : 0;
}

__global__ void __launch_bounds__(kThreads) BestOfPartKernel(TopEntriesArgs args) {
  GridDependencyLaunch();
  const int64_t row = blockIdx.y;
  const int64_t first = blockIdx.x * kTopPart;
  uint64_t best = 0;
#pragma unroll
  for (int i = 0; i < kKeys / kThreads; ++i) {
    best = Larger(best, RowKey(args, row, first + threadIdx.x + i * kThreads));
  }
  best = BlockMax(best);
  if (threadIdx.x == 0) args.parts[row * gridDim.x + blockIdx.x] = best;
}

__global__ void __launch_bounds__(kThreads) BestOfRowKernel(TopEntriesArgs args, int parts) {
  GridDependencyWait();
  const int64_t row = blockIdx.x;
  const int i = threadIdx.x;
  const uint64_t best = BlockMax(i < parts ? args.parts[row * parts + i] : 0);
  if (threadIdx.x == 0) args.out[row] = EntryOf(best);
}

__global__ void __launch_bounds__(kThreads) TopOfPartKernel(TopEntriesArgs args) {
  GridDependencyLaunch();
  __shared__ uint64_t keys[kKeys];
  __shared__ uint64_t best[kMaxTopEntries];
  const int64_t row = blockIdx.y;
  const int64_t first = blockIdx.x * kTopPart;
  for (int i = threadIdx.x; i < kKeys; i += kThreads) keys[i] = RowKey(args, row, first + i);
  if (threadIdx.x < kMaxTopEntries) best[threadIdx.x] = 0;
  __syncthreads();
  SelectKeys(keys, kKeys, args.k, best);
  uint64_t* to = args.parts + (row * gridDim.x + blockIdx.x) * args.k;
  if (threadIdx.x < args.k) to[threadIdx.x] = best[threadIdx.x];
}

__global__ void __launch_bounds__(kThreads) TopOfRowKernel(TopEntriesArgs args, int parts) {
  GridDependencyWait();
  __shared__ uint64_t keys[kKeys];
  __shared__ uint64_t best[kMaxTopEntries];
  const int64_t row = blockIdx.x;
  const int kept = parts * args.k;
  for (int i = threadIdx.x; i < kept; i += kThreads) keys[i] = args.parts[row * kept + i];
  if (threadIdx.x < kMaxTopEntries) best[threadIdx.x] = 0;
  __syncthreads();
  SelectKeys(keys, kept, args.k, best);
  SortBest(best);
  if (threadIdx.x < args.k) args.out[row * args.k + threadIdx.x] = EntryOf(best[threadIdx.x]);
}

}  // namespace

int64_t TopPartsWords(int64_t rows, int64_t count, int32_t k) {
  return rows * CeilDiv(count, kTopPart) * k;
}

KernelStatus TopEntries(const TopEntriesArgs& args, KernelStream stream) {
  const int64_t parts = CeilDiv(args.count, kTopPart);
  if (args.rows < 0 || args.rows > kMaxGridYz || args.count <= 0 || args.count > args.stride ||
      parts > kMaxTopParts || args.k <= 0 || args.k > kMaxTopEntries) {
    return KernelStatus::kBadShape;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  const LaunchShape of_parts{dim3(static_cast<unsigned>(parts), static_cast<unsigned>(args.rows)),
                             dim3(kThreads)};
  const LaunchShape of_rows{dim3(static_cast<unsigned>(args.rows)), dim3(kThreads)};
  const auto n = static_cast<int>(parts);
  const bool one = args.k == 1;
  const KernelStatus status = one ? Launch(BestOfPartKernel, of_parts, stream.stream, args)
                                  : Launch(TopOfPartKernel, of_parts, stream.stream, args);
  if (status != KernelStatus::kOk) return status;
  return one ? Launch(BestOfRowKernel, of_rows, stream, args, n)
             : Launch(TopOfRowKernel, of_rows, stream, args, n);
}

}  // namespace minfer::kernels::cuda
