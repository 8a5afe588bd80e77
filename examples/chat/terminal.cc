// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace chat {
namespace {

mf_cancel* interrupt_target = nullptr;

extern "C" void OnInterrupt(int) { mf_cancel_request(interrupt_target); }

constexpr const char* kBold = "\033[1;32m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kPlain = "\033[0m";

}  // namespace

void StopOnInterrupt(mf_cancel* cancel) {
  interrupt_target = cancel;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART, so that waiting for a line is interrupted too.
  sigaction(SIGINT, &action, nullptr);
}

Terminal::Terminal() {
  const bool in = isatty(STDIN_FILENO) == 1;
  const bool out = isatty(STDOUT_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = no_color == nullptr || *no_color == '\0';
  error_is_terminal_ = isatty(STDERR_FILENO) == 1;
  interactive_ = in && out;
  color_out_ = out && color;
  color_error_ = error_is_terminal_ && color;
}

Line Terminal::ReadLine(const char* prompt) {
  if (interactive_) {
    std::printf("%s%s%s", color_out_ ? kBold : "", prompt, color_out_ ? kPlain : "");
    std::fflush(stdout);
  }
  char* buffer = nullptr;
  size_t capacity = 0;
  errno = 0;
  const ssize_t length = getline(&buffer, &capacity, stdin);
  Line line;
  if (length >= 0) {
    line.status = LineStatus::kLine;
    line.text.assign(buffer, static_cast<size_t>(length));
    while (!line.text.empty() && (line.text.back() == '\n' || line.text.back() == '\r')) {
      line.text.pop_back();
    }
  } else if (errno == EINTR) {
    line.status = LineStatus::kInterrupted;
    clearerr(stdin);
    std::printf("\n");
  }
  std::free(buffer);
  return line;
}

void Terminal::Write(const char* text, size_t length) {
  if (length == 0) return;
  std::fwrite(text, 1, length, stdout);
  std::fflush(stdout);
  ends_with_newline_ = text[length - 1] == '\n';
}

void Terminal::EndAnswer() {
  if (!ends_with_newline_) std::printf("\n");
  std::fflush(stdout);
  ends_with_newline_ = true;
}

void Terminal::Note(const std::string& text) {
  std::fprintf(stderr, "%s%s%s\n", color_error_ ? kDim : "", text.c_str(),
               color_error_ ? kPlain : "");
}

void Terminal::Progress(int percent) {
  if (error_is_terminal_) std::fprintf(stderr, "\rloading %3d %%", percent);
}

void Terminal::ClearProgress() {
  if (error_is_terminal_) std::fprintf(stderr, "\r              \r");
}

}  // namespace chat
