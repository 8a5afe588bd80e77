// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/lexer.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "chat/string_literal.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

bool IsDigitByte(char c) { return c >= '0' && c <= '9'; }
bool IsNameByte(char c) {
  return IsDigitByte(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}

// Line ends become \n, and the last one is dropped.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)), text_(source_) {}

  StatusOr<std::vector<Token>> Run() {
    while (position_ < text_.size()) MF_RETURN_IF_ERROR(LexRoot());
    tokens_.push_back({TokenKind::kEnd, line_, ""});
    return std::move(tokens_);
  }

 private:
  Status LexRoot();
  Status LexComment();
  Status LexRaw();
  Status LexTag(bool is_block);
  Status LexTagToken();
  Status LexNumber();
  Status LexString();
  Status LexOperator();

  bool At(std::string_view what) const { return text_.substr(position_).starts_with(what); }
  void Advance(size_t count) {
    const std::string_view passed = text_.substr(position_, count);
    line_ += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
    position_ += passed.size();
  }
  void SkipSpace() { Advance(LeadingSpace(text_.substr(position_))); }
  void AddData(std::string_view data) {
    if (!data.empty()) tokens_.push_back({TokenKind::kData, line_, std::string(data)});
  }
  // The data before a tag, stripped as the tag's sign says.
  std::string_view StripBeforeTag(std::string_view data, char sign, bool is_variable) const;
  // Passes "-}", "+}" or "}" with the white space that goes with it; false when there is none here.
  bool TakeTagEnd(std::string_view end, bool is_block);
  // The length of "{%- raw -%}" at the position, 0 when it is another tag.
  size_t RawTagLength() const;

  std::string source_;
  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  bool line_starting_ = true;
  std::string brackets_;  // the closing brackets that are due
  std::vector<Token> tokens_;
};

std::string_view Lexer::StripBeforeTag(std::string_view data, char sign, bool is_variable) const {
  if (sign == '-') return data.substr(0, data.size() - TrailingSpace(data));
  if (sign == '+' || is_variable) return data;
  const size_t newline = data.rfind('\n');
  if (newline == std::string_view::npos && !line_starting_) return data;
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::string_view line = data.substr(begin);
  return LeadingSpace(line) == line.size() ? data.substr(0, begin) : data;
}

Status Lexer::LexRoot() {
  size_t tag = position_;
  while (true) {
    tag = text_.find('{', tag);
    if (tag == std::string_view::npos || tag + 1 >= text_.size()) {
      tag = text_.size();
      break;
    }
    const char next = text_[tag + 1];
    if (next == '{' || next == '%' || next == '#') break;
    ++tag;
  }
  const std::string_view data = text_.substr(position_, tag - position_);
  if (tag == text_.size()) {
    AddData(data);
    Advance(data.size());
    return OkStatus();
  }
  const char type = text_[tag + 1];
  const char after = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
  const char sign = after == '-' || after == '+' ? after : '\0';
  AddData(StripBeforeTag(data, sign, type == '{'));
  Advance(data.size());
  if (type == '%' && RawTagLength() != 0) return LexRaw();
  Advance(sign == '\0' ? 2 : 3);
  line_starting_ = false;
  if (type == '#') return LexComment();
  return LexTag(type == '%');
}

bool Lexer::TakeTagEnd(std::string_view end, bool is_block) {
  if (At(end)) {
    Advance(end.size());
    if (is_block && At("\n")) Advance(1);
    return true;
  }
  if (At(StrCat("-", end))) {
    Advance(end.size() + 1);
    SkipSpace();
    return true;
  }
  if (is_block && At(StrCat("+", end))) {
    Advance(end.size() + 1);
    return true;
  }
  return false;
}

Status Lexer::LexComment() {
  const uint32_t line = line_;
  const size_t end = text_.find("#}", position_);
  if (end == std::string_view::npos)
    return SyntaxError(line, "comment", "missing end of comment tag");
  const char sign = end > position_ ? text_[end - 1] : '\0';
  Advance(end - position_ - (sign == '-' || sign == '+' ? 1 : 0));
  TakeTagEnd("#}", true);
  return OkStatus();
}

size_t Lexer::RawTagLength() const {
  std::string_view rest = text_.substr(position_);
  const size_t size = rest.size();
  rest.remove_prefix(2);
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  rest.remove_prefix(LeadingSpace(rest));
  if (!rest.starts_with("raw")) return 0;
  rest.remove_prefix(3);
  rest.remove_prefix(LeadingSpace(rest));
  if (rest.starts_with("-%}")) {
    rest.remove_prefix(3);
    rest.remove_prefix(LeadingSpace(rest));
    return size - rest.size();
  }
  if (!rest.starts_with("%}")) return 0;
  return size - rest.size() + 2;
}

Status Lexer::LexRaw() {
  const uint32_t line = line_;
  Advance(RawTagLength());
  for (size_t tag = position_; (tag = text_.find("{%", tag)) != std::string_view::npos; ++tag) {
    std::string_view rest = text_.substr(tag + 2);
    const char sign = rest.starts_with('-') || rest.starts_with('+') ? rest[0] : '\0';
    if (sign != '\0') rest.remove_prefix(1);
    rest.remove_prefix(LeadingSpace(rest));
    if (!rest.starts_with("endraw")) continue;
    rest.remove_prefix(6);
    rest.remove_prefix(LeadingSpace(rest));
    if (!rest.starts_with("%}") && !rest.starts_with("-%}") && !rest.starts_with("+%}")) continue;
    const std::string_view data = text_.substr(position_, tag - position_);
    AddData(StripBeforeTag(data, sign, false));
    Advance(text_.size() - rest.size() - position_);
    TakeTagEnd("%}", true);
    return OkStatus();
  }
  return SyntaxError(line, "raw", "missing end of raw directive");
}

Status Lexer::LexTag(bool is_block) {
  tokens_.push_back({is_block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, line_, ""});
  brackets_.clear();
  while (true) {
    SkipSpace();
    if (position_ >= text_.size()) return OkStatus();  // the parser names what is missing
    const uint32_t line = line_;
    if (brackets_.empty() && TakeTagEnd(is_block ? "%}" : "}}", is_block)) {
      tokens_.push_back({is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, line, ""});
      return OkStatus();
    }
    MF_RETURN_IF_ERROR(LexTagToken());
  }
}

Status Lexer::LexTagToken() {
  const char c = text_[position_];
  if (IsDigitByte(c)) return LexNumber();
  if (c == '\'' || c == '"') return LexString();
  if (!IsNameByte(c)) return LexOperator();
  size_t end = position_;
  while (end < text_.size() && IsNameByte(text_[end])) ++end;
  tokens_.push_back(
      {TokenKind::kName, line_, std::string(text_.substr(position_, end - position_))});
  Advance(end - position_);
  return OkStatus();
}

Status Lexer::LexNumber() {
  const auto digits = [&](size_t at) {
    while (at < text_.size() &&
           (IsDigitByte(text_[at]) ||
            (text_[at] == '_' && at + 1 < text_.size() && IsDigitByte(text_[at + 1])))) {
      ++at;
    }
    return at;
  };
  const auto byte = [&](size_t at) { return at < text_.size() ? text_[at] : '\0'; };
  size_t end = digits(position_);
  bool is_float = false;
  if (end == position_ + 1 && text_[position_] == '0' &&
      std::string_view("xXoObB").find(byte(end)) != std::string_view::npos && byte(end) != '\0' &&
      IsNameByte(byte(end + 1))) {
    while (end < text_.size() && IsNameByte(text_[end])) ++end;
  } else if (position_ == 0 || text_[position_ - 1] != '.') {
    if (byte(end) == '.' && IsDigitByte(byte(end + 1))) {
      is_float = true;
      end = digits(end + 1);
    }
    if (byte(end) == 'e' || byte(end) == 'E') {
      const size_t sign = byte(end + 1) == '+' || byte(end + 1) == '-' ? 2 : 1;
      if (IsDigitByte(byte(end + sign))) {
        is_float = true;
        end = digits(end + sign);
      }
    }
  }
  std::string text(text_.substr(position_, end - position_));
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  tokens_.push_back({is_float ? TokenKind::kFloat : TokenKind::kInteger, line_, std::move(text)});
  Advance(end - position_);
  return OkStatus();
}

Status Lexer::LexString() {
  const char quote = text_[position_];
  size_t end = position_ + 1;
  while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return SyntaxError(line_, "string", "a string has no end");
  std::string value;
  const std::string_view literal = text_.substr(position_ + 1, end - position_ - 1);
  if (const char* problem = UnescapeLiteral(literal, &value); problem != nullptr) {
    return SyntaxError(line_, "string", problem);
  }
  tokens_.push_back({TokenKind::kString, line_, std::move(value)});
  Advance(end + 1 - position_);
  return OkStatus();
}

Status Lexer::LexOperator() {
  static constexpr std::string_view kOperators[] = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (std::string_view op : kOperators) {
    if (!At(op)) continue;
    if (op == "(" || op == "[" || op == "{") {
      brackets_.push_back(op == "(" ? ')' : op == "[" ? ']' : '}');
    } else if (op == ")" || op == "]" || op == "}") {
      if (brackets_.empty()) return SyntaxError(line_, op, StrCat("unexpected '", op, "'"));
      if (brackets_.back() != op[0]) {
        return SyntaxError(line_, op,
                           StrCat("unexpected '", op, "', expected '",
                                  std::string_view(&brackets_.back(), 1), "'"));
      }
      brackets_.pop_back();
    }
    tokens_.push_back({TokenKind::kOperator, line_, std::string(op)});
    Advance(op.size());
    return OkStatus();
  }
  const std::string_view bad = text_.substr(position_, DecodeUtf8(text_, position_).length);
  return SyntaxError(line_, bad, StrCat("unexpected character '", bad, "'"));
}

}  // namespace

StatusOr<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

Status SyntaxError(uint32_t line, std::string_view construct, std::string_view message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kChat,
                StrCat("line ", line, ": ", message))
      .WithName(construct);
}

}  // namespace minfer::chat
