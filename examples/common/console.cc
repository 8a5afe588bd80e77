// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace console {
namespace {

constexpr int kBarWidth = 30;

mf_cancel* interrupt_target = nullptr;

extern "C" void OnInterrupt(int number) {
  mf_cancel_request(interrupt_target);
  signal(number, SIG_DFL);
}

// Bytes of the UTF-8 character at the start of the text; 0 for what is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  const size_t length = byte < 0x80 ? 1 : byte < 0xC2 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  if (length == 0 || byte > 0xF4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool bad = (byte == 0xE0 && second < 0xA0) || (byte == 0xED && second > 0x9F) ||
                   (byte == 0xF0 && second < 0x90) || (byte == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressBar::Show(uint64_t done, uint64_t total, const std::string& note) {
  if (!is_terminal_ || total == 0) return;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const int full = static_cast<int>(share * kBarWidth);
  std::string bar(static_cast<size_t>(full), '#');
  bar.resize(kBarWidth, '.');
  char percent[16];
  std::snprintf(percent, sizeof(percent), "%3d %%", static_cast<int>(share * 100));
  std::string line = what_ + " [" + bar + "] " + percent + (note.empty() ? "" : "  " + note);
  if (line == shown_) return;
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  shown_ = std::move(line);
}

void ProgressBar::Clear() {
  if (!shown_.empty()) std::fprintf(stderr, "\r\033[K");
  shown_.clear();
}

int32_t ProgressBar::Callback(void* bar, uint64_t done, uint64_t total) {
  static_cast<ProgressBar*>(bar)->Show(done, total);
  return 0;
}

int Fail(const mf::Error& error) {
  return Fail(std::string(error.status_name()) + ": " + std::string(error.message()));
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

void CancelOnInterrupt(mf_cancel* cancel) {
  interrupt_target = cancel;
  signal(SIGINT, OnInterrupt);
}

bool ReadAll(const std::string& path, std::string* text) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file != nullptr) {
    char piece[65536];
    size_t length = 0;
    while ((length = std::fread(piece, 1, sizeof(piece), file)) > 0) text->append(piece, length);
    const bool failed = std::ferror(file) != 0;
    const int reason = errno;
    if (file != stdin) std::fclose(file);
    if (!failed) return true;
    errno = reason;
  }
  std::fprintf(stderr, "%s: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

std::string Quoted(std::string_view bytes) {
  std::string out = "\"";
  while (!bytes.empty()) {
    const char c = bytes[0];
    size_t length = CharacterLength(bytes);
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    if (length == 0 || control) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned char>(c));
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : escape;
      length = 1;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return out + "\"";
}

std::string Bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  for (; value >= 1024.0 && unit < 3; ++unit) value /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace console
