// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/kv_layout.h"
#include "kernels/quant/half.h"

namespace minfer::kernels::reference {
namespace {

struct VisibleRow {
  const float* q;
  float* out;
  const int32_t* pages;
  int32_t head;
  int64_t lo;
  int64_t hi;
};

// k and v: room for one canonical row.
void AttendRow(const AttentionArgs& a, const VisibleRow& row, std::vector<float>* k,
               std::vector<float>* v) {
  const int32_t kv_head = row.head / (a.n_heads / a.kv.n_kv_heads);
  std::vector<double> weights;
  std::vector<double> sums(static_cast<size_t>(a.kv.head_dim_v), 0.0);
  double highest = -HUGE_VAL;
  const auto cell_of = [&](int64_t c) {
    return int64_t{row.pages[c / kKvPageCells]} * kKvPageCells + c % kKvPageCells;
  };
  for (int64_t c = row.lo; c < row.hi; ++c) {
    ReadKvRow(a.kv, cell_of(c), k->data(), nullptr);
    double score = 0.0;
    for (int32_t d = 0; d < a.kv.head_dim_k; ++d) {
      score += static_cast<double>(row.q[d]) *
               (*k)[static_cast<size_t>(kv_head) * static_cast<size_t>(a.kv.head_dim_k) +
                    static_cast<size_t>(d)];
    }
    score *= a.scale;
    if (a.softcap > 0.0f) score = a.softcap * std::tanh(score / a.softcap);
    weights.push_back(score);
    highest = std::max(highest, score);
  }
  const bool has_sink = a.sinks != nullptr && !weights.empty();
  if (has_sink) highest = std::max<double>(highest, a.sinks[row.head]);
  double total = has_sink ? std::exp(a.sinks[row.head] - highest) : 0.0;
  for (double& w : weights) total += (w = std::exp(w - highest));
  for (int64_t c = row.lo; c < row.hi; ++c) {
    ReadKvRow(a.kv, cell_of(c), nullptr, v->data());
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += weights[static_cast<size_t>(c - row.lo)] *
                 (*v)[static_cast<size_t>(kv_head) * sums.size() + i];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    row.out[i] = weights.empty() ? 0.0f : static_cast<float>(sums[i] / total);
  }
}

uint16_t ClampedHalf(float x) {
  return std::isnan(x) ? FloatToHalf(x) : FloatToHalf(std::clamp(x, -65504.0f, 65504.0f));
}

// A q8_0 block of n values; returns the scale's bits.
uint16_t QuantizeBlock(const float* x, int32_t n, int8_t* out) {
  float largest = 0.0f;
  bool finite = true;
  for (int32_t i = 0; i < n; ++i) {
    finite = finite && std::isfinite(x[i]);
    largest = std::max(largest, std::fabs(x[i]));
  }
  if (!finite || largest < 0x1p-20f) {
    std::fill(out, out + n, int8_t{0});
    return finite ? 0 : 0x7e00;
  }
  const float inverse = 127.0f / largest;
  for (int32_t i = 0; i < n; ++i) out[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
  return ClampedHalf(largest / 127.0f);
}

// Element d of a row goes to index d * stride + offset of the slab, its block's scale to the
// block's place for the slot.
void StoreHead(KvFormat format, const KvSlab& slab, const float* x, int32_t n, int64_t stride,
               int64_t offset, int64_t slot) {
  for (int32_t d = 0; d < n; ++d) {
    const int64_t index = d * stride + offset;
    if (format == KvFormat::kF32) reinterpret_cast<float*>(slab.elements)[index] = x[d];
    if (format == KvFormat::kF16) {
      reinterpret_cast<uint16_t*>(slab.elements)[index] = ClampedHalf(x[d]);
    }
    if (format == KvFormat::kQ8_0 && d % kKvBlock == 0) {
      int8_t quants[kKvBlock];
      const int32_t count = std::min(kKvBlock, n - d);
      slab.scales[d / kKvBlock * kKvPageCells + slot] = QuantizeBlock(x + d, count, quants);
      for (int32_t i = 0; i < count; ++i) {
        reinterpret_cast<int8_t*>(slab.elements)[index + i * stride] = quants[i];
      }
    }
  }
}

}  // namespace

KernelStatus Attention(const AttentionArgs& a) {
  std::vector<float> k(static_cast<size_t>(a.kv.n_kv_heads) * static_cast<size_t>(a.kv.head_dim_k));
  std::vector<float> v(static_cast<size_t>(a.kv.n_kv_heads) * static_cast<size_t>(a.kv.head_dim_v));
  for (int64_t r = a.row_begin; r < a.row_end; ++r) {
    const int64_t sequence = a.row_sequence[r];
    for (int32_t h = a.head_begin; h < a.head_end; ++h) {
      VisibleRow row;
      row.q = a.q + r * a.q_stride + int64_t{h} * a.kv.head_dim_k;
      row.out = a.out + r * a.out_stride + int64_t{h} * a.kv.head_dim_v;
      row.pages = a.page_table + std::max<int64_t>(sequence, 0) * a.page_table_stride;
      row.head = h;
      row.hi = sequence < 0 ? 0 : std::max(0, a.row_length[r]);
      row.lo = a.window > 0 ? std::max<int64_t>(0, row.hi - a.window) : 0;
      AttendRow(a, row, &k, &v);
    }
  }
  return KernelStatus::kOk;
}

KernelStatus KvStore(const KvLayerView& kv, const float* k, const float* v, int64_t cell) {
  const int64_t page = cell / kKvPageCells;
  const int64_t slot = cell % kKvPageCells;
  for (int32_t h = 0; h < kv.n_kv_heads; ++h) {
    StoreHead(kv.k_format, KSlabOf(kv, page, h), k + int64_t{h} * kv.head_dim_k, kv.head_dim_k,
              kKvPageCells, slot, slot);
    StoreHead(kv.v_format, VSlabOf(kv, page, h), v + int64_t{h} * kv.head_dim_v, kv.head_dim_v, 1,
              slot * KvPaddedDim(kv.head_dim_v), slot);
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::reference
