// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixtures of experts: 128 experts of which eight take a row, the shapes of Qwen3-30B-A3B.
#include <algorithm>
#include <string>

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/experts/expert_mmq.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/matvec/matvec.h"
#include "tests/bench/cuda_bench.h"

namespace minfer::bench {
namespace {

constexpr int32_t kExperts = 128;
constexpr int32_t kUsed = 8;
constexpr int64_t kWidth = 2048;
constexpr int64_t kInner = 768;

struct Slots {
  const int32_t* ids;
  kernels::cuda::ExpertLists lists;
  int32_t active;
};

// Rows go to experts as a small generator says.
Slots MakeSlots(CudaBench* bench, int64_t rows) {
  std::vector<int32_t> ids, slots, counts(kExperts, 0);
  uint32_t state = 12345;
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int32_t> chosen;
    while (chosen.size() < kUsed) {
      state = state * 1664525u + 1013904223u;
      const auto id = static_cast<int32_t>(state >> 25);
      if (std::count(chosen.begin(), chosen.end(), id) == 0) chosen.push_back(id);
    }
    ids.insert(ids.end(), chosen.begin(), chosen.end());
  }
  for (int32_t e = 0; e < kExperts; ++e) {
    for (size_t s = 0; s < ids.size(); ++s) {
      if (ids[s] != e) continue;
      slots.push_back(static_cast<int32_t>(s));
      ++counts[static_cast<size_t>(e)];
    }
  }
  const auto none = static_cast<int32_t>(std::count(counts.begin(), counts.end(), 0));
  return {bench->Upload(ids),
          {bench->Upload(slots), bench->Upload(counts), static_cast<int32_t>(ids.size()), kExperts},
          kExperts - none};
}

void RunProduct(CudaBench* bench, const Slots& slots, const char* name, ElementType type, int64_t n,
                int64_t k, bool gated) {
  const int64_t matrices = kernels::cuda::WeightRowBytes(type, k) * n * kExperts;
  const double n_slots = slots.lists.n_slots;
  const double parts = gated ? 2.0 : 1.0;
  const Cost cost{parts * static_cast<double>(matrices) * slots.active / kExperts,
                  parts * 2.0 * n_slots * static_cast<double>(n * k)};
  auto* out = reinterpret_cast<float*>(bench->Allocate(slots.lists.n_slots * n * 4));
  kernels::cuda::ExpertMmqArgs args;
  args.type = type;
  args.lists = slots.lists;
  args.n = n;
  args.k = k;
  args.activations = bench->Allocate(
      static_cast<int64_t>(kernels::cuda::ExpertTileBytes(slots.lists.n_slots, kExperts, k)));
  args.out = out;
  args.shared_opt_in_bytes = 227 << 10;
  const std::string what =
      std::string(name) + ", " + std::to_string(slots.lists.n_slots) + " slots";
  bench->Run("experts", what, cost, [&](int64_t i) {
    args.weights = bench->Piece<uint8_t>(2 * i, matrices);
    args.up = gated ? bench->Piece<uint8_t>(2 * i + 1, matrices) : nullptr;
    args.gate = gated ? kernels::cuda::MmvqGate::kSilu : kernels::cuda::MmvqGate::kNone;
    return kernels::cuda::ExpertMmq(args, bench->stream());
  });
  if (gated) return;
  kernels::cuda::ExpertMatMulArgs floats;
  floats.type = type;
  floats.n = n;
  floats.k = k;
  floats.n_experts = kExperts;
  floats.x = reinterpret_cast<float*>(bench->Allocate(slots.lists.n_slots * k * 4));
  floats.slots = slots.lists.slots;
  floats.counts = slots.lists.counts;
  floats.n_slots = slots.lists.n_slots;
  floats.out = out;
  bench->Run("experts", what + ", decoded", cost, [&](int64_t i) {
    floats.weights = bench->Piece<uint8_t>(2 * i, matrices);
    return kernels::cuda::ExpertMatMul(floats, bench->plain());
  });
}

void RunRouting(CudaBench* bench, const Slots& slots, int64_t rows) {
  kernels::cuda::TopExpertsArgs top;
  top.scores = reinterpret_cast<float*>(bench->Allocate(rows * kExperts * 4));
  top.rows = rows;
  top.n_experts = kExperts;
  top.n_used = kUsed;
  top.normalise = true;
  top.ids = reinterpret_cast<int32_t*>(bench->Allocate(rows * kUsed * 4));
  top.weights = reinterpret_cast<float*>(bench->Allocate(rows * kUsed * 4));
  const std::string of_rows = ", " + std::to_string(rows) + " rows";
  if (rows > kernels::cuda::kMatvecMaxRows) {
    kernels::cuda::GemmArgs router;
    router.weights = bench->Allocate(kExperts * kWidth * 4);
    router.n = kExperts;
    router.k = kWidth;
    router.x = reinterpret_cast<float*>(bench->Allocate(rows * kWidth * 4));
    router.m = rows;
    router.out = reinterpret_cast<float*>(bench->Allocate(rows * kExperts * 4));
    router.out_stride = kExperts;
    bench->Run(
        "experts", "router in F32" + of_rows,
        {static_cast<double>((rows + kExperts) * kWidth * 4), 2.0 * rows * kExperts * kWidth},
        [&](int64_t) { return kernels::cuda::Gemm(router, bench->plain()); });
  }
  bench->Run("experts", "choice" + of_rows, {static_cast<double>(rows * kExperts * 4), 0},
             [&](int64_t) { return kernels::cuda::TopExperts(top, bench->plain()); });
  auto* ordered = reinterpret_cast<int32_t*>(bench->Allocate(rows * kUsed * 4));
  auto* counts = reinterpret_cast<int32_t*>(bench->Allocate(kExperts * 4));
  bench->Run("experts", "groups" + of_rows, {static_cast<double>(rows * kUsed * 8), 0},
             [&](int64_t) {
               return kernels::cuda::GroupExperts(slots.ids, rows * kUsed, kExperts, ordered,
                                                  counts, {}, bench->plain());
             });
  kernels::cuda::QuantizeExpertsArgs quantize;
  quantize.lists = slots.lists;
  quantize.x = reinterpret_cast<float*>(bench->Allocate(rows * kWidth * 4));
  quantize.k = kWidth;
  quantize.fan_out = kUsed;
  quantize.out = bench->Allocate(
      static_cast<int64_t>(kernels::cuda::ExpertTileBytes(slots.lists.n_slots, kExperts, kWidth)));
  bench->Run(
      "experts", "quantisation of slots" + of_rows,
      {static_cast<double>(rows * kWidth * 4) + static_cast<double>(rows * kUsed * kWidth) * 1.25,
       0},
      [&](int64_t) { return kernels::cuda::QuantizeExperts(quantize, bench->stream()); });
  const int64_t bytes = rows * kUsed * kWidth * 4;
  auto* out = reinterpret_cast<float*>(bench->Allocate(rows * kWidth * 4));
  bench->Run("experts", "weighted sum" + of_rows, {static_cast<double>(bytes) * 1.125, 0},
             [&](int64_t i) {
               return kernels::cuda::CombineExperts(bench->Piece<float>(i, bytes), top.weights,
                                                    rows, kWidth, kUsed, out, bench->plain());
             });
}

}  // namespace

void RunExpertFamily(CudaBench* bench) {
  if (!bench->Wants("experts")) return;
  for (const int64_t rows : {1, 8, 64, 512}) {
    const Slots slots = MakeSlots(bench, rows);
    RunRouting(bench, slots, rows);
    RunProduct(bench, slots, "gate in Q4_K", ElementType::kQ4_K, kInner, kWidth, false);
    RunProduct(bench, slots, "gate, up and activation in Q4_K", ElementType::kQ4_K, kInner, kWidth,
               true);
    RunProduct(bench, slots, "down in Q6_K", ElementType::kQ6_K, kWidth, kInner, false);
    RunProduct(bench, slots, "gate in Q8_0", ElementType::kQ8_0, kInner, kWidth, false);
  }
}

}  // namespace minfer::bench
