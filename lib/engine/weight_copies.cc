// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "engine/weight_copies.h"

namespace minfer {
namespace {

// The matrices that the node multiplies with; of an operation that is no product, none.
absl::Span<const WeightId> MatricesOf(const Node& node) {
  const absl::Span<const WeightId> weights(node.weights);
  if (node.op == OpKind::kMatMul) return weights.subspan(0, 1);
  if (node.op == OpKind::kMatMulGroup) return weights.subspan(0, node.outputs.size());
  if (node.op == OpKind::kGatedMatMul) return weights.subspan(0, 2);
  return {};
}

// The halves of matrices of one node; no members where some have none. Rows of a prompt do not
// reach the output matrix, so only those of layers count.
WeightCopies::HalfGroup GroupOf(const Graph& graph, const Node& node) {
  WeightCopies::HalfGroup group;
  group.interleaved = node.op == OpKind::kGatedMatMul;
  const absl::Span<const WeightId> matrices = MatricesOf(node);
  const int64_t k = matrices.empty() ? 0 : graph.weight(matrices[0]).ne0;
  for (const WeightId id : matrices) {
    const WeightInfo& info = graph.weight(id);
    const bool fits =
        FindElementTraits(info.type)->quantized && info.name.rfind("blk.", 0) == 0 &&
        info.ne0 == k && k % 8 == 0 && info.ne2 == 1 &&
        (!group.interleaved || (info.ne1 % 8 == 0 && info.ne1 == graph.weight(matrices[0]).ne1));
    if (!fits) return {};
    group.members.push_back({info.name, group.rows});
    group.rows += (info.ne1 + 7) / 8 * 8;
  }
  return group;
}

}  // namespace

StatusOr<WeightCopies> ChooseWeightCopies(const ModelDescription& model, const Tuning& tuning,
                                          const std::vector<bool>& reads) {
  WeightCopies copies;
  copies.expand_q6k = tuning.q6k_exp;
  copies.scale_q4k = tuning.q4k_dsc;
  uint64_t budget = static_cast<uint64_t>(tuning.w16_cache) << 20;
  if (!copies.expand_q6k && !copies.scale_q4k && budget == 0) return copies;
  GraphParams params;
  params.decode_rows = params.output_rows = params.sequences = params.pages_per_sequence = 1;
  StepInputs inputs;
  MF_ASSIGN_OR_RETURN(const Graph graph, BuildStepGraph(model, params, &inputs));
  for (const Node& node : graph.nodes) {
    const absl::Span<const WeightId> matrices = MatricesOf(node);
    bool here = !matrices.empty();
    for (const WeightId id : matrices) here = here && reads[static_cast<size_t>(id)];
    if (!here) continue;
    for (const WeightId id : matrices) copies.products.insert(graph.weight(id).name);
    WeightCopies::HalfGroup group = GroupOf(graph, node);
    const auto bytes = static_cast<uint64_t>(2 * group.rows * graph.weight(matrices[0]).ne0);
    if (group.members.empty() || bytes > budget) continue;
    budget -= bytes;
    copies.halves.push_back(std::move(group));
  }
  return copies;
}

}  // namespace minfer
