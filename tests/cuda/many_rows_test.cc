// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Products of many rows against plain scalar code: the integer tensor cores, halves decoded on the
// way and halves in scratch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/hopper_gemm/hopper_gemm.h"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmq/mmq_copy.h"
#include "kernels/cuda/small_gemm/small_gemm.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"
#include "kernels/cuda/vector/vector.h"
#include "kernels/quant/half.h"
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

TEST_CASE("CUDA kernels: tensor products agree with those of halves", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const auto half = [](float v) { return kernels::HalfToFloat(kernels::FloatToHalf(v)); };
  for (const ElementType type : kFastTypes) {
    if (!kernels::cuda::HasTensorGemm(type)) continue;
    const int64_t block = FindElementTraits(type)->block_elements;
    for (const int64_t m : {9, 64, 129, 300}) {
      const int64_t n = m == 64 ? 131 : 67;
      const int64_t k = (m == 300 ? 7 : 3) * block;
      Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(m));
      for (float& w : matrix.values) w = half(w);
      Random random(static_cast<uint32_t>(m));
      const std::vector<float> x = random.Values(static_cast<size_t>(m * k));
      const std::vector<float> bias = random.Values(static_cast<size_t>(n));
      const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x), dbias = ToDevice(bias);
      const DeviceBytes halves(x.size() * 2);
      const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
      REQUIRE(kernels::cuda::RowsToHalf(dx.as<float>(), m, k, halves.as<void>(), stream.get()) ==
              KernelStatus::kOk);
      kernels::cuda::TensorGemmArgs args{
          type, weights.as<void>(), n, k, halves.as<void>(), m, dbias.as<float>(), out.as<float>(),
          n};
      REQUIRE(kernels::cuda::TensorGemm(args, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      INFO(FindElementTraits(type)->name << " m " << m);
      std::vector<double> rounded;
      for (const float v : x) rounded.push_back(static_cast<double>(half(v)));
      CHECK(NormalisedError(out.ReadFloats(), Product(matrix, rounded, m, n, k, bias)) < 5e-6);
      CHECK(out.GuardsHold());
      CHECK(halves.GuardsHold());
    }
  }
}

TEST_CASE("CUDA kernels: few rows of halves agree with double, alone and in company", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const auto half = [](float v) { return kernels::HalfToFloat(kernels::FloatToHalf(v)); };
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    CHECK_FALSE(kernels::cuda::HasSmallGemm(type, 12));
    for (const int64_t k : {8, 72, 1000}) {
      // A matrix in blocks of 16 rows, and one in blocks of 32.
      for (const int64_t n : {37, 8500}) {
        if (n == 8500 && k != 72) continue;
        Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(k));
        for (float& w : matrix.values) w = half(w);
        const std::vector<float> x = Random(7).Values(static_cast<size_t>(32 * k));
        const std::vector<float> bias = Random(8).Values(static_cast<size_t>(n));
        const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x);
        const DeviceBytes dbias = ToDevice(bias), halves(x.size() * 2);
        REQUIRE(kernels::cuda::RowsToHalf(dx.as<float>(), 32, k, halves.as<void>(), stream.get()) ==
                KernelStatus::kOk);
        const auto run = [&](int64_t first, int64_t m) {
          const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
          kernels::cuda::SmallGemmArgs args{type,
                                            weights.as<void>(),
                                            n,
                                            k,
                                            halves.as<uint8_t>() + first * k * 2,
                                            m,
                                            dbias.as<float>(),
                                            out.as<float>(),
                                            n};
          REQUIRE(kernels::cuda::SmallGemm(args, stream.get()) == KernelStatus::kOk);
          REQUIRE(stream.Wait());
          CHECK(out.GuardsHold());
          return out.ReadFloats();
        };
        const std::vector<float> all = run(0, 32);
        std::vector<double> rounded;
        for (const float v : x) rounded.push_back(static_cast<double>(half(v)));
        INFO(FindElementTraits(type)->name << " n " << n << " k " << k);
        CHECK(NormalisedError(all, Product(matrix, rounded, 32, n, k, bias)) < 5e-6);
        for (const int64_t m : {1, 2, 8, 9, 16, 17, 31}) {
          CHECK(SameBits(run(32 - m, m), {all.end() - m * n, all.end()}));
        }
        CHECK(halves.GuardsHold());
      }
    }
  }
}

// Scratch for sums over parts of k.
kernels::cuda::MmqScratch ScratchOf(const DeviceBytes& partials, uint64_t bytes) {
  return {partials.as<void>(), bytes, 227 << 10};
}

std::vector<float> RunMmq(const TestStream& stream, ElementType type, const DeviceBytes& weights,
                          const std::vector<float>& x, int64_t m, int64_t n, int64_t k,
                          bool residual, const float* bias, bool raw = true, bool copies = false) {
  const DeviceBytes dx = ToDevice(x);
  const DeviceBytes tiles(static_cast<size_t>(kernels::cuda::MmqActivationBytes(m, k, residual)));
  const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
  REQUIRE(kernels::cuda::QuantizeTiles(dx.as<float>(), m, k, residual, tiles.as<void>(),
                                       stream.get()) == KernelStatus::kOk);
  kernels::cuda::MmvqArgs args;
  args.type = type;
  args.k = k;
  args.activations = tiles.as<void>();
  args.m = m;
  args.residual = residual;
  args.n_parts = 1;
  args.parts[0] = {weights.as<void>(), n, bias, out.as<float>(), n};
  const uint64_t bytes = kernels::cuda::MmqPartialBytes(m, n, k);
  const DeviceBytes partials(std::max<uint64_t>(bytes, 16));
  kernels::cuda::MmqScratch scratch = ScratchOf(partials, bytes);
  // As on a device that has less shared memory.
  if (m == 30) scratch.shared_opt_in_bytes = (raw ? 99 : 64) << 10;
  scratch.raw = raw;
  scratch.copies = copies;
  REQUIRE(kernels::cuda::Mmq(args, scratch, stream.get()) == KernelStatus::kOk);
  REQUIRE(stream.Wait());
  CHECK(out.GuardsHold());
  CHECK(tiles.GuardsHold());
  CHECK(partials.GuardsHold());
  return out.ReadFloats();
}

TEST_CASE("CUDA kernels: MMQ is the product with the rounded activations", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : kFastTypes) {
    const int64_t block = FindElementTraits(type)->block_elements;
    for (const int64_t k : {block, 3 * block, block == 32 ? int64_t{1152} : int64_t{4608}}) {
      if (!kernels::cuda::HasMmq(type, k)) continue;
      for (const int64_t m : {1, 2, 8, 13, 30, 64}) {
        const bool residual = m % 2 == 0;
        const int64_t n = m == 13 ? 37 : 16;
        const Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(k + m));
        Random random(static_cast<uint32_t>(m));
        const std::vector<float> x = random.Values(static_cast<size_t>(m * k));
        const std::vector<float> bias = random.Values(static_cast<size_t>(n));
        const DeviceBytes weights = ToDevice(matrix.packed), dbias = ToDevice(bias);
        INFO(FindElementTraits(type)->name << " k " << k << " m " << m);
        const auto got = RunMmq(stream, type, weights, x, m, n, k, residual, dbias.as<float>());
        const auto want = Product(matrix, Rounded(x, m, k, residual), m, n, k, bias);
        CHECK(NormalisedError(got, want) < 2e-6);
        // Staged through registers, as before 8.0.
        CHECK(SameBits(
            RunMmq(stream, type, weights, x, m, n, k, residual, dbias.as<float>(), false), got));
        const int64_t row_bytes = kernels::cuda::MmqCopyRowBytes(type, k);
        CHECK((row_bytes > 0) == (type == ElementType::kQ4_K || type == ElementType::kQ6_K));
        if (row_bytes == 0) continue;
        std::vector<uint8_t> packed(static_cast<size_t>(n * row_bytes));
        for (int64_t r = 0; r < n; ++r) {
          REQUIRE(kernels::cuda::PackMmqCopyRow(
                      type, k,
                      matrix.stored.data() + static_cast<size_t>(r) * matrix.stored.row_bytes,
                      packed.data() + r * row_bytes) == KernelStatus::kOk);
        }
        CHECK(SameBits(RunMmq(stream, type, ToDevice(packed), x, m, n, k, residual,
                              dbias.as<float>(), true, true),
                       got));
      }
    }
  }
}

TEST_CASE("CUDA kernels: a row of MMQ has the same bits whatever the rows beside it", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : {ElementType::kQ4_1, ElementType::kQ4_K, ElementType::kQ6_K}) {
    const int64_t k = 2304, n = 53;
    const Matrix matrix = MakeMatrix(type, n, k, 9);
    Random random(3);
    const std::vector<float> x = random.Values(static_cast<size_t>(64 * k));
    const DeviceBytes weights = ToDevice(matrix.packed);
    const std::vector<float> all =
        RunMmq(stream, type, weights, x, 64, n, k, type == ElementType::kQ6_K, nullptr);
    for (const int64_t m : {1, 9, 17, 33}) {
      // The last of them, so that a row also stands elsewhere.
      const std::vector<float> few(x.end() - m * k, x.end());
      INFO(FindElementTraits(type)->name << " m " << m);
      CHECK(
          SameBits(RunMmq(stream, type, weights, few, m, n, k, type == ElementType::kQ6_K, nullptr),
                   {all.end() - m * n, all.end()}));
    }
  }
}

TEST_CASE("CUDA kernels: parts and gates of MMQ have the bits that they have alone", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  for (const ElementType type : {ElementType::kQ4_0, ElementType::kQ5_K}) {
    for (const int64_t m : {3, 11, 40}) {
      // Whole, and split over k.
      const int64_t k = m == 3 ? 512 : 2304;
      const int64_t sizes[] = {137, 9, 137};
      Random random(static_cast<uint32_t>(m));
      const std::vector<float> x = random.Values(static_cast<size_t>(m * k));
      const DeviceBytes dx = ToDevice(x);
      const DeviceBytes tiles(static_cast<size_t>(kernels::cuda::MmqActivationBytes(m, k, false)));
      REQUIRE(kernels::cuda::QuantizeTiles(dx.as<float>(), m, k, false, tiles.as<void>(),
                                           stream.get()) == KernelStatus::kOk);
      std::vector<std::unique_ptr<DeviceBytes>> weights, together;
      std::vector<std::vector<float>> alone;
      kernels::cuda::MmvqArgs args;
      args.type = type;
      args.k = k;
      args.activations = tiles.as<void>();
      args.m = m;
      args.n_parts = 3;
      for (size_t i = 0; i < 3; ++i) {
        const Matrix matrix = MakeMatrix(type, sizes[i], k, static_cast<uint32_t>(i));
        weights.push_back(
            std::make_unique<DeviceBytes>(matrix.packed.data(), matrix.packed.size()));
        together.push_back(
            std::make_unique<DeviceBytes>(static_cast<size_t>(m * sizes[i]) * sizeof(float)));
        args.parts[i] = {weights[i]->as<void>(), sizes[i], nullptr, together[i]->as<float>(),
                         sizes[i]};
        alone.push_back(RunMmq(stream, type, *weights[i], x, m, sizes[i], k, false, nullptr));
      }
      uint64_t bytes = 0;
      for (const int64_t n : sizes) bytes += kernels::cuda::MmqPartialBytes(m, n, k);
      const DeviceBytes partials(std::max<uint64_t>(bytes, 16));
      const kernels::cuda::MmqScratch scratch = ScratchOf(partials, bytes);
      REQUIRE(kernels::cuda::Mmq(args, scratch, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      for (size_t i = 0; i < 3; ++i) CHECK(SameBits(together[i]->ReadFloats(), alone[i]));
      const DeviceBytes gate = ToDevice(alone[0]), up = ToDevice(alone[2]);
      kernels::cuda::ElementwiseArgs act;
      act.a = gate.as<float>();
      act.b = up.as<float>();
      act.out = up.as<float>();
      act.count = m * 137;
      REQUIRE(kernels::cuda::RunElementwise(kernels::cuda::Elementwise::kGeluMul, act,
                                            stream.get()) == KernelStatus::kOk);
      args.gate = kernels::cuda::MmvqGate::kGelu;
      args.n_parts = 2;
      args.parts[1] = args.parts[2];
      REQUIRE(kernels::cuda::Mmq(args, scratch, stream.get()) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      CHECK(partials.GuardsHold());
      CHECK(SameBits(together[2]->ReadFloats(), up.ReadFloats()));
      CHECK(together[2]->GuardsHold());
    }
  }
}

// The families that multiply halves on this device.
using HalfProduct = KernelStatus (*)(const kernels::cuda::HalfGemmArgs&,
                                     kernels::cuda::KernelStream);
std::vector<HalfProduct> HalfProducts() {
  std::vector<HalfProduct> products = {kernels::cuda::HalfGemm};
  int major = 0;
  int minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  if (kernels::cuda::HasHopperGemm() && major == 9 && minor == 0) {
    products.push_back(kernels::cuda::HopperGemm);
  }
  return products;
}

TEST_CASE("CUDA kernels: products of halves in scratch agree with double", "[cuda]") {
  if (!CudaIsHere()) return;
  const TestStream stream;
  const auto half = [](float v) { return kernels::HalfToFloat(kernels::FloatToHalf(v)); };
  for (const ElementType type : kFastTypes) {
    if (!kernels::cuda::HasHalfDecoder(type)) continue;
    const int64_t block = FindElementTraits(type)->block_elements;
    for (const int64_t m : {9, 129, 300}) {
      // Small shared memory, and k split, are for other kinds of devices and matrices.
      const bool split = m == 129;
      const int64_t n = m == 300 ? 263 : 67;
      const int64_t k = split ? 2304 : block == 1 ? 72 : 3 * block;
      Matrix matrix = MakeMatrix(type, n, k, static_cast<uint32_t>(m));
      for (float& w : matrix.values) w = half(w);
      Random random(static_cast<uint32_t>(m));
      const std::vector<float> x = random.Values(static_cast<size_t>(m * k));
      const std::vector<float> bias = random.Values(static_cast<size_t>(n));
      const DeviceBytes weights = ToDevice(matrix.packed), dx = ToDevice(x), dbias = ToDevice(bias);
      const DeviceBytes halves(x.size() * 2), decoded(static_cast<size_t>(n * k) * 2);
      const DeviceBytes out(static_cast<size_t>(m * n) * sizeof(float));
      const DeviceBytes partials(split ? kernels::cuda::HalfGemmPartialBytes(m, n) : size_t{16});
      REQUIRE(kernels::cuda::RowsToHalf(dx.as<float>(), m, k, halves.as<void>(), stream.get()) ==
              KernelStatus::kOk);
      kernels::cuda::DecodeRowsArgs rows;
      rows.type = type;
      rows.weights = weights.as<void>();
      rows.k = k;
      rows.count = n;
      rows.out = decoded.as<void>();
      REQUIRE(kernels::cuda::DecodeRowsToHalf(rows, stream.get()) == KernelStatus::kOk);
      kernels::cuda::HalfGemmArgs args;
      args.x = halves.as<void>();
      args.m = m;
      args.k = k;
      args.w = decoded.as<void>();
      args.columns = n;
      args.w_stride = k;
      args.n_parts = 1;
      args.parts[0] = {0, n, dbias.as<float>(), out.as<float>(), n};
      if (split) {
        args.partials = partials.as<void>();
        args.partial_bytes = kernels::cuda::HalfGemmPartialBytes(m, n);
        REQUIRE(args.partial_bytes > 0);
      }
      args.multiprocessors = 132;
      args.shared_opt_in_bytes = (m == 9 ? 99 : 227) << 10;
      INFO(FindElementTraits(type)->name << " m " << m);
      std::vector<double> rounded;
      for (const float v : x) rounded.push_back(static_cast<double>(half(v)));
      const std::vector<float> want = Product(matrix, rounded, m, n, k, bias);
      for (const HalfProduct product : HalfProducts()) {
        REQUIRE(product(args, stream.get()) == KernelStatus::kOk);
        REQUIRE(stream.Wait());
        CHECK(NormalisedError(out.ReadFloats(), want) < 5e-6);
        CHECK(out.GuardsHold());
      }
      CHECK(halves.GuardsHold());
      CHECK(decoded.GuardsHold());
      CHECK(partials.GuardsHold());
    }
  }
}

// Three matrices of 768 of k, decoded into one scratch and multiplied with 140 rows.
class SideBySide {
 public:
  static constexpr int64_t kRows = 140;
  static constexpr int64_t kDepth = 768;
  static constexpr ElementType kTypes[] = {ElementType::kQ4_K, ElementType::kQ6_K,
                                           ElementType::kQ4_K};
  static constexpr int64_t kSizes[] = {139, 9, 139};

  explicit SideBySide(HalfProduct product)
      : product_(product),
        x_(ToDevice(Random(5).Values(static_cast<size_t>(kRows * kDepth)))),
        halves_(static_cast<size_t>(2 * kRows * kDepth)),
        decoded_(static_cast<size_t>(2 * kDepth * 304)) {
    REQUIRE(kernels::cuda::RowsToHalf(x_.as<float>(), kRows, kDepth, halves_.as<void>(),
                                      stream_.get()) == KernelStatus::kOk);
    args.x = halves_.as<void>();
    args.m = kRows;
    args.k = kDepth;
    args.w = decoded_.as<void>();
    args.w_stride = kDepth;
    args.multiprocessors = 132;
    args.shared_opt_in_bytes = 227 << 10;
    for (size_t i = 0; i < 3; ++i) {
      const Matrix matrix = MakeMatrix(kTypes[i], kSizes[i], kDepth, static_cast<uint32_t>(i));
      weights_.push_back(std::make_unique<DeviceBytes>(matrix.packed.data(), matrix.packed.size()));
      outs_.push_back(
          std::make_unique<DeviceBytes>(static_cast<size_t>(kRows * kSizes[i]) * sizeof(float)));
    }
  }

  // Rows [from, from + count) of matrix i at row `to` of scratch; group: 0 and 8 for gate and up.
  void Decode(size_t i, int64_t from, int64_t count, int64_t to, int group = -1) {
    kernels::cuda::DecodeRowsArgs rows;
    rows.type = kTypes[i];
    rows.weights = weights_[i]->as<void>();
    rows.k = kDepth;
    rows.first = from;
    rows.count = count;
    rows.out = decoded_.as<uint8_t>() + to * 2 * kDepth;
    rows.interleaved = group >= 0;
    rows.group_offset = std::max(group, 0);
    REQUIRE(kernels::cuda::DecodeRowsToHalf(rows, stream_.get()) == KernelStatus::kOk);
  }

  // Matrix i begins at column `first`.
  kernels::cuda::HalfGemmPart Part(size_t i, int64_t first) {
    return {first, kSizes[i], nullptr, outs_[i]->as<float>(), kSizes[i]};
  }

  void Run(int64_t columns) {
    args.columns = columns;
    REQUIRE(product_(args, stream_.get()) == KernelStatus::kOk);
    REQUIRE(stream_.Wait());
    for (const auto& out : outs_) CHECK(out->GuardsHold());
    CHECK(decoded_.GuardsHold());
  }

  std::vector<float> Result(size_t i) const { return outs_[i]->ReadFloats(); }

  // The elementwise kernel on a gate and up.
  std::vector<float> Activated(const std::vector<float>& gate, const std::vector<float>& up) {
    const DeviceBytes a = ToDevice(gate), b = ToDevice(up);
    kernels::cuda::ElementwiseArgs act;
    act.a = a.as<float>();
    act.b = b.as<float>();
    act.out = b.as<float>();
    act.count = static_cast<int64_t>(gate.size());
    REQUIRE(kernels::cuda::RunElementwise(kernels::cuda::Elementwise::kSiluMul, act,
                                          stream_.get()) == KernelStatus::kOk);
    REQUIRE(stream_.Wait());
    return b.ReadFloats();
  }

  kernels::cuda::HalfGemmArgs args;

 private:
  HalfProduct product_;
  TestStream stream_;
  DeviceBytes x_, halves_, decoded_;
  std::vector<std::unique_ptr<DeviceBytes>> weights_, outs_;
};

void CheckSideBySide(HalfProduct product) {
  SideBySide side(product);
  std::vector<std::vector<float>> alone;
  for (size_t i = 0; i < 3; ++i) {
    side.Decode(i, 0, SideBySide::kSizes[i], 0);
    side.args.n_parts = 1;
    side.args.parts[0] = side.Part(i, 0);
    side.Run(SideBySide::kSizes[i]);
    alone.push_back(side.Result(i));
  }
  // All three, in two parts of 256 columns at most.
  const int64_t first[] = {0, 144, 160};
  for (int64_t begin = 0; begin < 299; begin += 256) {
    const int64_t end = std::min<int64_t>(begin + 256, 299);
    side.args.n_parts = 3;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t from = std::max<int64_t>(0, begin - first[i]);
      const int64_t to = std::min(SideBySide::kSizes[i], end - first[i]);
      if (from < to) side.Decode(i, from, to - from, first[i] + from - begin);
      side.args.parts[i] = side.Part(i, first[i] - begin);
    }
    side.Run(end - begin);
  }
  for (size_t i = 0; i < 3; ++i) CHECK(SameBits(side.Result(i), alone[i]));
  side.Decode(0, 0, SideBySide::kSizes[0], 0, 0);
  side.Decode(2, 0, SideBySide::kSizes[2], 0, 8);
  side.args.n_parts = 1;
  side.args.gate = kernels::cuda::HalfGemmGate::kSilu;
  side.args.parts[0] = side.Part(0, 0);
  side.Run(288);
  CHECK(SameBits(side.Result(0), side.Activated(alone[0], alone[2])));
}

TEST_CASE("CUDA kernels: halves side by side and gates have the bits that they have alone",
          "[cuda]") {
  if (!CudaIsHere()) return;
  for (const HalfProduct product : HalfProducts()) CheckSideBySide(product);
}

}  // namespace
}  // namespace minfer::testing
