// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include "base/checked_math.h"
#include "base/str_cat.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

TEST_CASE("Printable: UTF-8 is told from other bytes", "[base]") {
  for (const char* text : {"", "abc", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    CHECK(IsValidUtf8(text));
  }
  // Lone continuation, overlong forms, surrogate, past U+10FFFF, cut short.
  for (const char* text : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE6\xAD", "a\xFF"}) {
    CHECK_FALSE(IsValidUtf8(text));
  }
}

TEST_CASE("Printable: what cannot be shown is escaped and long texts are cut", "[base]") {
  CHECK(Printable("plain \xE2\x82\xAC") == "plain \xE2\x82\xAC");
  CHECK(Printable(std::string_view("a\0b\n\x7F\xFF", 6)) == "a\\x00b\\x0a\\x7f\\xff");
  CHECK(Printable(std::string(200, 'x')).size() == 100);
  CHECK(Printable(std::string(200, 'x'), 10) == "xxxxxxx...");
  CHECK(Printable(std::string(100, 'x')) == std::string(100, 'x'));
  // A character is never cut in two, and escapes do not make the text longer than asked for.
  CHECK(IsValidUtf8(Printable("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 10)));
  CHECK(Printable(std::string(90, '\x01'), 100).size() <= 103);
}

TEST_CASE("CheckedMath: what does not fit is told", "[base]") {
  uint64_t out = 0;
  CHECK(CheckedAdd(UINT64_MAX - 1, 1, &out));
  CHECK(out == UINT64_MAX);
  CHECK_FALSE(CheckedAdd(UINT64_MAX, 1, &out));
  CHECK(CheckedMul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1, &out));
  CHECK_FALSE(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 32, &out));
  CHECK(CheckedAlignUp(33, 32, &out));
  CHECK(out == 64);
  CHECK(CheckedAlignUp(64, 64, &out));
  CHECK(out == 64);
  CHECK_FALSE(CheckedAlignUp(UINT64_MAX - 3, 8, &out));
  CHECK(SaturatingMul(UINT64_MAX, 2) == UINT64_MAX);
  CHECK(SaturatingMul(3, 2) == 6);
}

TEST_CASE("StrCat: standard views, strings and numbers are joined", "[base]") {
  CHECK(StrCat(std::string_view("a"), std::string("b"), "c", 1, -2, uint64_t{3}) == "abc1-23");
}

}  // namespace
}  // namespace minfer
