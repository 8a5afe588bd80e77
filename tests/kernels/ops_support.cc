// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/ops_support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/cpu_info.h"
#include "kernels/cpu/kv_layout.h"

namespace minfer::testing {

using kernels::AttentionArgs;
using kernels::kKvPageCells;

std::vector<OpsUnit> RunnableOpsUnits() {
  const CpuInfo cpu = DetectCpu();
  std::vector<OpsUnit> units;
  for (int32_t isa = 0; isa < kernels::kIsaCount; ++isa) {
    const kernels::CpuKernels* unit = kernels::FindCpuKernels(static_cast<kernels::Isa>(isa));
    if (unit == nullptr || !cpu.CanRun(unit->isa)) continue;
    // Units may share a table; each is tested once.
    if (!units.empty() && units.back().attention == unit->attention) continue;
    units.push_back({unit->name, unit->attention, unit->vector});
  }
  return units;
}

uint64_t Random::NextBits() {  // splitmix64
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Random::Next() { return static_cast<float>(NextBits() >> 40) * 0x1p-23f - 1.0f; }

int64_t Random::Below(int64_t n) {
  return static_cast<int64_t>(NextBits() % static_cast<uint64_t>(n));
}

std::vector<float> Random::Vector(size_t n) {
  std::vector<float> values(n);
  for (float& v : values) v = Next();
  return values;
}

KvStoreForTest::KvStoreForTest(const kernels::AttentionKernels& unit, const KvShape& shape,
                               const std::vector<int32_t>& lengths, uint64_t seed,
                               uint64_t page_seed, float v_scale) {
  view_.k_format = shape.k_format;
  view_.v_format = shape.v_format;
  view_.n_kv_heads = shape.n_kv_heads;
  view_.head_dim_k = shape.head_dim_k;
  view_.head_dim_v = shape.head_dim_v;
  view_.k_page_bytes = kernels::KPageBytes(shape.k_format, shape.n_kv_heads, shape.head_dim_k);
  view_.v_page_bytes = kernels::VPageBytes(shape.v_format, shape.n_kv_heads, shape.head_dim_v);
  const int32_t longest = *std::max_element(lengths.begin(), lengths.end());
  stride_ = std::max(1, (longest + kKvPageCells - 1) / kKvPageCells);
  table_.resize(lengths.size() * static_cast<size_t>(stride_));
  std::iota(table_.begin(), table_.end(), 0);
  Random shuffle(page_seed);
  for (size_t i = table_.size(); i > 1; --i) {
    std::swap(table_[i - 1], table_[static_cast<size_t>(shuffle.Below(static_cast<int64_t>(i)))]);
  }
  k_.assign(table_.size() * view_.k_page_bytes, 0xff);  // all ones is a NaN as f32 and as f16
  v_.assign(table_.size() * view_.v_page_bytes, 0xff);
  view_.k_pages = k_.data();
  view_.v_pages = v_.data();
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (int32_t c = 0; c < lengths[s]; ++c) {
      Random row(seed * 1000003 + s * 100003 + static_cast<uint64_t>(c));
      const auto heads = static_cast<size_t>(shape.n_kv_heads);
      const std::vector<float> k = row.Vector(heads * static_cast<size_t>(shape.head_dim_k));
      std::vector<float> v = row.Vector(heads * static_cast<size_t>(shape.head_dim_v));
      for (float& x : v) x *= v_scale;
      unit.kv_store(view_, k.data(), v.data(), PhysicalCell(static_cast<int32_t>(s), c));
    }
  }
}

int64_t KvStoreForTest::PhysicalCell(int32_t sequence, int32_t cell) const {
  const int64_t page = table_[static_cast<size_t>(sequence * stride_ + cell / kKvPageCells)];
  return page * kKvPageCells + cell % kKvPageCells;
}

AttentionCase::AttentionCase(const KvStoreForTest& store, int32_t n_heads,
                             std::vector<int32_t> row_sequence, std::vector<int32_t> row_length,
                             uint64_t seed)
    : sequences(std::move(row_sequence)), lengths(std::move(row_length)) {
  args.kv = store.view();
  args.n_heads = n_heads;
  args.q_stride = int64_t{n_heads} * args.kv.head_dim_k + 3;  // a stride that aligns nothing
  args.out_stride = int64_t{n_heads} * args.kv.head_dim_v + 1;
  args.scale = 1.0f / std::sqrt(static_cast<float>(args.kv.head_dim_k));
  args.page_table = store.page_table();
  args.page_table_stride = store.page_table_stride();
  args.row_end = static_cast<int64_t>(sequences.size());
  args.head_end = n_heads;
  q = Random(seed).Vector(sequences.size() * static_cast<size_t>(args.q_stride));
  for (float& x : q) x *= 4.0f;
}

AttentionArgs AttentionCase::Args(std::vector<float>* out) {
  args.q = q.data();
  args.row_sequence = sequences.data();
  args.row_length = lengths.data();
  out->assign(sequences.size() * static_cast<size_t>(args.out_stride), 77.0f);
  args.out = out->data();
  return args;
}

std::vector<float> RunAttention(const kernels::AttentionKernels& unit, AttentionCase* c) {
  std::vector<float> out;
  AttentionArgs args = c->Args(&out);
  std::vector<float> scratch(
      unit.scratch_bytes(args.n_heads, args.kv.n_kv_heads, args.kv.head_dim_k, args.kv.head_dim_v) /
          sizeof(float) +
      16);
  void* aligned = scratch.data();
  size_t room = scratch.size() * sizeof(float);
  args.scratch = std::align(64, room - 64, aligned, room);
  if (unit.attention(args) != kernels::KernelStatus::kOk) out.clear();
  return out;
}

double NormalizedError(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double difference = 0.0;
  double size = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (static_cast<double>(got[i]) - want[i]) * (static_cast<double>(got[i]) - want[i]);
    size += static_cast<double>(want[i]) * want[i];
  }
  return size == 0.0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

bool SameBits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

}  // namespace minfer::testing
