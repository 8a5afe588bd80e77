// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A small model damaged at every place of its header and cut at every byte, through a whole load:
// each time a status with a name and a place, for memory and work that the file's size bounds.
#include <set>

#include "gguf/writer.h"
#include "models/key_reader.h"
#include "tests/support/alloc_counter.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/gguf_fields.h"
#include "tests/support/gguf_variants.h"
#include "tests/unit/hostile/hostile_load.h"
#include "tokenizer/gguf_vocabulary.h"

namespace minfer::testing {
namespace {

constexpr const char* kBoth[] = {"spm", "bpe"};

TEST_CASE("Hostile: a small model loads, and what that costs", "[hostile]") {
  for (const char* kind : kBoth) {
    const std::string bytes = SmallModelBytes(kind);
    CHECK(bytes.size() < 24 << 10);
    const HostileLoad load = TryLoad(bytes);
    MF_REQUIRE_OK(load.status);
    CheckCost(load.cost, bytes.size());
    CHECK(load.cost.bytes_read > bytes.size() / 2);
  }
}

TEST_CASE("Hostile: A02 a model cut at any byte is a status with name and place", "[hostile]") {
  for (const char* kind : kBoth) {
    const std::string bytes = SmallModelBytes(kind);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const HostileLoad load = TryLoad(bytes.substr(0, size));
      INFO(kind << " cut at " << size << ": " << load.status.ToString());
      CHECK((load.status.code() == StatusCode::kDataLoss ||
             (size < 4 && load.status.code() == StatusCode::kInvalidArgument)));
      CheckRefusal(load.status, size);
      CHECK((load.status.file_offset() > 0 || size < 8));
      CheckCost(load.cost, size);
    }
  }
}

TEST_CASE("Hostile: every number of the header at 0, 1, its largest and one off", "[hostile]") {
  int refused = 0;
  int loaded = 0;
  for (const char* kind : kBoth) {
    const std::string bytes = SmallModelBytes(kind);
    for (const GgufNumber& field : ListGgufFields(bytes).numbers) {
      for (const uint64_t value : DamagedNumbers(bytes, field)) {
        const std::string damaged = WithNumber(bytes, field, value);
        const HostileLoad load = TryLoad(damaged);
        INFO(kind << " " << field.what << " at " << field.offset << " is " << value << ": "
                  << load.status.ToString());
        CheckCost(load.cost, bytes.size());
        ++(load.status.ok() ? loaded : refused);
        if (load.status.ok()) continue;
        CheckRefusal(load.status, bytes.size());
        CHECK((load.status.file_offset() > 0 || field.what == "magic"));
      }
    }
  }
  CHECK(refused > 3000);
  CHECK(loaded > 1000);  // a score or a kind of token, a name of a key that nobody reads
}

TEST_CASE("Hostile: the 177 damaged and odd files cost what their size accounts for", "[hostile]") {
  REQUIRE(GgufVariants().size() == 177);
  for (const GgufVariant& variant : GgufVariants()) {
    const std::string bytes = ReadFile(variant.path);
    const HostileLoad load = TryLoad(bytes);
    INFO(variant.name << ": " << load.status.ToString());
    if (variant.want == "load") CHECK(load.status.ok());
    if (variant.want == "reject") CHECK_FALSE(load.status.ok());
    CheckCost(load.cost, bytes.size());
    if (load.status.ok()) continue;
    CheckRefusal(load.status, bytes.size());
    CHECK((load.status.file_offset() > 0 || variant.case_id == "A01" || bytes.size() < 8));
  }
}

TEST_CASE("Hostile: a vocabulary of the shortest tokens and merges", "[hostile]") {
  GgufWriter writer;
  writer.SetString("tokenizer.ggml.model", "gpt2");
  writer.SetString("tokenizer.ggml.pre", "gpt-2");
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  for (int i = 0; i < 50000; ++i) {
    tokens.push_back(std::to_string(i));
    if (i >= 10) merges.push_back(std::to_string(i / 10) + " " + std::to_string(i % 10));
  }
  writer.SetStringArray("tokenizer.ggml.tokens", tokens);
  writer.SetStringArray("tokenizer.ggml.merges", merges);
  const StatusOr<std::string> bytes = writer.WriteToString(nullptr);
  MF_REQUIRE_OK(bytes);
  const AllocPeak peak;
  const uint64_t calls = ReadAllocCounts().calls;
  const StatusOr<GgufFile> file = GgufFile::Parse(
      MakeMemorySource({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}));
  MF_REQUIRE_OK(file);
  MF_REQUIRE_OK(LoadTokenizer(file->metadata()));
  CHECK(peak.Bytes() <= 10 * bytes->size());
  // Two an entry.
  CHECK(ReadAllocCounts().calls - calls <= 2 * (tokens.size() + merges.size()));
}

// A model of each architecture that reads keys in its own way.
struct Family {
  const char* name;
  const char* script;
};
constexpr Family kFamilies[] = {
    {"qwen2_yarn", "tiny_ref.py"},       {"qwen3", "tiny_ref.py"},
    {"llama_yarn_keys", "dense_ref.py"}, {"phi3_partial", "dense_ref.py"},
    {"olmo3", "dense_ref.py"},           {"starcoder2_window", "dense_ref.py"},
    {"smollm3", "dense_ref.py"},         {"granite", "dense_ref.py"},
    {"gemma2", "gemma_ref.py"},          {"gemma3_period", "gemma_ref.py"},
    {"mixtral", "moe_ref.py"},           {"qwen2moe", "moe_ref.py"},
    {"qwen3moe", "moe_ref.py"},          {"gpt-oss", "moe_ref.py"}};

// The numbers of the architecture's own keys: values, types, lengths and counts.
std::vector<GgufNumber> KeyNumbers(const std::string& bytes) {
  std::string prefix;
  std::vector<GgufNumber> numbers;
  const GgufFields fields = ListGgufFields(bytes);
  for (const GgufString& text : fields.strings) {
    if (text.name != "general.architecture" || text.role != GgufString::Role::kValue) continue;
    prefix = bytes.substr(text.offset, text.size) + ".";
  }
  REQUIRE(prefix.size() > 1);
  for (const GgufNumber& field : fields.numbers) {
    if (field.what.find(prefix) != std::string::npos) numbers.push_back(field);
  }
  return numbers;
}

TEST_CASE("Hostile: every number of each architecture's keys", "[hostile]") {
  for (const Family& family : kFamilies) {
    const std::string bytes = ReadFile(TinyModelPath(family.name, family.script));
    int refused = 0;
    for (const GgufNumber& field : KeyNumbers(bytes)) {
      std::vector<uint64_t> values = DamagedNumbers(bytes, field);
      // The largest size that a key may have.
      if (field.width >= 4) values.push_back(kMaxModelSize);
      for (const uint64_t value : values) {
        const HostileLoad load = TryLoad(WithNumber(bytes, field, value));
        INFO(family.name << " " << field.what << " at " << field.offset << " is " << value << ": "
                         << load.status.ToString());
        CheckCost(load.cost, bytes.size());
        if (load.status.ok()) continue;
        ++refused;
        CheckRefusal(load.status, bytes.size());
        CHECK(load.status.file_offset() > 0);
      }
    }
    INFO(family.name);
    CHECK(refused > 100);
  }
}

TEST_CASE("Hostile: a declared number of layers that the file cannot hold costs nothing",
          "[hostile]") {
  for (const Family& family : kFamilies) {
    const std::string bytes = ReadFile(TinyModelPath(family.name, family.script));
    for (const GgufNumber& field : KeyNumbers(bytes)) {
      const std::string end = ".block_count";
      if (field.what.size() < end.size() || field.width != 4 ||
          field.what.compare(field.what.size() - end.size(), end.size(), end) != 0 ||
          field.what.find(' ') != std::string::npos) {
        continue;
      }
      const HostileLoad honest = TryLoad(bytes);
      MF_REQUIRE_OK(honest.status);
      for (const uint64_t layers :
           {uint64_t{1} << 16, uint64_t{kMaxModelSize}, uint64_t{1} << 31}) {
        const HostileLoad load = TryLoad(WithNumber(bytes, field, layers));
        INFO(family.name << " with " << layers << " layers: " << load.status.ToString());
        CHECK(load.status.code() == StatusCode::kInvalidArgument);
        CHECK(load.cost.peak_bytes <= honest.cost.peak_bytes);
        CHECK(load.cost.allocations <= honest.cost.allocations);
        CHECK(load.cost.bytes_read <= honest.cost.bytes_read);
      }
    }
  }
}

TEST_CASE("Hostile: each string with bytes that are not UTF-8", "[hostile]") {
  // What nothing reads but people: kept as it stands.
  const std::set<std::string> kept = {"general.name"};
  // What is read when it is used: the use is refused.
  const std::set<std::string> late = {"tokenizer.chat_template"};
  for (const char* kind : kBoth) {
    const std::string bytes = SmallModelBytes(kind);
    for (const GgufString& text : ListGgufFields(bytes).strings) {
      if (text.size == 0) continue;
      for (const char bad : {'\xff', '\xc3'}) {
        std::string damaged = bytes;
        damaged[text.offset + text.size - 1] = bad;
        const HostileLoad load = TryLoad(damaged);
        INFO(kind << " " << text.name << " at " << text.offset << ": " << load.status.ToString());
        CheckCost(load.cost, bytes.size());
        const bool value = text.role == GgufString::Role::kValue;
        if (value && (kept.count(text.name) == 1 || late.count(text.name) == 1)) {
          CHECK(load.status.ok());
          continue;
        }
        CHECK(load.status.code() == StatusCode::kInvalidArgument);
        CheckRefusal(load.status, bytes.size());
        // At the string, or at its length.
        CHECK(load.status.file_offset() + 8 >= text.offset);
        CHECK(load.status.file_offset() <= text.offset);
        if (value) CHECK(load.status.name() == text.name);
      }
    }
  }
}

}  // namespace
}  // namespace minfer::testing
