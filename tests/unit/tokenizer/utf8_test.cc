// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/utf8.h"

#include <catch2/catch.hpp>

#include "tokenizer/byte_alphabet.h"

namespace minfer {
namespace {

TEST_CASE("Utf8: takes well-formed characters only", "[tokenizer]") {
  CHECK(Utf8CharacterLength("") == 0);
  CHECK(Utf8CharacterLength("a") == 1);
  CHECK(Utf8CharacterLength("é") == 2);
  CHECK(Utf8CharacterLength("日") == 3);
  CHECK(Utf8CharacterLength("🙂") == 4);
  CHECK(Utf8CharacterLength("\xF4\x8F\xBF\xBF") == 4);
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\x80", "\xED\xA0\x80", "\xE6\xAD",
        "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    CHECK(Utf8CharacterLength(bad) == 0);
  }
}

TEST_CASE("Utf8: tells where well-formed text ends and begins again", "[tokenizer]") {
  CHECK(ValidUtf8Prefix("aé\xFFz") == 3);
  CHECK(ValidUtf8Prefix("") == 0);
  CHECK(InvalidUtf8Prefix("\xE6\xAD\xFFz") == 3);
  CHECK(InvalidUtf8Prefix("z") == 0);
}

TEST_CASE("Utf8: knows a begun character from a broken one", "[tokenizer]") {
  CHECK(IncompleteUtf8Suffix("") == 0);
  CHECK(IncompleteUtf8Suffix("a") == 0);
  CHECK(IncompleteUtf8Suffix("a\xE6") == 1);
  CHECK(IncompleteUtf8Suffix("a\xE6\xAD") == 2);
  CHECK(IncompleteUtf8Suffix("a\xF0\x9F\x99") == 3);
  CHECK(IncompleteUtf8Suffix("a\xF0\x9F\x99\x82") == 0);
  CHECK(IncompleteUtf8Suffix("a\xE0\x80") == 0);  // overlong already
  CHECK(IncompleteUtf8Suffix("a\xED\xA0") == 0);  // a surrogate already
  CHECK(IncompleteUtf8Suffix("\x80\x80\x80\x80") == 0);
  CHECK(IncompleteUtf8Suffix("\xFF") == 0);
}

TEST_CASE("ByteAlphabet: spells each byte by one character and back", "[tokenizer]") {
  CHECK(ByteCharacter(' ') == 0x120);
  CHECK(ByteCharacter('!') == '!');
  CHECK(ByteCharacter(0x00) == 0x100);
  CHECK(ByteCharacter(0xAD) == 0x143);
  CHECK(DecodeByteCharacters("\u0120a") == " a");
  CHECK(DecodeByteCharacters("") == "");
  CHECK_FALSE(DecodeByteCharacters(" ").has_value());
  CHECK_FALSE(DecodeByteCharacters("\u0144").has_value());
  CHECK_FALSE(DecodeByteCharacters("日").has_value());
  CHECK_FALSE(DecodeByteCharacters("\xFF").has_value());
}

}  // namespace
}  // namespace minfer
