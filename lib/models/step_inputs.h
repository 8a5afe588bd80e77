// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The inputs of every step graph, filled by the context: all int32, T rows a step.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace minfer {

struct StepInputs {
  ValueId token_ids = kNoId;     // [T]
  ValueId positions = kNoId;     // [T] positions for RoPE
  ValueId row_sequence = kNoId;  // [T] row of the page tables; -1 for a padding row
  ValueId row_length = kNoId;    // [T] cells visible, own included
  ValueId output_rows = kNoId;   // [O] rows whose logits are wanted
  // One of each a KV group.
  std::vector<ValueId> cells;        // [T] physical cell of each row
  std::vector<ValueId> page_tables;  // [sequences, pages a sequence]
};

StepInputs DeclareStepInputs(GraphBuilder* builder, int32_t n_groups);

}  // namespace minfer
