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
  static __device__ __forceinline__ int KeyCell(int tile) {
    return 8 * tile + static_cast<int>(threadIdx.x) % kWarp / 4;
  }
  __device__ bool any() const { return high > low; }
  __device__ bool Reads(int cell) const { return cell >= low && cell < high && cell != own; }

  __device__ __forceinline__ void LoadKeys(KeyFragments<kDim>* keys) const {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      keys->LoadCell(PlainCell{k + KeyCell(tile) * kDim}, tile, Reads(KeyCell(tile)));
    }
  }
  __device__ __forceinline__ void LoadValues(ValueFragments<kDim>* values) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values->LoadCell(PlainCell{v + ValueCell(i) * kDim}, i, Reads(ValueCell(i)));
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
  static __device__ __forceinline__ void ReadKeys(const uint4* room, KeyFragments<kDim>* keys) {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      keys->LoadCell(SharedCell<kDim>{room, KeyCell(tile)}, tile, true);
    }
  }
  static __device__ __forceinline__ void ReadValues(const uint4* room,
                                                    ValueFragments<kDim>* values) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values->LoadCell(SharedCell<kDim>{room, ValueCell(i)}, i, true);
    }
  }
  // The row's own cell, once it is in shared memory.
  __device__ __forceinline__ void TakeOwnKey(const __half* own_k, KeyFragments<kDim>* keys) const {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      if (own == KeyCell(tile)) keys->LoadCell(PlainCell{own_k}, tile, true);
    }
  }
  __device__ __forceinline__ void TakeOwnValue(const __half* own_v,
                                               ValueFragments<kDim>* values) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (own == ValueCell(i)) values->LoadCell(PlainCell{own_v}, i, true);
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
    if (cells.any()) cells.LoadKeys(&keys);
  }
  __device__ __forceinline__ void BeginValues(const WarpCells<kDim>& cells) {
    if (cells.any()) cells.LoadValues(&values);
  }
  __device__ __forceinline__ void MultiplyKeys(const WarpCells<kDim>& now,
                                               const DecodeShared<kDim>& shared,
                                               float (*scores)[4]) {
    if (!now.any()) return;
    now.TakeOwnKey(shared.own_k, &keys);
    keys.Multiply(shared.queries, scores);
  }
  __device__ __forceinline__ void MultiplyValues(const WarpCells<kDim>& now,
                                                 const DecodeShared<kDim>& shared,
                                                 const uint32_t* weights, const uint32_t* rest,
                                                 float (*sums)[4]) {
    if (!now.any()) return;
    now.TakeOwnValue(shared.own_v, &values);
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
    CpAsyncWait<1>();
    __syncwarp();
    if (now.any()) {
      KeyFragments<kDim> keys;
      WarpCells<kDim>::ReadKeys(room->cells[0], &keys);
      now.TakeOwnKey(shared.own_k, &keys);
      keys.Multiply(shared.queries, scores);
    }
    __syncwarp();
  }
  __device__ __forceinline__ void MultiplyValues(const WarpCells<kDim>& now,
                                                 const DecodeShared<kDim>& shared,
                                                 const uint32_t* weights, const uint32_t* rest,
                                                 float (*sums)[4]) {
    CpAsyncWait<1>();
    __syncwarp();
    if (now.any()) {
      ValueFragments<kDim> values;
      WarpCells<kDim>::ReadValues(room->cells[1], &values);
      now.TakeOwnValue(shared.own_v, &values);
      values.Multiply(weights, rest, sums);
    }
    __syncwarp();
  }
};

template <int kDim>
using StepCells = std::conditional_t<kCellsShared<kDim>, CellsInRoom<kDim>, CellsInRegisters<kDim>>;

}  // namespace minfer::kernels::cuda
