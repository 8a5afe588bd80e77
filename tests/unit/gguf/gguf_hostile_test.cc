// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Damage at every place: cuts, flipped bytes, readers that fail, memory that runs out.
#include <new>
#include <random>

#include "tests/support/alloc_counter.h"
#include "tests/unit/gguf/gguf_support.h"

namespace minfer {
namespace {

using testing::AllocPeak;
using testing::AsBytes;
using testing::ParseBytes;

std::string VariantBytes(const std::string& name) {
  return testing::ReadFile(testing::FindGgufVariant(name).path);
}

// Looks at everything a parsed file offers; a sanitizer watches.
size_t WalkAll(const GgufFile& file) {
  size_t seen = 0;
  const Metadata& metadata = file.metadata();
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = metadata.key(i);
    seen += metadata.ValueText(i).size() + metadata.ValueBytes(i).size();
    seen += metadata.GetU32(key).ok() + metadata.GetF32(key).ok() + metadata.GetString(key).ok();
    seen += metadata.GetI32Array(key).ok() + metadata.GetF32Array(key).ok();
    seen += metadata.GetBoolArray(key).ok() + metadata.GetU8Array(key).ok();
    const StringArray strings = metadata.Strings(i);
    for (size_t k = 0; k < strings.size(); ++k) seen += strings[k].size();
    REQUIRE(*metadata.Find(key) == i);
  }
  std::vector<uint8_t> bytes;
  for (const TensorInfo& tensor : file.tensors()) {
    REQUIRE(tensor.file_offset + tensor.bytes <= file.source().size());
    bytes.resize(tensor.bytes);
    MF_REQUIRE_OK(file.ReadTensor(tensor, 0, absl::MakeSpan(bytes)));
    seen += bytes.size();
  }
  return seen;
}

TEST_CASE("Gguf: A02 a file cut at any byte is a status", "[gguf]") {
  const std::string whole = VariantBytes("ok_bpe");
  const StatusOr<GgufFile> file = ParseBytes(whole);
  MF_REQUIRE_OK(file);
  CHECK(WalkAll(*file) > whole.size() / 2);
  // At every byte of the header and of the last tensor's end, at every 16th of the data between.
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size > file->data_offset() && size % 16 != 0 && size + 64 < whole.size()) continue;
    // A block of exactly this size, so that a sanitizer sees a read past it.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const Status status = GgufFile::Parse(MakeMemorySource(cut)).status();
    if (status.ok() || status.message().empty()) FAIL("cut at " << size << " was read");
  }
}

TEST_CASE("Gguf: flipped bytes in the header are a status or a file that can be walked", "[gguf]") {
  std::mt19937 random(20260829);
  int read = 0;
  int refused = 0;
  for (const char* name : {"ok_spm", "ok_bpe", "ok_align_64", "split_one"}) {
    const std::string whole = VariantBytes(name);
    const uint64_t header = ParseBytes(whole)->header_bytes();
    for (int trial = 0; trial < 750; ++trial) {
      std::string damaged = whole;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int i = 0; i < flips; ++i) damaged[random() % header] = static_cast<char>(random());
      const StatusOr<GgufFile> file = ParseBytes(damaged);
      if (file.ok()) {
        ++read;
        WalkAll(*file);
      } else {
        ++refused;
        CHECK_FALSE(file.status().message().empty());
      }
    }
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}

TEST_CASE("Gguf: no damaged variant takes more memory than its size accounts for", "[gguf]") {
  for (const testing::GgufVariant& variant : testing::GgufVariants()) {
    const std::string bytes = testing::ReadFile(variant.path);
    const AllocPeak peak;
    { const StatusOr<GgufFile> file = ParseBytes(bytes); }
    INFO(variant.name);
    CHECK(peak.Bytes() <= 4 * bytes.size() + (1 << 16));
  }
}

TEST_CASE("Gguf: a vocabulary takes a small multiple of its bytes in the file", "[gguf]") {
  GgufWriter writer;
  std::vector<std::string> tokens;
  for (int i = 0; i < 200000; ++i) tokens.push_back("token" + std::to_string(i));
  writer.SetStringArray("tokenizer.ggml.tokens", tokens);
  writer.SetArray<float>("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -1.0f));
  const std::string bytes = testing::WriteToBytes(writer);
  const AllocPeak peak;
  const StatusOr<GgufFile> file = ParseBytes(bytes);
  MF_REQUIRE_OK(file);
  CHECK(peak.Bytes() <= 3 * bytes.size());
  CHECK(testing::ReadAllocCounts().current_bytes > 0);
  const StatusOr<StringArray> read = file->metadata().GetStringArray("tokenizer.ggml.tokens");
  MF_REQUIRE_OK(read);
  REQUIRE(read->size() == tokens.size());
  for (size_t i = 0; i < tokens.size(); i += 997) CHECK((*read)[i] == tokens[i]);
}

TEST_CASE("Gguf: very many keys and tensors stay within a multiple of the header", "[gguf]") {
  GgufWriter writer;
  for (int i = 0; i < 100000; ++i) writer.Set<uint8_t>("k" + std::to_string(i), 1);
  for (int i = 0; i < 50000; ++i) {
    MF_REQUIRE_OK(writer.AddTensor(std::to_string(i), ElementType::kI8, {0}));
  }
  const std::string bytes = testing::WriteToBytes(writer);
  const AllocPeak peak;
  const StatusOr<GgufFile> file = ParseBytes(bytes);
  MF_REQUIRE_OK(file);
  CHECK(peak.Bytes() <= 12 * bytes.size());
  for (int i = 0; i < 100000; i += 7) CHECK(file->metadata().Has("k" + std::to_string(i)));
  CHECK(file->FindTensor("49999") == &file->tensors()[49999]);
  CHECK(file->FindTensor("50000") == nullptr);
}

TEST_CASE("Gguf: running out of memory anywhere leaves nothing behind", "[gguf]") {
  const std::string bytes = VariantBytes("ok_spm");
  uint64_t failures = 0;
  bool parsed = false;
  for (uint64_t n = 1; !parsed; ++n) {
    const uint64_t before = testing::ReadAllocCounts().current_bytes;
    testing::FailNthAlloc(n);
    try {
      const StatusOr<GgufFile> file = ParseBytes(bytes);
      parsed = file.ok();
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    testing::FailNthAlloc(0);
    REQUIRE(testing::ReadAllocCounts().current_bytes == before);
  }
  CHECK(failures > 10);
}

// A reader over a string that counts, lies or fails.
struct TestReader {
  std::string bytes;
  uint64_t bytes_read = 0;
  int calls = 0;
  int fail_call = 0;  // this call fails
  int32_t fail_code = 0;
  bool throws = false;

  static int32_t ReadAt(void* user_data, uint64_t offset, void* buffer, size_t size) {
    TestReader& self = *static_cast<TestReader*>(user_data);
    if (++self.calls == self.fail_call) {
      if (self.throws) throw 7;
      return self.fail_code;
    }
    if (offset > self.bytes.size() || size > self.bytes.size() - offset) return 15;
    self.bytes.copy(static_cast<char*>(buffer), size, offset);
    self.bytes_read += size;
    return 0;
  }
};

StatusOr<GgufFile> ParseReader(TestReader* reader, uint64_t size) {
  StatusOr<ByteSourcePtr> source = MakeReaderSource(&TestReader::ReadAt, reader, size);
  MF_REQUIRE_OK(source);
  return GgufFile::Parse(*source);
}

TEST_CASE("Gguf: a caller's reader is asked for each byte of the header once", "[gguf]") {
  TestReader reader;
  reader.bytes = VariantBytes("ok_spm");
  const StatusOr<GgufFile> file = ParseReader(&reader, reader.bytes.size());
  MF_REQUIRE_OK(file);
  CHECK(reader.bytes_read <= file->header_bytes() + (64 << 10));
  CHECK(file->TensorData(file->tensors()[0]) == nullptr);
  CHECK(WalkAll(*file) > reader.bytes.size() / 2);
}

TEST_CASE("Gguf: what a caller's reader answers is passed on", "[gguf]") {
  TestReader reader;
  reader.bytes = VariantBytes("ok_spm");
  const uint64_t size = reader.bytes.size();
  for (const auto& [code, wanted] : {std::pair{1, StatusCode::kCancelled},
                                     {15, StatusCode::kDataLoss},
                                     {-5, StatusCode::kUnavailable},
                                     {4711, StatusCode::kUnavailable}}) {
    reader.calls = 0;
    reader.fail_call = 1;
    reader.fail_code = code;
    CHECK(ParseReader(&reader, size).status().code() == wanted);
  }
  reader.calls = 0;
  reader.throws = true;
  CHECK(ParseReader(&reader, size).status().code() == StatusCode::kAborted);
  CHECK_FALSE(MakeReaderSource(nullptr, nullptr, 10).ok());
}

TEST_CASE("Gguf: a reader that lies about its size costs no memory", "[gguf]") {
  TestReader reader;
  GgufWriter writer;
  writer.SetString("a", "b");
  reader.bytes = testing::WriteToBytes(writer);
  // The value's length becomes 2^30, which the declared size allows.
  const size_t at = reader.bytes.size() - 1 - 8;
  reader.bytes[at] = 0;
  reader.bytes[at + 3] = 0x40;
  const AllocPeak peak;
  const StatusOr<GgufFile> file = ParseReader(&reader, uint64_t{1} << 62);
  CHECK_FALSE(file.ok());
  CHECK(peak.Bytes() < (1 << 19));
}

}  // namespace
}  // namespace minfer
