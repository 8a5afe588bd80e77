// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Levers with something of their own to count: recordings of prompts, reads through pinned memory,
// and the shared memory that kernels are let have.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_weight_store.h"
#include "base/host_memory.h"
#include "graph/builder.h"
#include "tests/cuda/device_data.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

// Logits after each of six prompts of `rows` tokens, each from the start, and what was launched.
struct Prompts {
  std::vector<std::vector<float>> logits;
  uint64_t captured = 0;
  uint64_t replayed = 0;
  std::vector<KernelReport> report;
};

Prompts RunPrompts(const std::shared_ptr<const Model>& model, size_t rows,
                   const std::string& tuning) {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 512;
  options.n_micro_batch = 512;
  options.tuning = tuning;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  Prompts prompts;
  for (size_t round = 0; round < 6; ++round) {
    // Other tokens in each round: a replay that used old inputs would show.
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < rows; ++i) {
      tokens.push_back(3 + static_cast<int32_t>((i * 7 + round * 31) % 90));
    }
    MF_REQUIRE_OK(session->Truncate(0));
    prompts.logits.push_back(Decode(session.get(), tokens));
  }
  const BackendStatistics statistics = context->statistics().backend;
  prompts.captured = statistics.steps_captured;
  prompts.replayed = statistics.steps_replayed;
  prompts.report = context->kernel_report();
  return prompts;
}

const KernelReport* Find(const std::vector<KernelReport>& report, std::string_view op) {
  for (const KernelReport& row : report) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

TEST_CASE("CUDA levers: repeated prompts of two lengths are replayed, with the same bits",
          "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel({}), *device);
  for (const size_t rows : {16u, 300u}) {
    const Prompts replayed = RunPrompts(model, rows, "");
    const Prompts direct = RunPrompts(model, rows, "prefill_capture=0");
    INFO(rows << " rows");
    CHECK(replayed.logits == direct.logits);
    // Two runs of single launches, one that is recorded, and three replays.
    CHECK(replayed.captured == 1);
    CHECK(replayed.replayed == 3);
    CHECK(direct.captured == 0);
    CHECK(direct.replayed == 0);
    const KernelReport* on = Find(replayed.report, "split with prompts");
    const KernelReport* off = Find(direct.report, "split with prompts");
    REQUIRE(on != nullptr);
    REQUIRE(off != nullptr);
    CHECK(on->calls == 3);
    CHECK(off->reason == "tuning prefill_capture=0");
  }
}

// What a model with the levers says after a long prompt, and one of a few rows.
std::vector<std::vector<float>> Said(const std::shared_ptr<const Model>& model,
                                     std::vector<KernelReport>* report) {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 512;
  options.n_micro_batch = 512;
  std::shared_ptr<Context> context = MakeContext(model, options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::vector<std::vector<float>> said;
  for (const size_t rows : {300u, 20u, 1u}) {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < rows; ++i) tokens.push_back(3 + static_cast<int32_t>(i * 7 % 90));
    said.push_back(Decode(session.get(), tokens));
  }
  *report = context->kernel_report();
  return said;
}

TEST_CASE("CUDA levers: copies in other layouts are planned, read, and keep the bits", "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  RandomModelSpec spec;
  spec.n_embd = 256;
  spec.n_heads = 4;
  spec.head_dim = 64;
  spec.n_ff = 512;
  const auto load = [&](const std::string& path, const std::string& tuning, uint64_t* planned) {
    ModelOptions options;
    options.device = *device;
    options.tuning = tuning;
    const auto open = [&] {
      StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kMap);
      MF_REQUIRE_OK(files);
      return *std::move(files);
    };
    StatusOr<ModelHeader> header = ReadModelHeader(open(), options);
    MF_REQUIRE_OK(header);
    StatusOr<MemoryUse> plan = PlanModel(*header, options);
    MF_REQUIRE_OK(plan);
    *planned = (*plan)[MemoryClass::kWeights];
    StatusOr<std::shared_ptr<const Model>> model = Model::Load(open(), options);
    MF_REQUIRE_OK(model);
    CHECK((*model)->memory().of(MemoryClass::kWeights).bytes == *planned);
    return *model;
  };
  struct Case {
    ElementType type;
    const char* tuning;
    const char* reason;
    uint64_t more;  // bytes of weights, at least
  };
  // Of 1,152 KiB of halves a layer all but W_down fit a MiB, and the second O.
  for (const Case& c : {Case{ElementType::kQ4_K, "w16_cache=64", "tuning w16_cache", 2 << 20},
                        Case{ElementType::kQ4_K, "w16_cache=1", "tuning w16_cache", 512 << 10},
                        Case{ElementType::kQ6_K, "q6k_exp=1", "tuning q6k_exp=1", 1 << 20},
                        Case{ElementType::kQ4_K, "q4k_dsc=1", "tuning q4k_dsc=1", 512 << 10}}) {
    INFO(c.tuning);
    spec.type = c.type;
    const std::string path = MakeRandomModel(spec);
    uint64_t without = 0, with = 0;
    std::vector<KernelReport> report, report_with;
    const auto want = Said(load(path, "", &without), &report);
    const auto got = Said(load(path, c.tuning, &with), &report_with);
    CHECK(got == want);
    CHECK(with >= without + c.more);
    const auto names = [&](const std::vector<KernelReport>& rows) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const KernelReport& row) { return row.reason == c.reason; });
    };
    CHECK_FALSE(names(report));
    CHECK(names(report_with));
  }
}

TEST_CASE("CUDA levers: reads without pinned memory bring the same bytes and say why", "[cuda]") {
  if (!CudaIsHere()) return;
  StatusOr<std::shared_ptr<CudaRuntime>> runtime = CudaRuntime::Create(0);
  MF_REQUIRE_OK(runtime);
  struct Way {
    bool pinned;
    uint64_t budget;
    const char* kernel;
    const char* reason;
  };
  // The last budget has no room for the ring of uploads nor for reads.
  for (const Way& way : {Way{true, 0, "through pinned memory", "up to 4 MiB at once"},
                         Way{false, 0, "pageable memory", "tuning pinned_readback=0"},
                         Way{true, 1 << 20, "pageable memory", "pinned memory was refused"}}) {
    INFO(way.reason);
    BackendOptions options;
    const auto account = std::make_shared<MemoryAccount>(way.budget);
    options.memory = HostMemory::CreateDefault(account);
    options.pinned_readback = way.pinned;
    StatusOr<std::unique_ptr<Backend>> backend = CudaBackend::Create(*runtime, options);
    MF_REQUIRE_OK(backend);
    if (way.budget == 0) {
      CHECK(account->Read().of(MemoryClass::kStaging).bytes == (*backend)->StagingBytes());
    }
    std::vector<uint32_t> values(50000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 2654435761u);
    const uint64_t bytes = values.size() * sizeof(uint32_t);
    StatusOr<BufferId> buffer = (*backend)->Allocate(bytes, MemoryClass::kActivations);
    MF_REQUIRE_OK(buffer);
    MF_REQUIRE_OK((*backend)->Write({*buffer, 0, bytes}, values.data()));
    std::vector<uint32_t> back(values.size());
    StatusOr<std::shared_ptr<Event>> event = (*backend)->Read({*buffer, 0, bytes}, back.data());
    MF_REQUIRE_OK(event);
    MF_REQUIRE_OK((*event)->Wait());
    CHECK(back == values);
    const std::vector<KernelReport> report = (*backend)->kernel_report();
    const KernelReport* row = Find(report, "read");
    REQUIRE(row != nullptr);
    CHECK(row->kernel == way.kernel);
    CHECK(row->reason == way.reason);
    CHECK(row->calls == 1);
  }
}

TEST_CASE("CUDA shared memory: the driver is asked once a kernel, and never in a recording",
          "[cuda]") {
  if (!CudaIsHere()) return;
  StatusOr<std::shared_ptr<CudaRuntime>> runtime = CudaRuntime::Create(0);
  MF_REQUIRE_OK(runtime);
  // Without a kernel: the table itself.
  {
    kernels::cuda::SharedOptIns table;
    int nothing = 0;
    CHECK(table.Allow(&nothing, kernels::cuda::kPlainSharedBytes, true) ==
          kernels::KernelStatus::kOk);
    CHECK(table.Allow(&nothing, kernels::cuda::kPlainSharedBytes + 1, true) ==
          kernels::KernelStatus::kDeviceError);
    CHECK(table.asked() == 0);
  }
  const auto memory = HostMemory::CreateDefault(std::make_shared<MemoryAccount>());
  const std::vector<WeightInfo> weights = {
      {"w", ElementType::kQ8_0, 512, 256, uint64_t{256} * 512 / 32 * 34}};
  const std::vector<uint8_t> data(weights[0].bytes, 0);
  CudaWeightStore store(*runtime, memory);
  MF_REQUIRE_OK(store.Register(0, weights[0], data.data(), false));
  MF_REQUIRE_OK(store.Finish());
  BackendOptions options;
  options.memory = memory;
  const uint64_t x_bytes = uint64_t{40} * 512 * 4, y_bytes = uint64_t{40} * 256 * 4;
  // Two contexts of one device.
  for (int context = 0; context < 2; ++context) {
    StatusOr<std::unique_ptr<Backend>> backend = CudaBackend::Create(*runtime, options);
    MF_REQUIRE_OK(backend);
    GraphBuilder b({}, &weights);
    const ValueId product = b.MatMul("product", b.Input("x", DataType::kF32, {40, 512}), 0);
    b.MarkOutput(product);
    StatusOr<Graph> graph = b.Finish();
    MF_REQUIRE_OK(graph);
    graph->uid = 7;
    MF_REQUIRE_OK((*backend)->ReserveScratch((*backend)->ScratchBytes(*graph)));
    StatusOr<BufferId> x = (*backend)->Allocate(x_bytes, MemoryClass::kActivations);
    StatusOr<BufferId> y = (*backend)->Allocate(y_bytes, MemoryClass::kActivations);
    MF_REQUIRE_OK(x);
    MF_REQUIRE_OK(y);
    MF_REQUIRE_OK((*backend)->Write({*x, 0, x_bytes}, std::vector<float>(40 * 512, 1.0f).data()));
    NodeCall call;
    const BufferRange inputs[] = {{*x, 0, x_bytes}}, outputs[] = {{*y, 0, y_bytes}};
    call.graph = &*graph;
    call.node = &graph->nodes[0];
    call.inputs = inputs;
    call.outputs = outputs;
    call.weights = &store;
    for (int run = 0; run < 5; ++run) {
      StatusOr<SplitAction> action = (*backend)->BeginSplit(*graph, 0, 1);
      MF_REQUIRE_OK(action);
      if (*action == SplitAction::kExecute) {
        MF_REQUIRE_OK((*backend)->Execute(call));
        MF_REQUIRE_OK((*backend)->EndSplit());
      }
      // MMQ's kernel, at its first launch on the device.
      CHECK((*runtime)->opt_ins()->asked() == 1);
    }
    MF_REQUIRE_OK((*backend)->Synchronize());
    CHECK((*backend)->statistics().steps_replayed == 2);
  }
}

}  // namespace
}  // namespace minfer::testing
