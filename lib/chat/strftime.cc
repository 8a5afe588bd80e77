// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/strftime.h"

#include <algorithm>

#include "base/str_cat.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr int kDaysBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

struct CivilTime {
  int64_t year;
  int month;  // 1..12
  int day;
  int hour;
  int minute;
  int second;
  int weekday;   // 0 is Sunday
  int year_day;  // 0..365
};

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Counts from the first of March of year 0, so that a leap day is the last of its year.
CivilTime ToCivil(int64_t seconds) {
  const int64_t days = FloorDiv(seconds, 86400);
  const int rest = static_cast<int>(seconds - days * 86400);
  const int64_t shifted = days + 719468;
  const int64_t era = FloorDiv(shifted, 146097);
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_index = (5 * day_of_year + 2) / 153;
  CivilTime t;
  t.day = static_cast<int>(day_of_year - (153 * month_index + 2) / 5 + 1);
  t.month = static_cast<int>(month_index < 10 ? month_index + 3 : month_index - 9);
  t.year = year_of_era + era * 400 + (t.month <= 2 ? 1 : 0);
  t.hour = rest / 3600;
  t.minute = rest / 60 % 60;
  t.second = rest % 60;
  t.weekday = static_cast<int>((days % 7 + 11) % 7);
  const bool leap = t.year % 4 == 0 && (t.year % 100 != 0 || t.year % 400 == 0);
  t.year_day = kDaysBefore[t.month - 1] + t.day - 1 + (leap && t.month > 2 ? 1 : 0);
  return t;
}

std::string Padded(int64_t value, size_t width, char fill) {
  const std::string digits = std::to_string(value);
  return std::string(width - std::min(width, digits.size()), fill) + digits;
}

// The directives that print a number, with how many digits; false where it is none of them.
bool AppendNumber(char directive, const CivilTime& t, int64_t seconds, std::string* out) {
  const struct {
    char directive;
    int64_t value;
    size_t width;
    char fill;
  } numbers[] = {
      {'d', t.day, 2, '0'},
      {'e', t.day, 2, ' '},
      {'H', t.hour, 2, '0'},
      {'I', t.hour % 12 == 0 ? 12 : t.hour % 12, 2, '0'},
      {'j', t.year_day + 1, 3, '0'},
      {'m', t.month, 2, '0'},
      {'M', t.minute, 2, '0'},
      {'S', t.second, 2, '0'},
      {'f', 0, 6, '0'},
      {'s', seconds, 1, '0'},
      {'u', t.weekday == 0 ? 7 : t.weekday, 1, '0'},
      {'w', t.weekday, 1, '0'},
      {'U', (t.year_day + 7 - t.weekday) / 7, 2, '0'},
      {'W', (t.year_day + 7 - (t.weekday + 6) % 7) / 7, 2, '0'},
      {'y', t.year % 100, 2, '0'},
      {'Y', t.year, 1, '0'},
  };
  for (const auto& number : numbers) {
    if (number.directive != directive) continue;
    *out += Padded(number.value, number.width, number.fill);
    return true;
  }
  return false;
}

// False where the directive is not known.
bool AppendDirective(char directive, const CivilTime& t, int64_t seconds, std::string* out) {
  switch (directive) {
    case 'a':
      *out += kDays[t.weekday].substr(0, 3);
      return true;
    case 'A':
      *out += kDays[t.weekday];
      return true;
    case 'b':
    case 'h':
      *out += kMonths[t.month - 1].substr(0, 3);
      return true;
    case 'B':
      *out += kMonths[t.month - 1];
      return true;
    case 'p':
      *out += t.hour < 12 ? "AM" : "PM";
      return true;
    case 'n':
    case 't':
    case '%':
      out->push_back(directive == 'n' ? '\n' : directive == 't' ? '\t' : '%');
      return true;
    case 'z':
    case 'Z':
      return true;  // a time without a zone prints none
    default:
      return AppendNumber(directive, t, seconds, out);
  }
}

std::string_view Composite(char directive) {
  switch (directive) {
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'R':
      return "%H:%M";
    case 'r':
      return "%I:%M:%S %p";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    default:
      return "";
  }
}

void AppendTime(std::string_view format, const CivilTime& t, int64_t seconds, std::string* out) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out->push_back(format[i]);
      continue;
    }
    ++i;
    // "%-d" is the number without its leading zeros.
    const bool unpadded = format[i] == '-' && i + 1 < format.size();
    if (unpadded) ++i;
    if (const std::string_view composite = Composite(format[i]); !composite.empty()) {
      AppendTime(composite, t, seconds, out);
      continue;
    }
    std::string value;
    if (!AppendDirective(format[i], t, seconds, &value)) {
      *out += StrCat(std::string_view(unpadded ? "%-" : "%"), format.substr(i, 1));
      continue;
    }
    if (unpadded) value.erase(0, std::min(value.find_first_not_of("0 "), value.size() - 1));
    out->append(value);
  }
}

}  // namespace

std::string FormatTime(std::string_view format, int64_t seconds) {
  // Years 1 to 9999, as Python's dates.
  seconds = std::clamp<int64_t>(seconds, -62135596800, 253402300799);
  std::string out;
  AppendTime(format, ToCivil(seconds), seconds, &out);
  return out;
}

}  // namespace minfer::chat
