// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/format.h"

#include <algorithm>
#include <charconv>

#include "base/str_cat.h"
#include "chat/operators.h"
#include "chat/print.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

Text Repr(Runtime& rt, const Value& value) {
  TextBuilder out = rt.NewText();
  AppendRepr(value, &out);
  return out.Take();
}

// Walks a % format.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& rt, const Text& format, bool markup, const Value& arguments)
      : rt_(rt), format_(format), markup_(markup), arguments_(arguments), out_(rt.NewText()) {
    is_tuple_ = arguments.is_list() && arguments.sequence().kind == SequenceKind::kTuple;
  }

  StatusOr<Text> Run();

 private:
  Status Directive();
  Status ParseName(Value* value, bool* named);
  Status ParseNumber(int64_t* number);
  StatusOr<Value> NextArgument();
  // What %c prints: the character of that number, or a text of one.
  StatusOr<Value> Character(const Value& value);
  Status AppendFormatted(const Value& value, char conversion, FormatSpec spec);
  char Peek() const { return at_ < format_.size() ? format_.bytes()[at_] : '\0'; }

  Runtime& rt_;
  const Text& format_;
  bool markup_;  // what is put into marked text is escaped
  const Value& arguments_;
  bool is_tuple_ = false;
  bool used_mapping_ = false;
  size_t next_ = 0;
  size_t at_ = 0;
  TextBuilder out_;
};

StatusOr<Value> PercentFormatter::NextArgument() {
  const size_t count = is_tuple_ ? arguments_.items().size() : 1;
  if (next_ >= count) return TemplateError("not enough arguments for format string");
  const size_t index = next_++;
  return is_tuple_ ? arguments_.items()[index] : arguments_;
}

Status PercentFormatter::ParseName(Value* value, bool* named) {
  *named = Peek() == '(';
  if (!*named) return OkStatus();
  const size_t end = format_.bytes().find(')', at_);
  if (end == std::string::npos) return TemplateError("incomplete format key");
  if (!arguments_.is(Kind::kDict)) return TemplateError("format requires a mapping");
  const std::string key = format_.bytes().substr(at_ + 1, end - at_ - 1);
  const Value* found = arguments_.dict().Find(key);
  if (found == nullptr) return TemplateError(StrCat("KeyError: '", key, "'"));
  *value = *found;
  used_mapping_ = true;
  at_ = end + 1;
  return OkStatus();
}

Status PercentFormatter::ParseNumber(int64_t* number) {
  if (Peek() == '*') {
    ++at_;
    MF_ASSIGN_OR_RETURN(const Value value, NextArgument());
    MF_ASSIGN_OR_RETURN(*number, IntArgument(&value, 0));
    return OkStatus();
  }
  const std::string& bytes = format_.bytes();
  const auto result = std::from_chars(bytes.data() + at_, bytes.data() + bytes.size(), *number);
  if (result.ec == std::errc::result_out_of_range) return TemplateError("width too big");
  at_ = static_cast<size_t>(result.ptr - bytes.data());
  return OkStatus();
}

StatusOr<Value> PercentFormatter::Character(const Value& value) {
  if (value.is(Kind::kString) && CountCodePoints(value.str()) == 1) return value;
  const bool in_range = value.is(Kind::kInt) && value.integer() >= 0 && value.integer() < 0x110000;
  if (!in_range) return TemplateError("%c requires an int below 0x110000 or a single character");
  std::string character;
  AppendUtf8(static_cast<uint32_t>(value.integer()), &character);
  return rt_.make.String(std::move(character));
}

Status PercentFormatter::AppendFormatted(const Value& value, char conversion, FormatSpec spec) {
  if (conversion == 'c') {
    MF_ASSIGN_OR_RETURN(const Value character, Character(value));
    return AppendFormatted(character, 's', std::move(spec));
  }
  if (conversion == 's' || conversion == 'r' || conversion == 'a') {
    Text text = Repr(rt_, value);
    if (conversion == 's') {
      MF_ASSIGN_OR_RETURN(text, rt_.Str(value));
    }
    if (markup_ && !(value.is(Kind::kString) && value.string().markup)) {
      TextBuilder escaped = rt_.NewText();
      AppendEscaped(text, &escaped);
      MF_ASSIGN_OR_RETURN(text, rt_.FinishText(std::move(escaped)));
    }
    MF_ASSIGN_OR_RETURN(const Value string, rt_.make.String(std::move(text)));
    spec.type = 's';
    if (spec.fill == "0") spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    MF_ASSIGN_OR_RETURN(const Text padded, FormatWithSpec(rt_, string, spec));
    out_.Append(padded);
    return OkStatus();
  }
  if (!value.is_number()) {
    if (value.is(Kind::kUndefined)) return UndefinedError(value);
    return TemplateError(StrCat("%", std::string_view(&conversion, 1),
                                " format: a real number is required, not ", TypeName(value)));
  }
  const bool integer = std::string_view("diuxXo").find(conversion) != std::string_view::npos;
  spec.type = conversion == 'i' || conversion == 'u' ? 'd' : conversion;
  Value number = value;
  if (integer && value.is(Kind::kFloat)) {
    if (!(value.real() > -9.2e18 && value.real() < 9.2e18)) {
      return TemplateError("cannot convert float to a 64-bit integer");
    }
    number = Value::Int(static_cast<int64_t>(value.real()));
  }
  if (!integer && spec.precision < 0) spec.precision = 6;
  if (integer) spec.precision = -1;
  MF_ASSIGN_OR_RETURN(const Text text, FormatWithSpec(rt_, number, spec));
  out_.Append(text);
  return OkStatus();
}

Status PercentFormatter::Directive() {
  Value value;
  bool named = false;
  MF_RETURN_IF_ERROR(ParseName(&value, &named));
  FormatSpec spec;
  spec.align = '>';
  for (; std::string_view("-+ #0").find(Peek()) != std::string_view::npos && at_ < format_.size();
       ++at_) {
    const char flag = Peek();
    if (flag == '-') spec.align = '<';
    if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
    if (flag == '#') spec.alternate = true;
    if (flag == '0' && spec.align != '<') {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  if (spec.align == '<') spec.fill = " ";
  MF_RETURN_IF_ERROR(ParseNumber(&spec.width));
  if (spec.width < 0) {
    spec.align = '<';
    spec.width = spec.width == INT64_MIN ? INT64_MAX : -spec.width;
  }
  if (Peek() == '.') {
    ++at_;
    spec.precision = 0;
    MF_RETURN_IF_ERROR(ParseNumber(&spec.precision));
    if (spec.precision < 0 || spec.precision > 1000) return TemplateError("bad format precision");
  }
  while (Peek() == 'l' || Peek() == 'h' || Peek() == 'L') ++at_;
  const char conversion = Peek();
  if (conversion == '\0') return TemplateError("incomplete format");
  if (std::string_view("sracdiuxXoeEfFgG").find(conversion) == std::string_view::npos) {
    return TemplateError(
        StrCat("unsupported format character '", std::string_view(&conversion, 1), "'"));
  }
  ++at_;
  if (!named) {
    MF_ASSIGN_OR_RETURN(value, NextArgument());
  }
  return AppendFormatted(value, conversion, std::move(spec));
}

StatusOr<Text> PercentFormatter::Run() {
  const std::string& bytes = format_.bytes();
  while (at_ < bytes.size() && !out_.full()) {
    const size_t percent = std::min(bytes.find('%', at_), bytes.size());
    out_.AppendSlice(format_, at_, percent);
    at_ = percent + 1;
    if (percent == bytes.size()) break;
    MF_RETURN_IF_ERROR(rt_.Step());
    if (Peek() == '%') {
      out_.AppendSlice(format_, at_, at_ + 1);
      ++at_;
    } else {
      MF_RETURN_IF_ERROR(Directive());
    }
  }
  const bool may_stay = used_mapping_ || arguments_.is(Kind::kDict);
  if (is_tuple_ ? next_ < arguments_.items().size() : next_ == 0 && !may_stay) {
    return TemplateError("not all arguments converted during string formatting");
  }
  return rt_.FinishText(std::move(out_));
}

// Walks a {} format.
class BraceFormatter {
 public:
  BraceFormatter(Runtime& rt, const Text& format, const CallArguments& args)
      : rt_(rt), format_(format), args_(args), out_(rt.NewText()) {}

  StatusOr<Text> Run();

 private:
  Status Field(std::string_view field);
  StatusOr<Value> Lookup(std::string_view name);
  StatusOr<Value> First(std::string_view name);
  // A spec may itself hold fields, one level deep.
  StatusOr<std::string> ExpandSpec(std::string_view spec);

  Runtime& rt_;
  const Text& format_;
  const CallArguments& args_;
  size_t next_ = 0;
  TextBuilder out_;
};

StatusOr<Value> BraceFormatter::First(std::string_view name) {
  size_t index = 0;
  const bool is_number =
      !name.empty() && std::from_chars(name.data(), name.data() + name.size(), index).ptr ==
                           name.data() + name.size();
  if (name.empty()) index = next_++;
  if (name.empty() || is_number) {
    if (index < args_.positional.size()) return args_.positional[index];
    return TemplateError(
        StrCat("replacement index ", index, " out of range for positional args tuple"));
  }
  MF_RETURN_IF_ERROR(rt_.Step(args_.named.size() / 16));
  for (const auto& [key, value] : args_.named) {
    if (key == name) return value;
  }
  return TemplateError(StrCat("KeyError: '", name, "'"));
}

StatusOr<Value> BraceFormatter::Lookup(std::string_view name) {
  const size_t head = std::min(name.find_first_of(".["), name.size());
  MF_ASSIGN_OR_RETURN(Value value, First(name.substr(0, head)));
  for (size_t at = head; at < name.size();) {
    const bool attribute = name[at] == '.';
    const size_t end =
        std::min(attribute ? name.find_first_of(".[", at + 1) : name.find(']', at), name.size());
    const std::string_view key = name.substr(at + 1, end - at - 1);
    if (key.empty() || (!attribute && end == name.size())) {
      return TemplateError("empty or open field in a format string");
    }
    int64_t index = 0;
    const bool is_number =
        std::from_chars(key.data(), key.data() + key.size(), index).ptr == key.data() + key.size();
    if (attribute) {
      MF_ASSIGN_OR_RETURN(value, GetAttribute(rt_, value, key));
    } else if (is_number) {
      MF_ASSIGN_OR_RETURN(value, GetItem(rt_, value, Value::Int(index)));
    } else {
      MF_ASSIGN_OR_RETURN(const Value text, rt_.make.String(std::string(key)));
      MF_ASSIGN_OR_RETURN(value, GetItem(rt_, value, text));
    }
    at = attribute ? end : end + 1;
  }
  return value;
}

StatusOr<std::string> BraceFormatter::ExpandSpec(std::string_view spec) {
  std::string out;
  for (size_t at = 0; at < spec.size();) {
    const size_t open = std::min(spec.find('{', at), spec.size());
    out.append(spec.substr(at, open - at));
    if (open == spec.size()) break;
    const size_t close = spec.find('}', open);
    if (close == std::string_view::npos) return TemplateError("expected '}' before end of string");
    MF_ASSIGN_OR_RETURN(const Value value, Lookup(spec.substr(open + 1, close - open - 1)));
    MF_ASSIGN_OR_RETURN(const Text text, rt_.Str(value));
    out.append(text.bytes());
    MF_RETURN_IF_ERROR(rt_.CheckRoom(out.size()));
    at = close + 1;
  }
  return out;
}

Status BraceFormatter::Field(std::string_view field) {
  const size_t mark = std::min(field.find_first_of("!:"), field.size());
  MF_ASSIGN_OR_RETURN(Value value, Lookup(field.substr(0, mark)));
  std::string_view rest = field.substr(mark);
  if (rest.starts_with('!')) {
    const char conversion = rest.size() > 1 ? rest[1] : '\0';
    if (conversion != 's' && conversion != 'r') {
      return TemplateError("unknown conversion specifier in a format string");
    }
    Text text = Repr(rt_, value);
    if (conversion == 's') {
      MF_ASSIGN_OR_RETURN(text, rt_.Str(value));
    }
    MF_ASSIGN_OR_RETURN(value, rt_.make.String(std::move(text)));
    rest.remove_prefix(2);
  }
  if (!rest.empty() && rest[0] != ':')
    return TemplateError("expected ':' after conversion specifier");
  if (!rest.empty()) rest.remove_prefix(1);
  MF_ASSIGN_OR_RETURN(const std::string expanded, ExpandSpec(rest));
  MF_ASSIGN_OR_RETURN(const FormatSpec spec, ParseFormatSpec(expanded));
  MF_ASSIGN_OR_RETURN(const Text text, FormatWithSpec(rt_, value, spec));
  out_.Append(text);
  return OkStatus();
}

StatusOr<Text> BraceFormatter::Run() {
  const std::string_view bytes = format_.bytes();
  for (size_t at = 0; at < bytes.size() && !out_.full();) {
    const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out_.AppendSlice(format_, at, brace);
    if (brace == bytes.size()) break;
    MF_RETURN_IF_ERROR(rt_.Step());
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out_.AppendSlice(format_, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    if (bytes[brace] == '}') return TemplateError("single '}' encountered in format string");
    size_t end = brace + 1;
    for (int depth = 1; end < bytes.size(); ++end) {
      if (bytes[end] == '{') ++depth;
      if (bytes[end] == '}' && --depth == 0) break;
    }
    if (end >= bytes.size()) return TemplateError("expected '}' before end of string");
    MF_RETURN_IF_ERROR(Field(bytes.substr(brace + 1, end - brace - 1)));
    at = end + 1;
  }
  return rt_.FinishText(std::move(out_));
}

}  // namespace

StatusOr<Value> FormatPercent(Runtime& rt, const Value& format, const Value& arguments) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(format));
  const bool markup = format.is(Kind::kString) && format.string().markup;
  MF_ASSIGN_OR_RETURN(Text out, PercentFormatter(rt, text, markup, arguments).Run());
  return rt.make.String(std::move(out), markup);
}

StatusOr<Value> FormatBraces(Runtime& rt, const Value& self, const CallArguments& args) {
  MF_ASSIGN_OR_RETURN(Text out, BraceFormatter(rt, self.text(), args).Run());
  return rt.make.String(std::move(out), self.string().markup);
}

StatusOr<Value> FormatBracesMap(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("format_map", {"mapping"}, 1, a));
  if (!a[0]->is(Kind::kDict)) return TemplateError("format_map() needs a mapping");
  CallArguments named;
  MF_RETURN_IF_ERROR(rt.Step(a[0]->dict().entries.size()));
  for (const auto& [key, value] : a[0]->dict().entries) {
    if (key.is(Kind::kString)) named.named.emplace_back(key.str(), value);
  }
  return FormatBraces(rt, self, named);
}

}  // namespace minfer::chat
