// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Log lines to the host's sink; silent without one. A Logger belongs to a model or context, and no
// two share anything.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/str_cat.h"

namespace minfer {

enum class LogLevel : int { kTrace = 0, kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

// `message` is UTF-8, not terminated, and lives until the call returns. Called on the thread that
// logs, also from several at once; what it throws is swallowed.
using LogSinkFn = void (*)(void* user_data, int level, const char* message, size_t size);

class Logger {
 public:
  Logger();  // silent
  // Lines below `min_level` are not made. A null sink is silent.
  Logger(LogSinkFn sink, void* user_data, LogLevel min_level = LogLevel::kInfo);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  bool Enabled(LogLevel level) const { return backend_ != nullptr && level >= min_level_; }
  void Log(LogLevel level, std::string_view message) const noexcept;

  // The pieces are joined as by StrCat(), and only when the level is enabled.
  template <typename... Pieces>
  void Debug(const Pieces&... pieces) const {
    if (Enabled(LogLevel::kDebug)) Log(LogLevel::kDebug, StrCat(pieces...));
  }
  template <typename... Pieces>
  void Info(const Pieces&... pieces) const {
    if (Enabled(LogLevel::kInfo)) Log(LogLevel::kInfo, StrCat(pieces...));
  }
  template <typename... Pieces>
  void Warning(const Pieces&... pieces) const {
    if (Enabled(LogLevel::kWarning)) Log(LogLevel::kWarning, StrCat(pieces...));
  }
  template <typename... Pieces>
  void Error(const Pieces&... pieces) const {
    if (Enabled(LogLevel::kError)) Log(LogLevel::kError, StrCat(pieces...));
  }

 private:
  struct Backend;
  std::unique_ptr<Backend> backend_;  // null: silent
  LogLevel min_level_ = LogLevel::kInfo;
};

}  // namespace minfer
