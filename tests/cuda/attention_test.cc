// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The KV store and attention over long rows against double: all formats, many pages in any order,
// pages that nobody wrote full of NaN.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/attention_prefill/attention_prefill.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/quant/half.h"
#include "tests/cuda/device_data.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::cuda::KvSide;
using kernels::testing::NormalisedError;
using kernels::testing::Random;

struct Shape {
  int32_t n_heads;
  int32_t n_kv_heads;
  int32_t dim;
  int32_t dim_v;
  KvFormat format;
  int32_t window;
  bool all = false;  // with a soft cap, sinks, and a row of no sequence
};

constexpr float kCap = 3.0f;

// What the store keeps of a head's values.
std::vector<float> Stored(const float* x, int32_t dim, KvFormat format) {
  std::vector<float> out(x, x + dim);
  if (format == KvFormat::kF16) {
    for (float& v : out) v = kernels::HalfToFloat(kernels::FloatToHalf(v));
  }
  if (format != KvFormat::kQ8_0) return out;
  for (int32_t b = 0; b < dim; b += 32) {
    const int32_t end = std::min(dim, b + 32);
    float largest = 0.0f;
    for (int32_t d = b; d < end; ++d) largest = std::max(largest, std::fabs(x[d]));
    const float scale = kernels::HalfToFloat(kernels::FloatToHalf(largest / 127.0f));
    for (int32_t d = b; d < end; ++d) out[d] = scale * std::nearbyint(x[d] * (127.0f / largest));
  }
  return out;
}

class LongAttention {
 public:
  LongAttention(const Shape& shape, int32_t length) : shape_(shape), length_(length) {
    Random random(static_cast<uint32_t>(length + shape.dim));
    const auto cells = static_cast<size_t>(length);
    // Columns of very different size, as in trained models.
    k_ = random.Values(cells * static_cast<size_t>(shape.n_kv_heads * shape.dim));
    v_ = random.Values(cells * static_cast<size_t>(shape.n_kv_heads * shape.dim_v));
    q_ = random.Values(cells * static_cast<size_t>(shape.n_heads * shape.dim));
    for (float& q : q_) q *= 8.0f;
    sinks_ = random.Values(static_cast<size_t>(shape.n_heads));
    const int32_t pages = (length + kKvPageCells - 1) / kKvPageCells;
    // Page i lies at 7 i + 3 modulo a prime that is larger than the number of pages.
    for (int32_t i = 0; i < pages; ++i) table_.push_back((7 * i + 3) % kPages);
  }

  enum class Way { kRows, kStripes, kTiles, kDecode, kDecodeApart };

  // The last `most` rows, `runs` times: right, and the same bits every time.
  void Check(Way way, int32_t most = 3, int runs = 1) {
    const bool tiles = way == Way::kTiles;
    const TestStream stream;
    const DeviceBytes k = ToDevice(k_), v = ToDevice(v_), q = ToDevice(q_);
    // The last rows, so that every page counts.
    const int32_t rows = std::min(length_, tiles ? 150 : most);
    const int32_t first = length_ - rows;
    std::vector<int32_t> cells, sequence(static_cast<size_t>(length_), 0), lengths;
    if (shape_.all) sequence[static_cast<size_t>(BlindRow(first))] = -1;
    for (int32_t r = 0; r < length_; ++r) {
      cells.push_back(table_[static_cast<size_t>(r / kKvPageCells)] * kKvPageCells +
                      r % kKvPageCells);
      lengths.push_back(r + 1);
    }
    const DeviceBytes dcells = ToDevice(cells), dsequence = ToDevice(sequence),
                      dlengths = ToDevice(lengths), dtable = ToDevice(table_);
    const DeviceBytes k_pages = Pages(shape_.dim), v_pages = Pages(shape_.dim_v);
    kernels::cuda::KvStoreArgs store;
    store.k_side = Side(k_pages, shape_.dim);
    store.v_side = Side(v_pages, shape_.dim_v);
    store.n_kv_heads = shape_.n_kv_heads;
    store.k = k.as<float>();
    store.v = v.as<float>();
    store.cells = dcells.as<int32_t>();
    store.rows = length_;
    REQUIRE(kernels::cuda::KvStore(store, stream.get()) == KernelStatus::kOk);
    const DeviceBytes sinks = ToDevice(sinks_);
    const DeviceBytes out(static_cast<size_t>(rows * shape_.n_heads * shape_.dim_v) * 4);
    const DeviceBytes partials(static_cast<size_t>(kernels::cuda::AttentionPartialFloats(
                                   rows, shape_.n_heads, shape_.dim_v)) *
                               4);
    kernels::cuda::AttentionArgs args;
    args.k = store.k_side;
    args.v = store.v_side;
    args.q = q.as<float>() + first * shape_.n_heads * shape_.dim;
    args.out = out.as<float>();
    args.rows = rows;
    args.n_heads = shape_.n_heads;
    args.n_kv_heads = shape_.n_kv_heads;
    args.scale = 1.0f / std::sqrt(static_cast<float>(shape_.dim));
    args.window = shape_.window;
    args.page_table = dtable.as<int32_t>();
    args.page_table_columns = static_cast<int64_t>(table_.size());
    args.page_table_rows = 1;
    args.row_sequence = dsequence.as<int32_t>() + first;
    args.softcap = shape_.all ? kCap : 0.0f;
    args.sinks = shape_.all ? sinks.as<float>() : nullptr;
    args.row_length = dlengths.as<int32_t>() + first;
    args.partials = way == Way::kRows || tiles ? nullptr : partials.as<float>();
    const DeviceBytes counters =
        ToDevice(std::vector<uint32_t>(static_cast<size_t>(kernels::cuda::AttentionDecodeCounters(
                                           rows, shape_.n_heads, shape_.n_kv_heads)),
                                       0));
    std::vector<uint8_t> before;
    int different = 0;
    for (int run = 0; run < runs; ++run) {
      REQUIRE(Launch(way, args, counters.as<uint32_t>(), stream) == KernelStatus::kOk);
      REQUIRE(stream.Wait());
      std::vector<uint8_t> now = out.Read();
      if (run > 0 && now != before) ++different;
      before = std::move(now);
    }
    INFO("length " << length_ << " dim " << shape_.dim << " format "
                   << static_cast<int>(shape_.format) << " way " << static_cast<int>(way));
    CHECK(different == 0);
    // Tiles round queries and weights to halves.
    CHECK(NormalisedError(out.ReadFloats(), Wanted(first)) < (tiles ? 2e-3 : 2e-6));
    CHECK(out.GuardsHold());
    CHECK(k_pages.GuardsHold());
    CHECK(v_pages.GuardsHold());
    CHECK(partials.GuardsHold());
  }

 private:
  static constexpr int32_t kPages = 31;

  static KernelStatus Launch(Way way, const kernels::cuda::AttentionArgs& args, uint32_t* counters,
                             const TestStream& stream) {
    if (way == Way::kTiles) return kernels::cuda::AttentionPrefill(args, stream.get());
    if (way == Way::kRows || way == Way::kStripes) {
      return kernels::cuda::Attention(args, stream.get());
    }
    kernels::cuda::AttentionDecodeArgs decode;
    decode.attention = args;
    decode.counters = way == Way::kDecode ? counters : nullptr;
    return kernels::cuda::AttentionDecode(decode, stream.get());
  }

  int64_t PageBytes(int32_t dim) const {
    return kernels::cuda::KvPageBytes(shape_.format, shape_.n_kv_heads, dim);
  }
  // 0xff everywhere: NaN as f32 and as f16.
  DeviceBytes Pages(int32_t dim) const {
    return ToDevice(std::vector<uint8_t>(static_cast<size_t>(kPages * PageBytes(dim)), 0xff));
  }
  KvSide Side(const DeviceBytes& pages, int32_t dim) const {
    return {pages.as<uint8_t>(), PageBytes(dim), kPages, shape_.format, dim};
  }

  std::vector<float> Wanted(int32_t first) const {
    std::vector<float> out;
    for (int32_t r = first; r < length_; ++r) {
      for (int32_t h = 0; h < shape_.n_heads; ++h) {
        if (shape_.all && r == BlindRow(first)) {
          out.insert(out.end(), static_cast<size_t>(shape_.dim_v), 0.0f);
        } else {
          AttendHead(r, h, &out);
        }
      }
    }
    return out;
  }

  int32_t BlindRow(int32_t first) const { return std::min(first + 1, length_ - 1); }

  void AttendHead(int32_t r, int32_t h, std::vector<float>* out) const {
    const int32_t kv_head = h / (shape_.n_heads / shape_.n_kv_heads);
    const int32_t low = shape_.window > 0 ? std::max(0, r + 1 - shape_.window) : 0;
    std::vector<double> scores;
    for (int32_t c = low; c <= r; ++c) {
      const auto k = Stored(k_.data() + (c * shape_.n_kv_heads + kv_head) * shape_.dim, shape_.dim,
                            shape_.format);
      const float* q = q_.data() + (r * shape_.n_heads + h) * shape_.dim;
      const double dot = std::inner_product(k.begin(), k.end(), q, 0.0);
      const double score = dot / std::sqrt(static_cast<double>(shape_.dim));
      scores.push_back(shape_.all ? kCap * std::tanh(score / kCap) : score);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    std::vector<double> sums(static_cast<size_t>(shape_.dim_v), 0.0);
    double total =
        shape_.all ? std::exp(static_cast<double>(sinks_[static_cast<size_t>(h)]) - largest) : 0.0;
    for (int32_t c = low; c <= r; ++c) {
      const double weight = std::exp(scores[static_cast<size_t>(c - low)] - largest);
      const auto v = Stored(v_.data() + (c * shape_.n_kv_heads + kv_head) * shape_.dim_v,
                            shape_.dim_v, shape_.format);
      for (size_t d = 0; d < sums.size(); ++d) sums[d] += weight * static_cast<double>(v[d]);
      total += weight;
    }
    for (const double sum : sums) out->push_back(static_cast<float>(sum / total));
  }

  Shape shape_;
  int32_t length_;
  std::vector<float> k_, v_, q_, sinks_;
  std::vector<int32_t> table_;
};

TEST_CASE("CUDA attention: long rows agree with double, striped and not", "[cuda]") {
  if (!CudaIsHere()) return;
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    for (const int32_t length : {1, 64, 65, 363, 1900}) {
      for (const auto way : {LongAttention::Way::kRows, LongAttention::Way::kStripes}) {
        LongAttention({9, 3, 64, 64, format, 0}, length).Check(way);
        LongAttention({8, 1, 128, 96, format, 100}, length).Check(way);
        if (length > 1) LongAttention({6, 2, 64, 64, format, 100, true}, length).Check(way);
      }
    }
    LongAttention({2, 2, 256, 256, format, 0}, 700).Check(LongAttention::Way::kStripes);
    LongAttention({3, 1, 80, 112, format, 0}, 700).Check(LongAttention::Way::kRows);
  }
}

// Heads of 64 leave half of a block's warps without columns of V, so that they run ahead.
TEST_CASE("CUDA attention: every row of a long prompt, again and again", "[cuda]") {
  if (!CudaIsHere()) return;
  LongAttention({9, 3, 64, 64, KvFormat::kF32, 0}, 724).Check(LongAttention::Way::kRows, 724, 50);
  LongAttention({9, 3, 64, 64, KvFormat::kF16, 0}, 513).Check(LongAttention::Way::kStripes, 64, 50);
}

TEST_CASE("CUDA attention: decode rows on tensor cores agree with double", "[cuda]") {
  if (!CudaIsHere()) return;
  for (const auto way : {LongAttention::Way::kDecode, LongAttention::Way::kDecodeApart}) {
    for (const int32_t dim : {16, 32, 64, 80, 96, 112, 128, 256}) {
      for (const int32_t length : {1, 17, 64, 130, 513, 1900}) {
        LongAttention({6, 2, dim, dim, KvFormat::kF16, length == 130 ? 70 : 0}, length)
            .Check(way, 3, 3);
      }
    }
    for (const int32_t dim : {64, 128, 256}) {
      LongAttention({4, 2, dim, dim, KvFormat::kF16, 0, true}, 800).Check(way, 5, 3);
      LongAttention({4, 2, dim, dim, KvFormat::kF16, 70, true}, 250).Check(way, 5, 3);
    }
    LongAttention({14, 2, 64, 64, KvFormat::kF16, 0}, 1300).Check(way, 100, 3);
    LongAttention({12, 1, 64, 64, KvFormat::kF16, 600}, 1300).Check(way, 5, 3);
    LongAttention({3, 3, 128, 128, KvFormat::kF16, 0}, 700).Check(way, 5, 3);
  }
}

TEST_CASE("CUDA attention: tiles of heads that leave room for one page", "[cuda]") {
  if (!CudaIsHere()) return;
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kQ8_0}) {
    LongAttention({2, 1, 256, 256, format, 0}, 130).Check(LongAttention::Way::kTiles, 3, 3);
  }
}

TEST_CASE("CUDA attention: tiles of rows agree with double", "[cuda]") {
  if (!CudaIsHere()) return;
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kQ8_0}) {
    for (const int32_t dim : {64, 80, 96, 112, 128, 256}) {
      for (const int32_t length : {1, 63, 64, 65, 200, 700}) {
        LongAttention({3, 1, dim, dim, format, length == 200 ? 70 : 0}, length)
            .Check(LongAttention::Way::kTiles);
        if (length < 200) continue;
        LongAttention({4, 2, dim, dim, format, length == 200 ? 90 : 0, true}, length)
            .Check(LongAttention::Way::kTiles);
      }
    }
  }
}

}  // namespace
}  // namespace minfer::testing
