// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Copies between host and device, the scatter of a step's inputs, and the best entries of logits.
#include <string>

#include "kernels/cuda/sampling/top_entries.h"
#include "kernels/cuda/transfer/scatter.h"
#include "tests/bench/cuda_bench.h"

namespace minfer::bench {
namespace {

using kernels::KernelStatus;

KernelStatus Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind,
                  cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream) == cudaSuccess
             ? KernelStatus::kOk
             : KernelStatus::kDeviceError;
}

void RunCopies(CudaBench* bench) {
  uint8_t* pinned = bench->Pinned(64 << 20);
  for (const int64_t bytes : {int64_t{4} << 10, int64_t{2} << 20, int64_t{64} << 20}) {
    const std::string size = std::to_string(bytes >> 10) + " KiB";
    const auto moved = static_cast<double>(bytes);
    bench->Run("transfers", "pinned to device, " + size, {moved, 0}, [&](int64_t i) {
      return Copy(bench->Piece<uint8_t>(i, bytes), pinned, bytes, cudaMemcpyHostToDevice,
                  bench->plain());
    });
    bench->Run("transfers", "device to pinned, " + size, {moved, 0}, [&](int64_t i) {
      return Copy(pinned, bench->Piece<uint8_t>(i, bytes), bytes, cudaMemcpyDeviceToHost,
                  bench->plain());
    });
    bench->Run("transfers", "device to device, " + size, {2.0 * moved, 0}, [&](int64_t i) {
      return Copy(bench->Piece<uint8_t>(2 * i, bytes), bench->Piece<uint8_t>(2 * i + 1, bytes),
                  bytes, cudaMemcpyDeviceToDevice, bench->plain());
    });
  }
  for (const int64_t words : {int64_t{1}, int64_t{64}, int64_t{2048}}) {
    kernels::cuda::ScatterArgs args;
    args.n_pieces = 8;
    for (int32_t p = 0; p < args.n_pieces; ++p) {
      args.pieces[p] = {bench->Piece<uint32_t>(p, words * 4),
                        reinterpret_cast<uint32_t*>(pinned) + p * words, words};
    }
    bench->Run("transfers", "scatter of 8 pieces of " + std::to_string(words) + " words",
               {static_cast<double>(8 * words * 4), 0},
               [&](int64_t) { return kernels::cuda::Scatter(args, bench->plain()); });
  }
}

void RunSampling(CudaBench* bench) {
  constexpr int64_t kVocab = 152064;
  for (const int64_t rows : {1, 8, 64}) {
    for (const int32_t k : {1, 40}) {
      kernels::cuda::TopEntriesArgs args;
      args.rows = rows;
      args.stride = args.count = kVocab;
      args.k = k;
      args.out = reinterpret_cast<kernels::cuda::TopEntry*>(bench->Allocate(rows * k * 8));
      args.parts =
          reinterpret_cast<uint32_t*>(bench->Allocate(kernels::cuda::TopPartsWords(rows) * 4));
      const int64_t bytes = rows * kVocab * 4;
      bench->Run("sampling",
                 "best " + std::to_string(k) + " of " + std::to_string(kVocab) + ", " +
                     std::to_string(rows) + " rows",
                 {static_cast<double>(bytes), 0}, [&](int64_t i) {
                   args.x = bench->Piece<float>(i, bytes);
                   return kernels::cuda::TopEntries(args, bench->plain());
                 });
    }
  }
}

}  // namespace

void RunTransferFamilies(CudaBench* bench) {
  if (bench->Wants("transfers")) RunCopies(bench);
  if (bench->Wants("sampling")) RunSampling(bench);
}

}  // namespace minfer::bench
