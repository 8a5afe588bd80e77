// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/text_ops.h"

#include <algorithm>

#include "chat/unicode.h"

namespace minfer::chat {
namespace {

bool HasCharacter(std::string_view set, std::string_view character) {
  return set.find(character) != std::string_view::npos;
}

bool IsLineEnd(uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

size_t LastCharacter(std::string_view text, size_t begin, size_t end) {
  size_t at = end - 1;
  while (at > begin && end - at < 4 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return DecodeUtf8(text, at).length == end - at ? at : end - 1;
}

}  // namespace

Text Strip(const Text& text, const std::string* chars, bool left, bool right) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  if (chars == nullptr) {
    if (left) begin = LeadingSpace(bytes);
    if (right && begin < end) end -= TrailingSpace(bytes);
    return text.Slice(begin, end);
  }
  while (left && begin < end) {
    const size_t length = DecodeUtf8(bytes, begin).length;
    if (!HasCharacter(*chars, bytes.substr(begin, length))) break;
    begin += length;
  }
  while (right && begin < end) {
    const size_t at = LastCharacter(bytes, begin, end);
    if (!HasCharacter(*chars, bytes.substr(at, end - at))) break;
    end = at;
  }
  return text.Slice(begin, end);
}

StatusOr<Text> Replace(Runtime& rt, const Text& text, std::string_view old_text,
                       const Text& new_text, int64_t count) {
  const std::string_view bytes = text.bytes();
  MF_RETURN_IF_ERROR(rt.StepFind(bytes.size(), old_text.size()));
  TextBuilder out = rt.NewText();
  size_t done = 0;
  size_t at = 0;
  for (; count != 0 && !out.full(); --count) {
    if (old_text.empty()) {
      // Between all characters, and at both ends.
      if (at > bytes.size()) break;
      out.AppendSlice(text, done, at);
      out.Append(new_text);
      done = at;
      at = at == bytes.size() ? at + 1 : at + DecodeUtf8(bytes, at).length;
      continue;
    }
    const size_t found = bytes.find(old_text, done);
    if (found == std::string_view::npos) break;
    out.AppendSlice(text, done, found);
    out.Append(new_text);
    done = found + old_text.size();
  }
  out.AppendSlice(text, done, bytes.size());
  return rt.FinishText(std::move(out));
}

std::vector<Text> SplitLines(const Text& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  std::vector<Text> lines;
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size();) {
    const CodePoint c = DecodeUtf8(bytes, i);
    const size_t line_end = i;
    i += c.length;
    if (!IsLineEnd(c.value)) continue;
    if (c.value == '\r' && i < bytes.size() && bytes[i] == '\n') ++i;
    lines.push_back(text.Slice(begin, keep_ends ? i : line_end));
    begin = i;
  }
  if (begin < bytes.size()) lines.push_back(text.Slice(begin, bytes.size()));
  return lines;
}

StatusOr<Text> MapText(Runtime& rt, const Text& text, std::string (*function)(std::string_view)) {
  const std::string_view bytes = text.bytes();
  TextBuilder out = rt.NewText();
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    out.Append(function(bytes.substr(begin, run.end - begin)), run.from_content);
    begin = run.end;
  }
  return rt.FinishText(std::move(out));
}

StatusOr<Text> Pad(Runtime& rt, const Text& text, int64_t left, int64_t right,
                   std::string_view fill) {
  const uint64_t count =
      static_cast<uint64_t>(std::max<int64_t>(left, 0)) + std::max<int64_t>(right, 0);
  // `fill` is one character of at most four bytes.
  MF_RETURN_IF_ERROR(rt.CheckRoom(count > SIZE_MAX / 8 ? SIZE_MAX : count * fill.size()));
  TextBuilder out = rt.NewText();
  for (int64_t i = 0; i < left; ++i) out.Append(fill);
  out.Append(text);
  for (int64_t i = 0; i < right; ++i) out.Append(fill);
  return rt.FinishText(std::move(out));
}

}  // namespace minfer::chat
