// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gguf_fields.h"

#include <algorithm>

#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr uint64_t kString = 8;
constexpr uint64_t kArray = 9;
// Of the value types 0 to 12; 0: of no fixed width.
constexpr uint32_t kWidths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

class Walker {
 public:
  explicit Walker(const std::string& bytes) : bytes_(bytes) {}

  GgufFields Walk() {
    Number(4, "magic");
    Number(4, "version");
    const uint64_t n_tensors = Number(8, "n_tensors");
    const uint64_t n_pairs = Number(8, "n_kv");
    for (uint64_t i = 0; i < n_pairs; ++i) Pair();
    for (uint64_t i = 0; i < n_tensors; ++i) Tensor();
    fields_.header_bytes = at_;
    return std::move(fields_);
  }

 private:
  uint64_t Number(uint32_t width, const std::string& what) {
    fields_.numbers.push_back({at_, width, what});
    at_ += width;
    return ReadNumber(bytes_, fields_.numbers.back());
  }

  // A name is its own name.
  std::string String(GgufString::Role role, const std::string& name) {
    const size_t length_field = fields_.numbers.size();
    const uint64_t size = Number(8, "length of " + name);
    std::string text = bytes_.substr(at_, size);
    const bool names = role != GgufString::Role::kValue;
    if (names) fields_.numbers[length_field].what = "length of " + text;
    fields_.strings.push_back({at_, size, role, names ? text : name});
    at_ += size;
    return text;
  }

  void Pair() {
    const std::string key = String(GgufString::Role::kKey, "");
    const uint64_t type = Number(4, "type of " + key);
    if (type != kArray) return Value(type, key);
    const uint64_t element_type = Number(4, "element type of " + key);
    const uint64_t count = Number(8, "count of " + key);
    for (uint64_t i = 0; i < count; ++i) Value(element_type, key);
  }

  void Value(uint64_t type, const std::string& key) {
    REQUIRE(type < std::size(kWidths));
    if (type == kString) {
      String(GgufString::Role::kValue, key);
    } else {
      Number(kWidths[type], key);
    }
  }

  void Tensor() {
    const std::string name = String(GgufString::Role::kTensorName, "");
    const uint64_t n_dims = Number(4, "n_dims of " + name);
    for (uint64_t i = 0; i < n_dims; ++i) Number(8, "dimension of " + name);
    Number(4, "type of " + name);
    Number(8, "offset of " + name);
  }

  const std::string& bytes_;
  uint64_t at_ = 0;
  GgufFields fields_;
};

// No single quotes: RunPython() puts each argument in them. argv: folder of gguf_bad.py, kind of
// tokenizer, file.
constexpr const char* kMakeSmall =
    "import sys\n"
    "sys.dont_write_bytecode = True\n"
    "sys.path.insert(0, sys.argv[1])\n"
    "import gguf_bad as g\n"
    "g.E_, g.H_, g.HK_, g.FF_ = 8, 2, 1, 8\n"
    "f = g.base(sys.argv[2])\n"
    "f.untensor(\"output.weight\")\n"
    "f.set(\"tokenizer.chat_template\", g.STR, \"{{ messages[0].content }}\")\n"
    "f.set(\"llama.rope.scaling.type\", g.STR, \"none\")\n"
    "open(sys.argv[3], \"wb\").write(f.build())\n";

}  // namespace

GgufFields ListGgufFields(const std::string& bytes) { return Walker(bytes).Walk(); }

uint64_t ReadNumber(const std::string& bytes, const GgufNumber& field) {
  REQUIRE(field.offset + field.width <= bytes.size());
  uint64_t value = 0;
  for (uint32_t i = 0; i < field.width; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[field.offset + i])} << (8 * i);
  }
  return value;
}

std::string WithNumber(std::string bytes, const GgufNumber& field, uint64_t value) {
  for (uint32_t i = 0; i < field.width; ++i) {
    bytes[field.offset + i] = static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

std::vector<uint64_t> DamagedNumbers(const std::string& bytes, const GgufNumber& field) {
  const uint64_t value = ReadNumber(bytes, field);
  const uint64_t max = field.width == 8 ? UINT64_MAX : (uint64_t{1} << (8 * field.width)) - 1;
  std::vector<uint64_t> damaged;
  for (const uint64_t candidate : {uint64_t{0}, uint64_t{1}, max, value - 1, value + 1}) {
    const uint64_t cut = candidate & max;
    const bool known = std::find(damaged.begin(), damaged.end(), cut) != damaged.end();
    if (cut != value && !known) damaged.push_back(cut);
  }
  return damaged;
}

std::string SmallModelBytes(const std::string& tokenizer) {
  const std::string path = MakeTempDir("small-model") + "/" + tokenizer + ".gguf";
  const std::string script = TestDataPath("gguf_bad.py");
  REQUIRE(
      RunPython({"-c", kMakeSmall, script.substr(0, script.find_last_of('/')), tokenizer, path}));
  return ReadFile(path);
}

}  // namespace minfer::testing
