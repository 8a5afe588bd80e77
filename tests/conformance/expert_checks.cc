// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixture of experts: each operation against the scalar one, rows alone and among others, counts
// that lie.
#include <cstring>
#include <memory>
#include <string>

#include "graph/builder.h"
#include "tests/conformance/checks.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct ExpertShape {
  int32_t n_experts = 6;
  int32_t n_used = 2;
  int64_t n_embd = 33;
  int64_t n_ff = 18;
  ElementType type = ElementType::kF32;
  bool bias = false;
  bool normalise = true;
};

WeightInfo Weight(const std::string& name, ElementType type, int64_t ne0, int64_t ne1,
                  int64_t ne2) {
  WeightInfo info;
  info.name = name;
  info.type = type;
  info.ne0 = ne0;
  info.ne1 = ne1;
  info.ne2 = ne2;
  const ElementTraits& traits = *FindElementTraits(type);
  info.bytes = static_cast<uint64_t>(ne0 / traits.block_elements * ne1 * ne2) *
               static_cast<uint64_t>(traits.block_bytes);
  return info;
}

enum { kUp, kDown, kUpBias, kDownBias, kGate };

std::vector<WeightInfo> Weights(const ExpertShape& s) {
  return {Weight("up", s.type, s.n_embd, s.n_ff, s.n_experts),
          Weight("down", s.type, s.n_ff, s.n_embd, s.n_experts),
          Weight("up_bias", ElementType::kF32, s.n_ff, s.n_experts, 1),
          Weight("down_bias", ElementType::kF32, s.n_embd, s.n_experts, 1),
          Weight("gate", s.type, s.n_embd, s.n_ff, s.n_experts)};
}

// Each operation reads inputs of its own, so that no error is carried on; all results are outputs.
Graph OneByOne(const ExpertShape& s, const std::vector<WeightInfo>& weights, int64_t rows) {
  GraphBuilder b({}, &weights);
  const int64_t slots = rows * s.n_used;
  const ValueId scores = b.Input("scores", DataType::kF32, {rows, s.n_experts});
  const ValueId x = b.Input("x", DataType::kF32, {rows, s.n_embd});
  const ValueId inner = b.Input("inner", DataType::kF32, {slots, s.n_ff});
  const ValueId other = b.Input("other", DataType::kF32, {slots, s.n_ff});
  const ValueId gate = b.Input("gate", DataType::kF32, {rows, 1});
  const auto choice = b.TopExperts("choice", scores, s.n_used, s.normalise, 1.5f);
  const auto groups = b.GroupExperts("groups", choice.ids, s.n_experts);
  for (const ValueId id : {choice.ids, choice.weights, groups.slots, groups.counts}) {
    b.MarkOutput(id);
  }
  b.MarkOutput(b.ExpertMatMul("up", x, groups, kUp, s.bias ? kUpBias : kNoId, s.n_used));
  b.MarkOutput(b.ExpertMatMul("down", inner, groups, kDown, s.bias ? kDownBias : kNoId, 1));
  b.MarkOutput(b.ClampedSwiglu("swiglu", inner, other, 1.702f, 0.5f));
  b.MarkOutput(b.CombineExperts("combined", inner, choice.weights));
  b.MarkOutput(b.GateRows("gated", x, gate));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

// The whole block, its result the only output.
Graph Block(const ExpertShape& s, const std::vector<WeightInfo>& weights, int64_t rows) {
  GraphBuilder b({}, &weights);
  const ValueId scores = b.Input("scores", DataType::kF32, {rows, s.n_experts});
  const ValueId x = b.Input("x", DataType::kF32, {rows, s.n_embd});
  const auto choice = b.TopExperts("choice", scores, s.n_used, s.normalise, 1.0f);
  const auto groups = b.GroupExperts("groups", choice.ids, s.n_experts);
  const ValueId gate = b.ExpertMatMul("gate", x, groups, kGate, kNoId, s.n_used);
  const ValueId up = b.ExpertMatMul("up", x, groups, kUp, s.bias ? kUpBias : kNoId, s.n_used);
  const ValueId inner = b.GatedAct("inner", gate, up, Activation::kSilu);
  const ValueId down = b.ExpertMatMul("down", inner, groups, kDown, kNoId, 1);
  b.MarkOutput(b.CombineExperts("combined", down, choice.weights));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

std::string Label(const ExpertShape& s, int64_t rows) {
  return std::string(FindElementTraits(s.type)->name) + ", " + std::to_string(s.n_used) + " of " +
         std::to_string(s.n_experts) + " experts, " + std::to_string(rows) + " rows";
}

void CheckAgainstScalar(const Factory& factory, const ExpertShape& s, int64_t rows,
                        Faults* faults) {
  const std::vector<WeightInfo> weights = Weights(s);
  const ModelData model = MakeModelData(weights, 23);
  const Graph graph = OneByOne(s, weights, rows);
  Rig rig({factory}, model);
  const NamedBytes inputs = MakeInputs(graph, {});
  Compare(factory.name + ": " + Label(s, rows),
          RunStep(rig.MakeExecutor(graph, {}).get(), graph, inputs),
          ScalarModel(model).Run(graph, inputs), factory.ToleranceFor(s.type), faults);
}

std::vector<uint8_t> Row(const std::vector<uint8_t>& bytes, int64_t rows, int64_t row) {
  const auto size = static_cast<std::ptrdiff_t>(bytes.size()) / rows;
  return {bytes.begin() + row * size, bytes.begin() + (row + 1) * size};
}

// Every row alone gives the bits that it has among the others, by the plan of the largest graph.
void CheckRowsAlone(const Factory& factory, const ExpertShape& s, int64_t rows, Faults* faults) {
  const std::vector<WeightInfo> weights = Weights(s);
  const ModelData model = MakeModelData(weights, 29);
  const Graph all = Block(s, weights, rows);
  const Graph one = Block(s, weights, 1);
  Rig rig({factory}, model);
  const std::unique_ptr<Executor> executor = rig.MakeExecutor(all, {});
  const NamedBytes inputs = MakeInputs(all, {});
  const StatusOr<NamedBytes> together = RunStep(executor.get(), all, inputs);
  ExpectOk(together.status(), "together", faults);
  if (!together.ok()) return;
  for (int64_t r = 0; r < rows; ++r) {
    NamedBytes alone;
    for (const auto& [name, bytes] : inputs) alone[name] = Row(bytes, rows, r);
    NamedBytes want;
    want["combined"] = Row(together->at("combined"), rows, r);
    Compare(factory.name + ": row " + std::to_string(r) + " alone, " + Label(s, rows),
            RunStep(executor.get(), one, alone), want, 0.0, faults);
  }
}

// Slots and counts are data: what does not fit is INTERNAL, and the backend stays usable.
void CheckLies(const Factory& factory, Faults* faults) {
  const ExpertShape s;
  const std::vector<WeightInfo> weights = Weights(s);
  const ModelData model = MakeModelData(weights, 31);
  GraphBuilder b({}, &weights);
  GraphBuilder::ExpertGroups groups;
  const ValueId x = b.Input("x", DataType::kF32, {2, s.n_embd});
  groups.slots = b.Input("slots", DataType::kI32, {4, 1});
  groups.counts = b.Input("counts", DataType::kI32, {s.n_experts, 1});
  b.MarkOutput(b.ExpertMatMul("up", x, groups, kUp, kNoId, 2));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  Rig rig({factory}, model);
  const std::unique_ptr<Executor> executor = rig.MakeExecutor(*graph, {});
  const auto run = [&](std::vector<int32_t> slots, std::vector<int32_t> counts) {
    NamedBytes inputs;
    inputs["x"] = BytesOf(std::vector<float>(static_cast<size_t>(2 * s.n_embd), 1.0f));
    inputs["slots"] = BytesOf(slots);
    inputs["counts"] = BytesOf(counts);
    return RunStep(executor.get(), *graph, inputs).status();
  };
  const auto refused = [&](std::vector<int32_t> slots, std::vector<int32_t> counts,
                           const std::string& what) {
    ExpectCode(run(std::move(slots), std::move(counts)), StatusCode::kInternal,
               factory.name + ": " + what, faults);
  };
  const auto true_counts = [&](const std::string& when) {
    ExpectOk(run({3, 0, 1, 2}, {0, 1, 0, 0, 0, 3}), factory.name + ": true counts " + when, faults);
  };
  true_counts("before lies");
  refused({0, 1, 2, 4}, {4, 0, 0, 0, 0, 0}, "a slot too far");
  refused({0, 1, 2, -1}, {4, 0, 0, 0, 0, 0}, "a negative slot");
  refused({0, 1, 2, 3}, {1, 1, 1, 0, 0, 0}, "too few counted");
  refused({0, 1, 2, 3}, {1, 1, 1, 0, 0, 2}, "too many counted");
  refused({0, 1, 2, 3}, {5, -1, 0, 0, 0, 0}, "a negative count");
  true_counts("after lies");
}

// A backend without experts says so, with a reason, before anything runs.
void CheckRefused(const Factory& factory, Faults* faults) {
  const ExpertShape s;
  const std::vector<WeightInfo> weights = Weights(s);
  const ModelData model = MakeModelData(weights, 23);
  const Graph graph = OneByOne(s, weights, 3);
  Rig rig({factory}, model);
  for (const Node& node : graph.nodes) {
    const Support support = rig.backend(0).Supports(graph, node);
    Expect(!support.supported && !support.reason.empty(),
           factory.name + ": refuses '" + node.name + "'", faults);
  }
}

}  // namespace

Faults CheckExperts(const Factory& factory) {
  Faults faults;
  if (!factory.experts) {
    CheckRefused(factory, &faults);
    return faults;
  }
  ExpertShape shape;
  for (const int64_t rows : {0, 1, 2, 7, 70}) CheckAgainstScalar(factory, shape, rows, &faults);
  shape.bias = true;
  shape.normalise = false;
  for (const int64_t rows : {1, 5}) CheckAgainstScalar(factory, shape, rows, &faults);
  shape.n_experts = shape.n_used = 1;
  CheckAgainstScalar(factory, shape, 3, &faults);
  shape.n_experts = shape.n_used = 5;
  CheckAgainstScalar(factory, shape, 3, &faults);
  for (const ElementType type :
       {ElementType::kF16, ElementType::kBF16, ElementType::kQ8_0, ElementType::kQ4_0,
        ElementType::kQ4_1, ElementType::kQ5_0, ElementType::kQ5_1, ElementType::kQ4_K,
        ElementType::kQ5_K, ElementType::kQ6_K, ElementType::kIQ4_NL, ElementType::kMXFP4}) {
    ExpertShape stored;
    stored.type = type;
    stored.n_embd = stored.n_ff = 256;
    stored.bias = type == ElementType::kQ8_0;
    for (const int64_t rows : {1, 9, 70}) CheckAgainstScalar(factory, stored, rows, &faults);
    CheckRowsAlone(factory, stored, 9, &faults);
  }
  CheckRowsAlone(factory, ExpertShape(), 40, &faults);
  CheckLies(factory, &faults);
  return faults;
}

}  // namespace minfer::testing
