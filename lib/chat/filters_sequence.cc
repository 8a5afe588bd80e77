// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Filters over the items of a value.

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/print.h"
#include "chat/selection.h"
#include "chat/unicode.h"

namespace minfer::chat {
namespace {

// An item with the key it is sorted, grouped or told apart by.
struct Keyed {
  Value key;
  Value item;
};

// `attribute` may be null; text keys are lowered unless case matters.
StatusOr<std::vector<Keyed>> WithKeys(Runtime& rt, std::vector<Value> items, const Value* attribute,
                                      bool case_sensitive, const Value* fallback = nullptr) {
  std::vector<Keyed> keyed;
  keyed.reserve(items.size());
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter, AttributeGetter::Make(rt, attribute));
  for (Value& item : items) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(Value key, getter.Get(rt, item, fallback));
    if (!case_sensitive && key.is(Kind::kString)) {
      MF_ASSIGN_OR_RETURN(key, rt.NewString(ToLower(key.str())));
    }
    keyed.push_back({std::move(key), std::move(item)});
  }
  return keyed;
}

Status SortKeyed(Runtime& rt, bool reverse, std::vector<Keyed>* items) {
  Status problem;
  const auto less = [&](const Keyed& a, const Keyed& b) {
    if (problem.ok()) problem = rt.StepCompare(a.key, b.key);
    if (!problem.ok()) return false;
    const StatusOr<int> order = Compare(reverse ? b.key : a.key, reverse ? a.key : b.key, "<");
    problem = order.status();
    return order.ok() && *order == -1;
  };
  std::stable_sort(items->begin(), items->end(), less);
  return problem;
}

StatusOr<Value> Items(Runtime& rt, std::vector<Keyed> keyed, SequenceKind kind) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return rt.make.Sequence(std::move(items), kind);
}

StatusOr<Value> FilterLength(Runtime&, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(const size_t length, Length(self));
  return Value::Int(static_cast<int64_t>(length));
}

StatusOr<Value> FilterFirst(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  if (!items.empty()) return std::move(items.front());
  return rt.make.Undefined("no first item, sequence was empty", "first");
}

StatusOr<Value> FilterLast(Runtime& rt, const Value& self, const CallArguments&) {
  if (self.is_list() && self.sequence().kind == SequenceKind::kGenerator) {
    return TemplateError("'generator' object is not reversible");
  }
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  if (!items.empty()) return std::move(items.back());
  return rt.make.Undefined("no last item, sequence was empty", "last");
}

StatusOr<Value> FilterList(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  return rt.make.Sequence(std::move(items));
}

StatusOr<Value> FilterReverse(Runtime& rt, const Value& self, const CallArguments&) {
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  std::reverse(items.begin(), items.end());
  if (!self.is(Kind::kString)) {
    return rt.make.Sequence(std::move(items), SequenceKind::kGenerator);
  }
  Text out;
  for (const Value& item : items) out.Append(item.text());
  return rt.make.String(std::move(out));
}

StatusOr<Value> FilterJoin(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("join", {"d", "attribute"}, 0, a));
  Text separator;
  if (a[0] != nullptr) {
    MF_ASSIGN_OR_RETURN(separator, rt.Str(*a[0]));
  }
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter, AttributeGetter::Make(rt, a[1]));
  TextBuilder out = rt.NewText();
  for (size_t i = 0; i < items.size() && !out.full(); ++i) {
    MF_RETURN_IF_ERROR(rt.Step());
    if (i > 0) out.Append(separator);
    MF_ASSIGN_OR_RETURN(const Value item, getter.Get(rt, items[i], nullptr));
    AppendStr(item, &out);
  }
  return rt.Finish(std::move(out));
}

StatusOr<Value> FilterSort(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("sort", {"reverse", "case_sensitive", "attribute"}, 0, a));
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                      WithKeys(rt, std::move(items), a[2], BoolArgument(a[1], false)));
  MF_RETURN_IF_ERROR(SortKeyed(rt, BoolArgument(a[0], false), &keyed));
  return Items(rt, std::move(keyed), SequenceKind::kList);
}

StatusOr<Value> FilterUnique(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("unique", {"case_sensitive", "attribute"}, 0, a));
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                      WithKeys(rt, std::move(items), a[1], BoolArgument(a[0], false)));
  std::vector<Keyed> kept;
  for (Keyed& entry : keyed) {
    MF_RETURN_IF_ERROR(rt.Step(kept.size() * entry.key.weight()));
    const bool known = std::any_of(
        kept.begin(), kept.end(), [&](const Keyed& other) { return Equals(other.key, entry.key); });
    if (!known) kept.push_back(std::move(entry));
  }
  return Items(rt, std::move(kept), SequenceKind::kGenerator);
}

template <int kSign>
StatusOr<Value> FilterExtreme(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("min and max", {"case_sensitive", "attribute"}, 0, a));
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(const std::vector<Keyed> keyed,
                      WithKeys(rt, std::move(items), a[1], BoolArgument(a[0], false)));
  if (keyed.empty()) return rt.make.Undefined("no aggregated item, sequence was empty", "min");
  const Keyed* best = &keyed[0];
  for (const Keyed& entry : keyed) {
    MF_RETURN_IF_ERROR(rt.StepCompare(entry.key, best->key));
    MF_ASSIGN_OR_RETURN(const int order, Compare(entry.key, best->key, "<"));
    if (order == kSign) best = &entry;
  }
  return best->item;
}

StatusOr<Value> FilterSum(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("sum", {"attribute", "start"}, 0, a));
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter, AttributeGetter::Make(rt, a[0]));
  Value total = a[1] != nullptr ? *a[1] : Value::Int(0);
  for (const Value& item : items) {
    MF_RETURN_IF_ERROR(rt.Step());
    MF_ASSIGN_OR_RETURN(const Value value, getter.Get(rt, item, nullptr));
    MF_ASSIGN_OR_RETURN(total, Arithmetic(rt, Operator::kAdd, total, value));
  }
  return total;
}

StatusOr<Value> FilterDictSort(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("dictsort", {"case_sensitive", "by", "reverse"}, 0, a));
  if (!self.is(Kind::kDict)) {
    if (self.is(Kind::kUndefined)) return UndefinedError(self);
    return TemplateError(StrCat("'", TypeName(self), "' object has no attribute 'items'"));
  }
  const std::string by = a[1] != nullptr && a[1]->is(Kind::kString) ? a[1]->str() : "key";
  if (by != "key" && by != "value") {
    return TemplateError("you can only sort by either \"key\" or \"value\"");
  }
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : self.dict().entries) {
    Value sort_key = by == "key" ? key : value;
    if (!BoolArgument(a[0], false) && sort_key.is(Kind::kString)) {
      MF_ASSIGN_OR_RETURN(sort_key, rt.NewString(ToLower(sort_key.str())));
    }
    MF_ASSIGN_OR_RETURN(Value pair, rt.make.Sequence({key, value}, SequenceKind::kTuple));
    keyed.push_back({std::move(sort_key), std::move(pair)});
  }
  MF_RETURN_IF_ERROR(SortKeyed(rt, BoolArgument(a[2], false), &keyed));
  return Items(rt, std::move(keyed), SequenceKind::kList);
}

StatusOr<Value> FilterItems(Runtime& rt, const Value& self, const CallArguments&) {
  std::vector<Value> items;
  if (!self.is(Kind::kUndefined)) {
    if (!self.is(Kind::kDict)) return TemplateError("can only get item pairs from a mapping");
    for (const auto& [key, value] : self.dict().entries) {
      MF_ASSIGN_OR_RETURN(Value pair, rt.make.Sequence({key, value}, SequenceKind::kTuple));
      items.push_back(std::move(pair));
    }
  }
  return rt.make.Sequence(std::move(items), SequenceKind::kGenerator);
}

StatusOr<Value> FilterGroupBy(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[3];
  MF_RETURN_IF_ERROR(args.Bind("groupby", {"attribute", "default", "case_sensitive"}, 1, a));
  MF_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                      WithKeys(rt, std::move(items), a[0], BoolArgument(a[2], false), a[1]));
  MF_RETURN_IF_ERROR(SortKeyed(rt, false, &keyed));
  MF_ASSIGN_OR_RETURN(const AttributeGetter getter, AttributeGetter::Make(rt, a[0]));
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    const size_t first = i;
    for (; i < keyed.size() && Equals(keyed[i].key, keyed[first].key); ++i) {
      MF_RETURN_IF_ERROR(rt.StepCompare(keyed[i].key, keyed[first].key));
      members.push_back(keyed[i].item);
    }
    // The group's name is as the first member writes it.
    MF_ASSIGN_OR_RETURN(Value name, getter.Get(rt, members[0], a[1]));
    MF_ASSIGN_OR_RETURN(Value list, rt.make.Sequence(std::move(members)));
    MF_ASSIGN_OR_RETURN(Value group,
                        rt.make.Sequence({std::move(name), std::move(list)}, SequenceKind::kGroup));
    groups.push_back(std::move(group));
  }
  return rt.make.Sequence(std::move(groups));
}

// Rows of `size` items each; the last is filled up when a filler is given.
StatusOr<Value> FilterBatch(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("batch", {"linecount", "fill_with"}, 1, a));
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(const int64_t size, IntArgument(a[0], 0));
  if (size <= 0) return TemplateError("batch: the size must be positive");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : items) {
    row.push_back(item);
    if (static_cast<int64_t>(row.size()) < size) continue;
    MF_ASSIGN_OR_RETURN(Value whole, rt.make.Sequence(std::exchange(row, {})));
    rows.push_back(std::move(whole));
  }
  if (!row.empty()) {
    if (a[1] != nullptr && !a[1]->is(Kind::kNone)) {
      MF_RETURN_IF_ERROR(rt.CheckRoom(std::min<size_t>(size, SIZE_MAX / 64) * sizeof(Value)));
      row.resize(static_cast<size_t>(size), *a[1]);
    }
    MF_ASSIGN_OR_RETURN(Value last, rt.make.Sequence(std::move(row)));
    rows.push_back(std::move(last));
  }
  return rt.make.Sequence(std::move(rows), SequenceKind::kGenerator);
}

// `count` columns, the first ones longer by one where it doesn't divide.
StatusOr<Value> FilterSlice(Runtime& rt, const Value& self, const CallArguments& args) {
  const Value* a[2];
  MF_RETURN_IF_ERROR(args.Bind("slice", {"slices", "fill_with"}, 1, a));
  MF_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(rt, self));
  MF_ASSIGN_OR_RETURN(const int64_t count, IntArgument(a[0], 0));
  if (count <= 0) return TemplateError("slice: the count must be positive");
  MF_RETURN_IF_ERROR(rt.Step(static_cast<uint64_t>(count)));
  const size_t columns = static_cast<size_t>(count);
  std::vector<Value> out;
  size_t at = 0;
  for (size_t i = 0; i < columns; ++i) {
    const bool longer = i < items.size() % columns;
    const size_t end = at + items.size() / columns + (longer ? 1 : 0);
    std::vector<Value> column(items.begin() + at, items.begin() + end);
    if (a[1] != nullptr && !a[1]->is(Kind::kNone) && !longer && items.size() % columns != 0) {
      column.push_back(*a[1]);
    }
    at = end;
    MF_ASSIGN_OR_RETURN(Value whole, rt.make.Sequence(std::move(column)));
    out.push_back(std::move(whole));
  }
  return rt.make.Sequence(std::move(out), SequenceKind::kGenerator);
}

constexpr BuiltinDef kFilters[] = {
    {"batch", FilterBatch},     {"count", FilterLength},    {"dictsort", FilterDictSort},
    {"first", FilterFirst},     {"groupby", FilterGroupBy}, {"items", FilterItems},
    {"join", FilterJoin},       {"last", FilterLast},       {"length", FilterLength},
    {"list", FilterList},       {"max", FilterExtreme<1>},  {"min", FilterExtreme<-1>},
    {"reverse", FilterReverse}, {"slice", FilterSlice},     {"sort", FilterSort},
    {"sum", FilterSum},         {"unique", FilterUnique},
};

}  // namespace

absl::Span<const BuiltinDef> SequenceFilters() { return kFilters; }

}  // namespace minfer::chat
