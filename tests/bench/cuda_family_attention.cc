// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention of decode rows by the general kernel (cuda_attention_bench has the other), and of
// prompts: 28 heads of 128, four of K and V.
#include <string>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention_prefill/attention_prefill.h"
#include "tests/bench/cuda_bench.h"

namespace minfer::bench {
namespace {

constexpr int kHeads = 28;
constexpr int kKvHeads = 4;
constexpr int kDim = 128;
constexpr int64_t kPages = 4096;  // of each side

struct Store {
  KvFormat format;
  kernels::cuda::KvSide k;
  kernels::cuda::KvSide v;
};

Store MakeStore(CudaBench* bench, KvFormat format) {
  const int64_t page = kernels::cuda::KvPageBytes(format, kKvHeads, kDim);
  return {format,
          {bench->Piece<uint8_t>(0, page * kPages), page, kPages, format, kDim},
          {bench->Piece<uint8_t>(1, page * kPages), page, kPages, format, kDim}};
}

// `sequences` of `rows` rows each; the last row sees `length` cells.
struct Rows {
  int64_t sequences;
  int64_t rows;
  int64_t length;
};

kernels::cuda::AttentionArgs MakeArgs(CudaBench* bench, const Store& store, const Rows& rows) {
  const int64_t columns = (rows.length + 63) / 64;
  std::vector<int32_t> table, sequence, length;
  for (int64_t s = 0; s < rows.sequences; ++s) {
    for (int64_t p = 0; p < columns; ++p) {
      // Pages of all sequences, mixed.
      table.push_back(static_cast<int32_t>((s * columns + p) * 61 % kPages));
    }
    for (int64_t r = 0; r < rows.rows; ++r) {
      sequence.push_back(static_cast<int32_t>(s));
      length.push_back(static_cast<int32_t>(rows.length - rows.rows + 1 + r));
    }
  }
  const int64_t all = rows.sequences * rows.rows;
  kernels::cuda::AttentionArgs args;
  args.k = store.k;
  args.v = store.v;
  args.q = reinterpret_cast<float*>(bench->Allocate(all * kHeads * kDim * 4));
  args.out = reinterpret_cast<float*>(bench->Allocate(all * kHeads * kDim * 4));
  args.rows = all;
  args.n_heads = kHeads;
  args.n_kv_heads = kKvHeads;
  args.scale = 0.088f;
  args.page_table = bench->Upload(table);
  args.page_table_columns = columns;
  args.page_table_rows = rows.sequences;
  args.row_sequence = bench->Upload(sequence);
  args.row_length = bench->Upload(length);
  return args;
}

std::string Case(const Store& store, const Rows& rows) {
  return std::string(store.format == KvFormat::kF16 ? "f16" : "q8_0") + ", " +
         std::to_string(rows.sequences * rows.rows) + " rows, " + std::to_string(rows.length) +
         " cells";
}

void RunDecode(CudaBench* bench, const Store& store) {
  if (!bench->Wants("decode")) return;
  for (const Rows& rows : {Rows{1, 1, 128}, Rows{1, 1, 1024}, Rows{1, 1, 4096}, Rows{1, 1, 32768},
                           Rows{8, 1, 1024}, Rows{8, 1, 4096}, Rows{64, 1, 1024}}) {
    kernels::cuda::AttentionArgs args = MakeArgs(bench, store, rows);
    args.partials = reinterpret_cast<float*>(
        bench->Allocate(kernels::cuda::AttentionPartialFloats(args.rows, kHeads, kDim) * 4));
    const double cell_bytes =
        static_cast<double>(store.k.page_bytes + store.v.page_bytes) / kKvPageCells;
    const double cells = static_cast<double>(rows.sequences * rows.length);
    bench->Run("decode", Case(store, rows), {cells * cell_bytes, 4.0 * cells * kHeads * kDim},
               [&](int64_t) { return kernels::cuda::Attention(args, bench->stream()); });
  }
}

void RunPrefill(CudaBench* bench, const Store& store) {
  if (!bench->Wants("prefill")) return;
  for (const Rows& rows : {Rows{1, 64, 64}, Rows{1, 512, 512}, Rows{1, 512, 4096},
                           Rows{1, 2048, 2048}, Rows{1, 2048, 8192}}) {
    const kernels::cuda::AttentionArgs args = MakeArgs(bench, store, rows);
    const double seen = static_cast<double>(rows.rows) * (static_cast<double>(rows.length) -
                                                          static_cast<double>(rows.rows - 1) / 2.0);
    bench->Run("prefill", Case(store, rows), {0, 4.0 * seen * kHeads * kDim},
               [&](int64_t) { return kernels::cuda::AttentionPrefill(args, bench->plain()); });
  }
}

}  // namespace

void RunAttentionFamilies(CudaBench* bench) {
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kQ8_0}) {
    const Store store = MakeStore(bench, format);
    RunDecode(bench, store);
    RunPrefill(bench, store);
  }
}

}  // namespace minfer::bench
