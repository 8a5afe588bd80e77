// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Two steps. A warp finds the largest value of each of 1,024 stretches of a row; then a block a row
// ranks the maxima of 256 sets of four stretches. The k-th of them bounds the k-th entry from
// below, so only stretches whose maximum reaches it are read again (hardly more than k of them),
// and of their values only those that reach it are candidates (hardly more than k, too), which are
// ranked one against the other. Rows with more candidates than a block holds, because values are
// equal in masses, are searched byte by byte. Bound by latency: a row is read once.
#include "kernels/cuda/sampling/top_entries.h"

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kPartThreads = 256;  // of the first step
constexpr int kThreads = 1024;     // of the second
constexpr int kParts = 1024;       // stretches of a row
constexpr int kSets = kParts / 4;
constexpr int kCandidates = 1024;
static_assert(kParts == kThreads, "a thread a stretch");
static_assert(kMaxTopEntries <= kSets, "a set for each entry");

// Larger is better; 0 is no entry.
__device__ __forceinline__ uint32_t RankOf(float value) {
  const uint32_t bits = value == 0.0f ? 0u : __float_as_uint(value);
  if (isnan(value)) return 0xffffffffu;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// With the index, so that no two entries are equal.
__device__ __forceinline__ uint64_t KeyOf(uint32_t rank, int64_t index) {
  return static_cast<uint64_t>(rank) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

__device__ __forceinline__ TopEntry EntryOf(uint64_t key) {
  if (key == 0) return {-1, -INFINITY};
  const auto rank = static_cast<uint32_t>(key >> 32);
  const uint32_t value = (rank & 0x80000000u) != 0 ? rank & 0x7fffffffu : ~rank;
  return {static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key)), __uint_as_float(value)};
}

struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
};

__device__ __forceinline__ Stretch StretchOf(const TopEntriesArgs& args, int part) {
  const int64_t width = (args.count + kParts - 1) / kParts;
  const int64_t begin = part * width;
  return {begin, begin + width < args.count ? begin + width : args.count};
}

// Calls use(rank, index) for the entries of a stretch that fall to the thread of a warp; many loads
// are under way at once.
template <typename Use>
__device__ __forceinline__ void ForRanks(const float* row, const Stretch& stretch, Use use) {
  constexpr int kLoads = 8;
  for (int64_t at = stretch.begin; at < stretch.end; at += kLoads * kWarp) {
    uint32_t ranks[kLoads];
    const int64_t first = at + threadIdx.x % kWarp;
#pragma unroll
    for (int l = 0; l < kLoads; ++l) {
      const int64_t i = first + l * kWarp;
      ranks[l] = i < stretch.end ? RankOf(row[i]) : 0;
    }
#pragma unroll
    for (int l = 0; l < kLoads; ++l) use(ranks[l], first + l * kWarp);
  }
}

__global__ void __launch_bounds__(kPartThreads) PartMaximaKernel(TopEntriesArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int part = static_cast<int>(blockIdx.x * (kPartThreads / kWarp) + threadIdx.x / kWarp);
  uint32_t best = 0;
  ForRanks(args.x + blockIdx.y * args.stride, StretchOf(args, part),
           [&](uint32_t rank, int64_t) { best = max(best, rank); });
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    best = max(best, __shfl_xor_sync(0xffffffffu, best, offset));
  }
  if (threadIdx.x % kWarp == 0) args.parts[blockIdx.y * kParts + part] = best;
}

struct RowSearch {
  uint32_t sets[kSets];  // the maxima
  uint32_t bound;        // what an entry must reach
  int n_parts;
  int parts[kParts];  // whose maximum reaches it
  int n_candidates;   // also those that found no room
  uint64_t candidates[kCandidates];
  uint64_t best[kMaxTopEntries];
};

// The maximum of the thread's stretch. Afterwards the bound is set: the value of the set that ranks
// k-th, or a lower one where the k-th value is there more than once. Four threads a set, each of
// which compares with a quarter of the others.
__device__ __forceinline__ uint32_t FindBound(const TopEntriesArgs& args, RowSearch* search) {
  const uint32_t mine = args.parts[blockIdx.x * kParts + threadIdx.x];
  uint32_t set = max(mine, __shfl_xor_sync(0xffffffffu, mine, 1));
  set = max(set, __shfl_xor_sync(0xffffffffu, set, 2));
  const int quarter = threadIdx.x % 4;
  if (quarter == 0) search->sets[threadIdx.x / 4] = set;
  if (threadIdx.x == 0) {
    search->bound = 0xffffffffu;
    search->n_parts = search->n_candidates = 0;
  }
  if (threadIdx.x < kMaxTopEntries) search->best[threadIdx.x] = 0;
  __syncthreads();
  const auto* sets = reinterpret_cast<const uint4*>(search->sets);
  int above = 0;
#pragma unroll 4
  for (int i = quarter; i < kSets / 4; i += 4) {
    const uint4 four = sets[i];
    above += (four.x > set) + (four.y > set) + (four.z > set) + (four.w > set);
  }
  above += __shfl_xor_sync(0xffffffffu, above, 1);
  above += __shfl_xor_sync(0xffffffffu, above, 2);
  if (quarter == 0 && above < args.k) atomicMin(&search->bound, set);
  __syncthreads();
  return mine;
}

// A warp a stretch.
__device__ __forceinline__ void CollectCandidates(const TopEntriesArgs& args, RowSearch* search) {
  const float* row = args.x + blockIdx.x * args.stride;
  const uint32_t bound = search->bound;
  for (int p = threadIdx.x / kWarp; p < search->n_parts; p += kThreads / kWarp) {
    ForRanks(row, StretchOf(args, search->parts[p]), [&](uint32_t rank, int64_t i) {
      if (rank == 0 || rank < bound) return;
      const int at = atomicAdd(&search->n_candidates, 1);
      if (at < kCandidates) search->candidates[at] = KeyOf(rank, i);
    });
  }
}

// Every candidate counts those that are better.
__device__ __forceinline__ void RankCandidates(const TopEntriesArgs& args, RowSearch* search) {
  const int n = search->n_candidates;
  if (static_cast<int>(threadIdx.x) >= n) return;
  const uint64_t mine = search->candidates[threadIdx.x];
  int above = 0;
  for (int i = 0; i < n; ++i) above += search->candidates[i] > mine ? 1 : 0;
  if (above < args.k) search->best[above] = mine;
}

// Where candidates are too many: the k-th key, byte by byte from the top, from all of the row. The
// keys differ, so that k are left in the end, which are ranked like candidates.
__device__ void SearchRow(const TopEntriesArgs& args, RowSearch* search) {
  const float* row = args.x + blockIdx.x * args.stride;
  int* bins = search->parts;
  uint64_t prefix = 0;
  int wanted = static_cast<int>(args.count < args.k ? args.count : args.k);
  for (int shift = 56; shift >= 0; shift -= 8) {
    __syncthreads();
    if (threadIdx.x < 256) bins[threadIdx.x] = 0;
    __syncthreads();
    const uint64_t mask = shift == 56 ? 0 : ~uint64_t{0} << (shift + 8);
    for (int64_t i = threadIdx.x; i < args.count; i += kThreads) {
      const uint64_t key = KeyOf(RankOf(row[i]), i);
      if ((key & mask) == prefix) atomicAdd(&bins[key >> shift & 255u], 1);
    }
    __syncthreads();
    int bin = 255;
    for (; bin > 0 && bins[bin] < wanted; --bin) wanted -= bins[bin];
    prefix |= static_cast<uint64_t>(bin) << shift;
  }
  __syncthreads();
  if (threadIdx.x == 0) search->n_candidates = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < args.count; i += kThreads) {
    const uint64_t key = KeyOf(RankOf(row[i]), i);
    if (key >= prefix) search->candidates[atomicAdd(&search->n_candidates, 1)] = key;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) TopOfRowKernel(TopEntriesArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  __shared__ __align__(16) RowSearch search;
  const uint32_t mine = FindBound(args, &search);
  // A stretch without values has no maximum.
  if (mine != 0 && mine >= search.bound) {
    search.parts[atomicAdd(&search.n_parts, 1)] = static_cast<int>(threadIdx.x);
  }
  __syncthreads();
  CollectCandidates(args, &search);
  __syncthreads();
  if (search.n_candidates > kCandidates) SearchRow(args, &search);
  RankCandidates(args, &search);
  __syncthreads();
  if (threadIdx.x < args.k) {
    args.out[static_cast<int64_t>(blockIdx.x) * args.k + threadIdx.x] =
        EntryOf(search.best[threadIdx.x]);
  }
  if (args.marks == nullptr) return;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *const_cast<volatile uint32_t*>(args.marks + blockIdx.x) = 1;
}

}  // namespace

int64_t TopPartsWords(int64_t rows) { return rows * kParts; }

KernelStatus TopEntries(const TopEntriesArgs& args, KernelStream stream) {
  if (args.rows < 0 || args.rows > kMaxGridYz || args.count <= 0 || args.count > args.stride ||
      args.count > kMaxTopCount || args.k <= 0 || args.k > kMaxTopEntries) {
    return KernelStatus::kBadShape;
  }
  if (args.rows == 0) return KernelStatus::kOk;
  constexpr unsigned kBlocks = kParts / (kPartThreads / kWarp);
  const KernelStatus status =
      Launch(PartMaximaKernel,
             {dim3(kBlocks, static_cast<unsigned>(args.rows)), dim3(kPartThreads)}, stream, args);
  if (status != KernelStatus::kOk) return status;
  return Launch(TopOfRowKernel, {dim3(static_cast<unsigned>(args.rows)), dim3(kThreads)}, stream,
                args);
}

}  // namespace minfer::kernels::cuda
