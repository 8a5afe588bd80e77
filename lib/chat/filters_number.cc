// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <charconv>
#include <cmath>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  return text;
}

// Python's int(text, base), within 64 bits or as digits; nothing where it raises.
StatusOr<Value> ParseInt(Runtime& rt, std::string_view text, int base) {
  std::string digits;
  for (char c : Trimmed(text)) {
    if (c != '_') digits.push_back(c);
  }
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix != 0 && (base == prefix || base == 0)) {
      digits.erase(0, 2);
      base = prefix;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-' || digits[0] == '+') {
    return Value();
  }
  const std::string signed_digits = negative ? "-" + digits : digits;
  int64_t value = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto result = std::from_chars(signed_digits.data(), end, value, base);
  if (result.ptr != end) return Value();
  if (result.ec == std::errc()) return Value::Int(value);
  if (base != 10) return Value();
  return rt.make.BigInt(signed_digits);
}

// Python's float(text); false where it raises.
bool ParseFloat(std::string_view text, double* value) {
  std::string digits;
  for (char c : Trimmed(text)) {
    if (c != '_') digits.push_back(c);
  }
  std::string_view rest = digits;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.starts_with('+') || rest.empty()) return false;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), *value);
  return result.ec == std::errc() && result.ptr == rest.data() + rest.size();
}

StatusOr<Value> Truncated(double value, const Value& fallback) {
  if (!(std::fabs(value) < 9223372036854775808.0)) return fallback;
  return Value::Int(static_cast<int64_t>(value));
}

StatusOr<Value> FilterInt(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("int", {"default", "base"}, 0, a));
  MF_ASSIGN_OR_RETURN(const int64_t base, IntArgument(a[1], 10));
  const Value fallback = a[0] != nullptr ? *a[0] : Value::Int(0);
  switch (self.kind()) {
    case Kind::kUndefined:
      return UndefinedError(self);
    case Kind::kBool:
      return Value::Int(self.boolean() ? 1 : 0);
    case Kind::kInt:
    case Kind::kBigInt:
      return self;
    case Kind::kFloat:
      return Truncated(self.real(), fallback);
    case Kind::kString:
      break;
    default:
      return fallback;
  }
  MF_ASSIGN_OR_RETURN(Value parsed, ParseInt(rt, self.str(), static_cast<int>(base)));
  if (!parsed.is(Kind::kUndefined)) return parsed;
  double value = 0;
  if (ParseFloat(self.str(), &value)) return Truncated(value, fallback);
  return fallback;
}

StatusOr<Value> FilterFloat(Runtime&, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("float", {"default"}, 0, a));
  const Value fallback = a[0] != nullptr ? *a[0] : Value::Float(0);
  double value = 0;
  switch (self.kind()) {
    case Kind::kUndefined:
      return UndefinedError(self);
    case Kind::kBool:
      return Value::Float(self.boolean() ? 1 : 0);
    case Kind::kInt:
      return Value::Float(static_cast<double>(self.integer()));
    case Kind::kFloat:
      return self;
    case Kind::kBigInt:
    case Kind::kString:
      return ParseFloat(self.str(), &value) ? StatusOr<Value>(Value::Float(value)) : fallback;
    default:
      return fallback;
  }
}

StatusOr<Value> FilterAbs(Runtime& rt, const Value& self, const CallArguments&) {
  if (self.is(Kind::kUndefined)) return UndefinedError(self);
  const Value zero = Value::Int(0);
  if (!self.is_number()) {
    return TemplateError(StrCat("bad operand type for abs(): '", TypeName(self), "'"));
  }
  MF_ASSIGN_OR_RETURN(const int sign, Compare(self, zero, "<"));
  return Signed(rt, sign < 0, self);
}

// The decimal digits rounded as Python's round() does: the double's exact value, ties to even.
double RoundDecimals(double value, int64_t decimals) {
  if (!std::isfinite(value) || decimals > 320) return value;
  if (decimals < 0) {
    if (decimals < -308) return 0;
    const double scale = std::pow(10.0, static_cast<double>(-decimals));
    return std::nearbyint(value / scale) * scale;
  }
  char buffer[800];
  const auto written = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                     std::chars_format::fixed, static_cast<int>(decimals));
  if (written.ec != std::errc()) return value;
  double rounded = value;
  std::from_chars(buffer, written.ptr, rounded);
  return rounded;
}

StatusOr<Value> FilterRound(Runtime&, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("round", {"precision", "method"}, 0, a));
  if (self.is(Kind::kUndefined)) return UndefinedError(self);
  MF_ASSIGN_OR_RETURN(const int64_t precision, IntArgument(a[0], 0));
  const std::string method =
      a[1] != nullptr && a[1]->is(Kind::kString) ? a[1]->str() : std::string("common");
  if (method != "common" && method != "ceil" && method != "floor") {
    return TemplateError("method must be common, ceil or floor");
  }
  if (!self.is_number() || self.is(Kind::kBigInt)) {
    return TemplateError(StrCat("type ", TypeName(self), " doesn't define __round__ method"));
  }
  const bool integer = !self.is(Kind::kFloat);
  const double value = self.is(Kind::kFloat)  ? self.real()
                       : self.is(Kind::kBool) ? (self.boolean() ? 1.0 : 0.0)
                                              : static_cast<double>(self.integer());
  if (method == "common") {
    // An int stays an int.
    if (integer && precision >= 0) return self;
    const double rounded = RoundDecimals(value, precision);
    return integer ? Truncated(rounded, self) : StatusOr<Value>(Value::Float(rounded));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value * scale;
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr BuiltinDef kFilters[] = {
    {"abs", FilterAbs}, {"float", FilterFloat}, {"int", FilterInt}, {"round", FilterRound}};

}  // namespace

absl::Span<const BuiltinDef> NumberFilters() { return kFilters; }

}  // namespace minfer::chat
