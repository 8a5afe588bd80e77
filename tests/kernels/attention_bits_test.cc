// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A row's bits depend on its query and its cells, and on nothing else.
#include <algorithm>

#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::AttentionArgs;
using kernels::KernelStatus;
using kernels::KvFormat;

constexpr KvFormat kFormats[] = {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0};

KvShape ShapeOf(KvFormat format) { return {format, format, 3, 64, 64}; }

// 9 heads; rows of three sequences in an order that a scheduler would not choose.
AttentionCase MixedCase(const KvStoreForTest& store) {
  std::vector<int32_t> sequences;
  std::vector<int32_t> lengths;
  for (int32_t i = 0; i < 40; ++i) {
    sequences.push_back(i < 25 ? 1 : i % 3);
    lengths.push_back(i < 25 ? 555 + i : 7 + 13 * i);
  }
  sequences.push_back(-1);
  lengths.push_back(5);
  return AttentionCase(store, 9, sequences, lengths, 4);
}

// Calls `fn` for the case cut into single rows and single groups of heads, backwards.
std::vector<float> RunPiecewise(const kernels::AttentionKernels& unit, AttentionCase* c) {
  std::vector<float> out;
  AttentionArgs args = c->Args(&out);
  std::vector<float> scratch(unit.scratch_bytes(9, 3, 64, 64) / sizeof(float));
  args.scratch = scratch.data();
  for (int64_t row = static_cast<int64_t>(c->sequences.size()) - 1; row >= 0; --row) {
    for (int32_t head = 6; head >= 0; head -= 3) {
      args.row_begin = row;
      args.row_end = row + 1;
      args.head_begin = head;
      args.head_end = head + 3;
      CHECK(unit.attention(args) == KernelStatus::kOk);
    }
  }
  return out;
}

TEST_CASE("Attention: D14 rows and heads alone or together give the same bits", "[kernels][D14]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat format : kFormats) {
      KvStoreForTest store(*unit.attention, ShapeOf(format), {600, 600, 600}, 8);
      AttentionCase c = MixedCase(store);
      const std::vector<float> together = RunAttention(*unit.attention, &c);
      const std::vector<float> alone = RunPiecewise(*unit.attention, &c);
      CAPTURE(unit.name, static_cast<int>(format));
      REQUIRE(together.size() == alone.size());
      CHECK(SameBits(together.data(), alone.data(), alone.size()));
    }
  }
}

TEST_CASE("Attention: D14 the order of pages does not change a bit", "[kernels][D14]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat format : kFormats) {
      KvStoreForTest store(*unit.attention, ShapeOf(format), {600, 600, 600}, 8, 1);
      KvStoreForTest shuffled(*unit.attention, ShapeOf(format), {600, 600, 600}, 8, 99);
      AttentionCase a = MixedCase(store);
      AttentionCase b = MixedCase(shuffled);
      const std::vector<float> first = RunAttention(*unit.attention, &a);
      const std::vector<float> second = RunAttention(*unit.attention, &b);
      CAPTURE(unit.name, static_cast<int>(format));
      REQUIRE(first.size() == second.size());
      CHECK(SameBits(first.data(), second.data(), first.size()));
    }
  }
}

TEST_CASE("Attention: stripes in any order, then combine, equal the whole", "[kernels][D14]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const int32_t window : {0, 700}) {
      KvStoreForTest store(*unit.attention, ShapeOf(KvFormat::kF32), {1700, 40}, 8);
      AttentionCase c(store, 9, {0, 1, 0, 0, -1, 1}, {1700, 40, 512, 513, 9, 0}, 4);
      c.args.window = window;
      const std::vector<float> sinks = Random(6).Vector(9);
      if (window > 0) c.args.sinks = sinks.data();
      const std::vector<float> whole = RunAttention(*unit.attention, &c);
      std::vector<float> out;
      AttentionArgs args = c.Args(&out);
      std::vector<float> scratch(unit.attention->scratch_bytes(9, 3, 64, 64) / sizeof(float));
      args.scratch = scratch.data();
      args.partial_stripes = 4;
      std::vector<float> partials(6 * 9 * 4 * unit.attention->partial_floats(64));
      args.partials = partials.data();
      for (int32_t stripe = 3; stripe >= 0; --stripe) {
        for (int32_t head = 0; head < 9; head += 3) {
          args.stripe_begin = stripe;
          args.stripe_end = stripe + 1;
          args.head_begin = head;
          args.head_end = head + 3;
          REQUIRE(unit.attention->attention_stripes(args) == KernelStatus::kOk);
        }
      }
      args.head_begin = 0;
      args.head_end = 9;
      REQUIRE(unit.attention->attention_combine(args) == KernelStatus::kOk);
      CAPTURE(unit.name, window);
      CHECK(SameBits(whole.data(), out.data(), out.size()));
      args.partial_stripes = 3;
      CHECK(unit.attention->attention_combine(args) == KernelStatus::kBadShape);
    }
  }
}

TEST_CASE("Attention: D22 1 to 32 sequences decoding together equal each alone", "[kernels][D22]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    std::vector<int32_t> all(32);
    for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int32_t>(1 + 7 * s);
    KvStoreForTest store(*unit.attention, ShapeOf(KvFormat::kF16), all, 8);
    for (size_t n = 1; n <= all.size(); ++n) {
      std::vector<int32_t> sequences(n);
      for (size_t s = 0; s < n; ++s) sequences[s] = static_cast<int32_t>(s);
      AttentionCase c(store, 9, sequences, {all.begin(), all.begin() + static_cast<long>(n)}, 4);
      const std::vector<float> together = RunAttention(*unit.attention, &c);
      const std::vector<float> alone = RunPiecewise(*unit.attention, &c);
      CAPTURE(unit.name, n);
      REQUIRE(SameBits(together.data(), alone.data(), alone.size()));
    }
  }
}

}  // namespace
}  // namespace minfer::testing
