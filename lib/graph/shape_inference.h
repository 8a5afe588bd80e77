// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The type and shape of each output of a node, from its inputs, weights and attributes. Ids,
// positions, cells, row sequences and row lengths are int32 columns of shape [n, 1]; a page table
// is [sequences, pages]. Values may have no rows.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace minfer {

struct InferredValue {
  DataType type = DataType::kF32;
  ValueShape shape;
};

// INTERNAL with the node's name and the sizes when they do not fit together.
StatusOr<std::vector<InferredValue>> InferOutputs(const Graph& graph, const Node& node);

}  // namespace minfer
