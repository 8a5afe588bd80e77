// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/model_files.h"

#include "tests/unit/gguf/gguf_support.h"

namespace minfer {
namespace {

using testing::CheckRefused;
using testing::WriteFile;

// Part `number` of `count`, with tensors "t<number>.0" and "t<number>.1".
std::string Part(int number, int count, int total) {
  GgufWriter writer;
  if (number == 0) writer.SetString("general.architecture", "llama");
  writer.Set<uint16_t>("split.no", static_cast<uint16_t>(number));
  writer.Set<uint16_t>("split.count", static_cast<uint16_t>(count));
  writer.Set<int32_t>("split.tensors.count", total);
  for (int i = 0; i < 2; ++i) {
    const std::string name = "t" + std::to_string(number) + "." + std::to_string(i);
    MF_REQUIRE_OK(writer.AddTensor(name, ElementType::kF32, {4, number + 1}));
  }
  return testing::WriteToBytes(writer);
}

std::string PartPath(const std::string& folder, int number, int count) {
  return folder + "/m-0000" + std::to_string(number + 1) + "-of-0000" + std::to_string(count) +
         ".gguf";
}

TEST_CASE("ModelFiles: A32 the parts of a split model are one model", "[gguf]") {
  const std::string folder = testing::MakeTempDir("split");
  for (int i = 0; i < 3; ++i) WriteFile(PartPath(folder, i, 3), Part(i, 3, 6));
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kRead}) {
    const StatusOr<ModelFiles> files = ModelFiles::Open(PartPath(folder, 0, 3), access);
    MF_REQUIRE_OK(files);
    CHECK(files->parts().size() == 3);
    CHECK(*files->metadata().GetString("general.architecture") == "llama");
    REQUIRE(files->tensors().size() == 6);
    CHECK(files->tensor_bytes() == 2 * (16 + 32 + 48));
    const TensorInfo* tensor = files->FindTensor("t2.1");
    REQUIRE(tensor != nullptr);
    CHECK(tensor->part == 2);
    CHECK(tensor->dims[1] == 3);
    std::vector<uint8_t> bytes(tensor->bytes);
    MF_REQUIRE_OK(files->ReadTensor(*tensor, 0, absl::MakeSpan(bytes)));
    for (size_t i = 0; i < bytes.size(); ++i) CHECK(bytes[i] == 1 + i);
    const uint8_t* data = files->TensorData(*tensor);
    CHECK((data != nullptr) == (access == FileAccess::kMap));
    if (data != nullptr) CHECK(std::equal(bytes.begin(), bytes.end(), data));
    CHECK(files->ReadTensor(*tensor, 1, absl::MakeSpan(bytes)).code() == StatusCode::kOutOfRange);
    CHECK(files->FindTensor("t3.0") == nullptr);
  }
}

TEST_CASE("ModelFiles: A32 a missing part is named", "[gguf]") {
  const std::string folder = testing::MakeTempDir("split-missing");
  WriteFile(PartPath(folder, 0, 3), Part(0, 3, 6));
  WriteFile(PartPath(folder, 1, 3), Part(1, 3, 6));
  const Status status = ModelFiles::Open(PartPath(folder, 0, 3), FileAccess::kMap).status();
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK_THAT(std::string(status.message()), Catch::Contains("m-00003-of-00003.gguf"));
  CHECK_THAT(std::string(status.name()), Catch::Contains("m-00003-of-00003.gguf"));
  CheckRefused("split_missing", {"part 1 of 2", "-00001-of-00002.gguf", "-00002-of-00002.gguf"});
  MF_REQUIRE_OK(testing::OpenVariant("split_one"));
  MF_REQUIRE_OK(testing::OpenVariant("split_count_0"));
}

TEST_CASE("ModelFiles: A33 a later part opened first is refused naming part 1", "[gguf]") {
  const std::string folder = testing::MakeTempDir("split-later");
  WriteFile(PartPath(folder, 1, 2), Part(1, 2, 4));
  const Status status = ModelFiles::Open(PartPath(folder, 1, 2), FileAccess::kMap).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("part 2 of 2") && Catch::Contains("m-00001-of-00002.gguf"));
  CheckRefused("split_second", {"part 2 of 2", "-00001-of-00002.gguf"});
  CheckRefused("split_no_range", {"split.no 7 of split.count 2"});
}

TEST_CASE("ModelFiles: A34 files glued together are the first one, or an error", "[gguf]") {
  const std::string folder = testing::MakeTempDir("split-glued");
  const std::string one = testing::ReadFile(testing::FindGgufVariant("ok_spm").path);
  WriteFile(folder + "/twice.gguf", one + one);
  const StatusOr<ModelFiles> twice = ModelFiles::Open(folder + "/twice.gguf", FileAccess::kMap);
  MF_REQUIRE_OK(twice);
  CHECK(twice->tensors().size() == testing::ParseBytes(one)->tensors().size());
  for (const TensorInfo& tensor : twice->tensors()) {
    CHECK(tensor.file_offset + tensor.bytes <= one.size());
  }
  WriteFile(folder + "/glued.gguf", Part(0, 2, 4) + Part(1, 2, 4));
  CHECK_FALSE(ModelFiles::Open(folder + "/glued.gguf", FileAccess::kMap).ok());
}

TEST_CASE("ModelFiles: parts that contradict each other are refused", "[gguf]") {
  const auto open = [](const std::vector<std::string>& parts) {
    std::vector<ByteSourcePtr> sources;
    for (const std::string& part : parts) {
      sources.push_back(MakeMemorySource(testing::AsBytes(part)));
    }
    return ModelFiles::FromSources(std::move(sources)).status();
  };
  MF_REQUIRE_OK(open({Part(0, 2, 4), Part(1, 2, 4)}));
  CHECK_THAT(open({Part(1, 2, 4), Part(0, 2, 4)}).ToString(), Catch::Contains("part 1 of 2"));
  CHECK_THAT(open({Part(0, 3, 4), Part(1, 3, 4)}).ToString(), Catch::Contains("1 of 3"));
  CHECK_THAT(open({Part(0, 2, 5), Part(1, 2, 5)}).ToString(), Catch::Contains("says 5 tensors"));
  CHECK(open({}).code() == StatusCode::kInvalidArgument);
  CHECK_FALSE(ModelFiles::FromSources({nullptr}).ok());
  GgufWriter writer;
  writer.Set<uint16_t>("split.no", 1);
  writer.Set<uint16_t>("split.count", 2);
  MF_REQUIRE_OK(writer.AddTensor("t0.1", ElementType::kF32, {1}));
  const Status twice = open({Part(0, 2, 3), testing::WriteToBytes(writer)});
  CHECK(twice.name() == "t0.1");
}

TEST_CASE("ModelFiles: memory that is not aligned is read, not used in place", "[gguf]") {
  const std::string part = Part(0, 1, 2);
  std::vector<uint8_t> shifted(part.size() + 16);
  uint8_t* base = shifted.data() + (8 - reinterpret_cast<uintptr_t>(shifted.data()) % 8) % 8;
  for (const int shift : {0, 1}) {
    std::copy(part.begin(), part.end(), base + shift);
    const StatusOr<ModelFiles> files =
        ModelFiles::FromSources({MakeMemorySource({base + shift, part.size()})});
    MF_REQUIRE_OK(files);
    CHECK((files->TensorData(files->tensors()[0]) != nullptr) == (shift == 0));
  }
}

}  // namespace
}  // namespace minfer
