// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The person's side: lines in, colours where they are wanted, and Ctrl-C.
#pragma once

#include <minfer/minfer.h>

#include <optional>
#include <string>

namespace chat {

// From now on Ctrl-C requests `cancel` instead of ending the program.
void StopOnInterrupt(mf_cancel* cancel);

enum class LineStatus { kLine, kEnd, kInterrupted };

struct Line {
  LineStatus status = LineStatus::kEnd;
  std::string text;
};

class Terminal {
 public:
  Terminal();

  // Whether a person is there to be asked: input and output are a terminal.
  bool interactive() const { return interactive_; }

  Line ReadLine(const char* prompt);
  // A piece of the answer, at once.
  void Write(const char* text, size_t length);
  void EndAnswer();
  // A remark of the program's own, on the error stream.
  void Note(const std::string& text);
  void Progress(int percent);
  void ClearProgress();

 private:
  bool interactive_;
  bool color_out_;
  bool color_error_;
  bool error_is_terminal_;
  bool ends_with_newline_ = true;
};

}  // namespace chat
