// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/str_cat.h"
#include "graph/passes/passes.h"
#include "models/architecture.h"

namespace minfer {
namespace {

std::string KnownArchitectures() {
  std::string text;
  for (std::string_view name : ArchitectureNames()) text += StrCat(text.empty() ? "" : ", ", name);
  return text;
}

StatusOr<int32_t> VocabularyRows(const ModelFiles& file) {
  const TensorInfo* tensor = file.FindTensor("token_embd.weight");
  if (tensor == nullptr || tensor->dims[1] < 1 || tensor->dims[1] > (1 << 24)) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                  tensor == nullptr ? std::string("the model needs this tensor; it is missing")
                                    : StrCat(tensor->dims[1], " rows are no vocabulary"))
        .WithName("token_embd.weight");
  }
  return static_cast<int32_t>(tensor->dims[1]);
}

// Divisors of the RoPE frequencies (Llama 3.1 and later): rope_dim / 2 values of f32.
Status FindFrequencyFactors(const ModelFiles& file, WeightCollector* collector,
                            ModelDescription* model) {
  constexpr std::string_view kName = "rope_freqs.weight";
  const TensorInfo* tensor = file.FindTensor(kName);
  if (tensor == nullptr) return OkStatus();
  if (tensor->type != ElementType::kF32 || tensor->dims[0] != model->hp.rope.rope_dim / 2 ||
      tensor->dims[1] != 1) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                  StrCat("F32 [", model->hp.rope.rope_dim / 2, "] was expected, found ",
                         FindElementTraits(tensor->type)->name, " [", tensor->dims[0], ", ",
                         tensor->dims[1], "]"))
        .WithName(kName)
        .WithOffset(tensor->file_offset);
  }
  collector->MarkKnown(kName);
  model->frequency_factors_tensor = tensor - file.tensors().data();
  return OkStatus();
}

// Layers of one window share a KV group; groups are in the order of their first layers.
void AssignKvGroups(ModelDescription* model) {
  for (int32_t layer = 0; layer < model->hp.n_layers; ++layer) {
    const int32_t window = model->hp.window(layer);
    std::vector<int32_t>& windows = model->group_window;
    const auto known = std::find(windows.begin(), windows.end(), window);
    model->layer_group.push_back(static_cast<int32_t>(known - windows.begin()));
    if (known == windows.end()) windows.push_back(window);
  }
}

}  // namespace

StatusOr<ModelDescription> DescribeModel(const ModelFiles& file, const DescribeOptions& options) {
  MF_ASSIGN_OR_RETURN(std::string_view name, file.metadata().GetString("general.architecture"));
  const Architecture* architecture = FindArchitecture(name);
  if (architecture == nullptr) {
    return Status(StatusCode::kUnimplemented, Subsystem::kModel,
                  StrCat("architecture \"", name.substr(0, 64),
                         "\" is not known; this version has ", KnownArchitectures()))
        .WithName("general.architecture");
  }
  ModelDescription model;
  MF_ASSIGN_OR_RETURN(model.hp, ReadCommonHyperparameters(file));
  MF_RETURN_IF_ERROR(architecture->ReadHyperparameters(file, &model.hp));
  if (!options.allow_unknown_keys) {
    MF_RETURN_IF_ERROR(RefuseUnknownKeys(file, model.hp.architecture, architecture->keys()));
  }
  MF_ASSIGN_OR_RETURN(model.hp.n_vocab, VocabularyRows(file));

  WeightCollector collector(&file);
  MF_RETURN_IF_ERROR(architecture->CollectWeights(model.hp, &collector, &model.weights));
  MF_RETURN_IF_ERROR(FindFrequencyFactors(file, &collector, &model));
  if (!options.allow_unknown_keys) MF_RETURN_IF_ERROR(collector.RefuseUnknownTensors());
  model.weight_table = collector.TakeTable();
  model.tensor_indices = collector.TakeTensorIndices();
  model.rope_configs.push_back(model.hp.rope);
  if (model.hp.window_rope.has_value()) model.rope_configs.push_back(*model.hp.window_rope);
  AssignKvGroups(&model);
  return model;
}

StatusOr<Graph> BuildStepGraph(const ModelDescription& model, const GraphParams& params,
                               StepInputs* inputs) {
  const Architecture* architecture = FindArchitecture(model.hp.architecture);
  GraphBuilder builder(params, &model.weight_table);
  *inputs = DeclareStepInputs(&builder, static_cast<int32_t>(model.group_window.size()));
  ValueId logits = architecture->Build(model, *inputs, &builder);
  builder.MarkOutput(logits);
  MF_ASSIGN_OR_RETURN(Graph graph, builder.Finish());
  MF_RETURN_IF_ERROR(RunPasses(&graph));
  return graph;
}

}  // namespace minfer
