// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Every field of a well-formed GGUF header with its place, to be damaged one by one; and a model of
// a few kilobytes to do it to. Written from the format, not from the reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minfer::testing {

// A number: little-endian, of 1, 2, 4 or 8 bytes.
struct GgufNumber {
  uint64_t offset = 0;
  uint32_t width = 0;
  std::string what;  // "n_tensors", "llama.block_count", "length of blk.0.attn_q.weight"
};

// A string's bytes, without its length.
struct GgufString {
  enum class Role { kKey, kValue, kTensorName };
  uint64_t offset = 0;
  uint64_t size = 0;
  Role role = Role::kKey;
  std::string name;  // the key or the tensor
};

struct GgufFields {
  std::vector<GgufNumber> numbers;
  std::vector<GgufString> strings;
  uint64_t header_bytes = 0;
};

GgufFields ListGgufFields(const std::string& bytes);

uint64_t ReadNumber(const std::string& bytes, const GgufNumber& field);
std::string WithNumber(std::string bytes, const GgufNumber& field, uint64_t value);
// 0, 1, the largest, one less and one more than what stands there, each that differs from it.
std::vector<uint64_t> DamagedNumbers(const std::string& bytes, const GgufNumber& field);

// A llama of one layer and 8 columns in about 20 KB, with a chat template: its tokenizer is "spm"
// or "bpe".
std::string SmallModelBytes(const std::string& tokenizer);

}  // namespace minfer::testing
