// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Recording of splits where several threads use the device at once: two contexts record and replay
// while a third loads weights. The blocking form, whole-device waits and the legacy stream, would
// break the recordings; that it does is shown too.
#include <catch2/catch.hpp>
#include <thread>

#include "backend/cuda_devices.h"
#include "backend/device.h"
#include "base/host_memory.h"
#include "graph/builder.h"
#include "tests/cuda/device_data.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr int64_t kCols = 4096;
constexpr int kNodes = 200;

// x + x, again and again.
Graph DoublingGraph(uint64_t uid) {
  GraphBuilder b({}, nullptr);
  ValueId x = b.Input("x", DataType::kF32, {1, kCols});
  for (int i = 0; i < kNodes; ++i) {
    x = b.Scale("scale" + std::to_string(i), x, i % 2 == 0 ? 2.0f : 0.5f);
  }
  b.MarkOutput(x);
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  graph->uid = uid;
  return *std::move(graph);
}

struct Outcome {
  Status status;
  uint64_t captured = 0;
  uint64_t replayed = 0;
  bool right = true;
};

Status RunOnce(Backend* backend, const Graph& graph, const BufferRange& a, const BufferRange& b,
               float value, bool* right) {
  const std::vector<float> x(kCols, value);
  MF_RETURN_IF_ERROR(backend->Write(a, x.data()));
  const auto end = static_cast<NodeId>(graph.nodes.size());
  MF_ASSIGN_OR_RETURN(const SplitAction action, backend->BeginSplit(graph, 0, end));
  if (action == SplitAction::kExecute) {
    for (NodeId i = 0; i < end; ++i) {
      NodeCall call;
      call.graph = &graph;
      call.node = &graph.nodes[static_cast<size_t>(i)];
      const BufferRange inputs[] = {i == 0 ? a : b};
      const BufferRange outputs[] = {b};
      call.inputs = inputs;
      call.outputs = outputs;
      Status status = backend->Execute(call);
      if (status.ok()) continue;
      backend->AbortSplit(status);
      return status;
    }
    if (Status status = backend->EndSplit(); !status.ok()) {
      backend->AbortSplit(status);
      return status;
    }
  }
  std::vector<float> y(kCols);
  MF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event, backend->Read(b, y.data()));
  MF_RETURN_IF_ERROR(event->Wait());
  *right = *right && y == x;
  return OkStatus();
}

// Records again and again: each round uses a new graph.
Outcome RecordAndReplay(Backend* backend, uint64_t first_uid, int rounds) {
  Outcome outcome;
  StatusOr<BufferId> a = backend->Allocate(kCols * 4, MemoryClass::kActivations);
  StatusOr<BufferId> b = backend->Allocate(kCols * 4, MemoryClass::kActivations);
  outcome.status = a.ok() ? b.status() : a.status();
  for (int round = 0; outcome.status.ok() && round < rounds; ++round) {
    const Graph graph = DoublingGraph(first_uid + static_cast<uint64_t>(round));
    for (int run = 0; outcome.status.ok() && run < 5; ++run) {
      outcome.status = RunOnce(backend, graph, {*a, 0, kCols * 4}, {*b, 0, kCols * 4},
                               static_cast<float>(run + 1), &outcome.right);
    }
    backend->ForgetGraph(graph.uid);
  }
  outcome.captured = backend->statistics().steps_captured;
  outcome.replayed = backend->statistics().steps_replayed;
  return outcome;
}

struct Party {
  std::shared_ptr<HostMemory> memory = HostMemory::CreateDefault(std::make_shared<MemoryAccount>());
  std::unique_ptr<Backend> backend;
};

TEST_CASE("CUDA capture: two contexts record while a third loads", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  constexpr int kRounds = 20;
  Party parties[2];
  for (Party& party : parties) {
    BackendOptions options;
    options.memory = party.memory;
    StatusOr<std::unique_ptr<Backend>> backend = devices[0]->CreateBackend(options);
    MF_REQUIRE_OK(backend);
    party.backend = *std::move(backend);
  }
  Outcome outcomes[2];
  Status loaded;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      outcomes[i] = RecordAndReplay(parties[i].backend.get(), 1000 * (i + 1), kRounds);
    });
  }
  threads.emplace_back([&] {
    const std::vector<uint8_t> bytes(8u << 20, 1);
    WeightInfo info;
    info.name = "w";
    info.type = ElementType::kF32;
    info.ne0 = 1024;
    info.ne1 = 2048;
    info.bytes = bytes.size();
    for (int round = 0; loaded.ok() && round < kRounds; ++round) {
      WeightStoreOptions options;
      options.memory = HostMemory::CreateDefault(std::make_shared<MemoryAccount>());
      StatusOr<std::shared_ptr<WeightStore>> store = devices[0]->CreateWeightStore(options);
      loaded = store.status();
      for (WeightId id = 0; loaded.ok() && id < 4; ++id) {
        loaded = (*store)->Register(id, info, bytes.data(), false);
      }
      if (loaded.ok()) loaded = (*store)->Finish();
    }
  });
  for (std::thread& thread : threads) thread.join();
  MF_REQUIRE_OK(loaded);
  for (const Outcome& outcome : outcomes) {
    MF_REQUIRE_OK(outcome.status);
    CHECK(outcome.right);
    CHECK(outcome.captured == kRounds);
    CHECK(outcome.replayed == 2 * kRounds);
  }
}

TEST_CASE("CUDA capture: the blocking form breaks a recording", "[cuda]") {
  if (!CudaIsHere()) return;
  // Control: in the global mode, which no code of ours uses, an allocation of another thread is
  // refused while a stream records.
  const TestStream stream;
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaError_t other = cudaSuccess;
  std::thread([&] {
    void* memory = nullptr;
    other = cudaMalloc(&memory, 64);
    if (other == cudaSuccess) cudaFree(memory);
    cudaGetLastError();
  }).join();
  CHECK(other != cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream.get(), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

}  // namespace
}  // namespace minfer::testing
