// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Times of MMVQ on random weights of real shapes: us, GB/s, the share of the device's bandwidth and
// the difference from dp4a. Launches run over more copies of a matrix than the L2 holds, recorded
// in a graph; the chains are those of the products of a token of Qwen2.5-7B and Qwen3-4B in Q4_K_M.
//
//   cuda_mmvq_bench [NAME]   the model whose shapes are measured, 7b, 4b or 05b; otherwise all
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
  const char* model;
  const char* name;
  ElementType type;
  int64_t n;
  int64_t k;
  int64_t m;
  bool residual;
  bool gated;
};

// Of a model in Q4_K_M.
struct Model {
  const char* name;
  int layers;
  int64_t width;
  int64_t q;  // rows of Q, and columns of the output projection
  int64_t kv;
  int64_t inner;
  int64_t vocabulary;
};

constexpr Model kModels[] = {{"7b", 28, 3584, 3584, 512, 18944, 152064},
                             {"4b", 36, 2560, 4096, 1024, 9728, 151936}};

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

  void RunChain(const Model& model, const Variant& variant, int64_t m, bool with_small) {
    used_ = 0;
    const double us = TimeOf([&] {
      used_ = total_ = 0;
      for (int layer = 0; layer < model.layers; ++layer) {
        EnqueueLayer(model, layer, m, variant, with_small);
      }
      Product(ElementType::kQ6_K, {model.vocabulary}, model.width, m, true, false, variant);
    });
    std::printf("%s, ", model.name);
    Print(with_small ? "token, small kernels between" : "token", m, variant, us, total_);
    std::printf("\n");
  }

 private:
  MmvqArgs Start(ElementType type, int64_t k, int64_t m, bool residual, const Variant& variant) {
    Check(QuantizeRows(floats_, m, k, MakePlaneTarget(planes_, m, k, residual, variant.streamed),
                       stream_) == KernelStatus::kOk,
          "quantising");
    return Empty(type, k, m, residual, variant);
  }

  void Launch(const MmvqArgs& args, const Variant& variant) {
    Check(Mmvq(args, KernelStream(stream_, variant.early)) == KernelStatus::kOk, "launching");
  }

  // Q, K and V, which may have another type: in one launch where a kernel takes both.
  void Qkv(const Model& model, ElementType v_type, int64_t m, const Variant& variant) {
    MmvqArgs args = Empty(ElementType::kQ4_K, model.width, m, false, variant);
    AddPart(args.type, model.q, &args);
    AddPart(args.type, model.kv, &args);
    if (v_type != args.type && !variant.streamed) {
      Launch(args, variant);
      Product(v_type, {model.kv}, model.width, m, false, false, variant);
      return;
    }
    const ElementType types[] = {args.type, args.type, v_type};
    AddPart(v_type, model.kv, &args);
    if (v_type == args.type) {
      Launch(args, variant);
      return;
    }
    Check(MmvqMixed(args, types, KernelStream(stream_, variant.early)) == KernelStatus::kOk,
          "launching");
  }

  // Matrices of one launch, taken from the weights in turn.
  void Product(ElementType type, const std::vector<int64_t>& rows, int64_t k, int64_t m,
               bool residual, bool gated, const Variant& variant) {
    MmvqArgs args = Empty(type, k, m, residual, variant);
    args.gate = gated ? MmvqGate::kSilu : MmvqGate::kNone;
    for (const int64_t n : rows) AddPart(type, n, &args);
    Launch(args, variant);
  }

  void AddPart(ElementType type, int64_t n, MmvqArgs* args) {
    const int64_t bytes = (WeightRowBytes(type, args->k) * n + 255) / 256 * 256;
    if (used_ + bytes > kArenaBytes) used_ = 0;
    args->parts[args->n_parts] = {weights_ + used_, n, nullptr, out_ + args->n_parts * 2000000, n};
    ++args->n_parts;
    used_ += bytes;
    total_ += bytes;
  }

  MmvqArgs Empty(ElementType type, int64_t k, int64_t m, bool residual, const Variant& variant) {
    MmvqArgs args;
    args.type = type;
    args.k = k;
    args.m = m;
    args.residual = residual;
    args.streamed = variant.streamed;
    args.activations = planes_;
    return args;
  }

  void Small(bool with_small, const Variant& variant) {
    if (!with_small) return;
    Check(cuda::Launch(SmallKernel, {dim3(1), dim3(1024)}, KernelStream(stream_, variant.early),
                       floats_) == KernelStatus::kOk,
          "a small kernel");
  }

  void EnqueueLayer(const Model& model, int layer, int64_t m, const Variant& variant,
                    bool with_small) {
    // The layers whose V and W_down have more bits.
    const int eighth = model.layers / 8;
    const bool more = layer < eighth || layer >= 7 * model.layers / 8 || (layer - eighth) % 3 == 2;
    const ElementType high = more ? ElementType::kQ6_K : ElementType::kQ4_K;
    Small(with_small, variant);
    Qkv(model, high, m, variant);
    for (int i = 0; i < 3; ++i) Small(with_small, variant);
    Product(ElementType::kQ4_K, {model.width}, model.q, m, false, false, variant);
    Small(with_small, variant);
    Product(ElementType::kQ4_K, {model.inner, model.inner}, model.width, m, false, true, variant);
    Small(with_small, variant);
    Product(high, {model.width}, model.inner, m, true, false, variant);
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

constexpr ElementType kQ4_0 = ElementType::kQ4_0;
constexpr ElementType kQ8_0 = ElementType::kQ8_0;
constexpr ElementType kQ4_K = ElementType::kQ4_K;
constexpr ElementType kQ5_K = ElementType::kQ5_K;
constexpr ElementType kQ6_K = ElementType::kQ6_K;

// 1,024 for the 896 columns of the 0.5B: the padding of rows is random here.
constexpr Shape kShapes[] = {{"7b", "gate, up", kQ4_K, 18944, 3584, 1, false, true},
                             {"7b", "down", kQ4_K, 3584, 18944, 1, true, false},
                             {"7b", "down", kQ6_K, 3584, 18944, 1, true, false},
                             {"7b", "Q", kQ4_K, 3584, 3584, 1, false, false},
                             {"7b", "output", kQ6_K, 152064, 3584, 1, true, false},
                             {"4b", "gate, up", kQ4_K, 9728, 2560, 1, false, true},
                             {"4b", "down", kQ4_K, 2560, 9728, 1, true, false},
                             {"4b", "down", kQ6_K, 2560, 9728, 1, true, false},
                             {"4b", "Q", kQ4_K, 4096, 2560, 1, false, false},
                             {"4b", "V", kQ6_K, 1024, 2560, 1, false, false},
                             {"4b", "projection", kQ4_K, 2560, 4096, 1, false, false},
                             {"4b", "output", kQ6_K, 151936, 2560, 1, true, false},
                             {"05b", "gate, up", kQ4_0, 4864, 1024, 1, false, true},
                             {"05b", "down", kQ4_0, 896, 4864, 1, true, false},
                             {"05b", "output", kQ4_0, 151936, 1024, 1, true, false},
                             {"none", "q8_0", kQ8_0, 4096, 4096, 1, false, false},
                             {"none", "q5_k", kQ5_K, 4096, 14336, 1, false, false}};

void RunAll(const char* only) {
  const auto wanted = [&](const char* name) {
    return only == nullptr || std::strcmp(only, name) == 0;
  };
  Bench bench;
  for (const int64_t m : {1, 8}) {
    for (Shape shape : kShapes) {
      shape.m = m;
      if (wanted(shape.model)) bench.RunShape(shape);
    }
  }
  for (const Model& model : kModels) {
    if (!wanted(model.name)) continue;
    for (const bool with_small : {false, true}) {
      for (const Variant& variant : kVariants) bench.RunChain(model, variant, 1, with_small);
      bench.RunChain(model, kVariants[2], 8, with_small);
    }
  }
}

}  // namespace
}  // namespace minfer::kernels::cuda

int main(int argc, char** argv) {
  minfer::kernels::cuda::RunAll(argc > 1 ? argv[1] : nullptr);
  return 0;
}
