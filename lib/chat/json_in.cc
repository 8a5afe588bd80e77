// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "chat/json.h"

namespace minfer::chat {
namespace {

// Builds values as the parser reports them; the nesting is a vector here, not a call stack.
class ValueBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  ValueBuilder(std::string_view what, bool from_content)
      : what_(what), from_content_(from_content) {}

  bool null() override { return Add(Value::None()); }
  bool boolean(bool value) override { return Add(Value::Bool(value)); }
  bool number_integer(number_integer_t value) override { return Add(Value::Int(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX)) {
      return Add(Value::Int(static_cast<int64_t>(value)));
    }
    return Add(make_.BigInt(StrCat(value)));
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    // Integers of more than 64 bits come this way, with their text.
    if (digits.find_first_of(".eE") == std::string::npos) return Add(make_.BigInt(digits));
    return Add(Value::Float(value));
  }
  bool string(string_t& value) override { return Add(NewString(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(true); }
  bool start_array(std::size_t) override { return Open(false); }
  bool key(string_t& value) override {
    StatusOr<Value> key = NewString(std::move(value));
    if (!key.ok()) return Fail(std::move(key).status());
    open_.back().entries.emplace_back(*std::move(key), Value());
    return true;
  }
  bool end_object() override {
    DictEntries entries = std::move(open_.back().entries);
    open_.pop_back();
    return Add(make_.Dict(std::move(entries)));
  }
  bool end_array() override {
    std::vector<Value> items = std::move(open_.back().items);
    open_.pop_back();
    return Add(make_.Sequence(std::move(items)));
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(TemplateError(StrCat(what_, " is no valid JSON at byte ", position)));
  }

  StatusOr<Value> Take() {
    if (!status_.ok()) return std::move(status_);
    return std::move(root_);
  }

 private:
  struct Level {
    bool is_object = false;
    std::vector<Value> items;
    DictEntries entries;
  };

  StatusOr<Value> NewString(std::string bytes) {
    return make_.String(Text(std::move(bytes), from_content_));
  }
  bool Fail(Status status) {
    if (status_.ok()) status_ = std::move(status).WithName(what_);
    return false;
  }
  bool Open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(kMaxValueDepth)) {
      return Fail(Status(StatusCode::kResourceExhausted, Subsystem::kChat,
                         StrCat(what_, " nests deeper than ", kMaxValueDepth)));
    }
    open_.push_back({is_object, {}, {}});
    return true;
  }
  bool Add(StatusOr<Value> value) {
    if (!value.ok()) return Fail(std::move(value).status());
    if (open_.empty()) {
      root_ = *std::move(value);
    } else if (open_.back().is_object) {
      open_.back().entries.back().second = *std::move(value);
    } else {
      open_.back().items.push_back(*std::move(value));
    }
    return true;
  }

  std::string what_;
  bool from_content_;
  ValueFactory make_{nullptr};
  std::vector<Level> open_;
  Value root_;
  Status status_;
};

}  // namespace

StatusOr<Value> ValueFromJson(std::string_view json, std::string_view what, bool from_content) {
  ValueBuilder builder(what, from_content);
  nlohmann::json::sax_parse(json.begin(), json.end(), &builder);
  return builder.Take();
}

}  // namespace minfer::chat
