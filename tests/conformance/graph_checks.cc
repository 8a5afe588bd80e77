// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Whole graphs through planner and executor: fusion, in place, captured steps, mixed placements.
#include <algorithm>
#include <memory>
#include <string>

#include "graph/passes/passes.h"
#include "tests/conformance/checks.h"
#include "tests/support/forwarding_backend.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_transformer.h"

namespace minfer::testing {
namespace {

// The same backend, never in place.
class ApartBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  bool CanRunInPlace(const Graph&, const Node&, int) const override { return false; }
};

Factory Apart(const Factory& factory) {
  Factory apart = factory;
  apart.make_backend = [make = factory.make_backend](std::shared_ptr<HostMemory> memory) {
    return std::make_unique<ApartBackend>(make(std::move(memory)));
  };
  return apart;
}

GraphParams StepParams(int32_t decode_rows, int32_t prefill_rows, bool fused) {
  GraphParams params;
  params.decode_rows = decode_rows;
  params.prefill_rows = prefill_rows;
  params.output_rows = 1;
  params.pages_per_sequence = 2;
  params.fuse_qkv = params.fuse_gate_up = params.fuse_rope_store = fused;
  return params;
}

ModelData TinyData(const TinyTransformer& tiny, KvFormat format) {
  ModelData model = MakeModelData(tiny.weights(), 3);
  model.rope_configs = tiny.rope_configs();
  const TinyOptions& o = tiny.options();
  model.kv_layers.assign(static_cast<size_t>(o.n_layers),
                         {o.n_kv_heads, o.head_dim, o.head_dim_v, format, format});
  return model;
}

Graph TinyGraph(const TinyTransformer& tiny, const GraphParams& params, uint64_t uid) {
  StatusOr<Graph> graph = tiny.Build(params);
  MF_REQUIRE_OK(graph);
  MF_REQUIRE_OK(RunPasses(&*graph));
  graph->uid = uid;
  return *std::move(graph);
}

// Alternating layers: nodes of layer n go to backend n mod count, the others to the first.
std::vector<int32_t> ByLayer(const Graph& graph, size_t count) {
  std::vector<int32_t> wanted;
  for (const Node& node : graph.nodes) {
    const bool in_layer = node.name.rfind("blk.", 0) == 0;
    const int32_t layer = in_layer ? std::stoi(node.name.substr(4)) : 0;
    wanted.push_back(layer % static_cast<int32_t>(count));
  }
  return wanted;
}

// A prefill of 62 rows and six decode steps, which begin a second page.
template <typename Step>
void RunConversation(const TinyTransformer& tiny, bool fused, const Step& step) {
  const Graph prefill = TinyGraph(tiny, StepParams(0, 62, fused), 1);
  step(prefill, MakeInputs(prefill, {}));
  const Graph decode = TinyGraph(tiny, StepParams(1, 0, fused), 2);
  for (int32_t i = 0; i < 6; ++i) {
    StepRows rows;
    rows.first = 62 + i;
    rows.seed = static_cast<uint64_t>(100 + i);
    step(decode, MakeInputs(decode, rows));
  }
}

// All outputs of a conversation, in order.
std::vector<NamedBytes> Converse(const std::vector<Factory>& factories, const TinyTransformer& tiny,
                                 const ModelData& model, bool fused, Faults* faults) {
  std::vector<NamedBytes> outputs;
  Rig rig(factories, model);
  std::map<uint64_t, std::unique_ptr<Executor>> executors;
  RunConversation(tiny, fused, [&](const Graph& graph, const NamedBytes& inputs) {
    std::unique_ptr<Executor>& executor = executors[graph.uid];
    if (executor == nullptr) {
      executor = rig.MakeExecutor(graph, ByLayer(graph, factories.size()));
    }
    StatusOr<NamedBytes> out = RunStep(executor.get(), graph, inputs);
    ExpectOk(out.status(), "step", faults);
    outputs.push_back(out.ok() ? *std::move(out) : NamedBytes());
  });
  return outputs;
}

void CompareAll(const std::string& where, const std::vector<NamedBytes>& got,
                const std::vector<NamedBytes>& want, double tolerance, Faults* faults) {
  for (size_t i = 0; i < want.size(); ++i) {
    Compare(where + ", step " + std::to_string(i), got[i], want[i], tolerance, faults);
  }
}

std::vector<TinyOptions> TinyVariants() {
  std::vector<TinyOptions> variants(3);
  variants[1].bias = true;
  variants[1].rope_style = RopeStyle::kNeox;
  variants[1].activation = Activation::kGeluTanh;
  variants[2].qk_norm = true;
  variants[2].head_dim_v = 5;
  variants[2].window = 7;
  return variants;
}

// The same kinds of layer with the matrices stored in other types, V and down in one of their own.
std::vector<TinyOptions> StoredVariants() {
  using Types = std::pair<ElementType, ElementType>;
  std::vector<TinyOptions> variants;
  for (const auto& [type, value_type] :
       {Types(ElementType::kF16, ElementType::kBF16), Types(ElementType::kQ8_0, ElementType::kQ4_0),
        Types(ElementType::kQ4_1, ElementType::kQ4_1),
        Types(ElementType::kQ4_K, ElementType::kQ6_K),
        Types(ElementType::kQ4_K, ElementType::kQ8_0)}) {
    TinyOptions options;
    options.type = type;
    options.value_type = value_type;
    options.bias = type == ElementType::kQ8_0;
    options.n_layers = 1;
    options.n_embd = options.n_ff = 256;
    options.head_dim = options.head_dim_v = 64;
    options.rope_dim = 64;
    variants.push_back(options);
  }
  return variants;
}

std::string Names(const std::vector<Factory>& factories) {
  std::string names;
  for (const Factory& factory : factories) names += (names.empty() ? "" : " + ") + factory.name;
  return names;
}

}  // namespace

Faults CheckFusion(const Factory& factory) {
  Faults faults;
  std::vector<TinyOptions> variants = TinyVariants();
  for (const TinyOptions& options : StoredVariants()) variants.push_back(options);
  for (const TinyOptions& options : variants) {
    const TinyTransformer tiny(options);
    const ModelData model = TinyData(tiny, KvFormat::kF16);
    CompareAll(factory.name + ": fused against unfused",
               Converse({factory}, tiny, model, true, &faults),
               Converse({factory}, tiny, model, false, &faults), 0.0, &faults);
  }
  return faults;
}

Faults CheckInPlace(const Factory& factory) {
  Faults faults;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto random = MakeRandomGraph(seed, 40, 5, factory.experts);
    ModelData model = MakeModelData(random->weights, seed);
    model.kv_layers = random->kv_layers;
    model.rope_configs = random->rope_configs;
    const NamedBytes inputs = MakeInputs(random->graph, {});
    Rig shared({factory}, model), apart({Apart(factory)}, model);
    const StatusOr<NamedBytes> want =
        RunStep(apart.MakeExecutor(random->graph, {}).get(), random->graph, inputs);
    ExpectOk(want.status(), "apart", &faults);
    if (!want.ok()) continue;
    const std::string where = factory.name + ": in place, seed " + std::to_string(seed);
    Compare(where, RunStep(shared.MakeExecutor(random->graph, {}).get(), random->graph, inputs),
            *want, 0.0, &faults);
    Compare(where + " against scalar", *want, ScalarModel(model).Run(random->graph, inputs),
            factory.tolerance * 50.0, &faults);
  }
  return faults;
}

Faults CheckCapturedSteps(const Factory& factory) {
  Faults faults;
  const TinyTransformer tiny(TinyOptions{});
  const ModelData model = TinyData(tiny, KvFormat::kF32);
  Rig captured({factory}, model), direct({factory}, model);
  const Graph graph = TinyGraph(tiny, StepParams(1, 0, true), 5);
  Graph nameless = graph;
  nameless.uid = 0;
  const auto captured_executor = captured.MakeExecutor(graph, {});
  const auto direct_executor = direct.MakeExecutor(graph, {});
  for (int32_t i = 0; i < 9; ++i) {
    StepRows rows;
    rows.first = i;
    rows.seed = static_cast<uint64_t>(i);
    const NamedBytes inputs = MakeInputs(graph, rows);
    const StatusOr<NamedBytes> want = RunStep(direct_executor.get(), nameless, inputs);
    ExpectOk(want.status(), "direct", &faults);
    if (!want.ok()) return faults;
    Compare(factory.name + ": captured step " + std::to_string(i),
            RunStep(captured_executor.get(), graph, inputs), *want, 0.0, &faults);
  }
  const BackendStatistics statistics = captured.backend(0).statistics();
  if (factory.captures) {
    Expect(statistics.steps_captured == 1, "one step is captured", &faults);
    Expect(statistics.steps_replayed == 6, "six steps are replayed", &faults);
  }
  Expect(statistics.nodes_executed == direct.backend(0).statistics().nodes_executed,
         "replays count their nodes", &faults);
  Expect(direct.backend(0).statistics().steps_captured == 0, "no uid, no capture", &faults);
  return faults;
}

Faults CheckPlacements(const std::vector<Factory>& factories, double tolerance) {
  Faults faults;
  for (const TinyOptions& options : TinyVariants()) {
    const TinyTransformer tiny(options);
    const ModelData model = TinyData(tiny, KvFormat::kF32);
    ScalarModel scalar(model);
    std::vector<NamedBytes> want;
    RunConversation(tiny, true, [&](const Graph& graph, const NamedBytes& inputs) {
      want.push_back(scalar.Run(graph, inputs));
    });
    CompareAll(Names(factories) + ": layers by turns",
               Converse(factories, tiny, model, true, &faults), want, tolerance, &faults);
  }
  return faults;
}

Faults CheckRandomGraphs(const std::vector<Factory>& factories, double tolerance) {
  Faults faults;
  const auto count = static_cast<int32_t>(factories.size());
  const bool experts = std::all_of(factories.begin(), factories.end(),
                                   [](const Factory& factory) { return factory.experts; });
  for (uint64_t seed = 100; seed < 116; ++seed) {
    const auto random = MakeRandomGraph(seed, 40, 5, experts);
    if (seed % 2 == 0) MF_REQUIRE_OK(RunPasses(&random->graph));
    random->graph.uid = seed;
    ModelData model = MakeModelData(random->weights, seed);
    model.kv_layers = random->kv_layers;
    model.rope_configs = random->rope_configs;
    const NamedBytes inputs = MakeInputs(random->graph, {});
    const NamedBytes want = ScalarModel(model).Run(random->graph, inputs);
    Rig rig(factories, model);
    const auto executor =
        rig.MakeExecutor(random->graph, RandomPlacement(random->graph, count, seed));
    for (int run = 0; run < 4; ++run) {
      Compare(Names(factories) + ": seed " + std::to_string(seed) + ", run " + std::to_string(run),
              RunStep(executor.get(), random->graph, inputs), want, tolerance, &faults);
    }
  }
  return faults;
}

}  // namespace minfer::testing
