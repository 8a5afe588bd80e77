// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "chat/json.h"
#include "chat/print.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& rt, const JsonStyle& style, TextBuilder* out)
      : rt_(rt), style_(style), out_(out) {}

  Status Write(const Value& value, int level);
  bool any_content() const { return any_content_; }

 private:
  Status WriteList(const std::vector<Value>& items, int level);
  Status WriteDict(const DictObject& dict, int level);
  void WriteString(std::string_view text);
  void WriteUnicodeEscape(uint32_t unit);
  void NewLine(int level);
  StatusOr<std::string> KeyText(const Value& key);

  Runtime& rt_;
  const JsonStyle& style_;
  TextBuilder* out_;
  bool any_content_ = false;
};

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return FloatRepr(value);
}

void JsonWriter::NewLine(int level) {
  if (!style_.indented) return;
  out_->Append("\n");
  for (int i = 0; i < level && !out_->full(); ++i) out_->Append(style_.indent);
}

void JsonWriter::WriteUnicodeEscape(uint32_t unit) {
  constexpr char kDigits[] = "0123456789abcdef";
  const char escape[] = {'\\',
                         'u',
                         kDigits[(unit >> 12) & 15],
                         kDigits[(unit >> 8) & 15],
                         kDigits[(unit >> 4) & 15],
                         kDigits[unit & 15]};
  out_->Append(std::string_view(escape, sizeof(escape)));
}

void JsonWriter::WriteString(std::string_view text) {
  constexpr std::string_view kNamed = "\"\\\n\r\t\b\f";
  constexpr std::string_view kLetters = "\"\\nrtbf";
  out_->Append("\"");
  size_t done = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    const size_t named = c.value < 0x80 ? kNamed.find(text[i]) : std::string_view::npos;
    const bool escaped = named != std::string_view::npos || c.value < 0x20 ||
                         (style_.ensure_ascii && c.value >= 0x7F && c.value < kMalformedBase);
    if (escaped && !(c.value == 0x7F)) {
      out_->Append(text.substr(done, i - done));
      if (named != std::string_view::npos) {
        const char escape[] = {'\\', kLetters[named]};
        out_->Append(std::string_view(escape, 2));
      } else if (c.value >= 0x10000) {
        WriteUnicodeEscape(0xD800 + ((c.value - 0x10000) >> 10));
        WriteUnicodeEscape(0xDC00 + ((c.value - 0x10000) & 0x3FF));
      } else {
        WriteUnicodeEscape(c.value);
      }
      done = i + c.length;
    }
    i += c.length;
  }
  out_->Append(text.substr(done));
  out_->Append("\"");
}

StatusOr<std::string> JsonWriter::KeyText(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      any_content_ |= key.text().any_from_content();
      return key.str();
    case Kind::kNone:
      return std::string("null");
    case Kind::kBool:
      return std::string(key.boolean() ? "true" : "false");
    case Kind::kInt:
      return StrCat(key.integer());
    case Kind::kBigInt:
      return key.str();
    case Kind::kFloat:
      return JsonNumber(key.real());
    default:
      return TemplateError(
          StrCat("keys must be str, int, float, bool or None, not ", TypeName(key)));
  }
}

Status JsonWriter::WriteList(const std::vector<Value>& items, int level) {
  if (items.empty()) {
    out_->Append("[]");
    return OkStatus();
  }
  out_->Append("[");
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_->Append(style_.item_separator);
    NewLine(level + 1);
    MF_RETURN_IF_ERROR(Write(items[i], level + 1));
  }
  NewLine(level);
  out_->Append("]");
  return OkStatus();
}

Status JsonWriter::WriteDict(const DictObject& dict, int level) {
  if (dict.entries.empty()) {
    out_->Append("{}");
    return OkStatus();
  }
  std::vector<std::pair<std::string, const Value*>> entries;
  for (const auto& [key, value] : dict.entries) {
    MF_ASSIGN_OR_RETURN(std::string text, KeyText(key));
    entries.emplace_back(std::move(text), &value);
  }
  if (style_.sort_keys) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  out_->Append("{");
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out_->Append(style_.item_separator);
    NewLine(level + 1);
    WriteString(entries[i].first);
    out_->Append(style_.key_separator);
    MF_RETURN_IF_ERROR(Write(*entries[i].second, level + 1));
  }
  NewLine(level);
  out_->Append("}");
  return OkStatus();
}

Status JsonWriter::Write(const Value& value, int level) {
  MF_RETURN_IF_ERROR(rt_.Step());
  switch (value.kind()) {
    case Kind::kNone:
      out_->Append("null");
      return OkStatus();
    case Kind::kBool:
      out_->Append(value.boolean() ? "true" : "false");
      return OkStatus();
    case Kind::kInt:
      out_->Append(StrCat(value.integer()));
      return OkStatus();
    case Kind::kBigInt:
      out_->Append(value.str());
      return OkStatus();
    case Kind::kFloat:
      out_->Append(JsonNumber(value.real()));
      return OkStatus();
    case Kind::kString:
      any_content_ |= value.text().any_from_content();
      WriteString(value.str());
      return OkStatus();
    case Kind::kDict:
      return WriteDict(value.dict(), level);
    case Kind::kSequence: {
      const SequenceKind kind = value.sequence().kind;
      if (kind == SequenceKind::kList || kind == SequenceKind::kTuple ||
          kind == SequenceKind::kGroup) {
        return WriteList(value.items(), level);
      }
      break;
    }
    default:
      break;
  }
  return TemplateError(StrCat("Object of type ", TypeName(value), " is not JSON serializable"));
}

}  // namespace

StatusOr<Value> ToJson(Runtime& rt, const Value& value, const JsonStyle& style) {
  TextBuilder out = rt.NewText();
  JsonWriter writer(rt, style, &out);
  MF_RETURN_IF_ERROR(writer.Write(value, 0));
  MF_ASSIGN_OR_RETURN(Text text, rt.FinishText(std::move(out)));
  if (!writer.any_content()) return rt.make.String(std::move(text));
  return rt.make.String(Text(text.bytes(), true));
}

}  // namespace minfer::chat
