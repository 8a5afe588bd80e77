// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Sixteen cells that a warp takes in a step, and where they wait until it comes to them: its
// registers or its room in shared memory.
#pragma once

#include <type_traits>

#include "kernels/cuda/arch/cp_async.cuh"
#include "kernels/cuda/attention/stripes.cuh"
#include "kernels/cuda/attention_decode/decode_fragments.cuh"
#include "kernels/cuda/attention_decode/decode_tail.cuh"

namespace minfer::kernels::cuda {

// A warp's sixteen cells of a step.
template <int kDim>
struct WarpCells {
  const __half* k = nullptr;
  const __half* v = nullptr;
  int low = 0;   // those seen of the sixteen
  int high = 0;  // low or less: none
  int own = -1;  // the row's own, if the block has it in shared memory

  WarpCells() = default;
  __device__ WarpCells(const AttentionArgs& args, const VisibleCells& seen, int first, int kv_head,
                       int own_cell) {
    low = max(seen.low - first, 0);
    high = min(seen.high - first, 16);
    if (high <= low) return;
    own = own_cell - first;
    const int64_t page = seen.pages[first / kKvPageCells];
    const int64_t at =
        kv_head * KvSlabBytes(KvFormat::kF16, kDim) + first % kKvPageCells * kDim * 2;
    k = reinterpret_cast<const __half*>(args.k.pages + page * args.k.page_bytes + at);
    v = reinterpret_cast<const __half*>(args.v.pages + page * args.v.page_bytes + at);
  }
  __device__ bool any() const { return high > low; }
  __device__ bool Reads(int cell) const { return cell >= low && cell < high && cell != own; }

  // Loads under way of a lane's cells of K or of V, from where the first of the sixteen lies.
  template <typename Fragments>
  __device__ __forceinline__ void Load(const __half* from, Fragments* fragments) const {
#pragma unroll
    for (int i = 0; i < Fragments::kCells; ++i) {
      const int cell = Fragments::Cell(i);
      fragments->LoadCell(PlainCell{from + cell * kDim}, i, Reads(cell));
    }
  }
  // Copies under way to a warp's room, a group; cells that are not read become 0 there.
  __device__ __forceinline__ void Copy(const __half* from, uint4* room) const {
    constexpr int kPieces = kDim / 8;
    if (any()) {
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i) {
        const int at = static_cast<int>(threadIdx.x) % kWarp + i * kWarp;
        const int cell = at / kPieces;
        CpAsync16(room + CellPiece<kDim>(cell, at % kPieces), from + 8 * at, Reads(cell));
      }
    }
    CpAsyncCommit();
  }
  template <typename Fragments>
  static __device__ __forceinline__ void Read(const uint4* room, Fragments* fragments) {
#pragma unroll
    for (int i = 0; i < Fragments::kCells; ++i) {
      fragments->LoadCell(SharedCell<kDim>{room, Fragments::Cell(i)}, i, true);
    }
  }
  // The row's own cell, once it is in shared memory.
  template <typename Fragments>
  __device__ __forceinline__ void TakeOwn(const __half* own_cell, Fragments* fragments) const {
#pragma unroll
    for (int i = 0; i < Fragments::kCells; ++i) {
      if (own == Fragments::Cell(i)) fragments->LoadCell(PlainCell{own_cell}, i, true);
    }
  }
};

// The cells of a warp's step, under way to its registers.
template <int kDim>
struct CellsInRegisters {
  KeyFragments<kDim> keys;
  ValueFragments<kDim> values;

  __device__ explicit CellsInRegisters(WarpRoom<kDim>*) {}
  __device__ __forceinline__ void BeginKeys(const WarpCells<kDim>& cells) {
    if (cells.any()) cells.Load(cells.k, &keys);
  }
  __device__ __forceinline__ void BeginValues(const WarpCells<kDim>& cells) {
    if (cells.any()) cells.Load(cells.v, &values);
  }
  __device__ __forceinline__ void MultiplyKeys(const WarpCells<kDim>& now,
                                               const DecodeShared<kDim>& shared,
                                               float (*scores)[4]) {
    if (!now.any()) return;
    now.TakeOwn(shared.own_k, &keys);
    keys.Multiply(shared.queries, scores);
  }
  __device__ __forceinline__ void MultiplyValues(const WarpCells<kDim>& now,
                                                 const DecodeShared<kDim>& shared,
                                                 const uint32_t* weights, const uint32_t* rest,
                                                 float (*sums)[4]) {
    if (!now.any()) return;
    now.TakeOwn(shared.own_v, &values);
    values.Multiply(weights, rest, sums);
  }
};

// The same in shared memory. What is begun is a group of copies each, K and V in turn.
template <int kDim>
struct CellsInRoom {
  WarpRoom<kDim>* room;

  __device__ explicit CellsInRoom(WarpRoom<kDim>* of_warp) : room(of_warp) {}
  __device__ __forceinline__ void BeginKeys(const WarpCells<kDim>& cells) {
    cells.Copy(cells.k, room->cells[0]);
  }
  __device__ __forceinline__ void BeginValues(const WarpCells<kDim>& cells) {
    cells.Copy(cells.v, room->cells[1]);
  }
  __device__ __forceinline__ void MultiplyKeys(const WarpCells<kDim>& now,
                                               const DecodeShared<kDim>& shared,
                                               float (*scores)[4]) {
    Multiply<KeyFragments<kDim>>(now, room->cells[0], shared.own_k, shared.queries, scores);
  }
  __device__ __forceinline__ void MultiplyValues(const WarpCells<kDim>& now,
                                                 const DecodeShared<kDim>& shared,
                                                 const uint32_t* weights, const uint32_t* rest,
                                                 float (*sums)[4]) {
    Multiply<ValueFragments<kDim>>(now, room->cells[1], shared.own_v, weights, rest, sums);
  }

 private:
  // The older of the two groups under way, as fragments, times `factors`.
  template <typename Fragments, typename... Factors>
  static __device__ __forceinline__ void Multiply(const WarpCells<kDim>& now, const uint4* cells,
                                                  const __half* own, Factors... factors) {
    CpAsyncWait<1>();
    __syncwarp();
    if (now.any()) {
      Fragments fragments;
      WarpCells<kDim>::Read(cells, &fragments);
      now.TakeOwn(own, &fragments);
      fragments.Multiply(factors...);
    }
    __syncwarp();
  }
};

template <int kDim>
using StepCells = std::conditional_t<kCellsShared<kDim>, CellsInRoom<kDim>, CellsInRegisters<kDim>>;

}  // namespace minfer::kernels::cuda
