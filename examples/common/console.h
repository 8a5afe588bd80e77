// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the small programs share: a bar of progress, errors in one form, texts in and out.
#pragma once

#include <minfer/minfer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace console {

// A bar on the error stream, when that is a terminal. Cleared when it goes away.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(uint64_t done, uint64_t total, const std::string& note = {});
  void Clear();
  // As a mf_progress_callback; the bar is its user_data.
  static int32_t Callback(void* bar, uint64_t done, uint64_t total);

 private:
  std::string what_;
  bool is_terminal_;
  std::string shown_;
};

// Says what went wrong on the error stream; the program's exit status.
int Fail(const mf::Error& error);
int Fail(const std::string& message);

// From now on Ctrl-C requests `cancel`; the second one ends the program.
void CancelOnInterrupt(mf_cancel* cancel);

// All bytes of a file, or of the standard input for "-". Says on the error stream why not.
bool ReadAll(const std::string& path, std::string* text);

// In double quotes; control characters and bytes that are not UTF-8 as \n, \x1b and so on.
std::string Quoted(std::string_view bytes);

// A number with its unit: "1.5 GiB"; bytes alone below a KiB.
std::string Bytes(uint64_t bytes);

}  // namespace console
