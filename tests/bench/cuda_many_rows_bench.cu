// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Times of products of many rows on random weights of real shapes: the integer tensor cores (MMQ)
// by bytes, the products of halves by arithmetic, with the share of what an H200 gives. A family
// that the device does not have is left out.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/half_gemm/half_gemm.h"
#include "kernels/cuda/hopper_gemm/hopper_gemm.h"
#include "kernels/cuda/matvec/matvec.h"
#include "kernels/cuda/mmq/mmq.h"
#include "kernels/cuda/mmq/mmq_copy.h"
#include "kernels/cuda/small_gemm/small_gemm.h"
#include "kernels/cuda/tensor_gemm/tensor_gemm.h"

namespace minfer::kernels::cuda {
namespace {

constexpr double kBytesPerSecond = 4.6e12;
constexpr double kFlopsPerSecond = 790e12;
constexpr int kThreads = 256;

__global__ void FillKernel(uint32_t* to, int64_t words) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < words;
       i += int64_t{gridDim.x} * kThreads) {
    uint32_t x = static_cast<uint32_t>(i) * 2654435761u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    // Every half is positive and below 1, so that no scale is a NaN.
    to[i] = (x ^ x >> 16) & 0x3bff3bffu;
  }
}

// Memory that ends with the scope.
class Memory {
 public:
  Memory(int64_t bytes, cudaStream_t stream) {
    if (cudaMalloc(&data_, static_cast<size_t>(std::max<int64_t>(bytes, 16))) != cudaSuccess) {
      std::printf("no memory for %lld bytes\n", static_cast<long long>(bytes));
      return;
    }
    FillKernel<<<1024, kThreads, 0, stream>>>(static_cast<uint32_t*>(data_), bytes / 4);
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

struct Device {
  int32_t multiprocessors = 0;
  int32_t shared_bytes = 0;
  bool hopper = false;
};

Device FindDevice() {
  Device device;
  int major = 0;
  int minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  cudaDeviceGetAttribute(&device.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  device.hopper = major == 9 && minor == 0 && HasHopperGemm();
  return device;
}

// The shortest of three runs of ten, in us; 0 where a launch fails.
double Microseconds(cudaStream_t stream, const std::function<KernelStatus()>& launch) {
  constexpr int kRepeats = 10;
  cudaEvent_t begin;
  cudaEvent_t end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  double best = 0.0;
  bool good = launch() == KernelStatus::kOk;
  for (int run = 0; run < 3 && good; ++run) {
    cudaEventRecord(begin, stream);
    for (int i = 0; i < kRepeats; ++i) good = launch() == KernelStatus::kOk && good;
    cudaEventRecord(end, stream);
    good = cudaEventSynchronize(end) == cudaSuccess && good;
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, begin, end);
    const double us = 1e3 * static_cast<double>(ms) / kRepeats;
    best = run == 0 ? us : std::min(best, us);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (!good) std::printf("failed: %s\n", cudaGetErrorString(cudaGetLastError()));
  return good ? best : 0.0;
}

// As many copies of the weights as the L2 cannot hold take turns.
void TimeMmq(cudaStream_t stream, const Device& device, ElementType type, int64_t n, int64_t k,
             bool residual, bool raw = true, bool copy = false) {
  const int64_t bytes = (copy ? MmqCopyRowBytes(type, k) : WeightRowBytes(type, k)) * n;
  const int64_t copies = std::min<int64_t>(16, 200'000'000 / bytes + 1);
  const Memory weights(bytes * copies, stream);
  const Memory x(kMmqMaxRows * k * 4, stream);
  const Memory tiles(MmqActivationBytes(kMmqMaxRows, k, residual), stream);
  const Memory out(kMmqMaxRows * n * 4, stream);
  const auto partial_bytes = MmqPartialBytes(kMmqMaxRows, n, k);
  const Memory partials(static_cast<int64_t>(partial_bytes), stream);
  for (const int64_t m : {8, 16, 32, 64}) {
    if (QuantizeTiles(reinterpret_cast<const float*>(x.data()), m, k, residual, tiles.data(),
                      stream) != KernelStatus::kOk) {
      continue;
    }
    int64_t turn = 0;
    const double us = Microseconds(stream, [&] {
      MmvqArgs args;
      args.type = type;
      args.k = k;
      args.activations = tiles.data();
      args.m = m;
      args.residual = residual;
      args.n_parts = 1;
      args.parts[0] = {weights.data() + turn++ % copies * bytes, n, nullptr,
                       reinterpret_cast<float*>(out.data()), n};
      return Mmq(args, {partials.data(), partial_bytes, device.shared_bytes, raw, copy}, stream);
    });
    const double rate = static_cast<double>(bytes) / us * 1e6;
    std::printf("mmq %s %lldx%lld, %lld rows%s%s: %.1f us, %.0f GB/s, %.0f %%\n",
                FindElementTraits(type)->name, static_cast<long long>(n), static_cast<long long>(k),
                static_cast<long long>(m), residual ? " twice" : "",
                !raw   ? " by registers"
                : copy ? " from a copy"
                       : "",
                us, rate * 1e-9, 100.0 * rate / kBytesPerSecond);
  }
}

// Few rows of halves: on tensor cores, and in f32 (matvec up to 8 rows, then tiles).
void TimeSmall(cudaStream_t stream, ElementType type, int64_t n, int64_t k) {
  const int64_t bytes = WeightRowBytes(type, k) * n;
  const int64_t copies = std::min<int64_t>(16, 200'000'000 / bytes + 1);
  const Memory weights(bytes * copies, stream);
  const Memory x(kSmallGemmMaxRows * k * 4, stream);
  const Memory out(kSmallGemmMaxRows * n * 4, stream);
  for (const int64_t m : {1, 2, 4, 8, 16, 31}) {
    int64_t turn = 0;
    const auto next = [&] { return weights.data() + turn++ % copies * bytes; };
    auto* to = reinterpret_cast<float*>(out.data());
    const double small = Microseconds(stream, [&] {
      return SmallGemm({type, next(), n, k, x.data(), m, nullptr, to, n}, stream);
    });
    const auto* from = reinterpret_cast<const float*>(x.data());
    const double plain = Microseconds(stream, [&] {
      return m <= kMatvecMaxRows ? Matvec({type, next(), n, k, from, m, nullptr, to, n}, stream)
                                 : Gemm({type, next(), n, k, from, m, nullptr, to, n}, stream);
    });
    const double share = 100.0 * static_cast<double>(bytes) * 1e6 / kBytesPerSecond;
    std::printf("small %s %lldx%lld, %lld rows: %.1f us, %.0f %%; in f32: %.1f us, %.0f %%\n",
                FindElementTraits(type)->name, static_cast<long long>(n), static_cast<long long>(k),
                static_cast<long long>(m), small, share / small, plain, share / plain);
  }
}

// 65 to 255 rows: MMQ by 64, decoded on the way, and decoded to scratch first.
void TimeBetween(cudaStream_t stream, const Device& device, ElementType type, int64_t n, int64_t k,
                 bool residual) {
  constexpr int64_t kMost = 255;
  const int64_t bytes = WeightRowBytes(type, k) * n;
  const int64_t copies = std::min<int64_t>(16, 200'000'000 / bytes + 1);
  const Memory weights(bytes * copies, stream);
  const Memory decoded(2 * n * k, stream);
  const Memory x(kMost * k * 4, stream);
  const Memory tiles(MmqActivationBytes(kMmqMaxRows, k, residual), stream);
  const Memory out(kMost * n * 4, stream);
  const auto partial_bytes = std::max(HalfGemmPartialBytes(kMost, n), MmqPartialBytes(64, n, k));
  const Memory partials(static_cast<int64_t>(partial_bytes), stream);
  auto* to = reinterpret_cast<float*>(out.data());
  int64_t turn = 0;
  const auto next = [&] { return weights.data() + turn++ % copies * bytes; };
  for (const int64_t m : {65, 96, 128, 160, 192, 255}) {
    const double integer = Microseconds(stream, [&] {
      const uint8_t* matrix = next();
      KernelStatus status = KernelStatus::kOk;
      for (int64_t first = 0; first < m && status == KernelStatus::kOk; first += kMmqMaxRows) {
        MmvqArgs args;
        args.type = type;
        args.k = k;
        args.activations = tiles.data();
        args.m = std::min<int64_t>(kMmqMaxRows, m - first);
        args.residual = residual;
        args.n_parts = 1;
        args.parts[0] = {matrix, n, nullptr, to + first * n, n};
        status = QuantizeTiles(reinterpret_cast<const float*>(x.data()) + first * k, args.m, k,
                               residual, tiles.data(), stream);
        if (status == KernelStatus::kOk) {
          status = Mmq(args, {partials.data(), partial_bytes, device.shared_bytes}, stream);
        }
      }
      return status;
    });
    const double on_the_way = Microseconds(stream, [&] {
      return TensorGemm({type, next(), n, k, x.data(), m, nullptr, to, n}, stream);
    });
    HalfGemmArgs args;
    args.x = x.data();
    args.m = m;
    args.k = k;
    args.w = decoded.data();
    args.columns = n;
    args.w_stride = k;
    args.n_parts = 1;
    args.parts[0] = {0, n, nullptr, to, n};
    args.partials = partials.data();
    args.partial_bytes = partial_bytes;
    args.multiprocessors = device.multiprocessors;
    args.shared_opt_in_bytes = device.shared_bytes;
    const auto product = [&] {
      return device.hopper && PrefersHopperGemm(args) ? HopperGemm(args, stream)
                                                      : HalfGemm(args, stream);
    };
    const double halves = Microseconds(stream, [&] {
      DecodeRowsArgs rows;
      rows.type = type;
      rows.weights = next();
      rows.k = k;
      rows.count = n;
      rows.out = decoded.data();
      const KernelStatus status = DecodeRowsToHalf(rows, stream);
      return status == KernelStatus::kOk ? product() : status;
    });
    const double ready = Microseconds(stream, product);
    std::printf(
        "between %s %lldx%lld, %lld rows%s: mmq %.1f us, tensor_gemm %.1f, decoded first "
        "%.1f, of it the product %.1f\n",
        FindElementTraits(type)->name, static_cast<long long>(n), static_cast<long long>(k),
        static_cast<long long>(m), residual ? " twice" : "", integer, on_the_way, halves, ready);
  }
}

void PrintFlops(const char* name, int64_t m, double flops, double us) {
  if (us == 0.0) return;
  const double rate = flops / us * 1e6;
  std::printf("  %s, %lld rows: %.1f us, %.0f TFLOP/s, %.0f %%\n", name, static_cast<long long>(m),
              us, rate * 1e-12, 100.0 * rate / kFlopsPerSecond);
}

void TimeHalves(cudaStream_t stream, const Device& device, ElementType type, int64_t n, int64_t k) {
  constexpr int64_t kMost = 2048;
  const int64_t bytes = WeightRowBytes(type, k) * n;
  const Memory weights(bytes, stream);
  const Memory decoded(2 * n * k, stream);
  const Memory x(2 * kMost * k, stream);
  const Memory out(kMost * n * 4, stream);
  const auto partial_bytes = HalfGemmPartialBytes(kMost, n);
  const Memory partials(static_cast<int64_t>(partial_bytes), stream);
  DecodeRowsArgs rows;
  rows.type = type;
  rows.weights = weights.data();
  rows.k = k;
  rows.count = n;
  rows.out = decoded.data();
  const double us = Microseconds(stream, [&] { return DecodeRowsToHalf(rows, stream); });
  const double rate = static_cast<double>(bytes + 2 * n * k) / us * 1e6;
  std::printf("halves %s %lldx%lld\n  decode: %.1f us, %.0f GB/s, %.0f %%\n",
              FindElementTraits(type)->name, static_cast<long long>(n), static_cast<long long>(k),
              us, rate * 1e-9, 100.0 * rate / kBytesPerSecond);
  for (const int64_t m : {128, 512, 2048}) {
    HalfGemmArgs args;
    args.x = x.data();
    args.m = m;
    args.k = k;
    args.w = decoded.data();
    args.columns = n;
    args.w_stride = k;
    args.n_parts = 1;
    args.parts[0] = {0, n, nullptr, reinterpret_cast<float*>(out.data()), n};
    args.partials = partials.data();
    args.partial_bytes = partial_bytes;
    args.multiprocessors = device.multiprocessors;
    args.shared_opt_in_bytes = device.shared_bytes;
    const double flops = 2.0 * static_cast<double>(m * n * k);
    PrintFlops("half_gemm", m, flops, Microseconds(stream, [&] { return HalfGemm(args, stream); }));
    if (device.hopper) {
      PrintFlops("hopper_gemm", m, flops,
                 Microseconds(stream, [&] { return HopperGemm(args, stream); }));
    }
    TensorGemmArgs tiles{
        type, weights.data(), n, k, x.data(), m, nullptr, reinterpret_cast<float*>(out.data()), n};
    if (m <= 512) {
      PrintFlops("tensor_gemm", m, flops,
                 Microseconds(stream, [&] { return TensorGemm(tiles, stream); }));
    }
  }
}

int Run() {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
    std::printf("no device\n");
    return 1;
  }
  const Device device = FindDevice();
  // Qwen2.5-7B Q4_K_M, then Qwen2.5-0.5B Q4_0.
  TimeMmq(stream, device, ElementType::kQ4_K, 18944, 3584, false);
  TimeMmq(stream, device, ElementType::kQ4_K, 3584, 3584, false);
  TimeMmq(stream, device, ElementType::kQ6_K, 3584, 18944, true);
  TimeMmq(stream, device, ElementType::kQ6_K, 152064, 3584, true);
  TimeMmq(stream, device, ElementType::kQ4_0, 4864, 896, false);
  TimeMmq(stream, device, ElementType::kQ4_K, 18944, 3584, false, false);
  TimeMmq(stream, device, ElementType::kQ6_K, 3584, 18944, true, false);
  TimeMmq(stream, device, ElementType::kQ4_K, 18944, 3584, false, true, true);
  TimeMmq(stream, device, ElementType::kQ4_K, 3584, 3584, false, true, true);
  TimeMmq(stream, device, ElementType::kQ6_K, 3584, 18944, true, true, true);
  TimeMmq(stream, device, ElementType::kQ6_K, 152064, 3584, true, true, true);
  TimeSmall(stream, ElementType::kF16, 18944, 3584);
  TimeSmall(stream, ElementType::kBF16, 3584, 3584);
  TimeSmall(stream, ElementType::kBF16, 4864, 896);
  TimeBetween(stream, device, ElementType::kQ4_K, 37888, 3584, false);
  TimeBetween(stream, device, ElementType::kQ4_K, 3584, 3584, false);
  TimeBetween(stream, device, ElementType::kQ6_K, 3584, 18944, true);
  TimeBetween(stream, device, ElementType::kQ4_0, 9728, 896, false);
  TimeHalves(stream, device, ElementType::kQ4_K, 37888, 3584);
  TimeHalves(stream, device, ElementType::kQ6_K, 3584, 18944);
  TimeHalves(stream, device, ElementType::kQ4_K, 4608, 3584);
  TimeHalves(stream, device, ElementType::kQ4_K, 3584, 3584);
  TimeHalves(stream, device, ElementType::kQ4_0, 9728, 896);
  cudaStreamDestroy(stream);
  return 0;
}

}  // namespace
}  // namespace minfer::kernels::cuda

int main() { return minfer::kernels::cuda::Run(); }
