// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Models whose first layers run on one device and the rest on the CPU. With two CPU backends the
// bits are those of one; with a GPU the logits stay close.
#include "engine/placement.h"

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "engine/context_options.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

const std::vector<int32_t> kPrompt = {1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258};

StatusOr<std::shared_ptr<const Model>> Load(const std::string& path, const std::string& tuning,
                                            int32_t device = 0) {
  StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  ModelOptions options;
  options.device = device;
  options.tuning = tuning;
  return Model::Load(*std::move(files), options);
}

ContextOptions Options() {
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = 128;
  options.n_sessions = 3;
  options.kv_type_k = options.kv_type_v = static_cast<int32_t>(KvFormat::kF32);
  return options;
}

struct Answer {
  std::vector<float> logits;
  std::vector<int32_t> tokens;
  std::vector<int32_t> forked;
};

// A prompt, a generation beside another session, and a fork that writes a shared page.
Answer Run(const std::shared_ptr<const Model>& model) {
  std::shared_ptr<Context> context = MakeContext(model, Options());
  std::unique_ptr<Session> session = MakeSession(context);
  std::unique_ptr<Session> other = MakeSession(context);
  Answer answer;
  answer.logits = Decode(session.get(), kPrompt);
  Decode(other.get(), {kPrompt.data(), 5});
  StatusOr<std::unique_ptr<Session>> fork = session->Fork();
  MF_REQUIRE_OK(fork);
  MF_REQUIRE_OK((*fork)->SetSampling(SamplingSettings()));
  answer.tokens = Greedy(session.get(), 12);
  Decode(fork->get(), {kPrompt.data() + 3, 1});
  answer.forked = Greedy(fork->get(), 6);
  return answer;
}

TEST_CASE("Placement: layers over two backends give the bits of one", "[engine]") {
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3", "phi3"}) {
    const std::string path = TinyModelPath(name);
    StatusOr<std::shared_ptr<const Model>> whole = Load(path, "");
    MF_REQUIRE_OK(whole);
    CHECK((*whole)->placement().devices.size() == 1);
    const Answer want = Run(*whole);
    const int32_t n_layers = (*whole)->description().hp.n_layers;
    for (const int32_t layers : {0, 1, n_layers - 1, n_layers}) {
      INFO(name << ", " << layers << " of " << n_layers << " layers");
      StatusOr<std::shared_ptr<const Model>> model = Load(path, StrCat("gpu_layers=", layers));
      MF_REQUIRE_OK(model);
      CHECK((*model)->placement().devices.size() == 2);
      const Answer got = Run(*model);
      CHECK(got.logits == want.logits);
      CHECK(got.tokens == want.tokens);
      CHECK(got.forked == want.forked);
    }
    // More layers than there are: what stands behind them too.
    StatusOr<std::shared_ptr<const Model>> all = Load(path, StrCat("gpu_layers=", n_layers + 1));
    MF_REQUIRE_OK(all);
    CHECK((*all)->placement().devices.size() == 1);
  }
}

TEST_CASE("Placement: a prefix of the nodes, cut once", "[engine]") {
  const std::shared_ptr<const Model> model = LoadTinyModel("gemma3");
  const ModelDescription& description = model->description();
  GraphParams params;
  params.decode_rows = 2;
  params.prefill_rows = 3;
  params.output_rows = 2;
  params.sequences = 2;
  params.pages_per_sequence = 2;
  StepInputs inputs;
  const StatusOr<Graph> graph = BuildStepGraph(description, params, &inputs);
  MF_REQUIRE_OK(graph);
  CHECK(PlaceNodes(model->placement(), *graph).empty());
  Placement placement = model->placement();
  placement.devices.push_back(placement.devices[0]);
  for (placement.layers = 0; placement.layers <= description.hp.n_layers; ++placement.layers) {
    const std::vector<int32_t> devices = PlaceNodes(placement, *graph);
    REQUIRE(devices.size() == graph->nodes.size());
    CHECK(std::is_sorted(devices.begin(), devices.end()));
    CHECK((devices.front() == 0) == (placement.layers > 0));
    CHECK(devices.back() == 1);
    for (size_t i = 0; i < devices.size(); ++i) {
      const Node& node = graph->nodes[i];
      if (node.op == OpKind::kAttention) {
        CHECK(devices[i] == placement.OfLayer(node.attributes.layer));
      }
    }
  }
}

TEST_CASE("Placement: the plan is what both devices take, and a budget chooses the prefix",
          "[engine]") {
  const std::string path = TinyModelPath("qwen3");
  uint64_t before = 0;
  std::vector<int32_t> prefixes;
  for (const char* tuning : {"gpu_layers=0", "gpu_layers=1", "gpu_layers=2", ""}) {
    INFO(tuning);
    StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kRead);
    MF_REQUIRE_OK(files);
    ModelOptions options;
    options.read_weights = true;
    options.tuning = tuning;
    StatusOr<ModelHeader> header = ReadModelHeader(*std::move(files), options);
    MF_REQUIRE_OK(header);
    const StatusOr<MemoryUse> plan = PlanModel(*header, options);
    MF_REQUIRE_OK(plan);
    files = ModelFiles::Open(path, FileAccess::kRead);
    MF_REQUIRE_OK(files);
    const StatusOr<std::shared_ptr<const Model>> model = Model::Load(*std::move(files), options);
    MF_REQUIRE_OK(model);
    CHECK((*plan)[MemoryClass::kWeights] == (*model)->memory().of(MemoryClass::kWeights).bytes);
    const StatusOr<MemoryUse> context_plan =
        PlanContext((*model)->description(), (*model)->placement(), Options());
    MF_REQUIRE_OK(context_plan);
    std::shared_ptr<Context> context = MakeContext(*model, Options());
    std::unique_ptr<Session> session = MakeSession(context);
    Decode(session.get(), kPrompt);
    CHECK(context_plan->total() == context->memory().total.peak);
    // Both devices are the CPU here: what it has is all there is.
    CHECK((*model)->memory(0).total.bytes == (*model)->memory().total.bytes);
    CHECK((*model)->memory(1).total.bytes == 0);
    CHECK(context->memory(0).total.bytes == context->memory().total.bytes);
    before = (*plan)[MemoryClass::kWeights];
  }
  // A store that points at the mapping takes nothing, so every prefix fits; with copies none of a
  // model above 1 MiB would. The tiny model is below.
  CHECK(before < 1u << 20);
  PlacementOptions options;
  const std::shared_ptr<const Model> model = LoadModel(path);
  const ModelDescription& description = model->description();
  for (uint64_t budget = 1000; budget < 2 * before; budget += before / 16) {
    options.gpu_budget = budget;
    const StatusOr<Placement> placement = MakePlacement(description, options);
    MF_REQUIRE_OK(placement);
    prefixes.push_back(placement->devices.size() == 1 ? description.hp.n_layers + 1
                                                      : placement->layers);
  }
  CHECK(std::is_sorted(prefixes.begin(), prefixes.end()));
  CHECK(prefixes.front() == 0);
  CHECK(prefixes.back() == description.hp.n_layers + 1);
  CHECK(std::count(prefixes.begin(), prefixes.end(), 1) > 0);
}

TEST_CASE("Placement: the first layers on a GPU, the rest on the CPU", "[engine][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3", "phi3"}) {
    const std::string path = TinyModelPath(name);
    const Answer want = Run(LoadModel(path));
    const int32_t n_layers = LoadModel(path)->description().hp.n_layers;
    for (int32_t layers = 0; layers <= n_layers; ++layers) {
      INFO(name << ", " << layers << " layers");
      StatusOr<std::shared_ptr<const Model>> model =
          Load(path, StrCat("gpu_layers=", layers), *device);
      MF_REQUIRE_OK(model);
      const Answer got = Run(*model);
      float largest = 0.0f;
      for (size_t i = 0; i < want.logits.size(); ++i) {
        largest = std::max(largest, std::abs(got.logits[i] - want.logits[i]));
      }
      CHECK(largest < 2e-4f);
    }
  }
}

// Each device has the weights and the buffers of its own layers, as planned, and its own budget.
TEST_CASE("Placement: memory is told for the device that has it", "[engine][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::string path = TinyModelPath("qwen3");
  StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kRead);
  MF_REQUIRE_OK(files);
  ModelOptions options;
  options.read_weights = true;
  options.device = *device;
  options.tuning = "gpu_layers=1";
  StatusOr<ModelHeader> header = ReadModelHeader(*std::move(files), options);
  MF_REQUIRE_OK(header);
  StatusOr<Placement> placement = PlaceModel(*header, options);
  MF_REQUIRE_OK(placement);
  StatusOr<std::vector<MemoryUse>> plan = PlanModelByDevice(*header, *placement, options);
  MF_REQUIRE_OK(plan);
  files = ModelFiles::Open(path, FileAccess::kRead);
  MF_REQUIRE_OK(files);
  const StatusOr<std::shared_ptr<const Model>> model = Model::Load(*std::move(files), options);
  MF_REQUIRE_OK(model);
  StatusOr<std::vector<MemoryUse>> context_plan =
      PlanContextByDevice((*model)->description(), *placement, Options());
  MF_REQUIRE_OK(context_plan);
  std::shared_ptr<Context> context = MakeContext(*model, Options());
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), kPrompt);
  for (size_t place = 0; place < 2; ++place) {
    const int32_t index = place == 0 ? *device : 0;
    INFO("device " << index);
    const uint64_t weights = (*model)->memory(index).of(MemoryClass::kWeights).bytes;
    CHECK(weights > 0);
    CHECK(weights == (*plan)[place][MemoryClass::kWeights]);
    const MemoryAccount::Snapshot taken = context->memory(index);
    CHECK(taken.total.peak == (*context_plan)[place].total());
    CHECK(taken.of(MemoryClass::kKv).bytes > 0);
    CHECK(taken.of(MemoryClass::kStaging).bytes == (*context_plan)[place][MemoryClass::kStaging]);
  }
  // Enough for either device, not for both together.
  ContextOptions tight = Options();
  tight.budget_bytes = std::max((*context_plan)[0].total(), (*context_plan)[1].total());
  MF_REQUIRE_OK(Context::Create(*model, tight));
  --tight.budget_bytes;
  CHECK(Context::Create(*model, tight).status().code() == StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace minfer::testing
