// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/liveness.h"

#include <algorithm>

namespace minfer {

std::vector<LiveRange> ComputeLiveness(const Graph& graph) {
  const auto end = static_cast<int32_t>(graph.nodes.size());
  std::vector<LiveRange> ranges(graph.values.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Value& value = graph.values[i];
    ranges[i].first = value.producer;
    const bool to_the_end = value.producer == kNoId || value.is_output;
    ranges[i].last = to_the_end ? end : value.producer;
  }
  for (int32_t node = 0; node < end; ++node) {
    for (const ValueId input : graph.nodes[static_cast<size_t>(node)].inputs) {
      LiveRange& range = ranges[static_cast<size_t>(input)];
      range.last = std::max(range.last, node);
    }
  }
  return ranges;
}

}  // namespace minfer
