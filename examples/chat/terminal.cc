// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace chat {
namespace {

mf_cancel* interrupt_target = nullptr;

extern "C" void OnInterrupt(int) { mf_cancel_request(interrupt_target); }

// Waits until a line can be read; false when an interrupt came first. SIGINT is let in only while
// waiting: one that came between a look and the wait would be lost.
bool WaitForInput(const std::function<void()>& when_ready) {
  sigset_t interrupt;
  sigset_t before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  when_ready();
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const bool interrupted = ppoll(&input, 1, nullptr, &before) < 0 && errno == EINTR;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !interrupted;
}

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
  Line line;
  const auto show_prompt = [&] {
    std::printf("%s%s%s", color_out_ ? kBold : "", prompt, color_out_ ? kPlain : "");
    std::fflush(stdout);
  };
  // A terminal hands over one line at a time, so none is left in the buffer of stdin.
  if (interactive_ && !WaitForInput(show_prompt)) {
    line.status = LineStatus::kInterrupted;
    std::printf("\n");
    return line;
  }
  char* buffer = nullptr;
  size_t capacity = 0;
  errno = 0;
  const ssize_t length = getline(&buffer, &capacity, stdin);
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
