// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Models with seeded random weights of any shape, without a tokenizer unless tokens are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/element_type.h"

namespace minfer::testing {

struct RandomModelSpec {
  std::string architecture = "llama";
  int32_t n_embd = 64;
  int32_t n_layers = 2;
  int32_t n_heads = 4;
  int32_t n_kv_heads = 2;
  int32_t head_dim = 16;
  int32_t n_ff = 128;
  int32_t n_vocab = 96;                  // rows of the embedding
  int32_t n_tokens = 0;                  // 0: no tokenizer; else fewer or as many tokens as rows
  int32_t window = 0;                    // A.attention.sliding_window
  ElementType type = ElementType::kF32;  // of the matrices
  std::optional<ElementType> v_type;     // of V and W_down, where it is another
  float embedding_scale = 1.0f;
  float ffn_scale = 1.0f;        // of gate and up
  float bias_scale = 1.0f;       // of Q and K biases (qwen2)
  float spare_row_scale = 1.0f;  // of output rows past n_tokens
  uint64_t seed = 1;
};

// Writes the file below the system's temporary folder and gives its path.
std::string MakeRandomModel(const RandomModelSpec& spec);

}  // namespace minfer::testing
