// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What each kernel of a layer costs a token of a small model (Qwen2.5-0.5B Q4_0, random weights):
// the kernels of 24 layers and of the output recorded in a graph, each starting while the one
// before ends, then the same without one of them. The difference is what leaving it out is worth.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/vector/rows.h"
#include "kernels/cuda/vector/vector.h"
#include "tests/bench/cuda_timing.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kLayers = 24;
constexpr int64_t kWidth = 896;
constexpr int64_t kInner = 4864;
constexpr int64_t kVocabulary = 151936;
constexpr int32_t kHeads = 14;
constexpr int32_t kKvHeads = 2;
constexpr int32_t kHeadDim = 64;
constexpr int64_t kPages = 72;  // of a sequence
constexpr ElementType kType = ElementType::kQ4_0;

using bench::Check;

enum Part {
  kNorm = 1,
  kQkv = 2,
  kAttend = 4,  // with rotation and store
  kProject = 8,
  kGate = 16,
  kQuantize = 32,
  kDown = 64,
  kOutput = 128,
  kAll = 255,
  kFoldNorm = 256,      // by the products that read it
  kFoldQuantize = 512,  // by the launch of gate and up
};

template <typename T>
T* Take(int64_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, static_cast<size_t>(bytes)) == cudaSuccess, "memory");
  // Every half positive and below 2^-7: sums stay finite over the layers.
  bench::FillWords(memory, bytes, 0x1fff1fffu, nullptr);
  return static_cast<T*>(memory);
}

class Bench {
 public:
  Bench() {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "stream");
    layer_bytes_ = MatrixBytes(kWidth + 256, kWidth) + MatrixBytes(kWidth, kWidth) +
                   2 * MatrixBytes(kInner, kWidth) + MatrixBytes(kWidth, kInner);
    weights_ = Take<uint8_t>(kLayers * layer_bytes_ + MatrixBytes(kVocabulary, kWidth));
    x_ = Take<float>(8 * kWidth * 4);
    other_ = Take<float>(8 * kWidth * 4);
    qkv_ = Take<float>(8 * (kWidth + 256) * 4);
    inner_ = Take<float>(8 * kInner * 4);
    logits_ = Take<float>(8 * kVocabulary * 4);
    planes_ = Take<uint8_t>(1 << 21);
    partials_ = Take<float>(4 * AttentionPartialFloats(8, kHeads, kHeadDim));
    const int64_t counters = 4 * AttentionDecodeCounters(8, kHeads, kKvHeads);
    counters_ = Take<uint32_t>(counters);
    Check(cudaMemset(counters_, 0, static_cast<size_t>(counters)) == cudaSuccess, "counters");
    table_ = Take<float>(8 * kHeadDim * 4);
    page_bytes_ = KvPageBytes(KvFormat::kF16, kKvHeads, kHeadDim);
    pages_ = Take<uint8_t>(8 * kPages * page_bytes_ * 2);
    ints_ = Take<int32_t>(8 * kPages * 4 + 4096);
  }

  void SetLength(int64_t m, int32_t length) {
    std::vector<int32_t> all(static_cast<size_t>(8 * kPages + 24), 0);
    for (int32_t r = 0; r < 8; ++r) {
      for (int32_t p = 0; p < kPages; ++p) {
        all[static_cast<size_t>(r * kPages + p)] = r * static_cast<int32_t>(kPages) + p;
      }
      const auto at = static_cast<size_t>(8 * kPages + r);
      all[at] = r;
      all[at + 8] = length;
      all[at + 16] = (r * static_cast<int32_t>(kPages)) * 64 + length - 1;
    }
    Check(cudaMemcpyAsync(ints_, all.data(), all.size() * 4, cudaMemcpyHostToDevice, stream_) ==
                  cudaSuccess &&
              cudaStreamSynchronize(stream_) == cudaSuccess,
          "lengths");
    m_ = m;
  }

  double TimeOf(int parts) {
    return bench::MedianReplay(stream_, 20, [&] { Enqueue(parts); });
  }

 private:
  static int64_t MatrixBytes(int64_t n, int64_t k) { return WeightRowBytes(kType, k) * n; }
  KernelStream queue() const { return KernelStream(stream_, true); }

  static void Ok(KernelStatus status, const char* what) {
    Check(status == KernelStatus::kOk, what);
  }

  MmvqArgs Product(int64_t k, bool residual) const {
    MmvqArgs args;
    args.type = kType;
    args.k = k;
    args.activations = planes_;
    args.m = m_;
    args.residual = residual;
    args.streamed = true;
    return args;
  }

  void Norm(bool residual) {
    Ok(RmsNorm(x_, other_, nullptr, m_, kWidth, 1e-6f, queue(),
               MakePlaneTarget(planes_, m_, kWidth, residual, true)),
       "norm");
  }

  void Attend() {
    AttentionDecodeArgs decode;
    AttentionArgs& args = decode.attention;
    args.k = args.v = Side();
    args.v.pages += 8 * kPages * page_bytes_;
    args.q = qkv_;
    args.rows = m_;
    args.n_heads = kHeads;
    args.n_kv_heads = kKvHeads;
    args.scale = 0.125f;
    args.page_table = ints_;
    args.page_table_columns = kPages;
    args.page_table_rows = 8;
    args.row_sequence = ints_ + 8 * kPages;
    args.row_length = ints_ + 8 * kPages + 8;
    args.partials = partials_;
    args.planes = MakePlaneTarget(planes_, m_, kWidth, false, true);
    decode.tail.k = qkv_ + 8 * kWidth;
    decode.tail.v = decode.tail.k + 8 * 128;
    decode.tail.cells = ints_ + 8 * kPages + 16;
    decode.tail.cos_sin = table_;
    decode.tail.rope_dim = kHeadDim;
    decode.tail.neox = true;
    decode.counters = counters_;
    Ok(AttentionDecode(decode, queue()), "attention");
  }

  KvSide Side() const {
    KvSide side;
    side.pages = pages_;
    side.page_bytes = page_bytes_;
    side.n_pages = 8 * kPages;
    side.format = KvFormat::kF16;
    side.dim = kHeadDim;
    return side;
  }

  void AttentionHalf(int parts, const uint8_t* at) {
    if ((parts & kNorm) != 0 && (parts & kFoldNorm) == 0) Norm(false);
    if ((parts & kQkv) != 0) {
      MmvqArgs args = Product(kWidth, false);
      if ((parts & kFoldNorm) != 0) args.norm = {x_, other_, 1e-6f};
      args.n_parts = 3;
      args.parts[0] = {at, kWidth, other_, qkv_, kWidth};
      args.parts[1] = {at + MatrixBytes(kWidth, kWidth), 128, other_, qkv_ + 8 * kWidth, 128};
      args.parts[2] = {at + MatrixBytes(kWidth + 128, kWidth), 128, other_,
                       qkv_ + 8 * (kWidth + 128), 128};
      Ok(Mmvq(args, queue()), "QKV");
    }
    if ((parts & kAttend) != 0) Attend();
    if ((parts & kProject) == 0) return;
    MmvqArgs args = Product(kWidth, false);
    args.n_parts = 1;
    args.parts[0] = {at + MatrixBytes(kWidth + 256, kWidth), kWidth, nullptr, x_, kWidth, x_};
    Ok(Mmvq(args, queue()), "projection");
  }

  void FeedForward(int parts, const uint8_t* at) {
    if ((parts & kNorm) != 0 && (parts & kFoldNorm) == 0) Norm(false);
    if ((parts & kGate) != 0) {
      MmvqArgs args = Product(kWidth, false);
      if ((parts & kFoldNorm) != 0) args.norm = {x_, other_, 1e-6f};
      if ((parts & kFoldQuantize) != 0) {
        args.planes = MakePlaneTarget(planes_ + (1 << 20), m_, kInner, true, true);
      }
      args.gate = MmvqGate::kSilu;
      args.n_parts = 2;
      args.parts[0] = {at, kInner, nullptr, nullptr, kInner};
      float* out = (parts & kFoldQuantize) != 0 ? nullptr : inner_;
      args.parts[1] = {at + MatrixBytes(kInner, kWidth), kInner, nullptr, out, kInner};
      Ok(Mmvq(args, queue()), "gate");
    }
    if ((parts & kQuantize) != 0 && (parts & kFoldQuantize) == 0) {
      Ok(QuantizeRows(inner_, m_, kInner, MakePlaneTarget(planes_, m_, kInner, true, true),
                      queue()),
         "quantising");
    }
    if ((parts & kDown) == 0) return;
    MmvqArgs args = Product(kInner, true);
    if ((parts & kFoldQuantize) != 0) args.activations = planes_ + (1 << 20);
    args.n_parts = 1;
    args.parts[0] = {at + 2 * MatrixBytes(kInner, kWidth), kWidth, nullptr, x_, kWidth, x_};
    Ok(Mmvq(args, queue()), "W_down");
  }

  void Enqueue(int parts) {
    for (int layer = 0; layer < kLayers; ++layer) {
      const uint8_t* at = weights_ + layer * layer_bytes_;
      AttentionHalf(parts, at);
      FeedForward(parts, at + MatrixBytes(2 * kWidth + 256, kWidth));
    }
    if ((parts & kOutput) == 0) return;
    Norm(true);
    MmvqArgs args = Product(kWidth, true);
    args.n_parts = 1;
    args.parts[0] = {weights_ + kLayers * layer_bytes_, kVocabulary, nullptr, logits_, kVocabulary};
    Ok(Mmvq(args, queue()), "output");
  }

  cudaStream_t stream_ = nullptr;
  int64_t m_ = 1;
  int64_t layer_bytes_ = 0;
  int64_t page_bytes_ = 0;
  uint8_t* weights_ = nullptr;
  float* x_ = nullptr;
  float* other_ = nullptr;
  float* qkv_ = nullptr;
  float* inner_ = nullptr;
  float* logits_ = nullptr;
  uint8_t* planes_ = nullptr;
  float* partials_ = nullptr;
  uint32_t* counters_ = nullptr;
  float* table_ = nullptr;
  uint8_t* pages_ = nullptr;
  int32_t* ints_ = nullptr;
};

void RunAll() {
  struct Named {
    const char* name;
    int parts;
  };
  Bench bench;
  for (const int64_t m : {1, 8}) {
    for (const int32_t length : {100, 4096}) {
      bench.SetLength(m, length);
      const int all = kAll | kFoldQuantize;
      const double whole = bench.TimeOf(all);
      std::printf("%d rows at depth %d: %.1f us; norms folded %.1f, quantising apart %.1f\n",
                  static_cast<int>(m), length, whole, bench.TimeOf(all | kFoldNorm),
                  bench.TimeOf(kAll));
      for (const Named& part :
           {Named{"two norms", kNorm}, Named{"QKV", kQkv}, Named{"attention", kAttend},
            Named{"projection", kProject}, Named{"gate and up", kGate}, Named{"W_down", kDown},
            Named{"output", kOutput}}) {
        const double us = bench.TimeOf(all & ~part.parts);
        std::printf("  without %-22s %7.1f us, %6.2f a layer; alone %6.2f\n", part.name, us,
                    (whole - us) / kLayers, bench.TimeOf(part.parts | kFoldQuantize) / kLayers);
      }
    }
  }
}

}  // namespace
}  // namespace minfer::kernels::cuda

int main() {
  minfer::kernels::cuda::RunAll();
  return 0;
}
