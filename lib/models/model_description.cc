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

// rope_dim / 2 divisors in f32; -1 where the file has no such tensor.
StatusOr<int64_t> FindFactors(const ModelFiles& file, std::string_view name, int32_t rope_dim,
                              WeightCollector* collector) {
  const TensorInfo* tensor = file.FindTensor(name);
  if (tensor == nullptr) return int64_t{-1};
  if (tensor->type != ElementType::kF32 || tensor->dims[0] != rope_dim / 2 ||
      tensor->dims[1] != 1 || tensor->dims[2] != 1 || tensor->dims[3] != 1) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                  StrCat("F32 [", rope_dim / 2, "] was expected, found ",
                         FindElementTraits(tensor->type)->name, " [", tensor->dims[0], ", ",
                         tensor->dims[1], "]"))
        .WithName(name)
        .WithOffset(tensor->file_offset);
  }
  collector->MarkKnown(name);
  return int64_t{tensor - file.tensors().data()};
}

// Divisors of the RoPE frequencies: one tensor (Llama 3.1 and later) or two (longrope). Older files
// do not state the type longrope: the tensors say it.
Status FindFrequencyFactors(const ModelFiles& file, WeightCollector* collector,
                            ModelDescription* model) {
  const Hyperparameters& hp = model->hp;
  constexpr std::string_view kOne = "rope_freqs.weight";
  constexpr std::string_view kLong = "rope_factors_long.weight";
  constexpr std::string_view kShort = "rope_factors_short.weight";
  const int32_t dim = hp.rope.rope_dim;
  MF_ASSIGN_OR_RETURN(model->frequency_factors_tensor, FindFactors(file, kOne, dim, collector));
  MF_ASSIGN_OR_RETURN(model->long_factors_tensor, FindFactors(file, kLong, dim, collector));
  MF_ASSIGN_OR_RETURN(model->short_factors_tensor, FindFactors(file, kShort, dim, collector));
  const bool has_long = model->long_factors_tensor >= 0;
  const bool has_short = model->short_factors_tensor >= 0;
  if (has_long != has_short || (hp.longrope && !has_long)) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                  "longrope needs this tensor; it is missing")
        .WithName(has_long ? kShort : kLong);
  }
  if (!has_long) return OkStatus();
  if (model->frequency_factors_tensor >= 0 || hp.rope.yarn || hp.rope.linear_factor != 1.0) {
    return Status(StatusCode::kUnimplemented, Subsystem::kModel,
                  "longrope factors beside another scaling of RoPE are not known to this version")
        .WithName(kLong);
  }
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

bool UsesLongFactors(const ModelDescription& model, int32_t n_ctx) {
  return model.long_factors_tensor >= 0 && n_ctx > model.hp.n_ctx_original;
}

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
  MF_ASSIGN_OR_RETURN(model.hp, ReadCommonHyperparameters(file, architecture->keys()));
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
  model.places = collector.TakePlaces();
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
