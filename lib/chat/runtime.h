// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What filters, tests, methods and operators need of a render: the heap, the limits, the counters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "chat/limits.h"
#include "chat/value.h"

namespace minfer::chat {

class Runtime {
 public:
  explicit Runtime(const RenderOptions& render_options)
      : options(render_options), heap(render_options.limits.max_memory_bytes), make(&heap) {}

  // Counts work against the step limit.
  Status Step(uint64_t count = 1) {
    steps += count;
    return steps <= options.limits.max_steps ? OkStatus() : StepsExceeded();
  }
  // The steps of comparing two values: the walk ends with the smaller.
  Status StepCompare(const Value& a, const Value& b) {
    return Step(a.weight() < b.weight() ? a.weight() : b.weight());
  }
  // The steps of comparing a value with each item of a list.
  Status StepSearch(const Value& list, const Value& wanted) {
    const uint64_t each = wanted.weight() * list.items().size();
    return Step(1 + (each < list.weight() ? each : list.weight()));
  }
  // The steps of looking for a text in another, where each place may match for long.
  Status StepFind(size_t text, size_t wanted) { return Step((text / 64 + 1) * (wanted / 64 + 1)); }
  // The steps that building this much text costs.
  Status StepBytes(size_t bytes) { return Step(bytes / 256); }

  // A builder bounded by the output limit and by the memory that is left.
  TextBuilder NewText() const;
  // The builder's text as a string, or why it did not fit.
  StatusOr<Value> Finish(TextBuilder builder, bool markup = false);
  StatusOr<Text> FinishText(TextBuilder builder);
  // An error when `bytes` more would not fit.
  Status CheckRoom(size_t bytes) const;
  // A string of which every byte comes from content if `from_content`.
  StatusOr<Value> NewString(std::string bytes, bool from_content = false);
  // str() of a value, as text.
  StatusOr<Text> Str(const Value& value);

  const RenderOptions& options;
  Heap heap;
  ValueFactory make;
  uint64_t steps = 0;
  // Every namespace of the render: they may form cycles, which are cut at its end.
  std::vector<Value> namespaces;

 private:
  Status StepsExceeded() const;
};

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  // Matches the arguments with `names`: out[i] is the i-th one's value or null. An error for one
  // too many, for an unknown name, and for one of the first `required` that is missing.
  Status Bind(std::string_view function, std::initializer_list<std::string_view> names,
              size_t required, const Value** out) const;
};

// Reads an argument as an integer, a truth or bytes; the default where it is absent.
StatusOr<int64_t> IntArgument(const Value* argument, int64_t fallback);
bool BoolArgument(const Value* argument, bool fallback);

}  // namespace minfer::chat
