// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Who is told of each node of a step. While there is one, nodes run one by one and are waited for.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace minfer {

struct ObservedValue {
  const Value* value = nullptr;
  const void* data = nullptr;  // value->bytes() bytes, until the call returns
};

struct ObservedNode {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  int32_t backend = 0;
  std::string_view backend_name;
  int64_t start_ns = 0;  // of a steady clock
  int64_t end_ns = 0;
  absl::Span<const ObservedValue> outputs;  // empty where values are not wanted
};

class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  virtual bool WantsValues() const = 0;
  virtual void OnNode(const ObservedNode& node) = 0;
  // After a split: time to hand on what was gathered.
  virtual void OnSplitEnd() = 0;
};

}  // namespace minfer
