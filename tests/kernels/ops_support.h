// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the attention and vector kernels share: the units that this processor can run,
// random numbers, and a KV store with sequences in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"

namespace minfer::testing {

struct OpsUnit {
  std::string name;
  const kernels::AttentionKernels* attention;
  const kernels::VectorKernels* vector;
};

// Every unit compiled in that this processor runs, generic first.
std::vector<OpsUnit> RunnableOpsUnits();

// Uniform in [-1, 1), the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  float Next();
  int64_t Below(int64_t n);
  std::vector<float> Vector(size_t n);

 private:
  uint64_t NextBits();
  uint64_t state_;
};

struct KvShape {
  kernels::KvFormat k_format = kernels::KvFormat::kF32;
  kernels::KvFormat v_format = kernels::KvFormat::kF32;
  int32_t n_kv_heads = 1;
  int32_t head_dim_k = 64;
  int32_t head_dim_v = 64;
};

// Pages for sequences of the given lengths, each cell filled with a row that depends on (seed,
// sequence, cell) alone. Everything that no cell wrote is NaN (or scale NaN), so that reading it
// shows. page_seed shuffles which page holds what.
class KvStoreForTest {
 public:
  KvStoreForTest(const kernels::AttentionKernels& unit, const KvShape& shape,
                 const std::vector<int32_t>& lengths, uint64_t seed, uint64_t page_seed = 1,
                 float v_scale = 1.0f);

  const kernels::KvLayerView& view() const { return view_; }
  kernels::KvLayerView* mutable_view() { return &view_; }
  const int32_t* page_table() const { return table_.data(); }
  int64_t page_table_stride() const { return stride_; }
  int64_t PhysicalCell(int32_t sequence, int32_t cell) const;
  const std::vector<uint8_t>& k_bytes() const { return k_; }
  const std::vector<uint8_t>& v_bytes() const { return v_; }

 private:
  kernels::KvLayerView view_;
  int64_t stride_ = 0;
  std::vector<int32_t> table_;
  std::vector<uint8_t> k_;
  std::vector<uint8_t> v_;
};

// Rows that look at a store: queries, sequences, lengths and room for the results.
struct AttentionCase {
  AttentionCase(const KvStoreForTest& store, int32_t n_heads, std::vector<int32_t> row_sequence,
                std::vector<int32_t> row_length, uint64_t seed);

  // Arguments over all rows and heads, into `out`.
  kernels::AttentionArgs Args(std::vector<float>* out);

  kernels::AttentionArgs args;
  std::vector<int32_t> sequences;
  std::vector<int32_t> lengths;
  std::vector<float> q;
};

// Runs unit.attention over all of a case with its own scratch.
std::vector<float> RunAttention(const kernels::AttentionKernels& unit, AttentionCase* c);

// Root of the summed squared differences over that of `want`.
double NormalizedError(const std::vector<float>& got, const std::vector<float>& want);

bool SameBits(const float* a, const float* b, size_t n);

}  // namespace minfer::testing
