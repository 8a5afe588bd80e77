// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_data.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace minfer::testing {
namespace fs = std::filesystem;

std::string TestDataPath(const std::string& relative) {
  std::string path = std::string(MINFER_TEST_DATA) + "/" + relative;
  INFO(path);
  REQUIRE(fs::exists(path));
  return path;
}

std::optional<std::string> SharedDataPath(const std::string& relative) {
  std::string path = std::string(MINFER_SHARED_DATA) + "/" + relative;
  if (fs::exists(path)) return path;
  ReportSkip("shared data not found: " + relative);
  return std::nullopt;
}

std::string MakeTempDir(const std::string& name) {
  std::string pattern = (fs::temp_directory_path() / ("minfer-" + name + "-XXXXXX")).string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  INFO(path);
  REQUIRE(in.good());
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  INFO(path);
  REQUIRE(out.good());
}

nlohmann::json ReadJson(const std::string& path) { return nlohmann::json::parse(ReadFile(path)); }

std::vector<uint8_t> FromHex(const std::string& hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

void ReportSkip(const std::string& reason) { std::cout << "SKIPPED: " << reason << std::endl; }

bool RunPython(const std::vector<std::string>& args) {
  std::string command = MINFER_PYTHON;
  for (const std::string& arg : args) command += " '" + arg + "'";
  return std::system(command.c_str()) == 0;
}

std::optional<std::string> RealModelPath(const std::string& file_name) {
  std::vector<std::string> folders;
  if (const char* dir = std::getenv("MINFER_TEST_MODEL_DIR")) folders.emplace_back(dir);
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    folders.emplace_back(std::string(cache) + "/minfer");
  }
  if (const char* home = std::getenv("HOME")) {
    folders.emplace_back(std::string(home) + "/.cache/minfer");
  }
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + file_name;
    if (fs::exists(path)) return path;
  }
  ReportSkip("model not found: " + file_name + " (examples/quickstart.sh fetches it)");
  return std::nullopt;
}

}  // namespace minfer::testing
