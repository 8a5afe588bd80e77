// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Times of MMVQ on random weights of real shapes: us, GB/s, the share of the device's bandwidth and
// the difference from dp4a. Launches run over more copies of a matrix than the L2 holds, recorded
// in a graph; the chain is that of the products of a token of Qwen2.5-7B Q4_K_M.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "tests/bench/cuda_limits.h"
#include "tests/bench/cuda_timing.cuh"

namespace minfer::kernels::cuda {
namespace {

using bench::Check;
using bench::kBandwidth;

constexpr int64_t kArenaBytes = int64_t{6} << 30;
constexpr int kThreads = 256;

struct Variant {
  const char* name;
  bool streamed;
  bool early;
};

constexpr Variant kVariants[] = {
    {"dp4a", false, false}, {"streamed", true, false}, {"streamed, early", true, true}};

struct Shape {
  const char* name;
  ElementType type;
  int64_t n;
  int64_t k;
  int64_t m;
  bool residual;
  bool gated;
};

__global__ void FillFloats(float* to, int64_t n) {
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const uint32_t x = static_cast<uint32_t>(i) * 2654435761u;
    to[i] = static_cast<float>((x >> 8) & 0xffffu) / 32768.0f - 1.0f;
  }
}

// As small as the kernels between products are.
__global__ void SmallKernel(float* x) {
  GridDependencyLaunch();
  GridDependencyWait();
  x[threadIdx.x] = x[threadIdx.x] * 0.5f + x[1024 + threadIdx.x];
}

class Bench {
 public:
  Bench() {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "stream");
    Check(cudaMalloc(&weights_, kArenaBytes) == cudaSuccess, "weights");
    Check(cudaMalloc(&floats_, 1 << 22) == cudaSuccess, "activations");
    Check(cudaMalloc(&planes_, 1 << 22) == cudaSuccess, "quantised activations");
    Check(cudaMalloc(&out_, int64_t{1} << 26) == cudaSuccess, "results");
    bench::FillWords(weights_, kArenaBytes, 0x3bff3bffu, stream_);
    FillFloats<<<1, kThreads, 0, stream_>>>(floats_, 1 << 20);
    Check(cudaStreamSynchronize(stream_) == cudaSuccess, "filling");
  }

  void RunShape(const Shape& shape) {
    const int64_t matrix = WeightRowBytes(shape.type, shape.k) * shape.n;
    const int64_t bytes = matrix * (shape.gated ? 2 : 1);
    const int64_t wanted = std::max<int64_t>(3, (int64_t{600} << 20) / bytes + 1);
    const int64_t copies = std::min(kArenaBytes / bytes, wanted);
    std::vector<float> want;
    for (const Variant& variant : kVariants) {
      MmvqArgs args = Start(shape.type, shape.k, shape.m, shape.residual, variant);
      args.gate = shape.gated ? MmvqGate::kSilu : MmvqGate::kNone;
      args.n_parts = shape.gated ? 2 : 1;
      const double us = TimeOf([&] {
        for (int64_t c = 0; c < copies; ++c) {
          uint8_t* at = weights_ + c * bytes;
          args.parts[0] = {at, shape.n, nullptr, shape.gated ? nullptr : out_, shape.n};
          args.parts[1] = {at + matrix, shape.n, nullptr, out_, shape.n};
          Launch(args, variant);
        }
      });
      std::vector<float> got(static_cast<size_t>(shape.m * shape.n));
      Check(cudaMemcpy(got.data(), out_, got.size() * sizeof(float), cudaMemcpyDeviceToHost) ==
                cudaSuccess,
            "reading results");
      if (want.empty()) want = got;
      Print(shape.name, shape.m, variant, us / static_cast<double>(copies), bytes);
      std::printf("  difference %.1e\n", Difference(got, want));
    }
  }

  void RunChain(const Variant& variant, int64_t m, bool with_small) {
    used_ = 0;
    const double us = TimeOf([&] {
      used_ = total_ = 0;
      for (int layer = 0; layer < 28; ++layer) EnqueueLayer(layer, m, variant, with_small);
      Product(ElementType::kQ6_K, {152064}, 3584, m, true, false, variant);
    });
    Print(with_small ? "token, small kernels between" : "token", m, variant, us, total_);
    std::printf("\n");
  }

 private:
  MmvqArgs Start(ElementType type, int64_t k, int64_t m, bool residual, const Variant& variant) {
    MmvqArgs args;
    args.type = type;
    args.k = k;
    args.m = m;
    args.residual = residual;
    args.streamed = variant.streamed;
    args.activations = planes_;
    Check(QuantizeRows(floats_, m, k, MakePlaneTarget(planes_, m, k, residual, variant.streamed),
                       stream_) == KernelStatus::kOk,
          "quantising");
    return args;
  }

  void Launch(const MmvqArgs& args, const Variant& variant) {
    Check(Mmvq(args, KernelStream(stream_, variant.early)) == KernelStatus::kOk, "launching");
  }

  // Matrices of one launch, taken from the weights in turn.
  void Product(ElementType type, const std::vector<int64_t>& rows, int64_t k, int64_t m,
               bool residual, bool gated, const Variant& variant) {
    MmvqArgs args;
    args.type = type;
    args.k = k;
    args.m = m;
    args.residual = residual;
    args.streamed = variant.streamed;
    args.activations = planes_;
    args.gate = gated ? MmvqGate::kSilu : MmvqGate::kNone;
    for (const int64_t n : rows) {
      const int64_t bytes = (WeightRowBytes(type, k) * n + 255) / 256 * 256;
      if (used_ + bytes > kArenaBytes) used_ = 0;
      args.parts[args.n_parts] = {weights_ + used_, n, nullptr, out_ + args.n_parts * 2000000, n};
      ++args.n_parts;
      used_ += bytes;
      total_ += bytes;
    }
    Launch(args, variant);
  }

  void Small(bool with_small, const Variant& variant) {
    if (!with_small) return;
    Check(cuda::Launch(SmallKernel, {dim3(1), dim3(1024)}, KernelStream(stream_, variant.early),
                       floats_) == KernelStatus::kOk,
          "a small kernel");
  }

  void EnqueueLayer(int layer, int64_t m, const Variant& variant, bool with_small) {
    // The layers whose V and W_down have more bits.
    const bool more = layer < 3 || layer >= 25 || layer % 3 == 2;
    const ElementType high = more ? ElementType::kQ6_K : ElementType::kQ4_K;
    Small(with_small, variant);
    Product(ElementType::kQ4_K, {3584, 512}, 3584, m, false, false, variant);
    Product(high, {512}, 3584, m, false, false, variant);
    for (int i = 0; i < 3; ++i) Small(with_small, variant);
    Product(ElementType::kQ4_K, {3584}, 3584, m, false, false, variant);
    Small(with_small, variant);
    Product(ElementType::kQ4_K, {18944, 18944}, 3584, m, false, true, variant);
    Small(with_small, variant);
    Product(high, {3584}, 18944, m, true, false, variant);
  }

  double TimeOf(const std::function<void()>& enqueue) {
    return bench::MedianReplay(stream_, 5, enqueue);
  }

  static double Difference(const std::vector<float>& got, const std::vector<float>& want) {
    double apart = 0.0;
    double whole = 0.0;
    for (size_t i = 0; i < got.size(); ++i) {
      apart += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
      whole += std::pow(static_cast<double>(want[i]), 2);
    }
    return std::sqrt(apart / whole);
  }

  static void Print(const char* name, int64_t m, const Variant& variant, double us, int64_t bytes) {
    const double rate = static_cast<double>(bytes) / (us * 1e-6);
    std::printf("%-30s rows %d  %-16s %8.2f us %6.0f GB/s %5.1f %%", name, static_cast<int>(m),
                variant.name, us, rate / 1e9, 100.0 * rate / kBandwidth);
  }

  cudaStream_t stream_ = nullptr;
  uint8_t* weights_ = nullptr;
  float* floats_ = nullptr;
  uint8_t* planes_ = nullptr;
  float* out_ = nullptr;
  int64_t used_ = 0;
  int64_t total_ = 0;
};

void RunAll() {
  Bench bench;
  for (const int64_t m : {1, 8}) {
    // 1,024 for the 896 columns of the 0.5B: the padding of rows is random here.
    for (const Shape& shape : {Shape{"gate, up", ElementType::kQ4_K, 18944, 3584, m, false, true},
                               Shape{"down", ElementType::kQ4_K, 3584, 18944, m, true, false},
                               Shape{"down", ElementType::kQ6_K, 3584, 18944, m, true, false},
                               Shape{"Q", ElementType::kQ4_K, 3584, 3584, m, false, false},
                               Shape{"output", ElementType::kQ6_K, 152064, 3584, m, true, false},
                               Shape{"gate, up", ElementType::kQ4_0, 4864, 1024, m, false, true},
                               Shape{"down", ElementType::kQ4_0, 896, 4864, m, true, false},
                               Shape{"output", ElementType::kQ4_0, 151936, 1024, m, true, false},
                               Shape{"q8_0", ElementType::kQ8_0, 4096, 4096, m, false, false},
                               Shape{"q5_k", ElementType::kQ5_K, 4096, 14336, m, false, false}}) {
      bench.RunShape(shape);
    }
  }
  for (const bool with_small : {false, true}) {
    for (const Variant& variant : kVariants) bench.RunChain(variant, 1, with_small);
    bench.RunChain(kVariants[2], 8, with_small);
  }
}

}  // namespace
}  // namespace minfer::kernels::cuda

int main() {
  minfer::kernels::cuda::RunAll();
  return 0;
}
