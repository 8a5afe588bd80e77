// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cpu/kv_layout.h"
#include "kernels/reference/attention_reference.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::AttentionArgs;
using kernels::KernelStatus;
using kernels::KvFormat;

// The kernels work in f32 with a chain of multiply-adds a value; the twin in double.
constexpr double kTolerance = 3e-6;

std::vector<float> Reference(AttentionCase* c) {
  std::vector<float> out;
  CHECK(kernels::reference::Attention(c->Args(&out)) == KernelStatus::kOk);
  return out;
}

// Rows of a chunk: sequence s, lengths from first_length up.
void AppendRows(int32_t sequence, int32_t first_length, int32_t n, std::vector<int32_t>* sequences,
                std::vector<int32_t>* lengths) {
  for (int32_t i = 0; i < n; ++i) {
    sequences->push_back(sequence);
    lengths->push_back(first_length + i);
  }
}

TEST_CASE("Attention: D12 any head size gives the right numbers in every unit", "[kernels][D12]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t dim : {1, 8, 16, 33, 40, 64, 80, 88, 96, 112, 128, 192, 256, 576}) {
      const KvShape shape = {.n_kv_heads = 2, .head_dim_k = dim, .head_dim_v = dim};
      KvStoreForTest store(*unit.attention, shape, {70}, 5);
      AttentionCase c(store, 6, {0, 0, 0}, {68, 69, 70}, 9);
      CAPTURE(unit.name, dim);
      CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
    }
  }
}

TEST_CASE("Attention: K and V may have different head sizes", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    const KvShape shape = {.n_kv_heads = 2, .head_dim_k = 48, .head_dim_v = 20};
    KvStoreForTest store(*unit.attention, shape, {130}, 5);
    AttentionCase c(store, 4, {0, 0}, {129, 130}, 9);
    CAPTURE(unit.name);
    CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
  }
}

TEST_CASE("Attention: D15 every K format times every V format", "[kernels][D15]") {
  const KvFormat formats[] = {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0};
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat k : formats) {
      for (const KvFormat v : formats) {
        for (const int32_t dim : {40, 64}) {
          const KvShape shape = {k, v, 3, dim, dim};
          KvStoreForTest store(*unit.attention, shape, {200}, 6);
          std::vector<int32_t> sequences;
          std::vector<int32_t> lengths;
          AppendRows(0, 181, 20, &sequences, &lengths);
          AttentionCase c(store, 9, sequences, lengths, 2);
          CAPTURE(unit.name, static_cast<int>(k), static_cast<int>(v), dim);
          CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
        }
      }
    }
  }
}

TEST_CASE("Attention: D21 any number of cells, to the last cell of a full context",
          "[kernels][D21]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t n : {1, 2, 31, 33, 63, 64, 65, 257, 511, 512, 513, 1100}) {
      const KvShape shape = {.n_kv_heads = 1, .head_dim_k = 32, .head_dim_v = 32};
      KvStoreForTest store(*unit.attention, shape, {n}, 8);
      AttentionCase c(store, 3, {0}, {n}, 3);
      CAPTURE(unit.name, n);
      CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
    }
  }
}

TEST_CASE("Attention: D10 a window counts the row's own cell and nothing before it",
          "[kernels][D10]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t window : {1, 4, 64, 100, 600, 5000}) {
      const KvShape shape = {.n_kv_heads = 2, .head_dim_k = 32, .head_dim_v = 32};
      KvStoreForTest store(*unit.attention, shape, {1200}, 8);
      std::vector<int32_t> sequences;
      std::vector<int32_t> lengths;
      AppendRows(0, 1, 6, &sequences, &lengths);
      AppendRows(0, 60, 9, &sequences, &lengths);
      AppendRows(0, 1190, 11, &sequences, &lengths);
      AttentionCase c(store, 4, sequences, lengths, 3);
      c.args.window = window;
      CAPTURE(unit.name, window);
      CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
    }
  }
}

TEST_CASE("Attention: softcap", "[kernels]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    KvStoreForTest store(*unit.attention, {}, {90}, 8);
    AttentionCase c(store, 2, {0, 0}, {2, 90}, 3);
    c.args.softcap = 1.5f;
    CAPTURE(unit.name);
    CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < kTolerance);
  }
}

TEST_CASE("Attention: D19 a row with nothing to attend gives zeros", "[kernels][D19]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t window : {0, 4}) {
      KvStoreForTest store(*unit.attention, {}, {90, 3}, 8);
      AttentionCase c(store, 2, {-1, 0, 0, 1, -1, 0}, {90, 0, 90, 3, 0, -5}, 3);
      c.args.window = window;
      const std::vector<float> out = RunAttention(*unit.attention, &c);
      CAPTURE(unit.name, window);
      REQUIRE(!out.empty());
      for (const size_t row : {0u, 1u, 4u, 5u}) {
        for (size_t i = 0; i < 128; ++i) {
          CHECK(out[row * static_cast<size_t>(c.args.out_stride) + i] == 0.0f);
        }
      }
      CHECK(NormalizedError(out, Reference(&c)) < kTolerance);
    }
  }
}

TEST_CASE("Attention: a NaN in a masked cell touches nobody else", "[kernels][D19]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    KvStoreForTest store(*unit.attention, {}, {20}, 8);
    AttentionCase c(store, 2, {0, 0, 0}, {9, 10, 11}, 3);
    const std::vector<float> clean = RunAttention(*unit.attention, &c);
    const std::vector<float> nan(64, NAN);
    unit.attention->kv_store(store.view(), nan.data(), nan.data(), store.PhysicalCell(0, 10));
    const std::vector<float> after = RunAttention(*unit.attention, &c);
    CAPTURE(unit.name);
    REQUIRE(after.size() == clean.size());
    CHECK(SameBits(clean.data(), after.data(), 2 * static_cast<size_t>(c.args.out_stride)));
    CHECK(std::isnan(after[2 * static_cast<size_t>(c.args.out_stride)]));
  }
}

TEST_CASE("Attention: D02 values near 30 over 65,536 cells stay finite", "[kernels][D02]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
      const KvShape shape = {format, format, 1, 8, 8};
      KvStoreForTest store(*unit.attention, shape, {65536}, 8, 1, 30.0f);
      AttentionCase c(store, 1, {0}, {65536}, 3);
      CAPTURE(unit.name, static_cast<int>(format));
      CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < 1e-4);
    }
  }
}

TEST_CASE("Attention: scores of any size do not overflow", "[kernels][D03]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    KvStoreForTest store(*unit.attention, {}, {300}, 8);
    AttentionCase c(store, 2, {0, 0}, {299, 300}, 3);
    c.args.scale = 1e5f;
    CAPTURE(unit.name);
    // One cell takes all the weight, so only the choice of the cell can differ from the twin.
    CHECK(NormalizedError(RunAttention(*unit.attention, &c), Reference(&c)) < 1e-3);
  }
}

TEST_CASE("Attention: bad shapes are refused", "[kernels]") {
  const kernels::AttentionKernels& unit = *RunnableOpsUnits().front().attention;
  KvStoreForTest store(unit, {.n_kv_heads = 2}, {4}, 8);
  AttentionCase c(store, 4, {0}, {4}, 3);
  std::vector<float> out;
  AttentionArgs args = c.Args(&out);
  args.n_heads = 5;
  CHECK(unit.attention(args) == KernelStatus::kBadShape);
  args = c.Args(&out);
  args.head_end = 3;
  CHECK(unit.attention(args) == KernelStatus::kBadShape);
  CHECK(unit.attention_stripes(c.Args(&out)) == KernelStatus::kBadShape);
}

}  // namespace
}  // namespace minfer::testing
