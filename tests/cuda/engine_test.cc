// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Models and contexts on a device: what they take is what the plan says, and all of it comes back.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "engine/context_options.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

// What the driver takes beside each buffer (it hands out memory in pieces of 2 MiB), and beside all
// of them: recorded graphs and what kernels need.
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kBesideAll = 64 * kMiB;

int64_t FreeBytes(int32_t device) {
  return static_cast<int64_t>(FindDevices()[static_cast<size_t>(device)]->info().memory_free);
}

// What of a plan lies on the device.
int64_t OnDevice(const MemoryUse& use) {
  return static_cast<int64_t>(use.total() - use[MemoryClass::kStaging]);
}

void Work(const std::shared_ptr<const Model>& model, const ContextOptions& options) {
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), std::vector<int32_t>(40, 7));
  Greedy(session.get(), 8);
}

// What follows a prompt greedily, and the logits in the end, with `neighbours` sessions that are in
// the same steps.
std::vector<float> Among(const std::shared_ptr<const Model>& model, ContextOptions options,
                         size_t neighbours, std::vector<int32_t>* tokens) {
  options.n_sessions = static_cast<uint32_t>(neighbours) + 1;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::vector<std::unique_ptr<Session>> sessions;
  GenerateOptions generate;
  for (size_t i = 0; i <= neighbours; ++i) {
    sessions.push_back(MakeSession(context));
    // The last is the one looked at; others are in their prompt when it decodes, or have ended.
    const bool mine = i == neighbours;
    std::vector<int32_t> prompt;
    for (size_t t = 0; t < (mine ? 90 : 1 + 37 * i % 120); ++t) {
      prompt.push_back(3 + static_cast<int32_t>((t * 7 + (mine ? 0 : i)) % 250));
    }
    generate.max_tokens = mine ? 12 : 5 + static_cast<int64_t>(i);
    MF_REQUIRE_OK(sessions[i]->Feed(prompt));
    MF_REQUIRE_OK(sessions[i]->Start(generate));
  }
  StepResult result;
  do {
    MF_REQUIRE_OK(context->Step(StepOptions(), &result));
    StatusOr<TokenEvent> event = sessions[neighbours]->Next();
    if (event.ok()) tokens->push_back(event->token);
  } while (result.n_rows > 0);
  StatusOr<absl::Span<const float>> logits = sessions[neighbours]->Logits();
  MF_REQUIRE_OK(logits);
  return std::vector<float>(logits->begin(), logits->end());
}

TEST_CASE("CUDA engine: deterministic results do not depend on the batch", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  for (const ElementType type : {ElementType::kQ8_0, ElementType::kF32}) {
    const std::shared_ptr<const Model> model =
        type == ElementType::kQ8_0 ? LoadModel(QuantizedTinyModelPath("qwen3", type), *device)
                                   : LoadModel(TinyModelPath("qwen3"), *device);
    ContextOptions options;
    options.n_ctx = 400;
    options.deterministic = true;
    std::vector<int32_t> want_greedy;
    const std::vector<float> want = Among(model, options, 0, &want_greedy);
    for (const uint32_t n_micro_batch : {7u, 33u, 300u}) {
      for (const size_t neighbours : {0u, 2u, 11u}) {
        INFO(FindElementTraits(type)->name << " micro-batch " << n_micro_batch << ", " << neighbours
                                           << " neighbours");
        options.n_micro_batch = n_micro_batch;
        std::vector<int32_t> greedy;
        CHECK(Among(model, options, neighbours, &greedy) == want);
        CHECK(greedy == want_greedy);
      }
    }
  }
}

TEST_CASE("CUDA engine: the plan is what the device loses", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  RandomModelSpec spec;
  spec.n_embd = 512;
  spec.n_heads = 8;
  spec.n_kv_heads = 2;
  spec.head_dim = 64;
  spec.n_ff = 2048;
  spec.n_layers = 4;
  spec.n_vocab = 4096;
  const std::string path = MakeRandomModel(spec);
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = 16384;
  options.n_sessions = 4;
  // Once before: what is loaded with the first kernels stays with the device.
  Work(LoadModel(path, *device), options);

  const int64_t before = FreeBytes(*device);
  StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  ModelOptions model_options;
  model_options.device = *device;
  StatusOr<ModelHeader> header = ReadModelHeader(*std::move(files), model_options);
  MF_REQUIRE_OK(header);
  StatusOr<MemoryUse> model_plan = PlanModel(*header, model_options);
  MF_REQUIRE_OK(model_plan);
  {
    const std::shared_ptr<const Model> model = LoadModel(path, *device);
    const int64_t loaded = FreeBytes(*device);
    StatusOr<MemoryUse> plan = PlanContext(model->description(), model->placement(), options);
    MF_REQUIRE_OK(plan);
    std::shared_ptr<Context> context = MakeContext(model, options);
    std::unique_ptr<Session> session = MakeSession(context);
    Decode(session.get(), std::vector<int32_t>(300, 7));
    Greedy(session.get(), 8);
    const int64_t running = FreeBytes(*device);
    std::cout << "weights: " << before - loaded << " bytes gone, " << OnDevice(*model_plan)
              << " planned; context: " << loaded - running << " gone, " << OnDevice(*plan)
              << " planned" << std::endl;
    CHECK(before - loaded >= OnDevice(*model_plan));
    CHECK(before - loaded <= OnDevice(*model_plan) + kBesideAll);
    CHECK(loaded - running >= OnDevice(*plan));
    CHECK(loaded - running <= OnDevice(*plan) + kBesideAll);
  }
  CHECK(FreeBytes(*device) == before);
}

// A context with one session that has seen forty tokens.
std::pair<std::shared_ptr<Context>, std::unique_ptr<Session>> AfterPrompt(
    const std::shared_ptr<const Model>& model, const std::string& tuning) {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 512;
  options.tuning = tuning;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), std::vector<int32_t>(40, 7));
  return {std::move(context), std::move(session)};
}

TEST_CASE("CUDA engine: a decode step is recorded once and then one launch", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel({}), *device);
  CHECK(model->placement().devices.size() == 1);
  for (const bool graphs : {true, false}) {
    const auto [context, session] = AfterPrompt(model, graphs ? "" : "cuda_graph=0");
    const BackendStatistics before = context->statistics().backend;
    Greedy(session.get(), 20);
    const BackendStatistics after = context->statistics().backend;
    // Two runs of single launches, one that is recorded, and replays.
    CHECK(after.steps_captured - before.steps_captured == (graphs ? 1u : 0u));
    CHECK(after.steps_replayed - before.steps_replayed == (graphs ? 17u : 0u));
    // Counted alike, however they were launched.
    CHECK((after.nodes_executed - before.nodes_executed) % 20 == 0);
  }
}

// Launches of a recorded decode step of a dense model with so many layers.
uint64_t DecodeLaunches(int32_t device, int32_t n_layers, const std::string& tuning) {
  RandomModelSpec spec;
  spec.n_embd = 128;
  spec.n_layers = n_layers;
  spec.n_heads = 2;
  spec.n_kv_heads = 1;
  spec.head_dim = 64;
  spec.n_ff = 256;
  spec.type = ElementType::kQ8_0;
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec), device);
  const auto [context, session] = AfterPrompt(model, tuning);
  const BackendStatistics before = context->statistics().backend;
  Greedy(session.get(), 10);
  const BackendStatistics after = context->statistics().backend;
  CHECK(after.steps_captured - before.steps_captured == 1);
  return after.launches_captured - before.launches_captured;
}

TEST_CASE("CUDA engine: a layer of a decode step is seven launches", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const auto of_layer = [&](const std::string& tuning) {
    return DecodeLaunches(*device, 3, tuning) - DecodeLaunches(*device, 2, tuning);
  };
  CHECK(of_layer("") == 7);
  // The quantisation of what W_down reads by itself.
  CHECK(of_layer("fuse_ffn=0") == 8);
}

TEST_CASE("CUDA engine: a decode step selects no rows, for all are outputs", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model =
      LoadModel(QuantizedTinyModelPath("qwen3", ElementType::kQ8_0), *device);
  std::vector<float> logits[2];
  for (const bool fused : {false, true}) {
    const auto [context, session] = AfterPrompt(model, fused ? "" : "fuse_add=0");
    for (int32_t i = 0; i < 6; ++i) logits[fused ? 1 : 0] = Decode(session.get(), {&i, 1});
    const std::vector<KernelReport> report = context->kernel_report();
    const bool selects_none =
        std::any_of(report.begin(), report.end(), [](const KernelReport& row) {
          return row.op == "select_rows" && row.kernel == "none" && row.calls > 0;
        });
    CHECK(selects_none == fused);
  }
  CHECK(logits[0] == logits[1]);
}

TEST_CASE("CUDA engine: what picks tokens may change between replayed steps", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model =
      LoadModel(QuantizedTinyModelPath("qwen3", ElementType::kQ8_0), *device);
  SamplingSettings greedy;
  SamplingSettings drawn = DefaultSamplingSettings();
  drawn.seed = 5;
  SamplingSettings whole = drawn;  // needs rows of logits as they are
  whole.penalty_last_n = 64;
  whole.repetition_penalty = 1.2f;
  std::vector<int32_t> tokens[2];
  std::vector<float> logits[2];
  for (const bool graphs : {false, true}) {
    const auto [context, session] = AfterPrompt(model, graphs ? "" : "cuda_graph=0");
    for (const SamplingSettings& settings : {greedy, drawn, greedy, whole, drawn, greedy}) {
      MF_REQUIRE_OK(session->SetSampling(settings));
      const std::vector<int32_t> some = Greedy(session.get(), 9);
      tokens[graphs ? 1 : 0].insert(tokens[graphs ? 1 : 0].end(), some.begin(), some.end());
    }
    StatusOr<absl::Span<const float>> row = session->Logits();
    MF_REQUIRE_OK(row);
    logits[graphs ? 1 : 0].assign(row->begin(), row->end());
    const BackendStatistics statistics = context->statistics().backend;
    // With the entries that were asked for first, and once more without.
    CHECK(statistics.steps_captured == (graphs ? 2u : 0u));
  }
  CHECK(tokens[0] == tokens[1]);
  CHECK(logits[0] == logits[1]);
}

void CUDART_CB Sleep(void* done) {
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  static_cast<std::atomic<bool>*>(done)->store(true);
}

void Append(void* lines, int, const char* message, size_t size) {
  static_cast<std::string*>(lines)->append(message, size).append("\n");
}

// A stream of the device, as a host has it.
cudaStream_t HostStream(const Model& model) {
  int ordinal = model.device_index() - 1;  // the CPU is device 0
  REQUIRE(cudaSetDevice(ordinal) == cudaSuccess);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

TEST_CASE("CUDA engine: work follows what a host's stream holds, and leaves it alone", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel({}), *device);
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 256;
  std::unique_ptr<Session> plain = MakeSession(MakeContext(model, options));
  Decode(plain.get(), std::vector<int32_t>(40, 7));
  const std::vector<int32_t> want = Greedy(plain.get(), 20);
  const cudaStream_t host = HostStream(*model);
  options.cuda_stream = host;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::atomic<bool> done = false;
  REQUIRE(cudaLaunchHostFunc(host, &Sleep, &done) == cudaSuccess);
  Decode(session.get(), std::vector<int32_t>(40, 7));
  CHECK(done.load());
  CHECK(Greedy(session.get(), 20) == want);
  CHECK(context->statistics().backend.steps_replayed > 0);
  done = false;
  REQUIRE(cudaLaunchHostFunc(host, &Sleep, &done) == cudaSuccess);
  Greedy(session.get(), 1);  // a replayed step waits too
  CHECK(done.load());
  // While the host captures it, nothing can be ordered by it.
  REQUIRE(cudaStreamBeginCapture(host, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  MF_REQUIRE_OK(session->Feed({7}));
  CHECK(session->Decode(nullptr).code() == StatusCode::kFailedPrecondition);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(host, &graph) == cudaSuccess);
  size_t nodes = 1;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 0);
  cudaGraphDestroy(graph);
  session = nullptr;
  context = nullptr;
  CHECK(cudaStreamQuery(host) == cudaSuccess);
  CHECK(cudaStreamDestroy(host) == cudaSuccess);
}

TEST_CASE("CUDA engine: a host's stream that cannot be captured means no graphs, in the log too",
          "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel({}), *device);
  std::string lines;
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 256;
  options.log_sink = &Append;
  options.log_user_data = &lines;
  options.cuda_stream = cudaStreamLegacy;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), std::vector<int32_t>(40, 7));
  Greedy(session.get(), 20);
  CHECK(context->statistics().backend.steps_captured == 0);
  CHECK(lines.find("cannot be captured") != std::string::npos);
}

TEST_CASE("CUDA engine: a host's context is the primary one, or refused by name", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::string path = MakeRandomModel({});
  const std::shared_ptr<const Model> model = LoadModel(path, *device);
  const cudaStream_t host = HostStream(*model);
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  cudaDriverEntryPointQueryResult found;
  REQUIRE(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent",
                                           reinterpret_cast<void**>(&get_current), 12000,
                                           cudaEnableDefault, &found) == cudaSuccess);
  CUcontext primary = nullptr;
  REQUIRE(get_current(&primary) == CUDA_SUCCESS);
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 64;
  options.cuda_context = primary;
  MF_REQUIRE_OK(Context::Create(model, options));
  options.cuda_context = &options;
  const Status other = Context::Create(model, options).status();
  CHECK(other.code() == StatusCode::kUnimplemented);
  CHECK(other.name() == "cuda_context");
  options.cuda_context = nullptr;
  options.cuda_stream = host;
  const Status on_cpu = Context::Create(LoadModel(path), options).status();
  CHECK(on_cpu.code() == StatusCode::kInvalidArgument);
  CHECK(on_cpu.name() == "cuda_stream");
  CHECK(cudaStreamDestroy(host) == cudaSuccess);
}

// Without checks of the test program, which are not for several threads.
Status Generate(Context* context, Session* session, std::vector<int32_t>* tokens) {
  GenerateOptions generate;
  generate.max_tokens = 40;
  generate.ignore_end = true;
  MF_RETURN_IF_ERROR(session->Feed(std::vector<int32_t>(70, 7)));
  MF_RETURN_IF_ERROR(session->Start(generate));
  StepResult result;
  do {
    MF_RETURN_IF_ERROR(context->Step(StepOptions(), &result));
    for (StatusOr<TokenEvent> event = session->Next(); event.ok(); event = session->Next()) {
      tokens->push_back(event->token);
    }
  } while (result.n_rows > 0);
  return OkStatus();
}

TEST_CASE("CUDA engine: two devices at once, each picked by its index", "[cuda]") {
  std::vector<int32_t> gpus;
  const auto devices = FindDevices();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->info().kind == DeviceKind::kCuda) gpus.push_back(static_cast<int32_t>(i));
  }
  if (gpus.size() < 2) {
    ReportSkip("fewer than two CUDA devices");
    return;
  }
  const std::string path = MakeRandomModel({});
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 256;
  // Something is on each device, and neither takes what is the other's.
  const int64_t free[] = {FreeBytes(gpus[0]), FreeBytes(gpus[1])};
  std::vector<std::shared_ptr<const Model>> models;
  std::vector<std::shared_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Session>> sessions;
  for (size_t i = 0; i < 2; ++i) {
    models.push_back(LoadModel(path, gpus[i]));
    CHECK(models[i]->device_index() == gpus[i]);
    contexts.push_back(MakeContext(models[i], options));
    sessions.push_back(MakeSession(contexts[i]));
    CHECK(free[i] - FreeBytes(gpus[i]) > kMiB);
    if (i == 0) CHECK(FreeBytes(gpus[1]) == free[1]);
  }
  std::vector<int32_t> tokens[2];
  Status ended[2];
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back(
        [&, i] { ended[i] = Generate(contexts[i].get(), sessions[i].get(), &tokens[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 2; ++i) {
    CHECK(ended[i].ok());
    CHECK(tokens[i].size() == 40);
    CHECK(contexts[i]->statistics().backend.steps_replayed > 0);
  }
  const bool alike = devices[static_cast<size_t>(gpus[0])]->info().name ==
                     devices[static_cast<size_t>(gpus[1])]->info().name;
  if (alike) CHECK(tokens[0] == tokens[1]);
}

TEST_CASE("CUDA engine: a hundred loads, runs and ends leave the device as it was", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::string path = MakeRandomModel({});
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 256;
  for (int i = 0; i < 3; ++i) Work(LoadModel(path, *device), options);
  const int64_t before = FreeBytes(*device);
  for (int i = 0; i < 100; ++i) Work(LoadModel(path, *device), options);
  CHECK(FreeBytes(*device) == before);
}

}  // namespace
}  // namespace minfer::testing
