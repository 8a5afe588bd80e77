// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/print.h"

#include <charconv>
#include <cmath>

#include "base/str_cat.h"
#include "chat/ast.h"
#include "chat/builtins.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

void AppendHexEscape(uint32_t c, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  const int digits = c <= 0xFF ? 2 : c <= 0xFFFF ? 4 : 8;
  *out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out->push_back(kDigits[(c >> shift) & 15]);
}

void AppendItems(const std::vector<Value>& items, TextBuilder* out) {
  bool first = true;
  for (const Value& item : items) {
    if (out->full()) return;
    if (!first) out->Append(", ");
    first = false;
    AppendRepr(item, out);
  }
}

void AppendSequence(const Value& value, TextBuilder* out) {
  std::string_view open = "[";
  std::string_view close = "]";
  switch (value.sequence().kind) {
    case SequenceKind::kList:
      break;
    case SequenceKind::kTuple:
    case SequenceKind::kGroup:
      open = "(";
      close = value.items().size() == 1 ? ",)" : ")";
      break;
    case SequenceKind::kGenerator:
      out->Append("<generator object>");
      return;
    case SequenceKind::kRange: {
      const auto& items = value.items();
      const int64_t first = items.empty() ? 0 : items[0].integer();
      const int64_t step = items.size() < 2 ? 1 : items[1].integer() - first;
      const int64_t stop = items.empty() ? 0 : items.back().integer() + (step > 0 ? 1 : -1);
      out->Append(StrCat("range(", first, ", ", stop));
      if (step != 1) out->Append(StrCat(", ", step));
      out->Append(")");
      return;
    }
    case SequenceKind::kDictKeys:
    case SequenceKind::kDictValues:
    case SequenceKind::kDictItems:
      out->Append(TypeName(value));
      open = "([";
      close = "])";
      break;
  }
  out->Append(open);
  AppendItems(value.items(), out);
  out->Append(close);
}

void AppendDict(const DictObject& dict, TextBuilder* out) {
  out->Append("{");
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (out->full()) return;
    if (!first) out->Append(", ");
    first = false;
    AppendRepr(key, out);
    out->Append(": ");
    AppendRepr(value, out);
  }
  out->Append("}");
}

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, result.ptr - buffer);
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t exponent_at = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + exponent_at, text.data() + text.size(), exponent);
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  std::string out = text[0] == '-' ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += StrCat(".", digits.substr(1));
    out += StrCat("e", exponent < 0 ? "-" : "+", std::abs(exponent) < 10 ? "0" : "",
                  std::abs(exponent));
  } else if (exponent < 0) {
    out += StrCat("0.", std::string(-exponent - 1, '0'), digits);
  } else if (count <= exponent + 1) {
    out += StrCat(digits, std::string(exponent + 1 - count, '0'), ".0");
  } else {
    out += StrCat(digits.substr(0, exponent + 1), ".", digits.substr(exponent + 1));
  }
  return out;
}

std::string StringRepr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (c.value == static_cast<uint32_t>(quote) || c.value == '\\') {
      out.push_back('\\');
      out.push_back(text[i]);
    } else if (c.value == '\n' || c.value == '\r' || c.value == '\t') {
      out += c.value == '\n' ? "\\n" : c.value == '\r' ? "\\r" : "\\t";
    } else if (c.value >= kMalformedBase) {
      AppendHexEscape(c.value - kMalformedBase, &out);
    } else if (!IsPrintable(c.value)) {
      AppendHexEscape(c.value, &out);
    } else {
      out.append(text.substr(i, c.length));
    }
    i += c.length;
  }
  out.push_back(quote);
  return out;
}

void AppendStr(const Value& value, TextBuilder* out) {
  if (value.is(Kind::kString)) {
    out->Append(value.text());
  } else if (!value.is(Kind::kUndefined)) {
    AppendRepr(value, out);
  }
}

void AppendRepr(const Value& value, TextBuilder* out) {
  switch (value.kind()) {
    case Kind::kUndefined:
      out->Append("Undefined");
      return;
    case Kind::kNone:
      out->Append("None");
      return;
    case Kind::kBool:
      out->Append(value.boolean() ? "True" : "False");
      return;
    case Kind::kInt:
      out->Append(StrCat(value.integer()));
      return;
    case Kind::kBigInt:
      out->Append(value.str());
      return;
    case Kind::kFloat:
      out->Append(FloatRepr(value.real()));
      return;
    case Kind::kString:
      if (value.string().markup) out->Append("Markup(");
      out->Append(StringRepr(value.str()), value.text().any_from_content());
      if (value.string().markup) out->Append(")");
      return;
    case Kind::kSequence:
      AppendSequence(value, out);
      return;
    case Kind::kDict:
      AppendDict(value.dict(), out);
      return;
    case Kind::kNamespace:
      out->Append("<Namespace>");
      return;
    case Kind::kLoop: {
      const LoopObject& loop = value.loop();
      out->Append(StrCat("<LoopContext ", loop.index0 + 1, "/", loop.items.size(), ">"));
      return;
    }
    case Kind::kMacro:
      out->Append(StrCat("<Macro '", value.macro().statement->data, "'>"));
      return;
    case Kind::kFunction:
      out->Append(StrCat("<function ", value.function()->name, ">"));
      return;
    case Kind::kMethod:
      out->Append(StrCat("<built-in method ", value.method().def->name, ">"));
      return;
  }
}

void AppendEscaped(const Text& text, TextBuilder* out) {
  const std::string_view bytes = text.bytes();
  size_t done = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    const std::string_view escape = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '\'' ? "&#39;"
                                    : c == '"'  ? "&#34;"
                                                : "";
    if (escape.empty()) continue;
    out->AppendSlice(text, done, i);
    out->Append(escape, text.any_from_content());
    done = i + 1;
  }
  out->AppendSlice(text, done, bytes.size());
}

}  // namespace minfer::chat
