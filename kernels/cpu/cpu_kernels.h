// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The CPU kernels of one instruction set: a const table of functions. A backend holds a pointer to
// one table; nothing else decides which code runs. Every function works on plain pointers, never
// allocates, and gives the same bits whatever part of the work one call is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/activation_blocks.h"
#include "kernels/quant/element_type.h"
#include "kernels/quant/kv_format.h"

namespace minfer::kernels {

// Each has what the ones before it have.
enum class Isa : int32_t {
  kGeneric = 0,
  kAvx2 = 1,
  kAvx512 = 2,
  kAvx512Vnni = 3,
  kAvx512Bf16 = 4,
};
inline constexpr int kIsaCount = 5;

// out[m * out_stride + r] = dot(weight row r, activation row m), r in [row_begin, row_end).
// Each output element has one fixed order of additions, whatever m, row_begin and row_end are.
struct MatMulArgs {
  ElementType weight_type = ElementType::kF32;
  const void* weights = nullptr;  // row 0; rows of weight_row_bytes, blocks of the type
  size_t weight_row_bytes = 0;
  int64_t k = 0;  // values in a row, a multiple of the type's block
  int64_t row_begin = 0;
  int64_t row_end = 0;
  const void* activations = nullptr;  // m rows in the format of activation_format(weight_type)
  size_t activation_row_bytes = 0;
  int64_t m = 0;
  float* out = nullptr;
  int64_t out_stride = 0;  // in floats
};

struct MatMulKernels {
  // The format that matmul wants for a weight type.
  ActivationFormat (*activation_format)(ElementType weight_type);
  // Bytes of one activation row of k values; a multiple of 64.
  size_t (*activation_row_bytes)(ActivationFormat format, int64_t k);
  // Converts one row of k floats.
  KernelStatus (*quantize_row)(ActivationFormat format, const float* x, int64_t k, void* out);
  KernelStatus (*matmul)(const MatMulArgs& args);
  // True when the type has a kernel of its own in this unit; otherwise matmul decodes the row
  // first.
  bool (*has_fast_dot)(ElementType weight_type);
};

using minfer::kKvPageCells;
using minfer::KvFormat;

// One layer's K and V store and the rows that look at it. A logical cell c of sequence s lives in
// page page_table[s * page_table_stride + c / kKvPageCells] at slot c % kKvPageCells.
// The layout inside a page is the kernels' own: see kv_layout.h.
struct KvLayerView {
  KvFormat k_format = KvFormat::kF32;
  KvFormat v_format = KvFormat::kF32;
  int32_t n_kv_heads = 0;
  int32_t head_dim_k = 0;
  int32_t head_dim_v = 0;
  void* k_pages = nullptr;  // page p starts at k_pages + p * k_page_bytes
  void* v_pages = nullptr;
  size_t k_page_bytes = 0;
  size_t v_page_bytes = 0;
};

struct AttentionArgs {
  KvLayerView kv;
  const float* q = nullptr;  // row r, head h at q + r * q_stride + h * head_dim_k
  int64_t q_stride = 0;
  float* out = nullptr;  // row r, head h at out + r * out_stride + h * head_dim_v
  int64_t out_stride = 0;
  int32_t n_heads = 0;
  float scale = 1.0f;
  float softcap = 0.0f;  // 0: none
  int32_t window = 0;    // 0: all cells before; else only the last `window` cells, own included
  // A score of each head that takes part in the softmax and has no value, neither scaled nor
  // capped; [n_heads] or nullptr.
  const float* sinks = nullptr;
  const int32_t* page_table = nullptr;
  int64_t page_table_stride = 0;
  const int32_t* row_sequence = nullptr;  // [rows] index into page_table; -1: padding row, out = 0
  const int32_t* row_length = nullptr;    // [rows] cells visible: own cell + 1
  int64_t row_begin = 0;                  // rows of this call
  int64_t row_end = 0;
  int32_t head_begin = 0;  // query heads of this call; whole groups of n_heads / n_kv_heads
  int32_t head_end = 0;
  void* scratch = nullptr;  // scratch_bytes(...) bytes, one per thread, 64-byte aligned
  // Only for attention_stripes and attention_combine; see there. Row r is counted from row 0 of
  // the step, not from row_begin.
  float* partials = nullptr;  // (r * n_heads + h) * partial_stripes + stripe, each partial_floats
  int32_t partial_stripes = 0;
  int32_t stripe_begin = 0;  // stripes of this call
  int32_t stripe_end = 0;
};

// A row's cells are attended in stripes of this many; the stripes' results are merged in order.
// The constant is the same for every length and thread count, so the three entry points below
// give the same bits. 512 cells keep one merge below 1 % of a stripe's work, and give a decode row
// at depth 4096 eight tasks a KV head.
inline constexpr int kAttentionStripeCells = 512;

struct AttentionKernels {
  size_t (*scratch_bytes)(int32_t n_heads, int32_t n_kv_heads, int32_t head_dim_k,
                          int32_t head_dim_v);
  // Rows x heads of the call, all stripes, into out. For independence of the bits a call may hold
  // any rows; for speed, rows of one sequence should be neighbours. A row with nothing to attend
  // gives zeros.
  KernelStatus (*attention)(const AttentionArgs& args);
  // The same in two phases, for few rows and few KV heads: any set of (row, group, stripe) tasks,
  // then, after a barrier, attention_combine over (row, head). A stripe that holds no visible cell
  // of a row is neither written nor read.
  KernelStatus (*attention_stripes)(const AttentionArgs& args);
  KernelStatus (*attention_combine)(const AttentionArgs& args);
  size_t (*partial_floats)(int32_t head_dim_v);
  // Stores one row: K and V of every kv head into physical cell `cell` (page * 64 + slot).
  KernelStatus (*kv_store)(const KvLayerView& kv, const float* k, const float* v, int64_t cell);
};

// out may be the same array as any input, never one that overlaps it otherwise.
struct VectorKernels {
  // The squares are summed in double, so the result is the same in every unit but for the last
  // rounding. weight may be nullptr. out may be x.
  void (*rms_norm)(const float* x, const float* weight, float* out, int64_t n, float eps);
  // (x - mean) / sqrt(variance + eps) * weight + bias; both sums in double. bias may be nullptr.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* out, int64_t n,
                     float eps);
  void (*add)(const float* a, const float* b, float* out, int64_t n);
  void (*mul)(const float* a, const float* b, float* out, int64_t n);
  void (*scale)(const float* x, float factor, float* out, int64_t n);
  void (*silu)(const float* x, float* out, int64_t n);
  void (*gelu_tanh)(const float* x, float* out, int64_t n);
  void (*silu_mul)(const float* gate, const float* up, float* out, int64_t n);
  void (*gelu_tanh_mul)(const float* gate, const float* up, float* out, int64_t n);
  // g sigmoid(alpha g) (u + 1), g = min(gate, limit), u = up within +-limit.
  void (*clamped_swiglu)(const float* gate, const float* up, float* out, int64_t n, float alpha,
                         float limit);
  // a + factor * x, the product and the sum rounded once where the unit has an fma.
  void (*scale_add)(const float* x, float factor, const float* a, float* out, int64_t n);
  void (*softcap)(const float* x, float cap, float* out, int64_t n);
  // Rotates n_heads heads of one row. Pairs: neighbours (2i, 2i+1) or, with neox, (i, i +
  // rope_dim / 2). cos_sin: rope_dim / 2 pairs (cos, sin), magnitude already applied: see
  // rope_table.h. Values from rope_dim on are copied.
  void (*rope)(const float* x, float* out, const float* cos_sin, int32_t n_heads, int32_t head_dim,
               int32_t rope_dim, bool neox);
};

struct CpuKernels {
  Isa isa;
  const char* name;  // "generic", "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  const MatMulKernels* matmul;
  const AttentionKernels* attention;
  const VectorKernels* vector;
};

// The table of an instruction set, whether or not this processor can run it; base/cpu_info.h says
// which can. nullptr when the unit was not compiled in.
const CpuKernels* FindCpuKernels(Isa isa);

}  // namespace minfer::kernels
