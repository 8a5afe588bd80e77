// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <filesystem>
#include <numeric>

#include "tests/support/test_data.h"

namespace minfer {
namespace {

std::string Alphabet() {
  std::string text(26, '\0');
  std::iota(text.begin(), text.end(), 'a');
  return text;
}

absl::Span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

int32_t ReadFromString(void* user_data, uint64_t offset, void* buffer, size_t size) {
  static_cast<const std::string*>(user_data)->copy(static_cast<char*>(buffer), size, offset);
  return 0;
}

TEST_CASE("ByteSource: each kind reads the same bytes and keeps to its size", "[base]") {
  std::string text = Alphabet();
  const std::string path = testing::MakeTempDir("source") + "/alphabet";
  testing::WriteFile(path, text);
  StatusOr<ByteSourcePtr> file = OpenFileSource(path);
  StatusOr<ByteSourcePtr> mapped = OpenMappedSource(path);
  StatusOr<ByteSourcePtr> reader = MakeReaderSource(&ReadFromString, &text, text.size());
  MF_REQUIRE_OK(file);
  MF_REQUIRE_OK(mapped);
  MF_REQUIRE_OK(reader);
  for (const ByteSourcePtr& source : {*file, *mapped, *reader, MakeMemorySource(AsBytes(text))}) {
    INFO(source->name());
    CHECK(source->size() == 26);
    std::vector<uint8_t> out(3);
    MF_REQUIRE_OK(source->ReadAt(23, absl::MakeSpan(out)));
    CHECK(out == std::vector<uint8_t>{'x', 'y', 'z'});
    const Status past = source->ReadAt(24, absl::MakeSpan(out));
    CHECK(past.code() == StatusCode::kOutOfRange);
    CHECK(past.bytes_wanted() == 3);
    CHECK(past.bytes_available() == 2);
    CHECK(past.file_offset() == 24);
    CHECK(source->ReadAt(UINT64_MAX, absl::MakeSpan(out)).code() == StatusCode::kOutOfRange);
    MF_REQUIRE_OK(source->ReadAt(26, {}));
  }
  CHECK((*mapped)->mapped().size() == 26);
  CHECK((*mapped)->mapped_file() != nullptr);
  CHECK((*file)->mapped().empty());
  CHECK((*reader)->mapped().empty());
}

TEST_CASE("ByteSource: a file that has become shorter is DATA_LOSS", "[base]") {
  const std::string path = testing::MakeTempDir("shrunk") + "/file";
  testing::WriteFile(path, Alphabet());
  const StatusOr<ByteSourcePtr> source = OpenFileSource(path);
  MF_REQUIRE_OK(source);
  std::filesystem::resize_file(path, 10);
  std::vector<uint8_t> out(8);
  const Status status = (*source)->ReadAt(6, absl::MakeSpan(out));
  CHECK(status.code() == StatusCode::kDataLoss);
  CHECK(status.name() == path);
  CHECK(status.bytes_wanted() == 8);
  CHECK(status.bytes_available() == 4);
  CHECK(status.file_offset() == 10);
}

TEST_CASE("FileHandle: what cannot be opened says why and names the path", "[base]") {
  CHECK(OpenFileSource("").status().code() == StatusCode::kInvalidArgument);
  const std::string folder = testing::MakeTempDir("kinds");
  for (const std::string& path : {folder, std::string("/dev/zero")}) {
    const Status status = OpenFileSource(path).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.name() == path);
    CHECK_THAT(std::string(status.message()), Catch::Contains("a regular file is needed"));
  }
  const Status absent = OpenMappedSource(folder + "/absent").status();
  CHECK(absent.code() == StatusCode::kNotFound);
  CHECK(absent.subsystem() == Subsystem::kFile);
  CHECK(OpenFileSource(folder + "/" + std::string(5000, 'x')).status().code() ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("ByteSource: a file that was written to since it was opened is seen", "[base]") {
  namespace fs = std::filesystem;
  const std::string path = testing::MakeTempDir("changed") + "/alphabet";
  testing::WriteFile(path, Alphabet());
  const fs::file_time_type then = fs::last_write_time(path) - std::chrono::hours(1);
  fs::last_write_time(path, then);
  const StatusOr<ByteSourcePtr> file = OpenFileSource(path);
  const StatusOr<ByteSourcePtr> mapped = OpenMappedSource(path);
  MF_REQUIRE_OK(file);
  MF_REQUIRE_OK(mapped);
  for (const ByteSourcePtr& source : {*file, *mapped}) {
    MF_REQUIRE_OK(source->CheckUnchanged());
    fs::last_write_time(path, then + std::chrono::nanoseconds(1000000));
    Status status = source->CheckUnchanged();
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK(status.name() == path);
    fs::last_write_time(path, then);
    MF_REQUIRE_OK(source->CheckUnchanged());
    fs::resize_file(path, 20);
    fs::last_write_time(path, then);
    status = source->CheckUnchanged();
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK(status.file_offset() == 20);
    testing::WriteFile(path, Alphabet());
    fs::last_write_time(path, then);
  }
}

}  // namespace
}  // namespace minfer
