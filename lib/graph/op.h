// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The operations of the compute graph and their attributes. Activations are matrices of rows (one a
// token) by columns, f32; ids, positions, cells and lengths are int32 rows. Sizes that differ from
// step to step (positions, lengths, pages) are data in input values, never attributes.
#pragma once

#include <cstdint>
#include <string_view>

namespace minfer {

enum class OpKind : int32_t {
  kGetRows,      // ids [T] -> rows of a weight matrix, decoded to f32 [T, ne0]
  kSelectRows,   // x [T, C], row ids [O] -> [O, C]
  kRmsNorm,      // x, weight: x / sqrt(mean(x^2) + eps) * weight, over the row or over each head
  kLayerNorm,    // x, weight, bias or none: (x - mean) / sqrt(variance + eps) * weight + bias
  kMatMul,       // x [T, K], weight [K, N] -> [T, N]
  kMatMulGroup,  // x and several weights (and biases or none): one output each, x read once
  kAddBias,      // x [T, C] + weight [C] on each row
  kAdd,          // a + b, same shape
  kMul,          // a * b, same shape
  kScale,        // x * factor
  kSoftcap,      // cap * tanh(x / cap)
  kAct,          // act(x)
  kGatedAct,     // act(gate) * up
  kGatedMatMul,  // act(x W_gate) * (x W_up): kMatMul twice and kGatedAct in one
  kRopeTable,    // positions [T] -> cos and sin of each pair [T, rope_dim]
  kRope,         // x [T, heads * head_dim], table -> rotated x
  kKvStore,      // k, v, cells [T] -> an order edge; writes the layer's pages
  kRopeKvStore,  // k, v, table, cells -> an order edge: kRope of k, then kKvStore
  kAttention,    // q, order edge of the layer's store, page table, row sequence, row length -> out
};
inline constexpr int kOpKindCount = static_cast<int>(OpKind::kAttention) + 1;

std::string_view OpName(OpKind kind);

enum class Activation : int32_t { kSilu, kGeluTanh };
enum class RopeStyle : int32_t {
  kNorm,  // pairs (2i, 2i + 1)
  kNeox,  // pairs (i, i + rope_dim / 2)
};

// Attributes of all operations; an operation reads the ones named beside it and no other. Plain
// data so that graphs can be compared and printed.
struct OpAttributes {
  float eps = 0.0f;                           // kRmsNorm, kLayerNorm
  float factor = 1.0f;                        // kScale
  float softcap = 0.0f;                       // kSoftcap, kAttention (0: none)
  float scale = 1.0f;                         // kAttention: scores are multiplied by it
  int32_t layer = -1;                         // kKvStore, kRopeKvStore, kAttention
  int32_t n_heads = 0;                        // kRope, kAttention; kRmsNorm: heads a row (1: whole)
  int32_t n_kv_heads = 0;                     // kAttention, kKvStore, kRopeKvStore
  int32_t head_dim = 0;                       // kRmsNorm a head, kRope, kAttention, stores: K and Q
  int32_t head_dim_v = 0;                     // kAttention, stores
  int32_t window = 0;                         // kAttention: last cells seen, own included (0: all)
  int32_t rope_dim = 0;                       // kRopeTable, kRope, kRopeKvStore: rotated columns
  int32_t rope_config = -1;                   // kRopeTable: index into the model's RoPE settings
  RopeStyle rope_style = RopeStyle::kNorm;    // kRope, kRopeKvStore
  Activation activation = Activation::kSilu;  // kAct, kGatedAct, kGatedMatMul

  friend bool operator==(const OpAttributes&, const OpAttributes&) = default;
};

}  // namespace minfer
