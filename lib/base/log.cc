// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <memory>
#include <string>
#include <utility>

namespace minfer {
namespace {

// Hands the bare message to the host. It keeps no state, so it needs no lock of its own.
class CallbackSink final : public spdlog::sinks::sink {
 public:
  CallbackSink(LogSinkFn function, void* user_data) : function_(function), user_data_(user_data) {}

  void log(const spdlog::details::log_msg& message) override {
    try {
      function_(user_data_, static_cast<int>(message.level), message.payload.data(),
                message.payload.size());
    } catch (...) {
      // A sink that throws must not end the work that logged.
    }
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  LogSinkFn function_;
  void* user_data_;
};

static_assert(static_cast<int>(LogLevel::kTrace) == SPDLOG_LEVEL_TRACE);
static_assert(static_cast<int>(LogLevel::kError) == SPDLOG_LEVEL_ERROR);

}  // namespace

struct Logger::Backend {
  explicit Backend(std::shared_ptr<CallbackSink> sink) : logger("minfer", std::move(sink)) {}
  spdlog::logger logger;
};

Logger::Logger() = default;

Logger::Logger(LogSinkFn sink, void* user_data, LogLevel min_level) : min_level_(min_level) {
  if (sink == nullptr) return;
  backend_ = std::make_unique<Backend>(std::make_shared<CallbackSink>(sink, user_data));
  backend_->logger.set_level(spdlog::level::trace);
  // The default handler prints to stderr.
  backend_->logger.set_error_handler([](const std::string&) {});
}

Logger::~Logger() = default;

void Logger::Log(LogLevel level, std::string_view message) const noexcept {
  if (!Enabled(level)) return;
  try {
    backend_->logger.log(static_cast<spdlog::level::level_enum>(level),
                         spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // Logging never fails the work that logs.
  }
}

}  // namespace minfer
