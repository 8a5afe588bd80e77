// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/text.h"

#include <algorithm>
#include <utility>

namespace minfer::chat {

Text::Text(std::string bytes, bool from_content) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({bytes_.size(), from_content});
}

bool Text::any_from_content() const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const TextRun& run) { return run.from_content; });
}

void Text::Append(std::string_view bytes, bool from_content) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().from_content == from_content) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), from_content});
  }
}

void Text::AppendSlice(const Text& other, size_t begin, size_t end) {
  const std::string_view source = other.bytes_;
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](size_t at, const TextRun& r) { return at < r.end; });
  for (; begin < end && run != other.runs_.end(); ++run) {
    const size_t stop = std::min(end, run->end);
    Append(source.substr(begin, stop - begin), run->from_content);
    begin = stop;
  }
}

Text Text::Slice(size_t begin, size_t end) const {
  Text out;
  out.bytes_.reserve(end - begin);
  out.AppendSlice(*this, begin, end);
  return out;
}

bool TextBuilder::Fits(size_t more) {
  if (wanted_ != 0) return false;
  if (more <= limit_ - text_.size()) return true;
  wanted_ = text_.size() + more;
  return false;
}

void TextBuilder::Append(std::string_view bytes, bool from_content) {
  if (Fits(bytes.size())) text_.Append(bytes, from_content);
}

void TextBuilder::AppendSlice(const Text& other, size_t begin, size_t end) {
  if (Fits(end - begin)) text_.AppendSlice(other, begin, end);
}

}  // namespace minfer::chat
