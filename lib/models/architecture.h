// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a model architecture is: how its file is read, which weights it has and what it computes.
// Each is one file of this folder and one line in registry.cc; README.md says how to add one.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/hyperparameters.h"
#include "models/step_inputs.h"
#include "models/weights.h"

namespace minfer {

// A model as its header describes it; no weight has been read.
struct ModelDescription {
  Hyperparameters hp;
  ModelWeights weights;
  std::vector<WeightInfo> weight_table;  // by WeightId
  std::vector<WeightPlace> places;       // by WeightId
  // Tensors in the file with divisors of the RoPE frequencies, or -1. With longrope there are two:
  // see UsesLongFactors.
  int64_t frequency_factors_tensor = -1;
  int64_t long_factors_tensor = -1;
  int64_t short_factors_tensor = -1;
  std::vector<RopeConfig> rope_configs;  // hp.rope; hp.window_rope where the file has it
  std::vector<int32_t> layer_group;      // KV group of each layer
  std::vector<int32_t> group_window;     // window of each KV group, 0: none
};

// Which of the two longrope tensors a context of n_ctx tokens a session takes: the long one if more
// tokens may come than the original context had. The choice holds for the context's life, whatever
// length is in use, because keys rotated one way cannot be compared with queries rotated the other.
bool UsesLongFactors(const ModelDescription& model, int32_t n_ctx);

// Architectures are constants without destructors: nothing of theirs runs at exit.
class Architecture {
 public:
  // The value of general.architecture.
  virtual std::string_view name() const = 0;
  virtual KeyRules keys() const = 0;
  // Keys beyond the common ones, and the RoPE style.
  virtual Status ReadHyperparameters(const ModelFiles& file, Hyperparameters* hp) const = 0;
  virtual Status CollectWeights(const Hyperparameters& hp, WeightCollector* collector,
                                ModelWeights* weights) const = 0;
  // The step: rows of tokens in, logits of inputs.output_rows out.
  virtual ValueId Build(const ModelDescription& model, const StepInputs& inputs,
                        GraphBuilder* builder) const = 0;

 protected:
  ~Architecture() = default;
};

// nullptr for an architecture that this version does not know.
const Architecture* FindArchitecture(std::string_view name);
// Names in the order of the registry.
std::vector<std::string_view> ArchitectureNames();

struct DescribeOptions {
  bool allow_unknown_keys = false;
};

// Reads and checks everything but the weights' bytes.
StatusOr<ModelDescription> DescribeModel(const ModelFiles& file, const DescribeOptions& options);

// The graph of a step: the architecture's formulas, then the passes. The output is value "logits".
StatusOr<Graph> BuildStepGraph(const ModelDescription& model, const GraphParams& params,
                               StepInputs* inputs);

}  // namespace minfer
