// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Each kernel family against plain scalar code: all types, odd sizes, nothing written beside the
// output.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/matvec/matvec.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/vector/rows.h"
#include "kernels/cuda/vector/vector.h"
#include "kernels/reference/vector_reference.h"
#include "tests/cuda/device_data.h"
#include "tests/cuda/matrix_data.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::testing::kFastTypes;
using kernels::testing::NormalisedError;
using kernels::testing::Random;
using kernels::testing::SameBits;

void Quantize(const DeviceBytes& x, int64_t m, int64_t k, bool residual, bool streamed,
              const DeviceBytes& rows, const TestStream& stream) {
  const auto target = kernels::cuda::MakePlaneTarget(rows.as<void>(), m, k, residual, streamed);
  REQUIRE(kernels::cuda::QuantizeRows(x.as<float>(), m, k, target, stream.get()) ==
          KernelStatus::kOk);
}

// One product of MMVQ, its activations quantised on the device.
std::vector<float> RunMmvq(const Matrix& matrix, const std::vector<float>& x, int64_t m,
                           const std::vector<float>& bias, bool streamed,
                           kernels::cuda::MmvqArgs args, const TestStream& stream) {
  const int64_t n = args.parts[0].n;
  const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x), dbias = ToDevice(bias);
  const DeviceBytes rows(
      static_cast<size_t>(kernels::cuda::QuantizedBytes(m, args.k, args.residual, streamed)));
  const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
  Quantize(dx, m, args.k, args.residual, streamed, rows, stream);
  args.activations = rows.as<void>();
  args.m = m;
  args.streamed = streamed;
  args.n_parts = 1;
  args.parts[0] = {weights.as<void>(), n, dbias.as<float>(), out.as<float>(), n};
  REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
  REQUIRE(stream.Wait());
  CHECK(out.GuardsHold());
  CHECK(rows.GuardsHold());
  return out.ReadFloats();
}

TEST_CASE("CUDA kernels: MMVQ is the product with the rounded activations", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : kFastTypes) {
    if (!kernels::cuda::HasMmvq(type)) continue;
    const int64_t block = FindElementTraits(type)->block_elements;
    const int64_t last = block == 32 ? 1056 : 2304;
    for (const int64_t k : {block, 3 * block, int64_t{block == 32 ? 1152 : 512}, last}) {
      for (const bool residual : {false, true}) {
        kernels::cuda::MmvqArgs args;
        args.type = type;
        args.k = k;
        args.residual = residual;
        args.parts[0].n = k == last ? 37 : 13;
        const int64_t n = args.parts[0].n;
        const Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(k));
        Random random(static_cast<uint32_t>(n));
        const std::vector<float> all = random.Values(static_cast<size_t>(8 * k));
        const std::vector<float> bias = random.Values(static_cast<size_t>(n));
        for (const bool streamed : {false, true}) {
          if (streamed && !kernels::cuda::StreamsMmvq(type, k)) continue;
          std::vector<float> first;
          for (const int64_t m : {1, 2, 3, 5, 8}) {
            const std::vector<float> x(all.begin(), all.begin() + m * k);
            INFO(FindElementTraits(type)->name << " k " << k << " m " << m << " residual "
                                               << residual << " streamed " << streamed);
            const auto got = RunMmvq(matrix, x, m, bias, streamed, args, stream);
            const auto want = Product(matrix, Rounded(x, m, k, residual), m, n, k, bias);
            CHECK(NormalisedError(got, want) < 2e-6);
            // A row has the bits that it has alone.
            if (m == 1) first = got;
            CHECK(SameBits(first, std::vector<float>(got.begin(), got.begin() + n)));
          }
        }
      }
    }
  }
}

// Where rows are many, small matrices and large ones have kernels of their own, and long rows of
// small ones are shared by the blocks of a cluster.
TEST_CASE("CUDA kernels: MMVQ of small and large matrices has the bits of one row", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  struct Size {
    int64_t n;
    int64_t k;
  };
  for (const ElementType type : kFastTypes) {
    if (!kernels::cuda::HasMmvq(type)) continue;
    const bool super = FindElementTraits(type)->block_elements == 256;
    for (const Size size : {Size{4800, super ? 256 : 128}, Size{37, super ? 4864 : 2432},
                            Size{37, 4864}, Size{37, 3328}}) {
      const Matrix matrix = MakeMatrix(type, size.n, size.k, static_cast<uint32_t>(size.k));
      Random random(static_cast<uint32_t>(size.n));
      const std::vector<float> x = random.Values(static_cast<size_t>(8 * size.k));
      const std::vector<float> bias = random.Values(static_cast<size_t>(size.n));
      for (const bool residual : {false, true}) {
        INFO(FindElementTraits(type)->name << " n " << size.n << " k " << size.k << " residual "
                                           << residual);
        kernels::cuda::MmvqArgs args;
        args.type = type;
        args.k = size.k;
        args.residual = residual;
        args.parts[0].n = size.n;
        const auto row = [&](int64_t m) {
          return std::vector<float>(x.begin() + m * size.k, x.begin() + (m + 1) * size.k);
        };
        const auto all = RunMmvq(matrix, x, 8, bias, true, args, stream);
        for (const int64_t m : {0, 3, 7}) {
          const auto alone = RunMmvq(matrix, row(m), 1, bias, true, args, stream);
          CHECK(SameBits(
              alone, std::vector<float>(all.begin() + m * size.n, all.begin() + (m + 1) * size.n)));
        }
      }
    }
  }
}

// Three matrices of several types; parts without rows are left out.
struct MixedCase {
  ElementType types[3];
  int64_t sizes[3];
  int64_t k;
};

TEST_CASE("CUDA kernels: parts of several types have the bits that they have alone", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  constexpr ElementType kQ4_0 = ElementType::kQ4_0, kQ4_1 = ElementType::kQ4_1,
                        kQ5_0 = ElementType::kQ5_0, kQ5_1 = ElementType::kQ5_1,
                        kQ8_0 = ElementType::kQ8_0, kQ4_K = ElementType::kQ4_K,
                        kQ5_K = ElementType::kQ5_K, kQ6_K = ElementType::kQ6_K;
  for (const MixedCase& one : {MixedCase{{kQ4_K, kQ4_K, kQ6_K}, {4096, 1024, 1024}, 2560},
                               MixedCase{{kQ4_K, kQ4_K, kQ6_K}, {3584, 512, 512}, 3584},
                               MixedCase{{kQ4_K, kQ4_K, kQ6_K}, {21, 0, 9}, 256},
                               MixedCase{{kQ6_K, kQ4_K, kQ5_K}, {37, 70, 5}, 768},
                               MixedCase{{kQ5_K, kQ5_K, kQ6_K}, {4096, 1024, 1000}, 4096},
                               MixedCase{{kQ4_K, kQ8_0, kQ8_0}, {1041, 257, 257}, 4096},
                               MixedCase{{kQ4_K, kQ6_K, kQ4_K}, {60000, 20000, 16}, 512},
                               MixedCase{{kQ5_0, kQ5_0, kQ8_0}, {896, 128, 128}, 896},
                               MixedCase{{kQ5_1, kQ5_0, kQ8_0}, {33, 1, 129}, 640},
                               MixedCase{{kQ4_0, kQ4_1, kQ8_0}, {40, 17, 16}, 96},
                               MixedCase{{kQ8_0, kQ4_1, kQ4_0}, {16, 5000, 9}, 11008}}) {
    std::vector<Matrix> matrices;
    for (size_t i = 0; i < 3; ++i) {
      matrices.push_back(
          MakeMatrix(one.types[i], std::max<int64_t>(one.sizes[i], 1), one.k, 7 + i));
    }
    for (const int64_t m : {1, 3, 8}) {
      INFO("types " << static_cast<int>(one.types[0]) << " " << static_cast<int>(one.types[1])
                    << " " << static_cast<int>(one.types[2]) << " k " << one.k << " m " << m);
      Random random(static_cast<uint32_t>(m + one.k));
      const DeviceBytes dx = ToDevice(random.Values(static_cast<size_t>(m * one.k)));
      const DeviceBytes bias = ToDevice(random.Values(static_cast<size_t>(one.sizes[0])));
      const DeviceBytes rows(
          static_cast<size_t>(kernels::cuda::QuantizedBytes(m, one.k, false, true)));
      Quantize(dx, m, one.k, false, true, rows, stream);
      std::vector<std::unique_ptr<DeviceBytes>> weights, alone, together;
      kernels::cuda::MmvqArgs args;
      args.k = one.k;
      args.activations = rows.as<void>();
      args.m = m;
      args.streamed = true;
      args.n_parts = 3;
      for (size_t i = 0; i < 3; ++i) {
        const auto bytes =
            static_cast<size_t>(m * std::max<int64_t>(one.sizes[i], 1)) * sizeof(float);
        weights.push_back(
            std::make_unique<DeviceBytes>(matrices[i].packed.data(), matrices[i].packed.size()));
        alone.push_back(std::make_unique<DeviceBytes>(bytes));
        together.push_back(std::make_unique<DeviceBytes>(bytes));
        for (const auto& to : {alone.back().get(), together.back().get()}) {
          REQUIRE(cudaMemsetAsync(to->as<void>(), 0, bytes, stream.get()) == cudaSuccess);
        }
        args.parts[i] = {weights[i]->as<void>(), one.sizes[i], i == 0 ? bias.as<float>() : nullptr,
                         together[i]->as<float>(), one.sizes[i]};
        kernels::cuda::MmvqArgs single = args;
        single.type = one.types[i];
        single.n_parts = 1;
        single.parts[0] = args.parts[i];
        single.parts[0].out = alone[i]->as<float>();
        REQUIRE(kernels::cuda::Mmvq(single, stream.get()) == KernelStatus::kOk);
      }
      REQUIRE(kernels::cuda::MmvqMixed(args, one.types, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      for (size_t i = 0; i < 3; ++i) {
        CHECK(alone[i]->Read() == together[i]->Read());
        CHECK(together[i]->GuardsHold());
      }
      // What it does not take is refused, not forgotten.
      args.streamed = false;
      CHECK(kernels::cuda::MmvqMixed(args, one.types, stream.get()) == KernelStatus::kBadShape);
      args.streamed = args.residual = true;
      CHECK(kernels::cuda::MmvqMixed(args, one.types, stream.get()) == KernelStatus::kBadShape);
    }
  }
}

TEST_CASE("CUDA kernels: parts of one launch have the bits that they have alone", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type :
       {ElementType::kQ4_1, ElementType::kQ4_K, ElementType::kQ6_K, ElementType::kQ8_0}) {
    const int64_t k = 768;
    for (const int64_t streamed_m : {1, 3, 8, -1, -3, -8}) {
      const int64_t m = std::abs(streamed_m);
      const int64_t sizes[] = {21, 9, 21};
      Random random(static_cast<uint32_t>(m));
      const DeviceBytes dx = ToDevice(random.Values(static_cast<size_t>(m * k)));
      const bool streamed = streamed_m < 0;
      const DeviceBytes rows(
          static_cast<size_t>(kernels::cuda::QuantizedBytes(m, k, false, streamed)));
      Quantize(dx, m, k, false, streamed, rows, stream);
      std::vector<std::unique_ptr<DeviceBytes>> weights, alone, together;
      kernels::cuda::MmvqArgs args;
      args.type = type;
      args.k = k;
      args.activations = rows.as<void>();
      args.m = m;
      args.streamed = streamed;
      args.n_parts = 3;
      for (size_t i = 0; i < 3; ++i) {
        const auto bytes = static_cast<size_t>(m * sizes[i]) * sizeof(float);
        const Matrix matrix = MakeMatrix(type, sizes[i], k, static_cast<uint32_t>(i));
        weights.push_back(
            std::make_unique<DeviceBytes>(matrix.packed.data(), matrix.packed.size()));
        alone.push_back(std::make_unique<DeviceBytes>(bytes));
        together.push_back(std::make_unique<DeviceBytes>(bytes));
        args.parts[i] = {weights[i]->as<void>(), sizes[i], nullptr, together[i]->as<float>(),
                         sizes[i]};
        kernels::cuda::MmvqArgs one = args;
        one.n_parts = 1;
        one.parts[0] = args.parts[i];
        one.parts[0].out = alone[i]->as<float>();
        REQUIRE(kernels::cuda::Mmvq(one, stream.get()) == KernelStatus::kOk);
      }
      REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      for (size_t i = 0; i < 3; ++i) CHECK(alone[i]->Read() == together[i]->Read());
      // Gate and up: the elementwise kernel on both gives the same bits.
      kernels::cuda::ElementwiseArgs act;
      act.a = alone[0]->as<float>();
      act.b = alone[2]->as<float>();
      act.out = alone[2]->as<float>();
      act.count = m * 21;
      REQUIRE(kernels::cuda::RunElementwise(kernels::cuda::Elementwise::kSiluMul, act,
                                            stream.get()) == KernelStatus::kOk);
      args.gate = kernels::cuda::MmvqGate::kSilu;
      args.n_parts = 2;
      args.parts[1] = args.parts[2];
      REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      CHECK(alone[2]->Read() == together[2]->Read());
      CHECK(together[2]->GuardsHold());
    }
  }
}

TEST_CASE("CUDA kernels: float products of few and of many rows agree with double", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : kFastTypes) {
    const int64_t block = FindElementTraits(type)->block_elements;
    const int64_t k = block == 1 ? 77 : 3 * block;
    for (const int64_t m : {1, 2, 7, 8, 9, 70, 363}) {
      const int64_t n = 67;
      const Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(m));
      Random random(static_cast<uint32_t>(m));
      const std::vector<float> x = random.Values(static_cast<size_t>(m * k));
      const std::vector<float> bias = random.Values(static_cast<size_t>(n));
      const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x), dbias = ToDevice(bias);
      const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
      KernelStatus status;
      if (m <= kernels::cuda::kMatvecMaxRows) {
        kernels::cuda::MatvecArgs args{
            type, weights.as<void>(), n, k, dx.as<float>(), m, dbias.as<float>(), out.as<float>(),
            n};
        status = kernels::cuda::Matvec(args, stream.get());
      } else {
        kernels::cuda::GemmArgs args{
            type, weights.as<void>(), n, k, dx.as<float>(), m, dbias.as<float>(), out.as<float>(),
            n};
        args.exact = m == 70;
        status = kernels::cuda::Gemm(args, stream.get());
      }
      REQUIRE(status == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      INFO(FindElementTraits(type)->name << " m " << m);
      const std::vector<double> exact(x.begin(), x.end());
      CHECK(NormalisedError(out.ReadFloats(), Product(matrix, exact, m, n, k, bias)) < 1e-6);
      CHECK(out.GuardsHold());
    }
  }
}

// Few results are computed in smaller tiles: the sums are the same.
TEST_CASE("CUDA kernels: rows of a float product have the same bits whatever the tiles", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const int64_t k = 331;
  const int64_t n = 67;
  const int64_t most = 64 * 40;  // two by forty large tiles
  Random random(5);
  const std::vector<float> x = random.Values(static_cast<size_t>(most * k));
  const Matrix matrix = MakeMatrix(ElementType::kF32, n, k, 5);
  const DeviceBytes dx = ToDevice(x), dw = ToDevice(matrix.packed);
  const auto run = [&](int64_t m) {
    const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
    REQUIRE(kernels::cuda::Gemm({ElementType::kF32, dw.as<void>(), n, k, dx.as<float>(), m, nullptr,
                                 out.as<float>(), n},
                                stream.get()) == KernelStatus::kOk);
    REQUIRE(stream.Wait());
    CHECK(out.GuardsHold());
    return out.ReadFloats();
  };
  const std::vector<float> all = run(most);
  for (const int64_t m : {9, 16, 33, 70, 200}) {
    const std::vector<float> few = run(m);
    CHECK(std::equal(few.begin(), few.end(), all.begin()));
  }
}

TEST_CASE("CUDA kernels: gathered rows have the bits of the decoder", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : kFastTypes) {
    const int64_t block = FindElementTraits(type)->block_elements;
    const int64_t k = block == 1 ? 77 : 5 * block;
    const Matrix matrix = MakeMatrix(type, 9, k, 7);
    const std::vector<int32_t> ids = {8, 0, 3, 3, -1, 9};
    const DeviceBytes table = ToDevice(matrix.packed), dids = ToDevice(ids);
    const DeviceBytes out(ids.size() * static_cast<size_t>(k) * sizeof(float));
    REQUIRE(kernels::cuda::GetRows(type, table.as<void>(), 9, k, dids.as<int32_t>(),
                                   static_cast<int64_t>(ids.size()), out.as<float>(),
                                   stream.get()) == KernelStatus::kOk);
    REQUIRE(stream.Wait());
    const std::vector<float> got = out.ReadFloats();
    INFO(FindElementTraits(type)->name);
    for (size_t r = 0; r < ids.size(); ++r) {
      const auto row = got.begin() + static_cast<std::ptrdiff_t>(r) * k;
      if (ids[r] < 0 || ids[r] >= 9) {
        CHECK(std::all_of(row, row + k, [](float v) { return std::isnan(v); }));
        continue;
      }
      const auto want = matrix.values.begin() + ids[r] * k;
      CHECK(SameBits({row, row + k}, {want, want + k}));
    }
    CHECK(out.GuardsHold());
  }
}

TEST_CASE("CUDA kernels: a value that is no number makes its row's products NaN", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const int64_t k = 64;
  const Matrix matrix = MakeMatrix(ElementType::kQ4_1, 5, k, 3);
  std::vector<float> x(static_cast<size_t>(2 * k), 0.5f);
  x[3] = INFINITY;
  const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x);
  const DeviceBytes rows(static_cast<size_t>(kernels::cuda::QuantizedRowBytes(k)) * 2);
  const DeviceBytes out(10 * sizeof(float));
  REQUIRE(kernels::cuda::QuantizeRows(
              dx.as<float>(), 2, k,
              kernels::cuda::MakePlaneTarget(rows.as<void>(), 2, k, false, false),
              stream.get()) == KernelStatus::kOk);
  kernels::cuda::MmvqArgs args;
  args.type = ElementType::kQ4_1;
  args.k = k;
  args.activations = rows.as<void>();
  args.m = 2;
  args.n_parts = 1;
  args.parts[0] = {weights.as<void>(), 5, nullptr, out.as<float>(), 5};
  REQUIRE(kernels::cuda::Mmvq(args, stream.get()) == KernelStatus::kOk);
  REQUIRE(stream.Wait());
  const std::vector<float> got = out.ReadFloats();
  for (size_t i = 0; i < 10; ++i) CHECK(std::isnan(got[i]) == (i < 5));
}

TEST_CASE("CUDA kernels: norm and rotation agree with the scalar twins", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const int64_t width : {1, 31, 64, 577, 4096}) {
    Random random(static_cast<uint32_t>(width));
    const std::vector<float> x = random.Values(static_cast<size_t>(3 * width));
    const std::vector<float> weight = random.Values(static_cast<size_t>(width));
    const DeviceBytes dx = ToDevice(x), dweight = ToDevice(weight);
    REQUIRE(kernels::cuda::RmsNorm(dx.as<float>(), dweight.as<float>(), dx.as<float>(), 3, width,
                                   1e-5f, stream.get()) == KernelStatus::kOk);
    REQUIRE(stream.Wait());
    std::vector<float> want(x.size());
    for (int64_t r = 0; r < 3; ++r) {
      kernels::reference::RmsNorm(x.data() + r * width, weight.data(), want.data() + r * width,
                                  width, 1e-5f);
    }
    INFO("width " << width);
    CHECK(NormalisedError(dx.ReadFloats(), want) < 1e-6);
    CHECK(dx.GuardsHold());
  }
  for (const bool neox : {false, true}) {
    Random random(5);
    const std::vector<float> x = random.Values(2 * 3 * 40), cos_sin = random.Values(2 * 24);
    const DeviceBytes dx = ToDevice(x), dtable = ToDevice(cos_sin);
    REQUIRE(kernels::cuda::Rope(
                {dx.as<float>(), dtable.as<float>(), dx.as<float>(), 2, 3, 40, 24, neox},
                stream.get()) == KernelStatus::kOk);
    REQUIRE(stream.Wait());
    std::vector<float> want(x.size());
    for (int r = 0; r < 2; ++r) {
      kernels::reference::Rope(x.data() + r * 120, want.data() + r * 120, cos_sin.data() + r * 24,
                               3, 40, 24, neox);
    }
    CHECK(NormalisedError(dx.ReadFloats(), want) < 1e-6);
  }
}

}  // namespace
}  // namespace minfer::testing
