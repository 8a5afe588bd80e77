// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The values a template computes with: small tagged words, larger things reference-counted.
// Strings, sequences and mappings are immutable and may be shared by threads; namespaces, loops and
// macros belong to one render.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "chat/text.h"

namespace minfer::chat {

struct BuiltinDef;
struct Scope;
struct Stmt;

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kBigInt,
  kFloat,
  kString,
  kSequence,
  kDict,
  kNamespace,
  kLoop,
  kMacro,
  kFunction,
  kMethod,
};

enum class SequenceKind : uint8_t {
  kList,
  kTuple,
  kRange,
  kGenerator,  // what map() and select() give: it can be read once
  kDictKeys,
  kDictValues,
  kDictItems,
  kGroup,  // a pair that groupby() gives, with the names grouper and list
};

// Nesting of lists and mappings, so that walking a value needs little stack.
inline constexpr int kMaxValueDepth = 64;
inline constexpr uint64_t kMaxWeight = uint64_t{1} << 40;
// A key of a mapping is no larger than this, so that it can be hashed whole.
inline constexpr uint64_t kMaxKeyWeight = 65536;

// What the values of one render hold, against a limit.
class Heap {
 public:
  explicit Heap(size_t limit) : limit_(limit) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  size_t limit() const { return limit_; }
  size_t used() const { return used_; }
  size_t available() const { return limit_ - used_; }
  Status Charge(size_t bytes);
  void Release(size_t bytes) { used_ -= bytes; }

 private:
  size_t limit_;
  size_t used_ = 0;
};

class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (heap_ != nullptr) heap_->Release(charged_);
  }

  int depth() const { return depth_; }
  uint64_t weight() const { return weight_; }

 private:
  friend class Value;
  friend class ValueFactory;

  std::atomic<uint32_t> references_{0};
  int depth_ = 0;
  uint64_t weight_ = 1;
  size_t charged_ = 0;
  Heap* heap_ = nullptr;
};

struct UndefinedObject;
struct StringObject;
struct SequenceObject;
struct DictObject;
struct NamespaceObject;
struct LoopObject;
struct MacroObject;
struct MethodObject;

class Value {
 public:
  Value() : kind_(Kind::kUndefined) { as_.object = nullptr; }
  Value(const Value& other) : kind_(other.kind_), as_(other.as_) { Retain(); }
  Value(Value&& other) noexcept : kind_(other.kind_), as_(other.as_) { other.Forget(); }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(as_, other.as_);
    return *this;
  }
  ~Value() { Drop(); }

  static Value None() { return Value(Kind::kNone); }
  static Value Bool(bool value);
  static Value Int(int64_t value);
  static Value Float(double value);
  static Value Function(const BuiltinDef* def);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const;
  // A list, tuple or range, a view of a mapping, or a generator.
  bool is_list() const;

  bool boolean() const { return as_.boolean; }
  int64_t integer() const { return as_.integer; }
  double real() const { return as_.real; }
  const BuiltinDef* function() const { return as_.function; }
  const Text& text() const;
  // The bytes of a string; the decimal digits of a big integer.
  const std::string& str() const;
  const UndefinedObject* undefined() const;
  const StringObject& string() const;
  const SequenceObject& sequence() const;
  const std::vector<Value>& items() const;
  const DictObject& dict() const;
  NamespaceObject& name_space() const;
  LoopObject& loop() const;
  const MacroObject& macro() const;
  const MethodObject& method() const;

  const Object* identity() const { return HasObject() ? as_.object : nullptr; }
  int depth() const { return HasObject() && as_.object != nullptr ? as_.object->depth() : 0; }
  // The work of walking the whole value, in steps: shared parts count each time they are met, up to
  // kMaxWeight.
  uint64_t weight() const {
    return HasObject() && as_.object != nullptr ? as_.object->weight() : 1;
  }

 private:
  friend class ValueFactory;
  explicit Value(Kind kind) : kind_(kind) { as_.object = nullptr; }
  Value(Kind kind, Object* object) : kind_(kind) {
    as_.object = object;
    Retain();
  }

  bool HasObject() const {
    return kind_ != Kind::kNone && kind_ != Kind::kBool && kind_ != Kind::kInt &&
           kind_ != Kind::kFloat && kind_ != Kind::kFunction;
  }
  void Retain() const {
    if (HasObject() && as_.object != nullptr) {
      as_.object->references_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void Drop() {
    if (HasObject() && as_.object != nullptr &&
        as_.object->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete as_.object;
    }
  }
  void Forget() {
    kind_ = Kind::kUndefined;
    as_.object = nullptr;
  }

  Kind kind_;
  union {
    bool boolean;
    int64_t integer;
    double real;
    Object* object;
    const BuiltinDef* function;
  } as_;
};

using DictEntries = std::vector<std::pair<Value, Value>>;

// What a name that has no value stands for, and the message that using it gives.
struct UndefinedObject : Object {
  std::string message;
  std::string name;
};

struct StringObject : Object {
  Text text;
  bool markup = false;  // marked by |safe or |escape: what is added to it is escaped
};

struct SequenceObject : Object {
  std::vector<Value> items;
  SequenceKind kind = SequenceKind::kList;
  mutable bool consumed = false;  // generators
};

// Hashes and compares the keys of a mapping by their place in its entries; equal numbers are equal
// keys, whatever their type.
struct KeyHash {
  using is_transparent = void;
  const DictEntries* entries;
  size_t operator()(uint32_t place) const;
  size_t operator()(const Value& key) const;
  size_t operator()(std::string_view key) const;
};
struct KeyEqual {
  using is_transparent = void;
  const DictEntries* entries;
  bool operator()(uint32_t a, uint32_t b) const;
  bool operator()(const Value& key, uint32_t place) const;
  bool operator()(std::string_view key, uint32_t place) const;
};

struct DictObject : Object {
  DictEntries entries;
  std::unordered_set<uint32_t, KeyHash, KeyEqual> index{0, KeyHash{&entries}, KeyEqual{&entries}};

  const Value* Find(std::string_view key) const;
  const Value* Find(const Value& key) const;
};

struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* Find(std::string_view name) const;
};

struct LoopObject : Object {
  std::vector<Value> items;
  size_t index0 = 0;
  int depth0 = 0;
  Value changed;                    // the last arguments of loop.changed, a tuple
  const Stmt* statement = nullptr;  // of a recursive loop
  Scope* scope = nullptr;
};

struct MacroObject : Object {
  const Stmt* statement = nullptr;
  Scope* scope = nullptr;  // where it was defined; kept until the render ends
};

struct MethodObject : Object {
  Value self;
  const BuiltinDef* def = nullptr;
};

// Makes values. With a heap each is charged to it and its size checked; without one (constants of a
// template, values read from JSON) nothing is.
class ValueFactory {
 public:
  explicit constexpr ValueFactory(Heap* heap) : heap_(heap) {}

  Heap* heap() const { return heap_; }
  StatusOr<Value> String(Text text, bool markup = false) const;
  StatusOr<Value> String(std::string text) const { return String(Text(std::move(text))); }
  StatusOr<Value> BigInt(std::string digits) const;
  StatusOr<Value> Sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::kList) const;
  // Later entries replace earlier ones of an equal key, in the earlier one's place.
  StatusOr<Value> Dict(DictEntries entries) const;
  StatusOr<Value> Undefined(std::string message, std::string name) const;
  StatusOr<Value> Namespace(std::vector<std::pair<std::string, Value>> attributes) const;
  StatusOr<Value> Loop(std::vector<Value> items) const;
  StatusOr<Value> Macro(const Stmt* statement, Scope* scope) const;
  StatusOr<Value> Method(const Value& self, const BuiltinDef* def) const;

 private:
  StatusOr<Value> Adopt(Kind kind, Object* object, size_t bytes, int depth, uint64_t weight) const;

  Heap* heap_;
};

// The name of the type as Python prints it: str, int, NoneType, ...
std::string_view TypeName(const Value& value);

// Python's ideas of truth, equality and order.
bool IsTrue(const Value& value);
bool Equals(const Value& a, const Value& b);
// -1, 0, 1; an error where the types have no order.
StatusOr<int> Compare(const Value& a, const Value& b, std::string_view op);

// An INVALID_ARGUMENT of subsystem chat.
Status TemplateError(std::string message);
// What using an undefined value gives.
Status UndefinedError(const Value& value);

}  // namespace minfer::chat
