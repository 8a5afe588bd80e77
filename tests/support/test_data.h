// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Where the tests find their data, and the small helpers that every suite shares.
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

// Fails the test with the whole status when it is not OK.
#define MF_REQUIRE_OK(expression)                                                       \
  do {                                                                                  \
    const ::minfer::Status mf_require_status = ::minfer::testing::ToStatus(expression); \
    INFO(mf_require_status.ToString());                                                 \
    REQUIRE(mf_require_status.ok());                                                    \
  } while (false)

namespace minfer::testing {

inline Status ToStatus(const Status& status) { return status; }
template <typename T>
Status ToStatus(const StatusOr<T>& value) {
  return value.status();
}

// A file under tests/data; the test fails when it is absent.
std::string TestDataPath(const std::string& relative);
// A file or folder under ../shared/data, or nothing (with a printed reason) where that is absent.
std::optional<std::string> SharedDataPath(const std::string& relative);
// A fresh, empty folder under the system's temporary folder, named for the caller.
std::string MakeTempDir(const std::string& name);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);
nlohmann::json ReadJson(const std::string& path);
std::vector<uint8_t> FromHex(const std::string& hex);

// Prints "SKIPPED: reason" and lets the caller return; Catch2 v2 has no skip of its own.
void ReportSkip(const std::string& reason);

// Runs `python3 args...`; true when it ends with status 0.
bool RunPython(const std::vector<std::string>& args);

// A real model: $MINFER_TEST_MODEL_DIR or the user's cache folder, as examples/quickstart.sh fills
// it. Nothing (with a printed reason) when it is absent.
std::optional<std::string> RealModelPath(const std::string& file_name);

}  // namespace minfer::testing
