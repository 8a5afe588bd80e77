// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include "tests/support/test_data.h"

namespace minfer {
namespace {

// Lines of /proc/self/maps that name `path`.
int MappingCount(const std::string& path) {
  const std::string maps = testing::ReadFile("/proc/self/maps");
  int count = 0;
  for (size_t at = maps.find(path); at != std::string::npos; at = maps.find(path, at + 1)) ++count;
  return count;
}

TEST_CASE("MappedFile: it gives ranges, takes advice and unmaps itself", "[base]") {
  const std::string path = testing::MakeTempDir("mapped") + "/file";
  testing::WriteFile(path, std::string(10000, 'm'));
  {
    StatusOr<MappedFile> opened = MappedFile::Open(path);
    MF_REQUIRE_OK(opened);
    CHECK(MappingCount(path) == 1);
    MappedFile file = std::move(opened).value();
    CHECK(file.bytes().size() == 10000);
    CHECK(file.bytes()[9999] == 'm');
    CHECK(file.Range(9000, 1000)->size() == 1000);
    CHECK(file.Range(10000, 0)->empty());
    for (const auto& [offset, size] : {std::pair<uint64_t, uint64_t>{9000, 1001},
                                       {10001, 0},
                                       {UINT64_MAX, 2},
                                       {2, UINT64_MAX}}) {
      CHECK(file.Range(offset, size).status().code() == StatusCode::kOutOfRange);
    }
    for (const PageAdvice advice :
         {PageAdvice::kNormal, PageAdvice::kSequential, PageAdvice::kRandom, PageAdvice::kWillNeed,
          PageAdvice::kDontNeed}) {
      MF_REQUIRE_OK(file.Advise(5000, 100, advice));
      MF_REQUIRE_OK(file.Advise(5000, 0, advice));
    }
    CHECK_FALSE(file.Advise(9999, 2, PageAdvice::kWillNeed).ok());
    CHECK(file.bytes()[5050] == 'm');
    CHECK(MappingCount(path) >= 1);  // advice may cut a mapping into several
  }
  CHECK(MappingCount(path) == 0);
}

TEST_CASE("MappedFile: an empty file is an empty span", "[base]") {
  const std::string path = testing::MakeTempDir("mapped-empty") + "/file";
  testing::WriteFile(path, "");
  const StatusOr<MappedFile> file = MappedFile::Open(path);
  MF_REQUIRE_OK(file);
  CHECK(file->bytes().empty());
  MF_REQUIRE_OK(file->Advise(0, 0, PageAdvice::kWillNeed));
}

}  // namespace
}  // namespace minfer
