// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace minfer {
namespace {

constexpr size_t kSmallFileLimit = 64 * 1024;

}  // namespace

std::string ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char chunk[1024];
  while (text.size() < kSmallFileLimit) {
    const ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n <= 0) break;
    text.append(chunk, static_cast<size_t>(n));
  }
  close(fd);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::pair<int64_t, std::string_view> ParseLeadingInteger(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return {-1, text};
  return {value, rest.substr(static_cast<size_t>(end - rest.data()))};
}

}  // namespace minfer
