// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The methods of strings that give strings or lists.

#include <algorithm>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/format.h"
#include "chat/operators.h"
#include "chat/text_ops.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

// An argument that must be a string, or null when it is absent or None.
StatusOr<const std::string*> StringArgument(const Value* argument) {
  if (argument == nullptr || argument->is(Kind::kNone))
    return static_cast<const std::string*>(nullptr);
  if (argument->is(Kind::kString)) return &argument->str();
  if (argument->is(Kind::kUndefined)) return UndefinedError(*argument);
  return TemplateError(StrCat("argument must be str, not ", TypeName(*argument)));
}

StatusOr<Value> Result(Runtime& rt, const Value& self, Text text) {
  MF_RETURN_IF_ERROR(rt.StepBytes(self.text().size()));
  return rt.make.String(std::move(text), self.string().markup);
}

template <std::string (*function)(std::string_view)>
StatusOr<Value> Mapped(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(Text text, MapText(rt, self.text(), function));
  return Result(rt, self, std::move(text));
}

template <std::string (*function)(std::string_view)>
StatusOr<Value> MappedWhole(Runtime& rt, const Value& self, const CallArguments&) {
  return rt.NewString(function(self.str()), self.text().any_from_content());
}

template <bool kLeft, bool kRight>
StatusOr<Value> MethodStrip(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("strip", {"chars"}, 0, a));
  MF_ASSIGN_OR_RETURN(const std::string* chars, StringArgument(a[0]));
  return Result(rt, self, Strip(self.text(), chars, kLeft, kRight));
}

StatusOr<Value> MethodReplace(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("replace", {"old", "new", "count"}, 2, a));
  MF_ASSIGN_OR_RETURN(const std::string* old_text, StringArgument(a[0]));
  MF_ASSIGN_OR_RETURN(const std::string* new_text, StringArgument(a[1]));
  if (old_text == nullptr || new_text == nullptr) {
    return TemplateError("replace() argument must be str, not None");
  }
  MF_ASSIGN_OR_RETURN(const int64_t count, IntArgument(a[2], -1));
  MF_ASSIGN_OR_RETURN(Text text, Replace(rt, self.text(), *old_text, a[1]->text(), count));
  return Result(rt, self, std::move(text));
}

// Where the pieces of a split begin and end.
struct Piece {
  size_t begin;
  size_t end;
};

std::vector<Piece> SplitSpace(std::string_view text, int64_t limit) {
  std::vector<Piece> pieces;
  size_t at = LeadingSpace(text);
  while (at < text.size()) {
    size_t end = at;
    if (limit >= 0 && static_cast<int64_t>(pieces.size()) >= limit) {
      end = text.size();  // the rest, its white space included
    } else {
      while (end < text.size() && !IsSpace(DecodeUtf8(text, end).value)) {
        end += DecodeUtf8(text, end).length;
      }
    }
    pieces.push_back({at, end});
    at = end + LeadingSpace(text.substr(end));
  }
  return pieces;
}

std::vector<Piece> SplitSpaceFromRight(std::string_view text, int64_t limit) {
  std::vector<Piece> pieces = SplitSpace(text, -1);
  if (limit < 0 || static_cast<int64_t>(pieces.size()) <= limit) return pieces;
  const size_t merged = pieces.size() - static_cast<size_t>(limit);
  if (merged > 0) {
    const Piece first = {0, pieces[merged - 1].end};  // leading white space included
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(merged) - 1);
    pieces[0] = first;
  }
  return pieces;
}

std::vector<Piece> SplitAt(std::string_view text, std::string_view separator, int64_t limit,
                           bool from_right) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  size_t end = text.size();
  while (limit < 0 || static_cast<int64_t>(pieces.size()) < limit) {
    const std::string_view rest = text.substr(begin, end - begin);
    const size_t found = from_right ? rest.rfind(separator) : rest.find(separator);
    if (found == std::string_view::npos) break;
    if (from_right) {
      pieces.push_back({begin + found + separator.size(), end});
      end = begin + found;
    } else {
      pieces.push_back({begin, begin + found});
      begin += found + separator.size();
    }
  }
  pieces.push_back({begin, end});
  if (from_right) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

template <bool kFromRight>
StatusOr<Value> MethodSplit(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("split", {"sep", "maxsplit"}, 0, a));
  MF_ASSIGN_OR_RETURN(const std::string* separator, StringArgument(a[0]));
  MF_ASSIGN_OR_RETURN(const int64_t limit, IntArgument(a[1], -1));
  const std::string& text = self.str();
  MF_RETURN_IF_ERROR(rt.StepFind(text.size(), separator != nullptr ? separator->size() : 1));
  if (separator != nullptr && separator->empty()) return TemplateError("empty separator");
  const std::vector<Piece> pieces = separator != nullptr
                                        ? SplitAt(text, *separator, limit, kFromRight)
                                    : kFromRight ? SplitSpaceFromRight(text, limit)
                                                 : SplitSpace(text, limit);
  std::vector<Value> items;
  for (const Piece& piece : pieces) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(Value item, rt.make.String(self.text().Slice(piece.begin, piece.end),
                                                   self.string().markup));
    items.push_back(std::move(item));
  }
  return rt.make.Sequence(std::move(items));
}

StatusOr<Value> MethodSplitLines(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("splitlines", {"keepends"}, 0, a));
  MF_RETURN_IF_ERROR(rt.StepBytes(self.str().size()));
  std::vector<Value> items;
  for (Text& line : SplitLines(self.text(), BoolArgument(a[0], false))) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(Value item, rt.make.String(std::move(line)));
    items.push_back(std::move(item));
  }
  return rt.make.Sequence(std::move(items));
}

template <bool kFromRight>
StatusOr<Value> MethodPartition(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("partition", {"sep"}, 1, a));
  MF_ASSIGN_OR_RETURN(const std::string* separator, StringArgument(a[0]));
  if (separator == nullptr || separator->empty()) return TemplateError("empty separator");
  const std::string& text = self.str();
  MF_RETURN_IF_ERROR(rt.StepFind(text.size(), separator->size()));
  const size_t found = kFromRight ? text.rfind(*separator) : text.find(*separator);
  size_t cuts[2];
  if (found == std::string::npos) {
    cuts[0] = cuts[1] = kFromRight ? 0 : text.size();
  } else {
    cuts[0] = found;
    cuts[1] = found + separator->size();
  }
  MF_ASSIGN_OR_RETURN(Value head, Result(rt, self, self.text().Slice(0, cuts[0])));
  MF_ASSIGN_OR_RETURN(Value middle, Result(rt, self, self.text().Slice(cuts[0], cuts[1])));
  MF_ASSIGN_OR_RETURN(Value tail, Result(rt, self, self.text().Slice(cuts[1], text.size())));
  return rt.make.Sequence({std::move(head), std::move(middle), std::move(tail)},
                          SequenceKind::kTuple);
}

StatusOr<Value> MethodJoin(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("join", {"iterable"}, 1, a));
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt, *a[0]));
  TextBuilder out = rt.NewText();
  for (size_t i = 0; i < items.size(); ++i) {
    MF_RETURN_IF_ERROR(rt.Step());
    if (!items[i].is(Kind::kString)) {
      return TemplateError(
          StrCat("sequence item ", i, ": expected str instance, ", TypeName(items[i]), " found"));
    }
    if (i > 0) out.Append(self.text());
    out.Append(items[i].text());
  }
  return rt.Finish(std::move(out));
}

template <bool kPrefix>
StatusOr<Value> MethodRemove(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind(kPrefix ? "removeprefix" : "removesuffix", {"affix"}, 1, a));
  MF_ASSIGN_OR_RETURN(const std::string* affix, StringArgument(a[0]));
  if (affix == nullptr) return TemplateError("argument must be str, not None");
  const std::string& text = self.str();
  const bool found = kPrefix ? text.starts_with(*affix) : text.ends_with(*affix);
  if (!found) return self;
  const size_t kept = text.size() - affix->size();
  return Result(
      rt, self,
      kPrefix ? self.text().Slice(affix->size(), text.size()) : self.text().Slice(0, kept));
}

enum class Side { kLeft, kRight, kBoth };

template <Side kSide>
StatusOr<Value> MethodJustify(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("justify", {"width", "fillchar"}, 1, a));
  MF_ASSIGN_OR_RETURN(const int64_t width, IntArgument(a[0], 0));
  MF_ASSIGN_OR_RETURN(const std::string* fill, StringArgument(a[1]));
  if (fill != nullptr && CountCodePoints(*fill) != 1) {
    return TemplateError("the fill character must be exactly one character long");
  }
  const int64_t room = width - static_cast<int64_t>(CountCodePoints(self.str()));
  if (room <= 0) return self;
  const int64_t left = kSide == Side::kLeft    ? 0
                       : kSide == Side::kRight ? room
                                               : room / 2 + (room & width & 1);
  MF_ASSIGN_OR_RETURN(Text text, Pad(rt, self.text(), left, room - left,
                                     fill != nullptr ? std::string_view(*fill) : " "));
  return Result(rt, self, std::move(text));
}

StatusOr<Value> MethodZeroFill(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("zfill", {"width"}, 1, a));
  MF_ASSIGN_OR_RETURN(const int64_t width, IntArgument(a[0], 0));
  const std::string& text = self.str();
  const int64_t room = width - static_cast<int64_t>(CountCodePoints(text));
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  if (room <= 0) return self;
  MF_ASSIGN_OR_RETURN(const Text body,
                      Pad(rt, self.text().Slice(has_sign ? 1 : 0, text.size()), room, 0, "0"));
  Text out = self.text().Slice(0, has_sign ? 1 : 0);
  out.Append(body);
  return Result(rt, self, std::move(out));
}

StatusOr<Value> MethodExpandTabs(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("expandtabs", {"tabsize"}, 0, a));
  MF_ASSIGN_OR_RETURN(const int64_t size, IntArgument(a[0], 8));
  const std::string& text = self.str();
  TextBuilder out = rt.NewText();
  int64_t column = 0;
  for (size_t i = 0; i < text.size() && !out.full();) {
    const size_t end = i + DecodeUtf8(text, i).length;
    if (text[i] == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      MF_RETURN_IF_ERROR(rt.CheckRoom(static_cast<size_t>(spaces)));
      out.Append(std::string(static_cast<size_t>(spaces), ' '));
      column += spaces;
    } else {
      out.AppendSlice(self.text(), i, end);
      column = text[i] == '\n' || text[i] == '\r' ? 0 : column + 1;
    }
    i = end;
  }
  return rt.Finish(std::move(out), self.string().markup);
}

constexpr BuiltinDef kMethods[] = {
    {"capitalize", MappedWhole<Capitalize>},
    {"casefold", Mapped<FoldCase>},
    {"center", MethodJustify<Side::kBoth>},
    {"expandtabs", MethodExpandTabs},
    {"format", FormatBraces},
    {"format_map", FormatBracesMap},
    {"join", MethodJoin},
    {"ljust", MethodJustify<Side::kLeft>},
    {"lower", Mapped<ToLower>},
    {"lstrip", MethodStrip<true, false>},
    {"partition", MethodPartition<false>},
    {"removeprefix", MethodRemove<true>},
    {"removesuffix", MethodRemove<false>},
    {"replace", MethodReplace},
    {"rjust", MethodJustify<Side::kRight>},
    {"rpartition", MethodPartition<true>},
    {"rsplit", MethodSplit<true>},
    {"rstrip", MethodStrip<false, true>},
    {"split", MethodSplit<false>},
    {"splitlines", MethodSplitLines},
    {"strip", MethodStrip<true, true>},
    {"swapcase", MappedWhole<SwapCase>},
    {"title", MappedWhole<ToTitle>},
    {"upper", Mapped<ToUpper>},
    {"zfill", MethodZeroFill},
};

}  // namespace

absl::Span<const BuiltinDef> StringMethods() { return kMethods; }

}  // namespace minfer::chat
