// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/step_inputs.h"

#include <string>

namespace minfer {

StepInputs DeclareStepInputs(GraphBuilder* builder, int32_t n_groups) {
  const GraphParams& params = builder->params();
  const ValueShape rows{params.rows(), 1};
  StepInputs inputs;
  inputs.token_ids = builder->Input("token_ids", DataType::kI32, rows);
  inputs.positions = builder->Input("positions", DataType::kI32, rows);
  inputs.row_sequence = builder->Input("row_sequence", DataType::kI32, rows);
  inputs.row_length = builder->Input("row_length", DataType::kI32, rows);
  inputs.output_rows = builder->Input("output_rows", DataType::kI32, {params.output_rows, 1});
  for (int32_t g = 0; g < n_groups; ++g) {
    const std::string suffix = "." + std::to_string(g);
    inputs.cells.push_back(builder->Input("cells" + suffix, DataType::kI32, rows));
    inputs.page_tables.push_back(builder->Input("page_table" + suffix, DataType::kI32,
                                                {params.sequences, params.pages_per_sequence}));
  }
  return inputs;
}

}  // namespace minfer
