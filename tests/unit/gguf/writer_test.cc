// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/writer.h"

#include "tests/unit/gguf/gguf_support.h"

namespace minfer {
namespace {

using testing::ParseBytes;
using testing::WriteToBytes;

TEST_CASE("GgufWriter: what it writes reads back", "[gguf]") {
  for (const uint32_t version : {2u, 3u}) {
    for (const uint64_t alignment : {8u, 32u, 64u, 4096u}) {
      GgufWriter writer(alignment, version);
      writer.SetString("general.architecture", "old");
      writer.Set<uint32_t>("n", 1);
      writer.SetString("general.architecture", "llama");
      MF_REQUIRE_OK(writer.AddTensor("a", ElementType::kF32, {3, 2}));
      MF_REQUIRE_OK(writer.AddTensor("b", ElementType::kQ4_0, {64}));
      MF_REQUIRE_OK(writer.AddTensor("empty", ElementType::kF16, {0, 4}));
      MF_REQUIRE_OK(writer.AddTensor("scalar", ElementType::kF64, {}));
      const std::string bytes = WriteToBytes(writer);
      const StatusOr<GgufFile> file = ParseBytes(bytes);
      MF_REQUIRE_OK(file);
      CHECK(file->version() == version);
      CHECK(file->alignment() == alignment);
      CHECK(*file->metadata().GetString("general.architecture") == "llama");
      CHECK(file->metadata().key(alignment == 32 ? 0 : 1) == "general.architecture");
      REQUIRE(file->tensors().size() == 4);
      const TensorInfo& b = file->tensors()[1];
      CHECK(b.name == "b");
      CHECK(b.type == ElementType::kQ4_0);
      CHECK(b.bytes == 36);
      CHECK(b.file_offset % alignment == 0);
      CHECK(bytes[b.file_offset] == 1);
      CHECK(bytes[b.file_offset + 35] == 36);
      CHECK(file->tensors()[2].bytes == 0);
      CHECK(file->tensors()[3].bytes == 8);
    }
  }
}

TEST_CASE("GgufWriter: metadata copied from a file is written bit for bit", "[gguf]") {
  for (const char* name : {"ok_spm", "ok_bpe", "ok_empty_name_kv", "ok_align_64"}) {
    const std::string original = testing::ReadFile(testing::FindGgufVariant(name).path);
    const StatusOr<GgufFile> file = ParseBytes(original);
    MF_REQUIRE_OK(file);
    GgufWriter writer(file->alignment());
    writer.CopyMetadata(file->metadata());
    for (const TensorInfo& tensor : file->tensors()) {
      MF_REQUIRE_OK(writer.AddTensor(tensor.name, tensor.type, tensor.shape()));
    }
    const StatusOr<std::string> copy =
        writer.WriteToString([&](size_t i, const GgufWriter::ByteSink& out) {
          const TensorInfo& tensor = file->tensors()[i];
          std::vector<uint8_t> bytes(tensor.bytes);
          MF_RETURN_IF_ERROR(file->ReadTensor(tensor, 0, absl::MakeSpan(bytes)));
          // In two pieces, as a writer that streams would.
          const absl::Span<const uint8_t> whole = bytes;
          MF_RETURN_IF_ERROR(out(whole.subspan(0, whole.size() / 2)));
          return out(whole.subspan(whole.size() / 2));
        });
    MF_REQUIRE_OK(copy);
    INFO(name);
    CHECK(copy->size() == original.size());
    // With another alignment that key comes first; the rest of the file has the same order.
    if (file->alignment() == 32) CHECK(*copy == original);
    MF_REQUIRE_OK(ParseBytes(*copy));
  }
}

TEST_CASE("GgufWriter: keys that say how a model is split are not copied", "[gguf]") {
  GgufWriter first;
  first.Set<uint16_t>("split.no", 0);
  first.Set<uint16_t>("split.count", 1);
  first.SetString("splitter", "stays");
  const StatusOr<std::string> bytes = first.WriteToString(nullptr);
  MF_REQUIRE_OK(bytes);
  const StatusOr<GgufFile> file = ParseBytes(*bytes);
  MF_REQUIRE_OK(file);
  GgufWriter second;
  second.CopyMetadata(file->metadata());
  const StatusOr<std::string> copy = second.WriteToString(nullptr);
  MF_REQUIRE_OK(copy);
  const StatusOr<GgufFile> copied = ParseBytes(*copy);
  MF_REQUIRE_OK(copied);
  CHECK(copied->metadata().size() == 1);
  CHECK(copied->metadata().Has("splitter"));
}

TEST_CASE("GgufWriter: a tensor that could not be read is refused", "[gguf]") {
  GgufWriter writer;
  MF_REQUIRE_OK(writer.AddTensor("a", ElementType::kF32, {1}));
  CHECK(writer.AddTensor("a", ElementType::kF32, {1}).code() == StatusCode::kAlreadyExists);
  const auto code = [&](std::string_view name, ElementType type, std::vector<int64_t> dims) {
    const Status status = writer.AddTensor(name, type, dims);
    return status.code();
  };
  CHECK(code("", ElementType::kF32, {1}) == StatusCode::kInvalidArgument);
  CHECK(code(std::string(64, 'x'), ElementType::kF32, {1}) == StatusCode::kInvalidArgument);
  CHECK(code("b", ElementType::kF32, {1, 1, 1, 1, 1}) == StatusCode::kInvalidArgument);
  CHECK(code("b", ElementType::kQ4_K, {128, 2}) == StatusCode::kInvalidArgument);
  CHECK(code("b", ElementType::kF32, {-1}) == StatusCode::kInvalidArgument);
  CHECK(code("b", ElementType::kF32, {int64_t{1} << 62, 4}) == StatusCode::kInvalidArgument);
  CHECK(code("b", static_cast<ElementType>(4), {32}) == StatusCode::kInvalidArgument);
  CHECK(writer.tensor_count() == 1);
}

TEST_CASE("GgufWriter: wrong byte counts and failing sinks are passed on", "[gguf]") {
  GgufWriter writer;
  MF_REQUIRE_OK(writer.AddTensor("a", ElementType::kF32, {2}));
  const Status too_few = writer
                             .WriteToString([](size_t, const GgufWriter::ByteSink& out) {
                               return out(std::vector<uint8_t>(7));
                             })
                             .status();
  CHECK(too_few.code() == StatusCode::kInternal);
  CHECK(too_few.bytes_wanted() == 8);
  CHECK(too_few.bytes_available() == 7);
  const Status full = writer.Write(testing::CountingProducer(writer), [](auto) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kFile, "disk full");
  });
  CHECK(full.code() == StatusCode::kResourceExhausted);
  CHECK_FALSE(GgufWriter(4).WriteToString(testing::CountingProducer(writer)).ok());
  CHECK_FALSE(GgufWriter(32, 1).WriteToString(testing::CountingProducer(writer)).ok());
}

}  // namespace
}  // namespace minfer
