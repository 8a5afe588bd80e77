// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/metadata.h"

#include <limits>

#include "tests/unit/gguf/gguf_support.h"

namespace minfer {
namespace {

using testing::ParseBytes;
using testing::WriteToBytes;

// The metadata that `fill` writes; `bytes` keeps what it was read from.
template <typename Fill>
Metadata Make(const Fill& fill) {
  GgufWriter writer;
  fill(writer);
  const std::string bytes = WriteToBytes(writer);
  StatusOr<GgufFile> file = ParseBytes(bytes);
  MF_REQUIRE_OK(file);
  // What was read borrows nothing from its source.
  return std::move(const_cast<Metadata&>(file->metadata()));
}

TEST_CASE("Metadata: an absent key is NOT_FOUND and named, and takes the default", "[gguf]") {
  const Metadata metadata = Make([](GgufWriter&) {});
  CHECK(metadata.size() == 0);
  const Status status = metadata.GetU32("llama.block_count").status();
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.name() == "llama.block_count");
  CHECK(metadata.GetStringArray("a").status().code() == StatusCode::kNotFound);
  CHECK(metadata.GetF32Array("a").status().code() == StatusCode::kNotFound);
  CHECK(*metadata.GetU32Or("a", 7) == 7);
  CHECK(*metadata.GetU64Or("a", 8) == 8);
  CHECK(*metadata.GetF32Or("a", 0.5f) == 0.5f);
  CHECK(*metadata.GetBoolOr("a", true));
  CHECK(*metadata.GetStringOr("a", "x") == "x");
}

TEST_CASE("Metadata: integers of any width are taken where they fit", "[gguf]") {
  const Metadata metadata = Make([](GgufWriter& writer) {
    writer.Set<uint8_t>("u8", 200);
    writer.Set<int8_t>("i8", -3);
    writer.Set<uint16_t>("u16", 60000);
    writer.Set<int16_t>("i16", 300);
    writer.Set<uint32_t>("u32", 4000000000u);
    writer.Set<int32_t>("i32", -1);
    writer.Set<uint64_t>("u64", uint64_t{1} << 40);
    writer.Set<int64_t>("i64", 12);
  });
  CHECK(*metadata.GetU32("u8") == 200);
  CHECK(*metadata.GetI32("i8") == -3);
  CHECK(*metadata.GetU32("u16") == 60000);
  CHECK(*metadata.GetU32("i16") == 300);
  CHECK(*metadata.GetU32("u32") == 4000000000u);
  CHECK(*metadata.GetU64("u64") == uint64_t{1} << 40);
  CHECK(*metadata.GetU32("i64") == 12);
  CHECK(*metadata.GetF32("i8") == -3.0f);
  CHECK(metadata.GetI32("u32").status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetU32("i32").status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetU64("i32").status().code() == StatusCode::kInvalidArgument);
  const Status status = metadata.GetU32Or("u64", 1).status();
  CHECK(status.name() == "u64");
  CHECK_THAT(std::string(status.message()), Catch::Contains("1099511627776"));
}

TEST_CASE("Metadata: a wrong type is an error even where a default is given", "[gguf]") {
  const Metadata metadata = Make([](GgufWriter& writer) {
    writer.SetString("text", "4");
    writer.Set<bool>("flag", true);
    writer.Set<uint32_t>("number", 1);
    writer.Set<float>("float", 1.5f);
  });
  CHECK(metadata.GetU32Or("text", 1).status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetU32Or("flag", 1).status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetU32("float").status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetBoolOr("number", false).status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetF32Or("text", 1).status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetStringOr("number", "").status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetU32Array("number").status().code() == StatusCode::kInvalidArgument);
  CHECK(metadata.GetStringArray("text").status().code() == StatusCode::kInvalidArgument);
  CHECK_FALSE(metadata.IsArray("text"));
  CHECK(metadata.GetBoolOr("number", false).status().file_offset() > 0);
}

TEST_CASE("Metadata: arrays keep their values and their element type", "[gguf]") {
  const Metadata metadata = Make([](GgufWriter& writer) {
    writer.SetArray<uint32_t>("u32", std::vector<uint32_t>{1, 2, 3});
    writer.SetArray<int64_t>("i64", std::vector<int64_t>{-1, 5});
    writer.SetArray<float>("f32", std::vector<float>{0.5f, -2.0f});
    writer.SetArray<double>("f64", std::vector<double>{0.25});
    writer.SetArray<uint8_t>("u8", std::vector<uint8_t>{9, 255});
    writer.SetArray<bool>("bool", absl::Span<const bool>(std::array<bool, 2>{true, false}));
    writer.SetStringArray("text", std::vector<std::string>{"", "a b", std::string("x\0y", 3)});
    writer.SetStringArray("none", {});
    writer.SetStringArray("after", std::vector<std::string>{"z"});
  });
  CHECK(*metadata.GetU32Array("u32") == std::vector<uint32_t>{1, 2, 3});
  CHECK(*metadata.GetI32Array("i64") == std::vector<int32_t>{-1, 5});
  CHECK(metadata.GetU32Array("i64").status().code() == StatusCode::kInvalidArgument);
  CHECK(*metadata.GetF32Array("f32") == std::vector<float>{0.5f, -2.0f});
  CHECK(*metadata.GetF32Array("f64") == std::vector<float>{0.25f});
  CHECK(*metadata.GetBoolArray("bool") == std::vector<bool>{true, false});
  CHECK((*metadata.GetU8Array("u8"))[1] == 255);
  CHECK_FALSE(metadata.GetU32Array("u8").ok());
  CHECK_FALSE(metadata.GetU8Array("u32").ok());
  const StatusOr<StringArray> text = metadata.GetStringArray("text");
  MF_REQUIRE_OK(text);
  REQUIRE(text->size() == 3);
  CHECK((*text)[0].empty());
  CHECK((*text)[1] == "a b");
  CHECK((*text)[2] == std::string_view("x\0y", 3));
  CHECK(metadata.GetStringArray("none")->empty());
  CHECK((*metadata.GetStringArray("after"))[0] == "z");
  CHECK(metadata.IsArray("u32"));
  CHECK(metadata.element_type(*metadata.Find("text")) == GgufType::kString);
  CHECK(metadata.count(*metadata.Find("u32")) == 3);
}

TEST_CASE("Metadata: every value has a text, in file order", "[gguf]") {
  const Metadata metadata = Make([](GgufWriter& writer) {
    writer.Set<uint64_t>("u64", std::numeric_limits<uint64_t>::max());
    writer.Set<int8_t>("i8", -128);
    writer.Set<float>("f32", 0.1f);
    writer.Set<double>("f64", 1e300);
    writer.Set<bool>("bool", true);
    writer.SetString("text", "llama");
    writer.Set<float>("base", 100000.0f);
    writer.SetArray<int32_t>("few", std::vector<int32_t>{1, -2});
    writer.SetStringArray("strings", std::vector<std::string>{"a", "\x01\xff"});
    writer.SetArray<uint32_t>("many", std::vector<uint32_t>(1000, 7));
  });
  const std::vector<std::string> wanted = {
      "18446744073709551615",   "-128", "0.1", "1e+300", "true", "llama", "100000", "[1, -2]",
      "[\"a\", \"\\x01\\xff\"]"};
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(metadata.ValueText(i) == wanted[i]);
  CHECK(metadata.key(2) == "f32");
  CHECK(metadata.type(3) == GgufType::kF64);
  const std::string many = metadata.ValueText(9, 40);
  CHECK(many.size() < 50);
  CHECK_THAT(many, Catch::EndsWith("...]"));
}

}  // namespace
}  // namespace minfer
