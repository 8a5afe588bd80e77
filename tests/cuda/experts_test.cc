// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of experts' slots on the integer tensor cores against plain scalar code: every type,
// experts with no slot and with more than a block takes at once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/cuda/experts/expert_mmq.h"
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/vector/vector.h"
#include "tests/cuda/device_data.h"
#include "tests/cuda/matrix_data.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::cuda::ExpertLists;
using kernels::cuda::MmvqGate;
using kernels::testing::kFastTypes;
using kernels::testing::NormalisedError;
using kernels::testing::Random;
using kernels::testing::SameBits;

constexpr int32_t kFanOut = 2;

// Slots of each expert, as GroupExperts orders them; slot s reads row s / kFanOut.
struct Lists {
  std::vector<int32_t> slots;
  std::vector<int32_t> counts;

  int32_t n_slots() const { return static_cast<int32_t>(slots.size()); }
  int32_t n_experts() const { return static_cast<int32_t>(counts.size()); }
};

// The slots of experts are mixed: expert e takes every slot s with s * 7 % n in its range.
Lists MakeLists(std::vector<int32_t> counts) {
  Lists lists;
  lists.counts = std::move(counts);
  int32_t n = 0;
  for (const int32_t count : lists.counts) n += count;
  std::vector<int32_t> owner(static_cast<size_t>(n));
  int32_t begin = 0;
  for (int32_t e = 0; e < lists.n_experts(); ++e) {
    const int32_t count = lists.counts[static_cast<size_t>(e)];
    for (int32_t i = begin; i < begin + count; ++i) owner[static_cast<size_t>(i * 7 % n)] = e;
    begin += count;
  }
  for (int32_t e = 0; e < lists.n_experts(); ++e) {
    for (int32_t s = 0; s < n; ++s) {
      if (owner[static_cast<size_t>(s)] == e) lists.slots.push_back(s);
    }
  }
  return lists;
}

struct Shape {
  ElementType type;
  int64_t n;
  int64_t k;
};

struct Run {
  std::vector<float> out;
  int32_t fault = 0;
};

Run RunExperts(const TestStream& stream, const Shape& shape, const Lists& lists,
               const DeviceBytes& weights, const std::vector<float>& x, const float* bias,
               const DeviceBytes* up = nullptr, int32_t shared = 227 << 10) {
  const DeviceBytes dx = ToDevice(x), slots = ToDevice(lists.slots),
                    counts = ToDevice(lists.counts);
  const std::vector<int32_t> none(1, 0);
  const DeviceBytes fault = ToDevice(none);
  const DeviceBytes tiles(
      kernels::cuda::ExpertTileBytes(lists.n_slots(), lists.n_experts(), shape.k));
  const std::vector<float> empty(static_cast<size_t>(lists.n_slots() * shape.n), -1.0f);
  const DeviceBytes out = ToDevice(empty);
  const ExpertLists on_device = {slots.as<int32_t>(), counts.as<int32_t>(), lists.n_slots(),
                                 lists.n_experts()};
  kernels::cuda::QuantizeExpertsArgs quantize;
  quantize.lists = on_device;
  quantize.x = dx.as<float>();
  quantize.k = shape.k;
  quantize.fan_out = kFanOut;
  quantize.out = tiles.as<void>();
  quantize.fault = {fault.as<int32_t>(), 5};
  REQUIRE(kernels::cuda::QuantizeExperts(quantize, stream.get()) == KernelStatus::kOk);
  kernels::cuda::ExpertMmqArgs args;
  args.type = shape.type;
  args.lists = on_device;
  args.weights = weights.as<void>();
  args.bias = bias;
  args.n = shape.n;
  args.k = shape.k;
  args.activations = tiles.as<void>();
  args.out = out.as<float>();
  args.shared_opt_in_bytes = shared;
  if (up != nullptr) {
    args.up = up->as<void>();
    args.gate = MmvqGate::kSilu;
  }
  REQUIRE(kernels::cuda::ExpertMmq(args, stream.get()) == KernelStatus::kOk);
  REQUIRE(stream.Wait());
  CHECK(tiles.GuardsHold());
  CHECK(out.GuardsHold());
  CHECK(fault.GuardsHold());
  const std::vector<uint8_t> word = fault.Read();
  Run run;
  std::copy(word.begin(), word.end(), reinterpret_cast<uint8_t*>(&run.fault));
  run.out = out.ReadFloats();
  return run;
}

// The twin: each slot's rounded activations by its expert's matrix.
std::vector<float> Wanted(const Matrix& matrix, const Shape& shape, const Lists& lists,
                          const std::vector<float>& x, const std::vector<float>& bias) {
  const int64_t rows = lists.n_slots() / kFanOut;
  const std::vector<double> rounded = Rounded(x, rows, shape.k, false);
  std::vector<float> out(static_cast<size_t>(lists.n_slots() * shape.n));
  size_t place = 0;
  for (int32_t e = 0; e < lists.n_experts(); ++e) {
    for (int32_t i = 0; i < lists.counts[static_cast<size_t>(e)]; ++i) {
      const int64_t slot = lists.slots[place++];
      const double* row = rounded.data() + slot / kFanOut * shape.k;
      for (int64_t r = 0; r < shape.n; ++r) {
        const float* w = matrix.values.data() + (e * shape.n + r) * shape.k;
        double sum = bias.empty() ? 0.0 : bias[static_cast<size_t>(e * shape.n + r)];
        for (int64_t c = 0; c < shape.k; ++c) sum += row[c] * static_cast<double>(w[c]);
        out[static_cast<size_t>(slot * shape.n + r)] = static_cast<float>(sum);
      }
    }
  }
  return out;
}

std::vector<float> Activations(const Lists& lists, int64_t k) {
  return Random(7).Values(static_cast<size_t>(lists.n_slots() / kFanOut * k));
}

std::vector<int32_t> Integers(const DeviceBytes& from) {
  const std::vector<uint8_t> bytes = from.Read();
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_CASE("CUDA experts: groups are each expert's slots in their order", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const int32_t n_experts : {1, 5, 128, 1000}) {
    for (const int32_t n_slots : {1, 8, 255, 257, 4096, 8192, 8193, 20000}) {
      Random random(static_cast<uint32_t>(n_experts + n_slots));
      std::vector<int32_t> ids(static_cast<size_t>(n_slots));
      for (int32_t& id : ids)
        id = static_cast<int32_t>(random.Bits() % static_cast<uint32_t>(n_experts));
      std::vector<int32_t> want;
      std::vector<int32_t> want_counts;
      for (int32_t e = 0; e < n_experts; ++e) {
        const size_t before = want.size();
        for (int32_t s = 0; s < n_slots; ++s) {
          if (ids[static_cast<size_t>(s)] == e) want.push_back(s);
        }
        want_counts.push_back(static_cast<int32_t>(want.size() - before));
      }
      const DeviceBytes from = ToDevice(ids);
      const DeviceBytes slots(ids.size() * 4);
      const DeviceBytes counts(want_counts.size() * 4);
      REQUIRE(kernels::cuda::GroupExperts(from.as<int32_t>(), n_slots, n_experts,
                                          slots.as<int32_t>(), counts.as<int32_t>(), {},
                                          stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      INFO(n_experts << " experts, " << n_slots << " slots");
      CHECK(Integers(slots) == want);
      CHECK(Integers(counts) == want_counts);
      CHECK(slots.GuardsHold());
      CHECK(counts.GuardsHold());
    }
  }
}

TEST_CASE("CUDA kernels: products of experts are those with the rounded activations", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  // One slot each and none; more than a tile; more than a block takes at once, and less memory.
  const std::vector<std::vector<int32_t>> counts = {
      {0, 1, 0, 1, 0}, {9, 0, 1, 8, 2}, {0, 70, 4, 0, 0}, {64, 16, 33, 17}};
  for (const ElementType type : kFastTypes) {
    const int64_t block = FindElementTraits(type)->block_elements;
    const Shape shape = {type, 100, block == 256 ? int64_t{768} : int64_t{640}};
    if (!kernels::cuda::HasMmq(type, shape.k)) continue;
    for (const std::vector<int32_t>& some : counts) {
      const Lists lists = MakeLists(some);
      const Matrix matrix = MakeMatrix(type, lists.n_experts() * shape.n, shape.k, 3);
      const std::vector<float> x = Activations(lists, shape.k);
      const std::vector<float> bias =
          Random(2).Values(static_cast<size_t>(lists.n_experts() * shape.n));
      const DeviceBytes weights = ToDevice(matrix.packed), dbias = ToDevice(bias);
      INFO(FindElementTraits(type)->name << ", " << lists.n_slots() << " slots");
      const bool biased = some[0] == 0;
      const Run run =
          RunExperts(stream, shape, lists, weights, x, biased ? dbias.as<float>() : nullptr,
                     nullptr, some[0] == 64 ? 99 << 10 : 227 << 10);
      CHECK(run.fault == 0);
      const std::vector<float> want =
          Wanted(matrix, shape, lists, x, biased ? bias : std::vector<float>());
      CHECK(NormalisedError(run.out, want) < 2e-6);
    }
  }
}

// However many slots its expert has, alone or among others, a slot has one result.
TEST_CASE("CUDA kernels: a slot of an expert has the same bits whatever others there are",
          "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : {ElementType::kQ4_1, ElementType::kQ4_K, ElementType::kQ6_K}) {
    const Shape shape = {type, 53, 2304};
    const Lists all = MakeLists({90, 0, 6});
    const Matrix matrix = MakeMatrix(type, 3 * shape.n, shape.k, 9);
    const DeviceBytes weights = ToDevice(matrix.packed);
    const std::vector<float> x = Activations(all, shape.k);
    const Run together = RunExperts(stream, shape, all, weights, x, nullptr);
    // The two slots of a row, in both experts or one, with as many experts as have none.
    for (const int32_t row : {0, 17, 47}) {
      Lists alone;
      alone.counts = {0, 0, 0};
      for (size_t place = 0; place < all.slots.size(); ++place) {
        if (all.slots[place] / kFanOut != row) continue;
        alone.slots.push_back(all.slots[place] % kFanOut);
        ++alone.counts[place < 90 ? 0 : 2];
      }
      const std::vector<float> one(x.begin() + row * shape.k, x.begin() + (row + 1) * shape.k);
      const Run run = RunExperts(stream, shape, alone, weights, one, nullptr);
      INFO(FindElementTraits(type)->name << " row " << row);
      const auto begin = together.out.begin() + row * kFanOut * shape.n;
      CHECK(SameBits(run.out, {begin, begin + kFanOut * shape.n}));
    }
  }
}

TEST_CASE("CUDA kernels: gate and up of experts have the bits of both and their activation",
          "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : {ElementType::kQ4_0, ElementType::kQ4_K}) {
    const Shape shape = {type, 137, 512};
    for (const std::vector<int32_t>& counts :
         {std::vector<int32_t>{1, 0, 0, 0, 1}, std::vector<int32_t>{3, 70, 0, 1}}) {
      const Lists lists = MakeLists(counts);
      const Matrix gate = MakeMatrix(type, lists.n_experts() * shape.n, shape.k, 1);
      const Matrix up = MakeMatrix(type, lists.n_experts() * shape.n, shape.k, 2);
      const DeviceBytes dgate = ToDevice(gate.packed), dup = ToDevice(up.packed);
      const std::vector<float> x = Activations(lists, shape.k);
      const Run a = RunExperts(stream, shape, lists, dgate, x, nullptr);
      const Run b = RunExperts(stream, shape, lists, dup, x, nullptr);
      const Run both = RunExperts(stream, shape, lists, dgate, x, nullptr, &dup);
      const DeviceBytes da = ToDevice(a.out), db = ToDevice(b.out);
      kernels::cuda::ElementwiseArgs act;
      act.a = da.as<float>();
      act.b = db.as<float>();
      act.out = db.as<float>();
      act.count = static_cast<int64_t>(b.out.size());
      REQUIRE(kernels::cuda::RunElementwise(kernels::cuda::Elementwise::kSiluMul, act,
                                            stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      CHECK(SameBits(both.out, db.ReadFloats()));
    }
  }
}

TEST_CASE("CUDA kernels: counts and slots of experts that lie are noted, and nothing else is read",
          "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const Shape shape = {ElementType::kQ8_0, 40, 256};
  const Matrix matrix = MakeMatrix(shape.type, 4 * shape.n, shape.k, 3);
  const DeviceBytes weights = ToDevice(matrix.packed);
  const std::vector<float> x = Random(7).Values(static_cast<size_t>(2 * shape.k));
  for (const Lists& lists : {Lists{{0, 1, 2, 4}, {4, 0, 0, 0}}, Lists{{0, 1, 2, -1}, {0, 4, 0, 0}},
                             Lists{{0, 1, 2, 3}, {1, 1, 1, 0}}, Lists{{0, 1, 2, 3}, {1, 1, 1, 9}},
                             Lists{{0, 1, 2, 3}, {5, -1, 0, 0}},
                             Lists{{0, 1, 2, 3}, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}}}) {
    CHECK(RunExperts(stream, shape, lists, weights, x, nullptr).fault == 5);
  }
  CHECK(RunExperts(stream, shape, {{3, 0, 1, 2}, {0, 1, 0, 3}}, weights, x, nullptr).fault == 0);
}

}  // namespace
}  // namespace minfer::testing
