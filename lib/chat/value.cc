// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "chat/value.h"

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <memory>

#include "base/str_cat.h"

namespace minfer::chat {
namespace {

// Mappings up to this size are searched entry by entry.
constexpr size_t kSmallDict = 8;

size_t TextBytes(const Text& text) {
  return text.bytes().capacity() + text.runs().size() * sizeof(TextRun);
}

int MaxDepth(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

uint64_t AddWeights(uint64_t a, uint64_t b) { return std::min(a + b, kMaxWeight); }

uint64_t TotalWeight(const std::vector<Value>& items) {
  uint64_t weight = 1;
  for (const Value& item : items) weight = AddWeights(weight, item.weight());
  return weight;
}

}  // namespace

Status Heap::Charge(size_t bytes) {
  if (bytes > limit_ - used_) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("the template's values need ", bytes, " bytes more than the ", used_,
                         " they hold; the limit is ", limit_))
        .WithName("memory")
        .WithBytes(bytes, limit_ - used_);
  }
  used_ += bytes;
  return OkStatus();
}

Value Value::Bool(bool value) {
  Value result(Kind::kBool);
  result.as_.boolean = value;
  return result;
}

Value Value::Int(int64_t value) {
  Value result(Kind::kInt);
  result.as_.integer = value;
  return result;
}

Value Value::Float(double value) {
  Value result(Kind::kFloat);
  result.as_.real = value;
  return result;
}

Value Value::Function(const BuiltinDef* def) {
  Value result(Kind::kFunction);
  result.as_.function = def;
  return result;
}

bool Value::is_number() const {
  return is(Kind::kBool) || is(Kind::kInt) || is(Kind::kBigInt) || is(Kind::kFloat);
}

bool Value::is_list() const { return is(Kind::kSequence); }

const StringObject& Value::string() const { return *static_cast<StringObject*>(as_.object); }
const Text& Value::text() const { return string().text; }
const std::string& Value::str() const { return string().text.bytes(); }
const UndefinedObject* Value::undefined() const {
  return static_cast<const UndefinedObject*>(as_.object);
}
const SequenceObject& Value::sequence() const { return *static_cast<SequenceObject*>(as_.object); }
const std::vector<Value>& Value::items() const { return sequence().items; }
const DictObject& Value::dict() const { return *static_cast<DictObject*>(as_.object); }
NamespaceObject& Value::name_space() const { return *static_cast<NamespaceObject*>(as_.object); }
LoopObject& Value::loop() const { return *static_cast<LoopObject*>(as_.object); }
const MacroObject& Value::macro() const { return *static_cast<MacroObject*>(as_.object); }
const MethodObject& Value::method() const { return *static_cast<MethodObject*>(as_.object); }

size_t KeyHash::operator()(uint32_t place) const { return (*this)((*entries)[place].first); }
size_t KeyHash::operator()(std::string_view key) const {
  return absl::HashOf(absl::string_view(key.data(), key.size()));
}
size_t KeyHash::operator()(const Value& key) const {
  switch (key.kind()) {
    case Kind::kString:
    case Kind::kBigInt:
      return (*this)(std::string_view(key.str()));
    case Kind::kBool:
      return absl::HashOf(key.boolean() ? 1.0 : 0.0);
    case Kind::kInt:
      return absl::HashOf(static_cast<double>(key.integer()));
    case Kind::kFloat:
      return absl::HashOf(key.real());
    case Kind::kSequence: {
      size_t hash = key.items().size();
      for (const Value& item : key.items()) hash = absl::HashOf(hash, (*this)(item));
      return hash;
    }
    default:
      return static_cast<size_t>(key.kind());
  }
}

bool KeyEqual::operator()(uint32_t a, uint32_t b) const { return (*this)((*entries)[a].first, b); }
bool KeyEqual::operator()(const Value& key, uint32_t place) const {
  return Equals((*entries)[place].first, key);
}
bool KeyEqual::operator()(std::string_view key, uint32_t place) const {
  const Value& known = (*entries)[place].first;
  return known.is(Kind::kString) && known.str() == key;
}

const Value* DictObject::Find(std::string_view key) const {
  if (!index.empty()) {
    const auto it = index.find(key);
    return it == index.end() ? nullptr : &entries[*it].second;
  }
  for (const auto& [entry_key, value] : entries) {
    if (entry_key.is(Kind::kString) && entry_key.str() == key) return &value;
  }
  return nullptr;
}

const Value* DictObject::Find(const Value& key) const {
  if (key.is(Kind::kString)) return Find(std::string_view(key.str()));
  if (key.weight() > kMaxKeyWeight) return nullptr;
  if (!index.empty()) {
    const auto it = index.find(key);
    return it == index.end() ? nullptr : &entries[*it].second;
  }
  for (const auto& [entry_key, value] : entries) {
    if (!entry_key.is(Kind::kString) && Equals(entry_key, key)) return &value;
  }
  return nullptr;
}

const Value* NamespaceObject::Find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

StatusOr<Value> ValueFactory::Adopt(Kind kind, Object* object, size_t bytes, int depth,
                                    uint64_t weight) const {
  Value value(kind, object);
  object->depth_ = depth;
  object->weight_ = weight;
  if (depth > kMaxValueDepth) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                  StrCat("a value nests ", depth, " deep; the limit is ", kMaxValueDepth))
        .WithName("depth");
  }
  if (heap_ != nullptr) {
    MF_RETURN_IF_ERROR(heap_->Charge(bytes));
    object->heap_ = heap_;
    object->charged_ = bytes;
  }
  return value;
}

StatusOr<Value> ValueFactory::String(Text text, bool markup) const {
  auto object = std::make_unique<StringObject>();
  const size_t bytes = sizeof(StringObject) + TextBytes(text);
  object->text = std::move(text);
  object->markup = markup;
  const uint64_t weight = 1 + object->text.size() / 256;
  return Adopt(Kind::kString, object.release(), bytes, 0, weight);
}

StatusOr<Value> ValueFactory::BigInt(std::string digits) const {
  auto object = std::make_unique<StringObject>();
  const size_t bytes = sizeof(StringObject) + digits.capacity();
  object->text = Text(std::move(digits));
  const uint64_t weight = 1 + object->text.size() / 256;
  return Adopt(Kind::kBigInt, object.release(), bytes, 0, weight);
}

StatusOr<Value> ValueFactory::Sequence(std::vector<Value> items, SequenceKind kind) const {
  auto object = std::make_unique<SequenceObject>();
  const size_t bytes = sizeof(SequenceObject) + items.capacity() * sizeof(Value);
  const int depth = MaxDepth(items) + 1;
  const uint64_t weight = TotalWeight(items);
  object->items = std::move(items);
  object->kind = kind;
  return Adopt(Kind::kSequence, object.release(), bytes, depth, weight);
}

StatusOr<Value> ValueFactory::Dict(DictEntries entries) const {
  auto object = std::make_unique<DictObject>();
  int depth = 0;
  uint64_t weight = 1;
  object->entries.reserve(entries.size());
  for (auto& entry : entries) {
    const bool is_string = entry.first.is(Kind::kString);
    if (!is_string && entry.first.weight() > kMaxKeyWeight) {
      return TemplateError("a key of a mapping is too large");
    }
    const Value* known = object->Find(entry.first);
    depth = std::max({depth, entry.first.depth(), entry.second.depth()});
    weight = AddWeights(weight, AddWeights(entry.first.weight(), entry.second.weight()));
    if (known != nullptr) {
      *const_cast<Value*>(known) = std::move(entry.second);
      continue;
    }
    object->entries.push_back(std::move(entry));
    const uint32_t count = static_cast<uint32_t>(object->entries.size());
    if (count <= kSmallDict) continue;
    for (uint32_t i = object->index.empty() ? 0 : count - 1; i < count; ++i) {
      object->index.insert(i);
    }
  }
  const size_t bytes = sizeof(DictObject) +
                       object->entries.capacity() * sizeof(DictEntries::value_type) +
                       object->index.size() * 24 + object->index.bucket_count() * sizeof(void*);
  return Adopt(Kind::kDict, object.release(), bytes, depth + 1, weight);
}

StatusOr<Value> ValueFactory::Undefined(std::string message, std::string name) const {
  auto object = std::make_unique<UndefinedObject>();
  const size_t bytes = sizeof(UndefinedObject) + message.size() + name.size();
  object->message = std::move(message);
  object->name = std::move(name);
  return Adopt(Kind::kUndefined, object.release(), bytes, 0, 1);
}

StatusOr<Value> ValueFactory::Namespace(
    std::vector<std::pair<std::string, Value>> attributes) const {
  auto object = std::make_unique<NamespaceObject>();
  const size_t bytes = sizeof(NamespaceObject) + attributes.size() * 64;
  object->attributes = std::move(attributes);
  return Adopt(Kind::kNamespace, object.release(), bytes, 0, 1);
}

StatusOr<Value> ValueFactory::Loop(std::vector<Value> items) const {
  auto object = std::make_unique<LoopObject>();
  const size_t bytes = sizeof(LoopObject) + items.capacity() * sizeof(Value);
  object->items = std::move(items);
  return Adopt(Kind::kLoop, object.release(), bytes, 0, 1);
}

StatusOr<Value> ValueFactory::Macro(const Stmt* statement, Scope* scope) const {
  auto object = std::make_unique<MacroObject>();
  object->statement = statement;
  object->scope = scope;
  return Adopt(Kind::kMacro, object.release(), sizeof(MacroObject), 0, 1);
}

StatusOr<Value> ValueFactory::Method(const Value& self, const BuiltinDef* def) const {
  auto object = std::make_unique<MethodObject>();
  object->self = self;
  object->def = def;
  return Adopt(Kind::kMethod, object.release(), sizeof(MethodObject), self.depth() + 1, 1);
}

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.string().markup ? "Markup" : "str";
    case Kind::kSequence:
      break;
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "builtin_function_or_method";
  }
  switch (value.sequence().kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kGenerator:
      return "generator";
    case SequenceKind::kDictKeys:
      return "dict_keys";
    case SequenceKind::kDictValues:
      return "dict_values";
    case SequenceKind::kDictItems:
      return "dict_items";
    case SequenceKind::kGroup:
      return "_GroupTuple";
  }
  return "object";
}

Status TemplateError(std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kChat, std::move(message));
}

Status UndefinedError(const Value& value) {
  const UndefinedObject* object = value.undefined();
  if (object == nullptr) return TemplateError("an undefined value is used");
  return TemplateError(object->message);
}

}  // namespace minfer::chat
