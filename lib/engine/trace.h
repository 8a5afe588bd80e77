// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A trace in the format of Chrome's trace viewer: an event a node, gathered during a split and
// written behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/op.h"
#include "plan/node_observer.h"

namespace minfer {

// As mf_trace_callback.
using TextSinkFn = void (*)(void* user_data, const char* text, size_t length);

struct TraceOptions {
  bool values = false;
  TextSinkFn write = nullptr;
  void* user_data = nullptr;
};

// Hands a text on; what the host throws is dropped.
void WriteText(TextSinkFn write, void* user_data, std::string_view text);

class Trace final : public NodeObserver {
 public:
  // Begins the text.
  explicit Trace(const TraceOptions& options);

  bool WantsValues() const override { return options_.values; }
  void OnNode(const ObservedNode& node) override;
  void OnSplitEnd() override;
  // Ends the text.
  void Finish();

 private:
  struct OpTime {
    uint64_t calls = 0;
    int64_t ns = 0;
  };

  const TraceOptions options_;
  std::string text_;
  bool first_ = true;
  int64_t began_ns_ = -1;  // of the first node: times are from there
  std::array<OpTime, kOpKindCount> ops_{};
};

}  // namespace minfer
