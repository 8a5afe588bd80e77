// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Norms, elementwise operations, rotation and store, gathers: the shapes of Qwen2.5-7B.
#include <string>

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/cuda/vector/rope_angles.h"
#include "kernels/cuda/vector/rows.h"
#include "kernels/cuda/vector/vector.h"
#include "tests/bench/cuda_bench.h"

namespace minfer::bench {
namespace {

using kernels::KernelStatus;
using kernels::cuda::Elementwise;

constexpr int64_t kWidth = 3584;
constexpr int64_t kFfn = 18944;
constexpr int kHeads = 28;
constexpr int kKvHeads = 4;
constexpr int kDim = 128;
constexpr int64_t kVocab = 152064;

std::string Rows(const char* what, int64_t rows, int64_t cols) {
  return std::string(what) + ", " + std::to_string(rows) + " x " + std::to_string(cols);
}

void RunNorms(CudaBench* bench) {
  uint8_t* planes = bench->Allocate(1 << 20);
  const float* weight = bench->Piece<float>(0, kWidth * 4);
  for (const int64_t rows : {1, 8, 512, 2048}) {
    const int64_t bytes = rows * kWidth * 4;
    const Cost cost{2.0 * static_cast<double>(bytes), 0};
    bench->Run("norm", Rows("rms norm", rows, kWidth), cost, [&](int64_t i) {
      return kernels::cuda::RmsNorm(bench->Piece<float>(2 * i, bytes), weight,
                                    bench->Piece<float>(2 * i + 1, bytes), rows, kWidth, 1e-6f,
                                    bench->stream());
    });
    bench->Run("norm", Rows("layer norm", rows, kWidth), cost, [&](int64_t i) {
      return kernels::cuda::LayerNorm(bench->Piece<float>(2 * i, bytes), weight, weight,
                                      bench->Piece<float>(2 * i + 1, bytes), rows, kWidth, 1e-6f,
                                      bench->stream());
    });
    if (rows > 8) continue;
    const auto target = kernels::cuda::MakePlaneTarget(planes, rows, kWidth, false, true);
    bench->Run("norm", Rows("rms norm to planes alone", rows, kWidth), cost, [&](int64_t i) {
      return kernels::cuda::RmsNorm(bench->Piece<float>(i, bytes), weight, nullptr, rows, kWidth,
                                    1e-6f, bench->stream(), target);
    });
  }
}

void RunElementwiseOps(CudaBench* bench) {
  for (const int64_t rows : {1, 512}) {
    const auto add = [&](const char* what, Elementwise op, int64_t cols) {
      const int64_t bytes = rows * cols * 4;
      bench->Run("elementwise", Rows(what, rows, cols), {3.0 * static_cast<double>(bytes), 0},
                 [&](int64_t i) {
                   kernels::cuda::ElementwiseArgs args;
                   args.a = bench->Piece<float>(3 * i, bytes);
                   args.b = bench->Piece<float>(3 * i + 1, bytes);
                   args.out = bench->Piece<float>(3 * i + 2, bytes);
                   args.count = rows * cols;
                   args.cols = cols;
                   return kernels::cuda::RunElementwise(op, args, bench->stream());
                 });
    };
    add("add", Elementwise::kAdd, kWidth);
    add("silu(a) * b", Elementwise::kSiluMul, kFfn);
    add("gelu(a) * b", Elementwise::kGeluMul, kFfn);
  }
}

void RunRopes(CudaBench* bench) {
  kernels::RopeParams params;
  params.rope_dim = kDim;
  params.base = 1e6;
  kernels::cuda::RopeAngles angles;
  if (kernels::cuda::MakeRopeAngles(params, &angles) != KernelStatus::kOk) return;
  uint8_t* pages[2] = {bench->Allocate(int64_t{64} << 20), bench->Allocate(int64_t{64} << 20)};
  const int64_t page_bytes = kernels::cuda::KvPageBytes(KvFormat::kF16, kKvHeads, kDim);
  for (const int64_t rows : {1, 64, 512}) {
    std::vector<int32_t> cells;
    for (int32_t r = 0; r < rows; ++r) cells.push_back(r);
    const int32_t* on_device = bench->Upload(cells);
    auto* table = reinterpret_cast<float*>(bench->Allocate(rows * kDim * 4));
    bench->Run("rope, store", Rows("table of angles", rows, kDim),
               {static_cast<double>(rows * kDim * 4), 0}, [&](int64_t) {
                 return kernels::cuda::RopeTable(angles, on_device, rows, table, bench->stream());
               });
    const int64_t q_bytes = rows * kHeads * kDim * 4;
    kernels::cuda::RopeArgs rope;
    rope.cos_sin = table;
    rope.rows = rows;
    rope.n_heads = kHeads;
    rope.head_dim = rope.rope_dim = kDim;
    rope.neox = true;
    const auto with_q = [&](int64_t i) {
      rope.x = bench->Piece<float>(2 * i, q_bytes);
      rope.out = bench->Piece<float>(2 * i + 1, q_bytes);
    };
    const double q_moved = 2.0 * static_cast<double>(q_bytes);
    bench->Run("rope, store", Rows("rotation of Q", rows, kHeads * kDim), {q_moved, 0},
               [&](int64_t i) {
                 with_q(i);
                 return kernels::cuda::Rope(rope, bench->stream());
               });
    const int64_t kv_bytes = rows * kKvHeads * kDim * 4;
    kernels::cuda::KvStoreArgs store;
    store.k_side = {pages[0], page_bytes, 256, KvFormat::kF16, kDim};
    store.v_side = {pages[1], page_bytes, 256, KvFormat::kF16, kDim};
    store.n_kv_heads = kKvHeads;
    store.cells = on_device;
    store.rows = rows;
    store.cos_sin = table;
    store.rope_dim = kDim;
    store.neox = true;
    for (const bool both : {false, true}) {
      bench->Run("rope, store",
                 Rows(both ? "Q rotated, K and V stored" : "K rotated, K and V stored", rows,
                      kKvHeads * kDim),
                 {3.0 * static_cast<double>(kv_bytes) + (both ? q_moved : 0.0), 0}, [&](int64_t i) {
                   with_q(i);
                   if (both) store.rope = rope;
                   store.k = bench->Piece<float>(2 * i, kv_bytes);
                   store.v = bench->Piece<float>(2 * i + 1, kv_bytes);
                   return kernels::cuda::KvStore(store, bench->stream());
                 });
    }
  }
}

void RunGathers(CudaBench* bench) {
  const int64_t row_bytes = kernels::cuda::WeightRowBytes(ElementType::kQ4_K, kWidth);
  const auto* table = bench->Piece<uint8_t>(0, row_bytes * kVocab);
  for (const int64_t rows : {1, 64, 512}) {
    std::vector<int32_t> ids;
    for (int64_t r = 0; r < rows; ++r) ids.push_back(static_cast<int32_t>((r * 7919 + 5) % kVocab));
    const int32_t* on_device = bench->Upload(ids);
    const int64_t bytes = rows * kWidth * 4;
    bench->Run("gather", Rows("embeddings in Q4_K", rows, kWidth),
               {static_cast<double>(bytes + rows * row_bytes), 0}, [&](int64_t i) {
                 return kernels::cuda::GetRows(ElementType::kQ4_K, table, kVocab, kWidth, on_device,
                                               rows, bench->Piece<float>(i, bytes),
                                               bench->stream());
               });
    std::vector<int32_t> places;
    for (int64_t r = 0; r < rows; ++r) places.push_back(static_cast<int32_t>(rows - 1 - r));
    const int32_t* places_on_device = bench->Upload(places);
    bench->Run("gather", Rows("rows of floats", rows, kWidth),
               {2.0 * static_cast<double>(bytes), 0}, [&](int64_t i) {
                 return kernels::cuda::SelectRows(
                     bench->Piece<float>(2 * i, bytes), rows, kWidth, places_on_device, rows,
                     bench->Piece<float>(2 * i + 1, bytes), bench->stream());
               });
  }
}

}  // namespace

void RunVectorFamilies(CudaBench* bench) {
  RunNorms(bench);
  RunElementwiseOps(bench);
  RunRopes(bench);
  RunGathers(bench);
}

}  // namespace minfer::bench
