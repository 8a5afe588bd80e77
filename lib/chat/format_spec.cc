// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/format_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/str_cat.h"
#include "chat/print.h"
#include "chat/text_ops.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

constexpr int64_t kMaxPrecision = 1000;

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Reads digits; false when there are none or too many.
bool TakeNumber(std::string_view* text, int64_t* value) {
  const auto result = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (result.ec != std::errc() || *value < 0) return false;
  text->remove_prefix(static_cast<size_t>(result.ptr - text->data()));
  return true;
}

Status BadCode(char type, const Value& value) {
  return TemplateError(StrCat("Unknown format code '", std::string_view(&type, 1),
                              "' for object of type '", TypeName(value), "'"));
}

std::string Grouped(std::string_view digits, char separator) {
  if (separator == '\0') return std::string(digits);
  size_t whole = 0;
  while (whole < digits.size() && digits[whole] >= '0' && digits[whole] <= '9') ++whole;
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out.push_back(separator);
    out.push_back(digits[i]);
  }
  return out.append(digits.substr(whole));
}

void Uppercase(std::string* text) {
  for (char& c : *text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
}

// The digits of |value| with their prefix.
std::string IntegerDigits(const Value& value, const FormatSpec& spec) {
  if (value.is(Kind::kBigInt)) {
    const std::string& text = value.str();
    return text.starts_with('-') ? text.substr(1) : text;
  }
  const int64_t number = value.is(Kind::kBool) ? (value.boolean() ? 1 : 0) : value.integer();
  const uint64_t magnitude =
      number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const char type = static_cast<char>(spec.type | 0x20);
  const int base = type == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  char buffer[72];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base);
  std::string digits(buffer, result.ptr);
  if (spec.alternate && base != 10) {
    digits = StrCat(std::string_view(base == 16 ? "0x" : base == 8 ? "0o" : "0b"), digits);
  }
  if (spec.type == 'X') Uppercase(&digits);
  return digits;
}

// The digits of |value|, which may be inf or nan.
std::string FloatDigits(double value, const FormatSpec& spec) {
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  if (spec.type == '\0' && spec.precision < 0) return FloatRepr(magnitude);
  const char type = static_cast<char>(spec.type | 0x20);
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  const bool percent = spec.type == '%';
  const auto format = type == 'e'              ? std::chars_format::scientific
                      : type == 'f' || percent ? std::chars_format::fixed
                                               : std::chars_format::general;
  char buffer[1400];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer),
                                    percent ? magnitude * 100 : magnitude, format, precision);
  std::string digits(buffer, result.ptr);
  if (spec.type == '\0' && digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (spec.type == 'E' || spec.type == 'G') Uppercase(&digits);
  if (percent) digits += "%";
  return digits;
}

StatusOr<Text> PadNumber(Runtime& rt, const FormatSpec& spec, std::string_view sign,
                         const std::string& digits) {
  const int64_t room =
      std::max<int64_t>(spec.width - static_cast<int64_t>(sign.size() + digits.size()), 0);
  if (spec.align == '=') {
    const size_t prefix = digits.starts_with("0x") || digits.starts_with("0X") ? 2 : 0;
    MF_ASSIGN_OR_RETURN(Text body, Pad(rt, Text(digits.substr(prefix)), room, 0, spec.fill));
    Text out(StrCat(sign, digits.substr(0, prefix)));
    out.Append(body);
    return out;
  }
  const int64_t left = spec.align == '<' ? 0 : spec.align == '^' ? room / 2 : room;
  return Pad(rt, Text(StrCat(sign, digits)), left, room - left, spec.fill);
}

StatusOr<Text> FormatNumber(Runtime& rt, const Value& value, const FormatSpec& spec) {
  constexpr std::string_view kIntegerTypes = "dxXobcn";
  constexpr std::string_view kFloatTypes = "eEfFgG%n";
  const bool integer = !value.is(Kind::kFloat);
  const bool has_type = spec.type != '\0';
  std::string digits;
  bool negative = false;
  if (integer && (!has_type || kIntegerTypes.find(spec.type) != std::string_view::npos)) {
    negative = value.is(Kind::kInt) ? value.integer() < 0
                                    : value.is(Kind::kBigInt) && value.str().starts_with('-');
    digits = IntegerDigits(value, spec);
  } else if (!has_type || kFloatTypes.find(spec.type) != std::string_view::npos) {
    double number = 0;
    if (!integer) {
      number = value.real();
    } else if (value.is(Kind::kBigInt)) {
      std::from_chars(value.str().data(), value.str().data() + value.str().size(), number);
    } else {
      number = static_cast<double>(value.is(Kind::kBool) ? value.boolean() : value.integer());
    }
    negative = std::signbit(number) && !std::isnan(number);
    digits = FloatDigits(number, spec);
  } else {
    return BadCode(spec.type, value);
  }
  const std::string_view sign = negative           ? "-"
                                : spec.sign == '+' ? "+"
                                : spec.sign == ' ' ? " "
                                                   : "";
  return PadNumber(rt, spec, sign, Grouped(digits, spec.grouping));
}

}  // namespace

StatusOr<FormatSpec> ParseFormatSpec(std::string_view text) {
  FormatSpec spec;
  if (text.empty()) return spec;
  const size_t first = DecodeUtf8(text, 0).length;
  if (text.size() > first && IsAlign(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (IsAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- "); sign != '\0') spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  const bool has_width = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (has_width && !TakeNumber(&text, &spec.width)) return TemplateError("bad format width");
  spec.grouping = take(",_");
  if (take(".") != '\0' && (text.empty() || text[0] == '-' || !TakeNumber(&text, &spec.precision) ||
                            spec.precision > kMaxPrecision)) {
    return TemplateError("bad format precision");
  }
  spec.type = take("bcdeEfFgGnosxX%");
  if (!text.empty()) return TemplateError("invalid format specifier");
  return spec;
}

StatusOr<Text> FormatWithSpec(Runtime& rt, const Value& value, const FormatSpec& spec) {
  MF_RETURN_IF_ERROR(rt.CheckRoom(static_cast<size_t>(spec.width)));
  const bool plain = spec.width == 0 && spec.precision < 0 && spec.type == '\0' &&
                     spec.sign == '-' && !spec.alternate && spec.grouping == '\0';
  if (plain) return rt.Str(value);
  if (value.is_number()) {
    if (value.is(Kind::kBool) && spec.type == '\0') return rt.Str(value);
    return FormatNumber(rt, value, spec);
  }
  if (spec.type != '\0' && spec.type != 's') return BadCode(spec.type, value);
  MF_ASSIGN_OR_RETURN(Text text, rt.Str(value));
  if (spec.precision >= 0) {
    text = text.Slice(0, ByteOffset(text.bytes(), static_cast<size_t>(spec.precision)));
  }
  const int64_t room =
      std::max<int64_t>(spec.width - static_cast<int64_t>(CountCodePoints(text.bytes())), 0);
  const int64_t left = spec.align == '>' ? room : spec.align == '^' ? room / 2 : 0;
  return Pad(rt, text, left, room - left, spec.fill);
}

}  // namespace minfer::chat
