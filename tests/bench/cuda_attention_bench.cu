// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Times of attention on random pages of real shapes, a launch a layer recorded in one graph: us,
// GB/s of K and V and the share of the device's bandwidth; then prompts, with TFLOP/s.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/attention_prefill/attention_prefill.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/kv/kv_store.h"
#include "tests/bench/cuda_limits.h"
#include "tests/bench/cuda_timing.cuh"

namespace minfer::kernels::cuda {
namespace {

using bench::Check;
using bench::kBandwidth;
using bench::kTensorFlops;

constexpr int kLayers = 24;

struct Shape {
  const char* name;
  int32_t n_heads;
  int32_t n_kv_heads;
  int32_t dim;
};

template <typename T>
T* Upload(const std::vector<T>& values) {
  T* to = nullptr;
  Check(cudaMalloc(&to, values.size() * sizeof(T)) == cudaSuccess, "memory");
  Check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice) ==
            cudaSuccess,
        "upload");
  return to;
}

class Bench {
 public:
  Bench(const Shape& shape, int64_t rows, int32_t length, bool prompt)
      : shape_(shape), rows_(rows), length_(length) {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "stream");
    const int64_t columns = CeilDiv(length, kKvPageCells);
    const int64_t sequences = prompt ? 1 : rows;
    page_bytes_ = KvPageBytes(KvFormat::kF16, shape.n_kv_heads, shape.dim);
    n_pages_ = sequences * columns * kLayers;
    const int64_t words = n_pages_ * page_bytes_ / 4;
    for (uint8_t** pages : {&k_pages_, &v_pages_}) {
      Check(cudaMalloc(pages, static_cast<size_t>(words) * 4) == cudaSuccess, "pages");
      bench::FillWords(*pages, words * 4, 0xbbffbbffu, stream_);
    }
    std::vector<int32_t> table, sequence, lengths, cells;
    for (int64_t i = 0; i < sequences * columns; ++i) table.push_back(static_cast<int32_t>(i));
    for (int64_t r = 0; r < rows; ++r) {
      sequence.push_back(prompt ? 0 : static_cast<int32_t>(r));
      lengths.push_back(prompt ? static_cast<int32_t>(length - rows + r + 1) : length);
      const int32_t last = lengths.back() - 1;
      cells.push_back(table[static_cast<size_t>(sequence.back() * columns + last / kKvPageCells)] *
                          kKvPageCells +
                      last % kKvPageCells);
    }
    std::vector<float> values(
        static_cast<size_t>(rows * (shape.n_heads + 2 * shape.n_kv_heads) * shape.dim));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 2001) / 1000.0f - 1.0f;
    }
    args_.attention.q = Upload(values);
    args_.attention.out = Upload(values);
    tail_.k = args_.attention.q + rows * shape.n_heads * shape.dim;
    tail_.v = tail_.k + rows * shape.n_kv_heads * shape.dim;
    tail_.cells = Upload(cells);
    tail_.cos_sin = Upload(std::vector<float>(static_cast<size_t>(rows * shape.dim), 0.7f));
    tail_.rope_dim = shape.dim;
    tail_.neox = true;
    auto& a = args_.attention;
    a.rows = rows;
    a.n_heads = shape.n_heads;
    a.n_kv_heads = shape.n_kv_heads;
    a.scale = 1.0f / std::sqrt(static_cast<float>(shape.dim));
    a.page_table = Upload(table);
    a.page_table_columns = columns;
    a.page_table_rows = sequences;
    a.row_sequence = Upload(sequence);
    a.row_length = Upload(lengths);
    const int64_t decode_rows = prompt ? 16 : rows;
    a.partials = Upload(std::vector<float>(
        static_cast<size_t>(AttentionPartialFloats(decode_rows, shape.n_heads, shape.dim))));
    counters_ = Upload(std::vector<uint32_t>(
        static_cast<size_t>(AttentionDecodeCounters(rows, shape.n_heads, shape.n_kv_heads)), 0));
    const int64_t width = int64_t{shape.n_heads} * shape.dim;
    if (rows <= kMmvqMaxRows) {
      uint8_t* planes = nullptr;
      Check(cudaMalloc(&planes, static_cast<size_t>(QuantizedBytes(rows, width, false, true))) ==
                cudaSuccess,
            "planes");
      a.planes = MakePlaneTarget(planes, rows, width, false, true);
    }
    SetLayer(0);
  }

  void RunDecode() {
    const KernelStream early(stream_, true);
    const auto print = [&](const char* name, double us) {
      const double bytes =
          2.0 * static_cast<double>(rows_) * length_ * shape_.n_kv_heads * shape_.dim * 2.0;
      std::printf("%-14s %3d rows of %5d  %-34s %7.2f us %6.0f GB/s %5.1f %%\n", shape_.name,
                  static_cast<int>(rows_), length_, name, us, bytes / us * 1e-3,
                  100.0 * bytes / us * 1e6 / kBandwidth);
    };
    AttentionArgs plain = args_.attention;
    print("rotate and store; rows; combine", TimeOf([&](int layer) {
            SetLayer(layer);
            plain.k = args_.attention.k;
            plain.v = args_.attention.v;
            Check(KvStore(Store(), early) == KernelStatus::kOk, "store");
            Check(Attention(plain, early) == KernelStatus::kOk, "attention");
          }));
    print("the same without the first", TimeOf([&](int layer) {
            SetLayer(layer);
            plain.k = args_.attention.k;
            plain.v = args_.attention.v;
            Check(Attention(plain, early) == KernelStatus::kOk, "attention");
          }));
    for (const bool combined : {false, true}) {
      for (const bool tail : {false, true}) {
        AttentionDecodeArgs args = args_;
        args.counters = combined ? counters_ : nullptr;
        if (tail) args.tail = tail_;
        args.settled = tail;
        const char* name = combined ? (tail ? "mma, all in one" : "mma, combined")
                                    : (tail ? "mma, tail; combine" : "mma; combine");
        print(name, TimeOf([&](int layer) {
                SetLayer(layer);
                args.attention.k = args_.attention.k;
                args.attention.v = args_.attention.v;
                Check(AttentionDecode(args, early) == KernelStatus::kOk, "attention");
              }));
      }
    }
  }

  void RunPrompt() {
    args_.attention.planes = PlaneTarget();
    const double us = TimeOf([&](int layer) {
      SetLayer(layer);
      Check(AttentionPrefill(args_.attention, stream_) == KernelStatus::kOk, "prompt");
    });
    const double cells = static_cast<double>(rows_) * (length_ - rows_ / 2.0);
    const double ops = 4.0 * cells * shape_.n_heads * shape_.dim;
    std::printf("%-14s %4d rows, %5d cells %8.2f us %6.1f TFLOP/s %5.1f %%\n", shape_.name,
                static_cast<int>(rows_), length_, us, ops / us * 1e-6,
                100.0 * ops / us * 1e6 / kTensorFlops);
  }

 private:
  void SetLayer(int layer) {
    const int64_t at = layer * (n_pages_ / kLayers) * page_bytes_;
    args_.attention.k = {k_pages_ + at, page_bytes_, n_pages_ / kLayers, KvFormat::kF16,
                         shape_.dim};
    args_.attention.v = {v_pages_ + at, page_bytes_, n_pages_ / kLayers, KvFormat::kF16,
                         shape_.dim};
  }
  KvStoreArgs Store() const {
    KvStoreArgs store;
    store.k_side = args_.attention.k;
    store.v_side = args_.attention.v;
    store.n_kv_heads = shape_.n_kv_heads;
    store.k = tail_.k;
    store.v = tail_.v;
    store.cells = tail_.cells;
    store.rows = rows_;
    store.cos_sin = tail_.cos_sin;
    store.rope_dim = tail_.rope_dim;
    store.neox = tail_.neox;
    store.rope = {args_.attention.q, tail_.cos_sin, args_.attention.out, rows_,
                  shape_.n_heads,    shape_.dim,    shape_.dim,          true};
    return store;
  }

  // A layer's time, of graphs of all layers.
  double TimeOf(const std::function<void(int)>& enqueue) {
    return bench::MedianReplay(stream_, 12,
                               [&] {
                                 for (int layer = 0; layer < kLayers; ++layer) enqueue(layer);
                               }) /
           kLayers;
  }

  Shape shape_;
  int64_t rows_;
  int32_t length_;
  cudaStream_t stream_ = nullptr;
  uint8_t* k_pages_ = nullptr;
  uint8_t* v_pages_ = nullptr;
  int64_t page_bytes_ = 0;
  int64_t n_pages_ = 0;
  AttentionDecodeArgs args_;
  DecodeTail tail_;
  uint32_t* counters_ = nullptr;
};

void RunAll() {
  const Shape shapes[] = {{"Qwen2.5-0.5B", 14, 2, 64},
                          {"Qwen2.5-7B", 28, 4, 128},
                          {"Qwen3-4B", 32, 8, 128},
                          {"Gemma-3-1B", 4, 1, 256}};
  for (const Shape& shape : shapes) {
    for (const int32_t length : {40, 128, 250, 300, 1000, 4096}) {
      Bench(shape, 1, length, false).RunDecode();
    }
    for (const int64_t rows : {8, 64}) Bench(shape, rows, 128, false).RunDecode();
    Bench(shape, 8, 1000, false).RunDecode();
  }
  for (const Shape& shape : shapes) {
    if (!HasAttentionPrefill(KvFormat::kF16, KvFormat::kF16, shape.dim, shape.dim)) continue;
    for (const int32_t rows : {512, 2048}) Bench(shape, rows, rows, true).RunPrompt();
  }
}

}  // namespace
}  // namespace minfer::kernels::cuda

int main() {
  minfer::kernels::cuda::RunAll();
  return 0;
}
