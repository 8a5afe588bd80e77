// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Text that knows which of its bytes came from message contents. The engine reads special tokens in
// the template's own bytes only, so a user who writes a control token's text gets plain text.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer::chat {

// The bytes up to `end` since the run before it have one origin.
struct TextRun {
  size_t end = 0;
  bool from_content = false;
};

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool from_content = false);

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Ascending and covering; neighbours differ in origin. Empty for an empty text.
  const absl::InlinedVector<TextRun, 1>& runs() const { return runs_; }
  bool any_from_content() const;

  void Append(std::string_view bytes, bool from_content);
  void Append(const Text& other) { AppendSlice(other, 0, other.size()); }
  void AppendSlice(const Text& other, size_t begin, size_t end);
  Text Slice(size_t begin, size_t end) const;

 private:
  std::string bytes_;
  absl::InlinedVector<TextRun, 1> runs_;
};

// Builds text under a byte limit. Past the limit nothing is appended and `full` says so; `wanted`
// is then the size that was asked for.
class TextBuilder {
 public:
  explicit TextBuilder(size_t limit) : limit_(limit) {}

  void Append(std::string_view bytes, bool from_content = false);
  void Append(const Text& other) { AppendSlice(other, 0, other.size()); }
  void AppendSlice(const Text& other, size_t begin, size_t end);

  bool full() const { return wanted_ != 0; }
  size_t wanted() const { return wanted_; }
  size_t limit() const { return limit_; }
  const Text& text() const { return text_; }
  Text Take() { return std::move(text_); }

 private:
  bool Fits(size_t more);

  Text text_;
  size_t limit_;
  size_t wanted_ = 0;
};

}  // namespace minfer::chat
