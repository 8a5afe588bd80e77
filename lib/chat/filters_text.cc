// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Filters that turn their input into text.

#include <algorithm>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/format.h"
#include "chat/json.h"
#include "chat/operators.h"
#include "chat/print.h"
#include "chat/text_ops.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

bool IsMarkup(const Value& value) { return value.is(Kind::kString) && value.string().markup; }

template <std::string (*function)(std::string_view)>
StatusOr<Value> Mapped(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  MF_ASSIGN_OR_RETURN(Text mapped, MapText(rt, text, function));
  return rt.make.String(std::move(mapped), IsMarkup(self));
}

// For mappings that look at a letter's neighbours: the whole takes one origin.
template <std::string (*function)(std::string_view)>
StatusOr<Value> MappedWhole(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  return rt.NewString(function(text.bytes()), text.any_from_content());
}

// Words also begin after a dash or an opening bracket, and nowhere else but after white space.
std::string TitleWords(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    const bool separator = IsSpace(c.value) || c.value == '-' || c.value == '(' || c.value == '{' ||
                           c.value == '[' || c.value == '<';
    if (separator) {
      out.append(text.substr(i, c.length));
    } else if (at_start) {
      AppendUpper(c.value, &out);
    } else {
      AppendLower(c.value, &out);
    }
    at_start = separator;
    i += c.length;
  }
  return out;
}

StatusOr<Value> FilterString(Runtime& rt, const Value& self, const CallArguments&) {
  if (self.is(Kind::kString)) return self;
  MF_ASSIGN_OR_RETURN(Text text, rt.Str(self));
  return rt.make.String(std::move(text));
}

StatusOr<Value> FilterTrim(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("trim", {"chars"}, 0, a));
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  const bool has_chars = a[0] != nullptr && a[0]->is(Kind::kString);
  MF_RETURN_IF_ERROR(rt.StepBytes(text.size()));
  return rt.make.String(Strip(text, has_chars ? &a[0]->str() : nullptr, true, true),
                        IsMarkup(self));
}

StatusOr<Value> FilterReplace(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("replace", {"old", "new", "count"}, 2, a));
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  MF_ASSIGN_OR_RETURN(const Text old_text, rt.Str(*a[0]));
  MF_ASSIGN_OR_RETURN(const Text new_text, rt.Str(*a[1]));
  MF_ASSIGN_OR_RETURN(const int64_t count, IntArgument(a[2], -1));
  MF_ASSIGN_OR_RETURN(Text out, Replace(rt, text, old_text.bytes(), new_text, count));
  return rt.make.String(std::move(out), IsMarkup(self));
}

StatusOr<Value> FilterIndent(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("indent", {"width", "first", "blank"}, 0, a));
  MF_ASSIGN_OR_RETURN(Text text, rt.Str(self));
  Text indent;
  if (a[0] != nullptr && a[0]->is(Kind::kString)) {
    indent = a[0]->text();
  } else {
    MF_ASSIGN_OR_RETURN(const int64_t width, IntArgument(a[0], 4));
    MF_ASSIGN_OR_RETURN(indent, Pad(rt, Text(), width, 0, " "));
  }
  text.Append("\n", false);
  const std::vector<Text> lines = SplitLines(text, false);
  const bool blank = BoolArgument(a[2], false);
  TextBuilder out = rt.NewText();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n");
    const bool indented = i == 0 ? BoolArgument(a[1], false) : blank || lines[i].size() > 0;
    if (indented) out.Append(indent);
    out.Append(lines[i]);
  }
  return rt.Finish(std::move(out), IsMarkup(self));
}

StatusOr<Value> FilterSafe(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(Text text, rt.Str(self));
  return rt.make.String(std::move(text), true);
}

StatusOr<Value> FilterForceEscape(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  TextBuilder out = rt.NewText();
  AppendEscaped(text, &out);
  return rt.Finish(std::move(out), true);
}

StatusOr<Value> FilterEscape(Runtime& rt, const Value& self, const CallArguments& args) {
  return IsMarkup(self) ? StatusOr<Value>(self) : FilterForceEscape(rt, self, args);
}

StatusOr<Value> FilterFormat(Runtime& rt, const Value& self, const CallArguments& args) {
  if (!args.named.empty()) {
    if (!args.positional.empty()) {
      return TemplateError("can't handle positional and keyword arguments at the same time");
    }
    DictEntries entries;
    for (const auto& [name, value] : args.named) {
      MF_ASSIGN_OR_RETURN(Value key, rt.make.String(name));
      entries.emplace_back(std::move(key), value);
    }
    MF_ASSIGN_OR_RETURN(const Value dict, rt.make.Dict(std::move(entries)));
    return FormatPercent(rt, self, dict);
  }
  MF_ASSIGN_OR_RETURN(const Value tuple, rt.make.Sequence(args.positional, SequenceKind::kTuple));
  return FormatPercent(rt, self, tuple);
}

StatusOr<Value> FilterCenter(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("center", {"width"}, 0, a));
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  MF_ASSIGN_OR_RETURN(const int64_t width, IntArgument(a[0], 80));
  const int64_t room = width - static_cast<int64_t>(CountCodePoints(text.bytes()));
  if (room <= 0) return rt.make.String(text);
  const int64_t left = room / 2 + (room & width & 1);
  MF_ASSIGN_OR_RETURN(Text out, Pad(rt, text, left, room - left, " "));
  return rt.make.String(std::move(out));
}

StatusOr<Value> FilterTruncate(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[4];
  MF_RETURN_IF_ERROR(args.Bind("truncate", {"length", "killwords", "end", "leeway"}, 0, a));
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  MF_ASSIGN_OR_RETURN(const int64_t length, IntArgument(a[0], 255));
  MF_ASSIGN_OR_RETURN(const int64_t leeway, IntArgument(a[3], 5));
  const Text end = a[2] != nullptr && a[2]->is(Kind::kString) ? a[2]->text() : Text("...");
  const int64_t end_length = static_cast<int64_t>(CountCodePoints(end.bytes()));
  if (length < end_length)
    return TemplateError("truncate: the length is shorter than the end mark");
  if (leeway < 0) return TemplateError("truncate: the leeway is negative");
  const int64_t size = static_cast<int64_t>(CountCodePoints(text.bytes()));
  if (size <= length || size - length <= leeway) return rt.make.String(text);
  size_t cut = ByteOffset(text.bytes(), static_cast<size_t>(length - end_length));
  if (!BoolArgument(a[1], false)) {
    const size_t space = std::string_view(text.bytes()).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  Text out = text.Slice(0, cut);
  out.Append(end);
  return rt.make.String(std::move(out));
}

StatusOr<Value> FilterWordCount(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  int64_t words = 0;
  bool in_word = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text.bytes(), i);
    const bool letter = IsAlphabetic(c.value) || IsNumeric(c.value) || c.value == '_';
    if (letter && !in_word) ++words;
    in_word = letter;
    i += c.length;
  }
  return Value::Int(words);
}

StatusOr<Value> FilterUrlEncode(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(self));
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-_.~/";
  std::string out;
  for (const char c : text.bytes()) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80 && (IsAlphabetic(byte) || IsDecimal(byte) || kPlain.find(c) != kPlain.npos)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
  return rt.NewString(std::move(out), text.any_from_content());
}

// The arguments are those of Python's json.dumps that published templates pass.
StatusOr<Value> FilterToJson(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[4];
  MF_RETURN_IF_ERROR(
      args.Bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, a));
  JsonStyle style;
  style.ensure_ascii = BoolArgument(a[0], false);
  style.sort_keys = BoolArgument(a[3], false);
  if (a[1] != nullptr && !a[1]->is(Kind::kNone)) {
    style.indented = true;
    style.item_separator = ",";
    if (a[1]->is(Kind::kString)) {
      style.indent = a[1]->str();
    } else {
      MF_ASSIGN_OR_RETURN(const int64_t width, IntArgument(a[1], 0));
      MF_RETURN_IF_ERROR(rt.CheckRoom(static_cast<size_t>(std::max<int64_t>(width, 0))));
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (a[2] != nullptr && !a[2]->is(Kind::kNone)) {
    const bool pair = a[2]->is_list() && a[2]->items().size() == 2 &&
                      a[2]->items()[0].is(Kind::kString) && a[2]->items()[1].is(Kind::kString);
    if (!pair) return TemplateError("tojson: separators must be a pair of strings");
    style.item_separator = a[2]->items()[0].str();
    style.key_separator = a[2]->items()[1].str();
  }
  return ToJson(rt, self, style);
}

constexpr BuiltinDef kFilters[] = {
    {"capitalize", MappedWhole<Capitalize>},
    {"center", FilterCenter},
    {"e", FilterEscape},
    {"escape", FilterEscape},
    {"forceescape", FilterForceEscape},
    {"format", FilterFormat},
    {"indent", FilterIndent},
    {"lower", Mapped<ToLower>},
    {"replace", FilterReplace},
    {"safe", FilterSafe},
    {"string", FilterString},
    {"title", MappedWhole<TitleWords>},
    {"tojson", FilterToJson},
    {"trim", FilterTrim},
    {"truncate", FilterTruncate},
    {"upper", Mapped<ToUpper>},
    {"urlencode", FilterUrlEncode},
    {"wordcount", FilterWordCount},
};

}  // namespace

absl::Span<const BuiltinDef> TextFilters() { return kFilters; }

}  // namespace minfer::chat
