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
  kAttention,    // q, order edge of the layer's store, page table, row sequence, row length -> out;
                 // weight: a sink [n_heads], one more score without a value, or none
  // Mixture of experts. A slot is one (row, expert) pair: slot t * n_used + j holds the j-th choice
  // of row t. How many slots each expert has is data; sizes depend on the number of rows alone.
  kTopExperts,      // scores [T, X] -> ids [T, n_used], best first, and their weights
  kGroupExperts,    // ids [T, n_used] -> slots [S, 1] ordered by expert, counts [X, 1]
  kExpertMatMul,    // x [S / fan_out, K], slots, counts, weight [K, N, X], bias [N, X] or none:
                    // slot s of the output [S, N] is row s / fan_out by its expert's matrix
  kCombineExperts,  // y [S, C], weights [T, n_used] -> sum of each row's slots, weighted [T, C]
  kGateRows,        // x [T, C], gate [T, 1] -> x * sigmoid(gate)
};
inline constexpr int kOpKindCount = static_cast<int>(OpKind::kGateRows) + 1;

std::string_view OpName(OpKind kind);

enum class Activation : int32_t {
  kSilu,
  kGeluTanh,
  // g sigmoid(alpha g) (u + 1) with g = min(gate, limit) and u = up kept within +-limit
  kClampedSwiglu,
};
enum class RopeStyle : int32_t {
  kNorm,  // pairs (2i, 2i + 1)
  kNeox,  // pairs (i, i + rope_dim / 2)
};

// Attributes of all operations; an operation reads the ones named beside it and no other. Plain
// data so that graphs can be compared and printed.
struct OpAttributes {
  float eps = 0.0f;                           // kRmsNorm, kLayerNorm
  float factor = 1.0f;                        // kScale, kTopExperts: weights are multiplied by it
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
  float alpha = 0.0f;                         // kClampedSwiglu
  float limit = 0.0f;                         // kClampedSwiglu
  int32_t n_experts = 0;                      // kGroupExperts
  int32_t n_used = 0;                         // kTopExperts: experts a row
  bool normalise = false;                     // kTopExperts: the weights of a row sum to 1
  int32_t fan_out = 0;                        // kExpertMatMul: slots that read one row of x

  friend bool operator==(const OpAttributes&, const OpAttributes&) = default;
};

}  // namespace minfer
