// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that do the work of two have the bits of the two.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/transfer/step_begin.h"
#include "kernels/cuda/vector/rows.h"
#include "kernels/cuda/vector/vector.h"
#include "tests/cuda/device_data.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::cuda::MakePlaneTarget;
using kernels::cuda::QuantizedBytes;
using kernels::testing::Random;

TEST_CASE("CUDA fusion: a norm that quantises has the bits of both kernels", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const int64_t width : {32, 96, 896, 3584, 9984}) {
    for (const int64_t m : {1, 3, 8}) {
      for (const int form : {0, 1, 2, 3}) {
        const bool residual = (form & 1) != 0;
        const bool streamed = (form & 2) != 0;
        INFO("width " << width << " m " << m << " residual " << residual << " streamed "
                      << streamed);
        Random random(static_cast<uint32_t>(width + m));
        std::vector<float> values = random.Values(static_cast<size_t>(m * width));
        if (m == 3) values[static_cast<size_t>(width) + 5] = INFINITY;
        const DeviceBytes x = ToDevice(values);
        const DeviceBytes weight = ToDevice(random.Values(static_cast<size_t>(width)));
        const auto bytes = static_cast<size_t>(QuantizedBytes(m, width, residual, streamed));
        const DeviceBytes apart(static_cast<size_t>(m * width) * sizeof(float)),
            together(static_cast<size_t>(m * width) * sizeof(float)), apart_planes(bytes),
            planes(bytes), only(bytes);
        const auto target = [&](const DeviceBytes& to) {
          return MakePlaneTarget(to.as<void>(), m, width, residual, streamed);
        };
        const auto norm = [&](float* out, const kernels::cuda::PlaneTarget& to) {
          return kernels::cuda::RmsNorm(x.as<float>(), weight.as<float>(), out, m, width, 1e-6f,
                                        stream.get(), to);
        };
        // Bytes that no kernel writes, between rows, are the same everywhere.
        for (const DeviceBytes* one : {&apart_planes, &planes, &only}) {
          REQUIRE(cudaMemsetAsync(one->as<void>(), 0, bytes, stream.get()) == cudaSuccess);
        }
        REQUIRE(norm(apart.as<float>(), {}) == KernelStatus::kOk);
        REQUIRE(kernels::cuda::QuantizeRows(apart.as<float>(), m, width, target(apart_planes),
                                            stream.get()) == KernelStatus::kOk);
        REQUIRE(norm(together.as<float>(), target(planes)) == KernelStatus::kOk);
        REQUIRE(norm(nullptr, target(only)) == KernelStatus::kOk);
        REQUIRE(stream.Wait());
        CHECK(apart.Read() == together.Read());
        CHECK(apart_planes.Read() == planes.Read());
        CHECK(apart_planes.Read() == only.Read());
        CHECK(planes.GuardsHold());
        CHECK(together.GuardsHold());
      }
    }
  }
}

TEST_CASE("CUDA fusion: a product and the addition after it have the bits of both", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const int64_t k = 512, n = 37;
  const auto stored = kernels::testing::RandomWeights(ElementType::kQ4_K, n, k, 0, 3);
  const DeviceBytes weights =
      ToDevice(PackRows(ElementType::kQ4_K, n, k, stored.data(), stored.row_bytes));
  for (const int64_t m : {1, 8}) {
    for (const bool residual : {false, true}) {
      Random random(static_cast<uint32_t>(m));
      const DeviceBytes x = ToDevice(random.Values(static_cast<size_t>(m * k)));
      const std::vector<float> start = random.Values(static_cast<size_t>(m * n));
      const DeviceBytes apart = ToDevice(start), together = ToDevice(start);
      const DeviceBytes product(start.size() * sizeof(float));
      const DeviceBytes rows(static_cast<size_t>(QuantizedBytes(m, k, residual, true)));
      REQUIRE(kernels::cuda::QuantizeRows(x.as<float>(), m, k,
                                          MakePlaneTarget(rows.as<void>(), m, k, residual, true),
                                          stream.get()) == KernelStatus::kOk);
      kernels::cuda::MmvqArgs args;
      args.type = ElementType::kQ4_K;
      args.k = k;
      args.activations = rows.as<void>();
      args.m = m;
      args.residual = residual;
      args.streamed = true;
      args.n_parts = 1;
      args.parts[0] = {weights.as<void>(), n, nullptr, product.as<float>(), n};
      REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
      kernels::cuda::ElementwiseArgs add;
      add.a = apart.as<float>();
      add.b = product.as<float>();
      add.out = apart.as<float>();
      add.count = m * n;
      REQUIRE(kernels::cuda::RunElementwise(kernels::cuda::Elementwise::kAdd, add, stream.get()) ==
              KernelStatus::kOk);
      args.parts[0].out = together.as<float>();
      args.parts[0].add = together.as<float>();
      REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      CHECK(apart.Read() == together.Read());
      CHECK(together.GuardsHold());
      // dp4a has no addition: refused, not forgotten.
      args.streamed = false;
      CHECK(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kBadShape);
    }
  }
}

struct FoldShape {
  ElementType type;
  int64_t k;
  int64_t n;
};

DeviceBytes Packed(const FoldShape& shape, uint32_t seed) {
  const auto stored = kernels::testing::RandomWeights(shape.type, shape.n, shape.k, 0, seed);
  return ToDevice(PackRows(shape.type, shape.n, shape.k, stored.data(), stored.row_bytes));
}

// Two matrices, a bias at the first or a gate over both.
kernels::cuda::MmvqArgs TwoParts(const FoldShape& shape, int64_t m, bool gated,
                                 const DeviceBytes& a, const DeviceBytes& b,
                                 const DeviceBytes& bias, const DeviceBytes& out) {
  kernels::cuda::MmvqArgs args;
  args.type = shape.type;
  args.k = shape.k;
  args.m = m;
  args.streamed = true;
  args.gate = gated ? kernels::cuda::MmvqGate::kSilu : kernels::cuda::MmvqGate::kNone;
  args.n_parts = 2;
  args.parts[0] = {a.as<void>(), shape.n, gated ? nullptr : bias.as<float>(), out.as<float>(),
                   shape.n};
  args.parts[1] = {b.as<void>(), shape.n, nullptr, out.as<float>() + m * shape.n, shape.n};
  return args;
}

TEST_CASE("CUDA fusion: a norm by the product that reads it has the bits of both", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const FoldShape& shape :
       {FoldShape{ElementType::kQ4_0, 896, 37}, FoldShape{ElementType::kQ4_0, 96, 16},
        FoldShape{ElementType::kQ4_0, 2048, 5000}, FoldShape{ElementType::kQ4_1, 576, 40},
        FoldShape{ElementType::kQ5_0, 640, 33}, FoldShape{ElementType::kQ5_1, 1536, 9},
        FoldShape{ElementType::kQ8_0, 896, 1200}, FoldShape{ElementType::kQ4_K, 1024, 70},
        FoldShape{ElementType::kQ5_K, 2048, 24}, FoldShape{ElementType::kQ6_K, 1792, 50}}) {
    const DeviceBytes a = Packed(shape, 1), b = Packed(shape, 2);
    Random random(static_cast<uint32_t>(shape.k));
    const DeviceBytes bias = ToDevice(random.Values(static_cast<size_t>(shape.n)));
    const DeviceBytes weight = ToDevice(random.Values(static_cast<size_t>(shape.k)));
    for (const int64_t m : {1, 3, 8}) {
      std::vector<float> values = random.Values(static_cast<size_t>(m * shape.k));
      if (m == 3) values[static_cast<size_t>(shape.k) + 5] = INFINITY;
      const DeviceBytes x = ToDevice(values);
      for (const bool gated : {false, true}) {
        INFO("type " << static_cast<int>(shape.type) << " k " << shape.k << " m " << m << " gated "
                     << gated);
        const auto bytes = static_cast<size_t>(2 * m * shape.n) * sizeof(float);
        const DeviceBytes apart(bytes), together(bytes);
        for (const DeviceBytes* one : {&apart, &together}) {
          REQUIRE(cudaMemsetAsync(one->as<void>(), 0, bytes, stream.get()) == cudaSuccess);
        }
        const DeviceBytes rows(static_cast<size_t>(QuantizedBytes(m, shape.k, false, true)));
        REQUIRE(kernels::cuda::RmsNorm(x.as<float>(), weight.as<float>(), nullptr, m, shape.k,
                                       1e-6f, stream.get(),
                                       MakePlaneTarget(rows.as<void>(), m, shape.k, false, true)) ==
                KernelStatus::kOk);
        auto args = TwoParts(shape, m, gated, a, b, bias, apart);
        args.activations = rows.as<void>();
        REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
        args = TwoParts(shape, m, gated, a, b, bias, together);
        args.norm = {x.as<float>(), weight.as<float>(), 1e-6f};
        REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
        REQUIRE(stream.Wait());
        CHECK(apart.Read() == together.Read());
        CHECK(together.GuardsHold());
        // dp4a takes no norm: refused, not forgotten.
        args.streamed = false;
        CHECK(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kBadShape);
      }
    }
  }
}

TEST_CASE("CUDA fusion: a gate that quantises its result has the bits of both", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const FoldShape& shape :
       {FoldShape{ElementType::kQ4_0, 896, 1088}, FoldShape{ElementType::kQ4_0, 64, 32},
        FoldShape{ElementType::kQ8_0, 1024, 96}, FoldShape{ElementType::kQ6_K, 1024, 4256},
        FoldShape{ElementType::kQ4_K, 512, 64}}) {
    const DeviceBytes a = Packed(shape, 1), b = Packed(shape, 2);
    Random random(static_cast<uint32_t>(shape.k));
    for (const int64_t m : {1, 3, 8}) {
      const DeviceBytes x = ToDevice(random.Values(static_cast<size_t>(m * shape.k)));
      const DeviceBytes rows(static_cast<size_t>(QuantizedBytes(m, shape.k, false, true)));
      REQUIRE(kernels::cuda::QuantizeRows(x.as<float>(), m, shape.k,
                                          MakePlaneTarget(rows.as<void>(), m, shape.k, false, true),
                                          stream.get()) == KernelStatus::kOk);
      for (const int form : {0, 1, 2, 3}) {
        const bool residual = (form & 1) != 0, streamed = (form & 2) != 0;
        INFO("type " << static_cast<int>(shape.type) << " k " << shape.k << " m " << m
                     << " residual " << residual << " streamed " << streamed);
        const auto bytes = static_cast<size_t>(QuantizedBytes(m, shape.n, residual, streamed));
        const DeviceBytes out(static_cast<size_t>(m * shape.n) * sizeof(float)), apart(bytes),
            together(bytes), only(bytes);
        for (const DeviceBytes* one : {&apart, &together, &only}) {
          REQUIRE(cudaMemsetAsync(one->as<void>(), 0, bytes, stream.get()) == cudaSuccess);
        }
        const auto target = [&](const DeviceBytes& to) {
          return MakePlaneTarget(to.as<void>(), m, shape.n, residual, streamed);
        };
        kernels::cuda::MmvqArgs args;
        args.type = shape.type;
        args.k = shape.k;
        args.m = m;
        args.streamed = true;
        args.gate = kernels::cuda::MmvqGate::kGelu;
        args.activations = rows.as<void>();
        args.n_parts = 2;
        args.parts[0] = {a.as<void>(), shape.n, nullptr, nullptr, shape.n};
        args.parts[1] = {b.as<void>(), shape.n, nullptr, out.as<float>(), shape.n};
        args.planes = target(together);
        REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
        args.planes = target(only);
        args.parts[1].out = nullptr;
        REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
        REQUIRE(kernels::cuda::QuantizeRows(out.as<float>(), m, shape.n, target(apart),
                                            stream.get()) == KernelStatus::kOk);
        REQUIRE(stream.Wait());
        CHECK(apart.Read() == together.Read());
        CHECK(apart.Read() == only.Read());
        CHECK(only.GuardsHold());
        CHECK(out.GuardsHold());
      }
    }
  }
}

// Q rotated in its own place beside the store, and by its own launch.
TEST_CASE("CUDA fusion: Q rotated by the store has the bits of its own launch", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const int32_t dim : {64, 80, 128, 256}) {
    const int64_t rows = 3;
    const int32_t heads = 5, kv_heads = 2, rope_dim = dim == 80 ? 32 : dim;
    Random random(static_cast<uint32_t>(dim));
    const auto q = random.Values(static_cast<size_t>(rows * heads * dim));
    const auto kv = random.Values(static_cast<size_t>(rows * kv_heads * dim));
    const DeviceBytes apart = ToDevice(q), together = ToDevice(q), k = ToDevice(kv);
    const DeviceBytes table = ToDevice(random.Values(static_cast<size_t>(rows * rope_dim)));
    // The last row's cell is of no page: it is not stored, its Q is rotated.
    const DeviceBytes cells = ToDevice(std::vector<int32_t>{1, 64, -1});
    kernels::cuda::KvStoreArgs store;
    store.k_side.format = store.v_side.format = KvFormat::kF16;
    store.k_side.dim = store.v_side.dim = dim;
    store.k_side.n_pages = store.v_side.n_pages = 2;
    store.k_side.page_bytes = store.v_side.page_bytes =
        kernels::cuda::KvPageBytes(KvFormat::kF16, kv_heads, dim);
    const DeviceBytes k_pages(static_cast<size_t>(store.k_side.page_bytes) * 2);
    const DeviceBytes v_pages(static_cast<size_t>(store.k_side.page_bytes) * 2);
    store.k_side.pages = k_pages.as<uint8_t>();
    store.v_side.pages = v_pages.as<uint8_t>();
    store.n_kv_heads = kv_heads;
    store.k = store.v = k.as<float>();
    store.cells = cells.as<int32_t>();
    store.rows = rows;
    store.cos_sin = table.as<float>();
    store.rope_dim = rope_dim;
    for (const bool neox : {false, true}) {
      store.neox = neox;
      kernels::cuda::RopeArgs rope;
      rope.x = rope.out = apart.as<float>();
      rope.cos_sin = table.as<float>();
      rope.rows = rows;
      rope.n_heads = heads;
      rope.head_dim = dim;
      rope.rope_dim = rope_dim;
      rope.neox = neox;
      REQUIRE(kernels::cuda::Rope(rope, stream.get()) == KernelStatus::kOk);
      rope.x = rope.out = together.as<float>();
      store.rope = rope;
      REQUIRE(kernels::cuda::KvStore(store, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      INFO("dim " << dim << " neox " << neox);
      CHECK(apart.Read() == together.Read());
      CHECK(together.GuardsHold());
      CHECK(k_pages.GuardsHold());
    }
  }
}

TEST_CASE("CUDA fusion: what a step begins with, by one kernel, has the bits of three", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  constexpr int64_t kTableRows = 12;
  for (const ElementType type : {ElementType::kF32, ElementType::kQ4_0, ElementType::kQ6_K}) {
    for (const int64_t rows : {1, 3, 64}) {
      const int64_t k = type == ElementType::kF32 ? 77 : 1280;
      INFO(FindElementTraits(type)->name << ", " << rows << " rows");
      Random random(static_cast<uint32_t>(rows));
      const DeviceBytes table = ToDevice(random.Values(
          static_cast<size_t>(kTableRows * kernels::cuda::WeightRowBytes(type, k)) / 4 + 1));
      kernels::cuda::RopeAngles angles;
      angles.pairs = 40;
      angles.magnitude = 1.25;
      for (int p = 0; p < angles.pairs; ++p) angles.per_position[p] = 1.0 / (1 + p * p);
      // Ids, positions and a longer piece, as a step packs them.
      constexpr int64_t kLong = 5000;
      uint32_t* pinned = nullptr;
      const auto words = static_cast<size_t>(2 * rows + kLong);
      REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&pinned), words * 4, cudaHostAllocDefault) ==
              cudaSuccess);
      for (size_t i = 0; i < words; ++i) pinned[i] = static_cast<uint32_t>(i * 2654435761u);
      for (int64_t r = 0; r < rows; ++r) {
        pinned[r] = static_cast<uint32_t>(r == 1 ? -1 : r * 5 % kTableRows);
        pinned[rows + r] = static_cast<uint32_t>(r * 4001);
      }
      const auto floats = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
      std::vector<std::vector<uint8_t>> bytes[2];
      for (const bool together : {false, true}) {
        const DeviceBytes ids(floats(rows)), positions(floats(rows)), rest(floats(kLong)),
            out(floats(rows * k)), cos_sin(floats(rows * 2 * angles.pairs));
        kernels::cuda::StepBeginArgs args;
        args.inputs.n_pieces = 3;
        args.inputs.pieces[0] = {ids.as<uint32_t>(), pinned, rows};
        args.inputs.pieces[1] = {positions.as<uint32_t>(), pinned + rows, rows};
        args.inputs.pieces[2] = {rest.as<uint32_t>(), pinned + 2 * rows, kLong};
        args.type = type;
        args.table = table.as<void>();
        args.table_rows = kTableRows;
        args.k = k;
        args.ids = reinterpret_cast<const int32_t*>(pinned);
        args.rows = rows;
        args.embeddings = out.as<float>();
        args.angles = angles;
        args.positions = reinterpret_cast<const int32_t*>(pinned + rows);
        args.cos_sin = cos_sin.as<float>();
        if (together) {
          REQUIRE(kernels::cuda::StepBegin(args, stream.get()) == KernelStatus::kOk);
        } else {
          REQUIRE(kernels::cuda::Scatter(args.inputs, stream.get()) == KernelStatus::kOk);
          REQUIRE(kernels::cuda::GetRows(type, args.table, kTableRows, k, ids.as<int32_t>(), rows,
                                         args.embeddings, stream.get()) == KernelStatus::kOk);
          REQUIRE(kernels::cuda::RopeTable(angles, positions.as<int32_t>(), rows, args.cos_sin,
                                           stream.get()) == KernelStatus::kOk);
        }
        REQUIRE(stream.Wait());
        for (const DeviceBytes* one : {&ids, &positions, &rest, &out, &cos_sin}) {
          bytes[together ? 1 : 0].push_back(one->Read());
          CHECK(one->GuardsHold());
        }
      }
      CHECK(bytes[0] == bytes[1]);
      CHECK(cudaFreeHost(pinned) == cudaSuccess);
    }
  }
}

}  // namespace
}  // namespace minfer::testing
