// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_data.h"

namespace minfer {
namespace {

struct Lines {
  std::vector<std::pair<int, std::string>> seen;
  bool throws = false;

  static void Sink(void* user_data, int level, const char* message, size_t size) {
    Lines& self = *static_cast<Lines*>(user_data);
    self.seen.emplace_back(level, std::string(message, size));
    if (self.throws) throw 1;
  }
};

TEST_CASE("Logger: lines reach the sink with their level, unformatted", "[base]") {
  Lines lines;
  const Logger logger(&Lines::Sink, &lines, LogLevel::kInfo);
  logger.Debug("not made");
  logger.Info("weights: ", 12, " MB {} %s");
  logger.Warning(std::string_view("careful"));
  logger.Error("");
  REQUIRE(lines.seen.size() == 3);
  CHECK(lines.seen[0] == std::pair<int, std::string>(2, "weights: 12 MB {} %s"));
  CHECK(lines.seen[1] == std::pair<int, std::string>(3, "careful"));
  CHECK(lines.seen[2] == std::pair<int, std::string>(4, ""));
  CHECK_FALSE(logger.Enabled(LogLevel::kDebug));
}

TEST_CASE("Logger: two of them share nothing", "[base]") {
  Lines first_lines;
  Lines second_lines;
  const Logger first(&Lines::Sink, &first_lines, LogLevel::kTrace);
  const Logger second(&Lines::Sink, &second_lines, LogLevel::kError);
  first.Debug("a");
  second.Debug("b");
  second.Error("c");
  CHECK(first_lines.seen.size() == 1);
  REQUIRE(second_lines.seen.size() == 1);
  CHECK(second_lines.seen[0].second == "c");
}

// Runs `action` with stdout and stderr sent to a file; gives what was written.
template <typename Action>
std::string CaptureOutput(const Action& action) {
  const std::string path = testing::MakeTempDir("log") + "/output";
  FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  std::fflush(nullptr);
  const int out = dup(1);
  const int err = dup(2);
  dup2(fileno(file), 1);
  dup2(fileno(file), 2);
  action();
  std::fflush(nullptr);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  std::fclose(file);
  return testing::ReadFile(path);
}

TEST_CASE("Logger: without a sink, or with one that throws, nothing is printed", "[base]") {
  Lines lines;
  lines.throws = true;
  const std::string printed = CaptureOutput([&] {
    const Logger silent;
    silent.Error("nobody hears this");
    const Logger null_sink(nullptr, nullptr, LogLevel::kTrace);
    null_sink.Error("nor this");
    const Logger throwing(&Lines::Sink, &lines, LogLevel::kTrace);
    throwing.Error("one");
    throwing.Error("two");
  });
  CHECK(printed.empty());
  CHECK(lines.seen.size() == 2);
}

}  // namespace
}  // namespace minfer
