// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Truth, equality and order as Python has them.

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "chat/value.h"

namespace minfer::chat {
namespace {

int Sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

int CompareBigInts(std::string_view a, std::string_view b) {
  const bool a_negative = a.starts_with('-');
  const bool b_negative = b.starts_with('-');
  if (a_negative != b_negative) return a_negative ? -1 : 1;
  int order = a.size() != b.size() ? Sign(a.size() < b.size(), true) : a.compare(b);
  order = Sign(order<0, order> 0);
  return a_negative ? -order : order;
}

int64_t AsInt(const Value& value) {
  return value.is(Kind::kBool) ? (value.boolean() ? 1 : 0) : value.integer();
}

// A big integer lies outside the 64-bit range, so its sign decides against an int.
double AsDouble(const Value& value) {
  if (value.is(Kind::kFloat)) return value.real();
  if (value.is(Kind::kBigInt)) return value.str().starts_with('-') ? -1e19 : 1e19;
  return static_cast<double>(AsInt(value));
}

// An int against a float, exactly: 2**53 + 1 is no double.
int CompareIntWithFloat(int64_t a, double b) {
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const double whole = std::floor(b);
  const int64_t b_whole = static_cast<int64_t>(whole);
  if (a != b_whole) return a < b_whole ? -1 : 1;
  return whole < b ? -1 : 0;
}

bool IsNan(const Value& value) { return value.is(Kind::kFloat) && std::isnan(value.real()); }

// Neither is NaN.
int CompareNumbers(const Value& a, const Value& b) {
  if (a.is(Kind::kBigInt) && b.is(Kind::kBigInt)) return CompareBigInts(a.str(), b.str());
  const bool a_float = a.is(Kind::kFloat);
  const bool b_float = b.is(Kind::kFloat);
  if (a.is(Kind::kBigInt) || b.is(Kind::kBigInt) || (a_float && b_float)) {
    return Sign(AsDouble(a) < AsDouble(b), AsDouble(a) > AsDouble(b));
  }
  if (a_float) return -CompareIntWithFloat(AsInt(b), a.real());
  if (b_float) return CompareIntWithFloat(AsInt(a), b.real());
  return Sign(AsInt(a) < AsInt(b), AsInt(a) > AsInt(b));
}

bool SequencesEqual(const Value& a, const Value& b) {
  const auto family = [](const Value& v) {
    const SequenceKind kind = v.sequence().kind;
    return kind == SequenceKind::kGroup ? SequenceKind::kTuple : kind;
  };
  if (family(a) != family(b)) return false;
  if (family(a) == SequenceKind::kGenerator || family(a) == SequenceKind::kDictValues) {
    return a.identity() == b.identity();
  }
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), Equals);
}

bool DictsEqual(const DictObject& a, const DictObject& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.Find(entry.first);
    return other != nullptr && Equals(entry.second, *other);
  });
}

bool Ordered(const Value& value) {
  if (!value.is_list()) return false;
  const SequenceKind kind = value.sequence().kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple ||
         kind == SequenceKind::kGroup;
}

}  // namespace

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.boolean();
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return !value.str().empty();
    case Kind::kSequence:
      return value.sequence().kind == SequenceKind::kGenerator || !value.items().empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

bool Equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return !IsNan(a) && !IsNan(b) && CompareNumbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.str() == b.str();
    case Kind::kSequence:
      return SequencesEqual(a, b);
    case Kind::kDict:
      return DictsEqual(a.dict(), b.dict());
    case Kind::kFunction:
      return a.function() == b.function();
    default:
      return a.identity() == b.identity();
  }
}

StatusOr<int> Compare(const Value& a, const Value& b, std::string_view op) {
  if (a.is(Kind::kUndefined)) return UndefinedError(a);
  if (b.is(Kind::kUndefined)) return UndefinedError(b);
  if (a.is_number() && b.is_number()) {
    // NaN has no place; 2 makes every comparison that asks for an order false.
    return IsNan(a) || IsNan(b) ? 2 : CompareNumbers(a, b);
  }
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const int order = a.str().compare(b.str());
    return Sign(order<0, order> 0);
  }
  if (Ordered(a) && Ordered(b) && TypeName(a) == TypeName(b)) {
    const size_t common = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < common; ++i) {
      if (!Equals(a.items()[i], b.items()[i])) return Compare(a.items()[i], b.items()[i], op);
    }
    return Sign(a.items().size() < b.items().size(), a.items().size() > b.items().size());
  }
  return TemplateError(StrCat("'", op, "' not supported between instances of '", TypeName(a),
                              "' and '", TypeName(b), "'"));
}

}  // namespace minfer::chat
