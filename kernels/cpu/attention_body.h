// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Attention over paged K and V with online softmax, a template on an ISA's Simd.
//
// A call is cut into tiles: neighbouring rows of one sequence times the query heads of one KV head,
// at most kTileLimit together, so that each page is read once a tile. A tile walks its cells stripe
// by stripe (kAttentionStripeCells) and page by page (64 cells at absolute places); per page the
// scores of all its rows are made, turned into weights with the running maximum, and the values
// added. Cells that a row may not see get weight 0 and their values are never read for that row.
// Stripes are merged in order. Nothing a row goes through depends on the other rows.
//
// Bound by: reading K and V for decode rows, multiply-adds for prefill tiles.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/kv_store_body.h"
#include "kernels/cpu/math_body.h"

namespace minfer::kernels {

// Rows x heads of a tile. Scores and accumulators of 48 rows take 12 + 2 * 12 KiB at head size 64:
// with the K and V slabs (16 KiB each in f32) they stay in a 1 MiB L2 and mostly in L1; a multiple
// of the 6-row blocks.
inline constexpr int32_t kTileLimit = 48;
inline constexpr float kNoMax = -__builtin_inff();

template <typename V>
struct Attention {
  using F = typename V::F;

  static size_t ScratchBytes(int32_t, int32_t, int32_t, int32_t head_dim_v) {
    const auto padded = static_cast<size_t>(KvPaddedDim(head_dim_v));
    const auto scales = static_cast<size_t>(KvBlocks(head_dim_v)) * kKvPageCells;
    return sizeof(float) * (kTileLimit * (kKvPageCells + 2 * padded) + scales);
  }

  static size_t PartialFloats(int32_t head_dim_v) {
    return static_cast<size_t>(KvPaddedDim(head_dim_v)) + kKvDimAlign;
  }

  static KernelStatus Check(const AttentionArgs& a) {
    const KvLayerView& kv = a.kv;
    if (kv.n_kv_heads <= 0 || kv.head_dim_k <= 0 || kv.head_dim_v <= 0 || a.n_heads <= 0) {
      return KernelStatus::kBadShape;
    }
    if (a.n_heads % kv.n_kv_heads != 0) return KernelStatus::kBadShape;
    const int32_t group = a.n_heads / kv.n_kv_heads;
    if (a.head_begin < 0 || a.head_end > a.n_heads || a.head_begin % group != 0 ||
        a.head_end % group != 0 || a.row_begin < 0 || a.row_end < a.row_begin) {
      return KernelStatus::kBadShape;
    }
    return KernelStatus::kOk;
  }

  // The rows of one tile and what they share.
  struct Tile {
    const AttentionArgs* args;
    const int32_t* pages;  // of the sequence
    int32_t kv_head;
    int32_t n_rows;
    int64_t padded;  // head_dim_v
    float* scales;   // q8_0 V scales of the page as floats
    int32_t lo;      // union of the rows' cells
    int32_t hi;
    AttentionRow rows[kTileLimit];
    AttentionRow* active[kTileLimit];
    int32_t n_active;
  };

  // Scales, caps and masks one row's scores of a page and turns them into weights; updates the
  // running maximum and sum.
  static void SoftmaxPage(const AttentionArgs& a, AttentionRow* row) {
    const F scale = V::Set(a.scale);
    const F no = V::Set(kNoMax);
    F highest = no;
    for (int32_t c = 0; c < kKvPageCells; c += V::kWidth) {
      F x = V::Mul(V::Load(row->scores + c), scale);
      if (a.softcap > 0.0f) {
        const F cap = V::Set(a.softcap);
        x = V::Mul(cap, Tanh<V>(V::Div(x, cap)));
      }
      x = V::Range(x, no, c, row->page_lo, row->page_hi);
      highest = V::Max(highest, x);
      V::Store(row->scores + c, x);
    }
    const float page_max = V::ReduceMax(highest);
    const float new_max = page_max > row->acc_max ? page_max : row->acc_max;
    row->correction = Rescale(row->acc_max, new_max);
    F sum = V::Zero();
    for (int32_t c = 0; c < kKvPageCells; c += V::kWidth) {
      F p = Exp<V>(V::Sub(V::Load(row->scores + c), V::Set(new_max)));
      p = V::Range(p, V::Zero(), c, row->page_lo, row->page_hi);
      sum = V::Add(sum, p);
      V::Store(row->scores + c, p);
    }
    row->acc_sum = row->acc_sum * row->correction + V::ReduceAdd(sum);
    row->acc_max = new_max;
  }

  // e^(old - new), exactly 0 when there was nothing before.
  static float Rescale(float old_max, float new_max) {
    return old_max == kNoMax ? 0.0f : V::First(Exp<V>(V::Set(old_max - new_max)));
  }

  template <KvFormat kK, KvFormat kV>
  static void Page(Tile* t, int32_t page_index) {
    const AttentionArgs& a = *t->args;
    const int32_t base = page_index * kKvPageCells;
    t->n_active = 0;
    for (int32_t r = 0; r < t->n_rows; ++r) {
      AttentionRow* row = &t->rows[r];
      row->page_lo = row->lo > base ? row->lo - base : 0;
      row->page_hi = row->hi < base + kKvPageCells ? row->hi - base : kKvPageCells;
      if (row->page_lo < row->page_hi) t->active[t->n_active++] = row;
    }
    if (t->n_active == 0) return;
    const int64_t page = t->pages[page_index];
    const KvSlab k = KSlabOf(a.kv, page, t->kv_head);
    const KvSlab v = VSlabOf(a.kv, page, t->kv_head);
    ForRowBlocks<V>(t->n_active, [&]<int kRows>(int32_t first) {
      ScoreRows<V, kK, kRows>(k, a.kv.head_dim_k, t->active + first);
    });
    for (int32_t r = 0; r < t->n_active; ++r) SoftmaxPage(a, t->active[r]);
    if constexpr (kV == KvFormat::kQ8_0) {
      const int32_t n = static_cast<int32_t>(KvBlocks(a.kv.head_dim_v)) * kKvPageCells;
      for (int32_t i = 0; i < n; i += V::kWidth) V::Store(t->scales + i, V::LoadF16(v.scales + i));
    }
    // Rows that see the same cells go together; on a causal diagonal that is the heads of one row.
    for (int32_t begin = 0; begin < t->n_active;) {
      const int32_t lo = t->active[begin]->page_lo;
      const int32_t hi = t->active[begin]->page_hi;
      int32_t end = begin + 1;
      while (end < t->n_active && t->active[end]->page_lo == lo && t->active[end]->page_hi == hi) {
        ++end;
      }
      ForRowBlocks<V>(end - begin, [&]<int kRows>(int32_t first) {
        ValueRows<V, kV, kRows>(v, t->padded, lo, hi, t->scales, t->active + begin + first);
      });
      begin = end;
    }
  }

  // total = total and (max, sum, values) of a stripe, both brought to the higher maximum.
  static void Merge(AttentionRow* row, float max, float sum, const float* values, int64_t padded) {
    const float new_max = max > row->total_max ? max : row->total_max;
    const float keep = Rescale(row->total_max, new_max);
    const float take = Rescale(max, new_max);
    row->total_sum = row->total_sum * keep + sum * take;
    row->total_max = new_max;
    for (int64_t i = 0; i < padded; i += V::kWidth) {
      const F kept = V::Mul(V::Load(row->total + i), V::Set(keep));
      V::Store(row->total + i, V::MulAdd(V::Load(values + i), V::Set(take), kept));
    }
  }

  static void StartTotal(AttentionRow* row, int64_t padded) {
    row->total_max = kNoMax;
    row->total_sum = 0.0f;
    for (int64_t i = 0; i < padded; i += V::kWidth) V::Store(row->total + i, V::Zero());
  }

  // The sink of the row's head joins the sum. Beside a higher maximum the values shrink as in
  // Merge.
  static void AddSink(const AttentionArgs& a, int32_t head, int64_t padded, AttentionRow* row) {
    if (a.sinks == nullptr || row->lo >= row->hi) return;
    const float sink = a.sinks[head];
    const float new_max = sink > row->total_max ? sink : row->total_max;
    const float keep = Rescale(row->total_max, new_max);
    row->total_sum = row->total_sum * keep + Rescale(sink, new_max);
    row->total_max = new_max;
    for (int64_t i = 0; i < padded; i += V::kWidth) {
      V::Store(row->total + i, V::Mul(V::Load(row->total + i), V::Set(keep)));
    }
  }

  // out = total / sum; zeros when nothing was attended.
  static void Finish(const AttentionRow& row, int32_t head_dim_v) {
    const F inverse = V::Set(row.total_sum == 0.0f ? 0.0f : 1.0f / row.total_sum);
    for (int32_t i = 0; i < head_dim_v; i += V::kWidth) {
      const int32_t n = head_dim_v - i < V::kWidth ? head_dim_v - i : V::kWidth;
      V::StoreN(row.out + i, V::Mul(V::LoadN(row.total + i, n), inverse), n);
    }
  }

  static bool InStripe(const AttentionRow& row, int32_t stripe) {
    return row.lo < row.hi && row.lo < int64_t{stripe + 1} * kAttentionStripeCells &&
           row.hi > int64_t{stripe} * kAttentionStripeCells;
  }

  template <KvFormat kK, KvFormat kV>
  static void Stripe(Tile* t, int32_t stripe) {
    for (int32_t r = 0; r < t->n_rows; ++r) {
      AttentionRow* row = &t->rows[r];
      row->acc_max = kNoMax;
      row->acc_sum = 0.0f;
      for (int64_t i = 0; i < t->padded; i += V::kWidth) V::Store(row->acc + i, V::Zero());
    }
    constexpr int32_t kPages = kAttentionStripeCells / kKvPageCells;
    int32_t page = stripe * kPages;
    int32_t page_end = page + kPages;
    if (page < t->lo / kKvPageCells) page = t->lo / kKvPageCells;
    const int32_t last = (t->hi + kKvPageCells - 1) / kKvPageCells;
    if (page_end > last) page_end = last;
    for (; page < page_end; ++page) Page<kK, kV>(t, page);
  }

  // Where a row's stripe result stands: the values, then maximum and sum.
  static float* PartialOf(const AttentionArgs& a, int64_t row, int32_t head, int32_t stripe) {
    const int64_t index = (row * a.n_heads + head) * a.partial_stripes + stripe;
    return a.partials + index * static_cast<int64_t>(PartialFloats(a.kv.head_dim_v));
  }

  // All stripes of a tile, merged and written out; or, for the two-phase form, the call's stripes,
  // each stored as a partial.
  template <KvFormat kK, KvFormat kV, bool kPartial>
  static void RunTile(Tile* t, int64_t first_row, int32_t first_head, int32_t heads) {
    const AttentionArgs& a = *t->args;
    if constexpr (!kPartial) {
      for (int32_t r = 0; r < t->n_rows; ++r) StartTotal(&t->rows[r], t->padded);
    }
    int32_t stripe = t->lo / kAttentionStripeCells;
    int32_t stripe_end = (t->hi + kAttentionStripeCells - 1) / kAttentionStripeCells;
    if constexpr (kPartial) {
      if (stripe < a.stripe_begin) stripe = a.stripe_begin;
      if (stripe_end > a.stripe_end) stripe_end = a.stripe_end;
    }
    for (; stripe < stripe_end; ++stripe) {
      Stripe<kK, kV>(t, stripe);
      for (int32_t r = 0; r < t->n_rows; ++r) {
        AttentionRow* row = &t->rows[r];
        if (!InStripe(*row, stripe)) continue;
        if constexpr (kPartial) {
          float* to = PartialOf(a, first_row + r / heads, first_head + r % heads, stripe);
          for (int64_t i = 0; i < t->padded; i += V::kWidth)
            V::Store(to + i, V::Load(row->acc + i));
          to[t->padded] = row->acc_max;
          to[t->padded + 1] = row->acc_sum;
        } else {
          Merge(row, row->acc_max, row->acc_sum, row->acc, t->padded);
        }
      }
    }
    if constexpr (!kPartial) {
      for (int32_t r = 0; r < t->n_rows; ++r) {
        AddSink(a, first_head + r % heads, t->padded, &t->rows[r]);
        Finish(t->rows[r], a.kv.head_dim_v);
      }
    }
  }

  static void VisibleCells(const AttentionArgs& a, int64_t row, int32_t* lo, int32_t* hi) {
    *hi = a.row_sequence[row] < 0 || a.row_length[row] < 0 ? 0 : a.row_length[row];
    *lo = a.window > 0 && *hi > a.window ? *hi - a.window : 0;
  }

  // Rows [row, row + n) of one sequence and heads [head, head + heads) of one KV head.
  static void FillTile(Tile* t, int64_t row, int64_t n, int32_t head, int32_t heads) {
    const AttentionArgs& a = *t->args;
    auto* scratch = static_cast<float*>(a.scratch);
    float* scores = scratch;
    float* acc = scores + kTileLimit * kKvPageCells;
    float* total = acc + kTileLimit * t->padded;
    t->scales = total + kTileLimit * t->padded;
    t->n_rows = static_cast<int32_t>(n) * heads;
    t->lo = INT32_MAX;
    t->hi = 0;
    for (int32_t i = 0; i < t->n_rows; ++i) {
      const int64_t r = row + i / heads;
      const int64_t h = head + i % heads;
      AttentionRow* to = &t->rows[i];
      to->q = a.q + r * a.q_stride + h * a.kv.head_dim_k;
      to->out = a.out + r * a.out_stride + h * a.kv.head_dim_v;
      to->scores = scores + i * kKvPageCells;
      to->acc = acc + i * t->padded;
      to->total = total + i * t->padded;
      VisibleCells(a, r, &to->lo, &to->hi);
      if (to->lo < to->hi) {
        if (to->lo < t->lo) t->lo = to->lo;
        if (to->hi > t->hi) t->hi = to->hi;
      }
    }
    if (t->hi == 0) t->lo = 0;
    const int64_t sequence = a.row_sequence[row] < 0 ? 0 : a.row_sequence[row];
    t->pages = a.page_table + sequence * a.page_table_stride;
  }

  template <KvFormat kK, KvFormat kV, bool kPartial>
  static KernelStatus Run(const AttentionArgs& a) {
    const KernelStatus status = Check(a);
    if (status != KernelStatus::kOk) return status;
    Tile t;
    t.args = &a;
    t.padded = KvPaddedDim(a.kv.head_dim_v);
    const int32_t group = a.n_heads / a.kv.n_kv_heads;
    const int32_t heads_limit = group < kTileLimit ? group : kTileLimit;
    for (int64_t row = a.row_begin; row < a.row_end;) {
      int64_t n = 1;
      while (row + n < a.row_end && (n + 1) * heads_limit <= kTileLimit &&
             a.row_sequence[row + n] == a.row_sequence[row]) {
        ++n;
      }
      for (int32_t head = a.head_begin; head < a.head_end;) {
        t.kv_head = head / group;
        const int32_t left = (t.kv_head + 1) * group - head;
        const int32_t heads = left < heads_limit ? left : heads_limit;
        FillTile(&t, row, n, head, heads);
        RunTile<kK, kV, kPartial>(&t, row, head, heads);
        head += heads;
      }
      row += n;
    }
    return KernelStatus::kOk;
  }

  template <KvFormat kK, bool kPartial>
  static KernelStatus RunForV(const AttentionArgs& a) {
    switch (a.kv.v_format) {
      case KvFormat::kF32:
        return Run<kK, KvFormat::kF32, kPartial>(a);
      case KvFormat::kF16:
        return Run<kK, KvFormat::kF16, kPartial>(a);
      case KvFormat::kQ8_0:
        return Run<kK, KvFormat::kQ8_0, kPartial>(a);
    }
    return KernelStatus::kUnsupportedType;
  }

  template <bool kPartial>
  static KernelStatus RunForKV(const AttentionArgs& a) {
    switch (a.kv.k_format) {
      case KvFormat::kF32:
        return RunForV<KvFormat::kF32, kPartial>(a);
      case KvFormat::kF16:
        return RunForV<KvFormat::kF16, kPartial>(a);
      case KvFormat::kQ8_0:
        return RunForV<KvFormat::kQ8_0, kPartial>(a);
    }
    return KernelStatus::kUnsupportedType;
  }

  static KernelStatus Whole(const AttentionArgs& a) { return RunForKV<false>(a); }

  static KernelStatus Stripes(const AttentionArgs& a) {
    if (a.partials == nullptr || a.stripe_begin < 0) return KernelStatus::kBadShape;
    return RunForKV<true>(a);
  }

  static KernelStatus Combine(const AttentionArgs& a) {
    const KernelStatus status = Check(a);
    if (status != KernelStatus::kOk) return status;
    if (a.partials == nullptr) return KernelStatus::kBadShape;
    const int64_t padded = KvPaddedDim(a.kv.head_dim_v);
    AttentionRow row;
    row.total = static_cast<float*>(a.scratch);
    for (int64_t r = a.row_begin; r < a.row_end; ++r) {
      VisibleCells(a, r, &row.lo, &row.hi);
      const int32_t first = row.lo / kAttentionStripeCells;
      const int32_t last = (row.hi + kAttentionStripeCells - 1) / kAttentionStripeCells;
      if (last > a.partial_stripes) return KernelStatus::kBadShape;
      for (int32_t h = a.head_begin; h < a.head_end; ++h) {
        StartTotal(&row, padded);
        for (int32_t stripe = first; stripe < last; ++stripe) {
          const float* from = PartialOf(a, r, h, stripe);
          Merge(&row, from[padded], from[padded + 1], from, padded);
        }
        row.out = a.out + r * a.out_stride + int64_t{h} * a.kv.head_dim_v;
        AddSink(a, h, padded, &row);
        Finish(row, a.kv.head_dim_v);
      }
    }
    return KernelStatus::kOk;
  }

  static constexpr AttentionKernels kTable = {.scratch_bytes = ScratchBytes,
                                              .attention = Whole,
                                              .attention_stripes = Stripes,
                                              .attention_combine = Combine,
                                              .partial_floats = PartialFloats,
                                              .kv_store = KvStore<V>::Store};
};

}  // namespace minfer::kernels
