// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The functions that every template can call by name.

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/strftime.h"

namespace minfer::chat {
namespace {

constexpr int64_t kMaxRange = 100000;

StatusOr<Value> GlobalRange(Runtime& rt, const Value&, const CallArguments& args) {
  const size_t count = args.positional.size();
  if (count < 1 || count > 3 || !args.named.empty()) {
    return TemplateError("range expected 1 to 3 arguments");
  }
  for (const Value& value : args.positional) {
    if (value.is(Kind::kUndefined)) return UndefinedError(value);
    if (!value.is(Kind::kInt) && !value.is(Kind::kBool)) {
      return TemplateError(
          StrCat("'", TypeName(value), "' object cannot be interpreted as an integer"));
    }
  }
  MF_ASSIGN_OR_RETURN(int64_t begin, IntArgument(count > 1 ? &args.positional[0] : nullptr, 0));
  MF_ASSIGN_OR_RETURN(const int64_t end, IntArgument(&args.positional[count > 1 ? 1 : 0], 0));
  MF_ASSIGN_OR_RETURN(const int64_t step,
                      IntArgument(count > 2 ? &args.positional[2] : nullptr, 1));
  if (step == 0) return TemplateError("range() arg 3 must not be zero");
  std::vector<Value> items;
  while (step > 0 ? begin < end : begin > end) {
    if (static_cast<int64_t>(items.size()) >= kMaxRange) {
      return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                    StrCat("range too big; at most ", kMaxRange, " items"));
    }
    MF_RETURN_IF_ERROR(rt.Step());
    items.push_back(Value::Int(begin));
    if (__builtin_add_overflow(begin, step, &begin)) break;
  }
  return rt.make.Sequence(std::move(items), SequenceKind::kRange);
}

// The entries that dict() and namespace() share: a mapping, pairs, and named arguments.
Status CollectEntries(Runtime& rt, std::string_view name, const CallArguments& args,
                      DictEntries* entries) {
  if (args.positional.size() > 1) {
    return TemplateError(
        StrCat(name, " expected at most 1 argument, got ", args.positional.size()));
  }
  for (const Value& source : args.positional) {
    if (source.is(Kind::kUndefined)) return UndefinedError(source);
    if (source.is(Kind::kDict)) {
      *entries = source.dict().entries;
      continue;
    }
    if (!source.is_list()) {
      return TemplateError(StrCat("'", TypeName(source), "' object is not iterable"));
    }
    for (const Value& pair : source.items()) {
      if (!pair.is_list() || pair.items().size() != 2) {
        return TemplateError(StrCat(name, ": an element is no pair"));
      }
      entries->emplace_back(pair.items()[0], pair.items()[1]);
    }
  }
  for (const auto& [key, value] : args.named) {
    MF_ASSIGN_OR_RETURN(Value text, rt.make.String(key));
    entries->emplace_back(std::move(text), value);
  }
  return OkStatus();
}

StatusOr<Value> GlobalDict(Runtime& rt, const Value&, const CallArguments& args) {
  DictEntries entries;
  MF_RETURN_IF_ERROR(CollectEntries(rt, "dict", args, &entries));
  return rt.make.Dict(std::move(entries));
}

StatusOr<Value> GlobalNamespace(Runtime& rt, const Value&, const CallArguments& args) {
  DictEntries entries;
  MF_RETURN_IF_ERROR(CollectEntries(rt, "namespace", args, &entries));
  std::vector<std::pair<std::string, Value>> attributes;
  for (auto& [key, value] : entries) {
    if (!key.is(Kind::kString)) continue;
    MF_RETURN_IF_ERROR(rt.Step(1 + attributes.size() / 16));
    const auto same = [&key = key](const auto& known) { return known.first == key.str(); };
    const auto known = std::find_if(attributes.begin(), attributes.end(), same);
    if (known != attributes.end()) {
      known->second = value;
    } else {
      attributes.emplace_back(key.str(), value);
    }
  }
  MF_ASSIGN_OR_RETURN(Value result, rt.make.Namespace(std::move(attributes)));
  rt.namespaces.push_back(result);
  return result;
}

// The template's own error: its text reaches the caller as it is.
StatusOr<Value> GlobalRaise(Runtime& rt, const Value&, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("raise_exception", {"message"}, 1, a));
  MF_ASSIGN_OR_RETURN(const Text text, rt.Str(*a[0]));
  return TemplateError(text.bytes()).WithName("raise_exception");
}

StatusOr<Value> GlobalStrftime(Runtime& rt, const Value&, const CallArguments& args) {
  const Value* a[1];
  MF_RETURN_IF_ERROR(args.Bind("strftime_now", {"format"}, 1, a));
  MF_ASSIGN_OR_RETURN(const Text format, rt.Str(*a[0]));
  const int64_t now =
      rt.options.now.value_or(std::chrono::duration_cast<std::chrono::seconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count());
  // A directive of two bytes becomes at most 24.
  MF_RETURN_IF_ERROR(rt.CheckRoom(format.size() * 12));
  return rt.NewString(FormatTime(format.bytes(), now), format.any_from_content());
}

template <int kName>
StatusOr<Value> Refused(Runtime&, const Value&, const CallArguments&) {
  constexpr std::string_view kNames[] = {"cycler", "joiner", "lipsum"};
  return Status(StatusCode::kUnimplemented, Subsystem::kChat,
                StrCat("the function '", kNames[kName], "' is not supported"));
}

constexpr BuiltinDef kGlobals[] = {
    {"cycler", Refused<0>},         {"dict", GlobalDict},
    {"joiner", Refused<1>},         {"lipsum", Refused<2>},
    {"namespace", GlobalNamespace}, {"raise_exception", GlobalRaise},
    {"range", GlobalRange},         {"strftime_now", GlobalStrftime},
};

}  // namespace

const BuiltinDef* FindGlobal(std::string_view name) { return FindIn(kGlobals, name); }

}  // namespace minfer::chat
