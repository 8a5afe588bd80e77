// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Blocks of a row each decode embeddings, the next ones work out the table, the last ones move the
// pieces. Bound by one read over the bus, which takes a microsecond or two, and the start. The
// kernel behind it does not start early: some read inputs before they wait (../README.md).
#include "kernels/cuda/transfer/step_begin.h"

#include <algorithm>

#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/transfer/scatter.cuh"
#include "kernels/cuda/vector/get_row.cuh"
#include "kernels/cuda/vector/rope_pair.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = kRowThreads;

struct BeginGrid {
  int32_t row_blocks = 0;  // of one row
  int32_t table_begin = 0;
  int32_t pieces_begin = 0;
  int32_t piece_blocks = 0;  // of one piece
  int64_t pairs = 0;         // of all rows
};

template <ElementType type>
__global__ void __launch_bounds__(kThreads)
    StepBeginKernel(const __grid_constant__ StepBeginArgs args, const BeginGrid grid,
                    const RowTable table) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < grid.table_begin) {
    const int64_t row = block / grid.row_blocks;
    const int64_t part = block % grid.row_blocks;
    GetRowValues<type>(table, args.ids[row], (part * kThreads + threadIdx.x) * kRowValues,
                       args.embeddings + row * table.k);
  } else if (block < grid.pieces_begin) {
    const int64_t i = static_cast<int64_t>(block - grid.table_begin) * kThreads + threadIdx.x;
    if (i < grid.pairs) RopePair(args.angles, args.positions, i, args.cos_sin);
  } else {
    const int piece = (block - grid.pieces_begin) / grid.piece_blocks;
    const int part = (block - grid.pieces_begin) % grid.piece_blocks;
    CopyWords(args.inputs.pieces[piece], static_cast<int64_t>(part) * kThreads + threadIdx.x,
              static_cast<int64_t>(grid.piece_blocks) * kThreads);
  }
}

}  // namespace

KernelStatus StepBegin(const StepBeginArgs& args, cudaStream_t stream) {
  const RowTable table{static_cast<const uint8_t*>(args.table), args.table_rows,
                       WeightRowBytes(args.type, args.k), args.k};
  const RopeAngles& angles = args.angles;
  const bool with_table = args.cos_sin != nullptr;
  if (args.inputs.n_pieces < 0 || args.inputs.n_pieces > kMaxScatterPieces || args.rows <= 0 ||
      args.rows > kMaxGridYz || table.row_bytes == 0 ||
      (with_table && (angles.pairs <= 0 || angles.pairs > kMaxRopePairs))) {
    return KernelStatus::kBadShape;
  }
  int64_t most = 0;
  for (int p = 0; p < args.inputs.n_pieces; ++p) {
    if (args.inputs.pieces[p].words < 0) return KernelStatus::kBadShape;
    most = std::max(most, args.inputs.pieces[p].words);
  }
  const int64_t row_blocks = CeilDiv(args.k, kThreads * kRowValues);
  BeginGrid grid;
  grid.pairs = with_table ? args.rows * angles.pairs : 0;
  grid.piece_blocks =
      static_cast<int32_t>(std::clamp<int64_t>(CeilDiv(most, kThreads), 1, 2 * kMaxScatterBlocks));
  const int64_t table_begin = args.rows * row_blocks;
  const int64_t pieces_begin = table_begin + CeilDiv(grid.pairs, kThreads);
  const int64_t blocks = pieces_begin + args.inputs.n_pieces * grid.piece_blocks;
  if (blocks > kMaxGridX) return KernelStatus::kBadShape;
  grid.row_blocks = static_cast<int32_t>(row_blocks);
  grid.table_begin = static_cast<int32_t>(table_begin);
  grid.pieces_begin = static_cast<int32_t>(pieces_begin);
  return ForType(args.type, [&](auto tag) {
    return Launch(StepBeginKernel<decltype(tag)::kType>,
                  {dim3(static_cast<unsigned>(blocks)), dim3(kThreads)}, stream, args, grid, table);
  });
}

}  // namespace minfer::kernels::cuda
