// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The device layer: devices, memory and its return, transfers larger than the pinned memory,
// latched errors, and the host's own use of CUDA.
#include <catch2/catch.hpp>
#include <numeric>

#include "backend/cuda/cuda_runtime.h"
#include "backend/cuda_devices.h"
#include "backend/device.h"
#include "base/host_memory.h"
#include "base/log.h"
#include "tests/cuda/device_data.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct Made {
  std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>();
  std::shared_ptr<HostMemory> memory = HostMemory::CreateDefault(account);
  std::unique_ptr<Backend> backend;
};

Made MakeBackend(const Device& device, const Logger* logger = nullptr) {
  Made made;
  BackendOptions options;
  options.memory = made.memory;
  options.logger = logger;
  StatusOr<std::unique_ptr<Backend>> backend = device.CreateBackend(options);
  MF_REQUIRE_OK(backend);
  made.backend = *std::move(backend);
  return made;
}

BufferRange Take(Backend* backend, uint64_t bytes) {
  const StatusOr<BufferId> buffer = backend->Allocate(bytes, MemoryClass::kActivations);
  MF_REQUIRE_OK(buffer);
  return {*buffer, 0, bytes};
}

void Append(void* lines, int, const char* message, size_t size) {
  static_cast<std::string*>(lines)->append(message, size).append("\n");
}

TEST_CASE("CUDA devices: each tells what it is, and says so in the log", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  REQUIRE_FALSE(devices.empty());
  for (const auto& device : devices) {
    const DeviceInfo info = device->info();
    CHECK(info.kind == DeviceKind::kCuda);
    CHECK_FALSE(info.name.empty());
    CHECK(info.level.rfind("sm_", 0) == 0);
    CHECK(info.memory_total > 0);
    CHECK(info.memory_free > 0);
    CHECK(info.memory_free <= info.memory_total);
    CHECK(info.processors > 0);
    CHECK(device->default_kv_format() == KvFormat::kF16);
  }
  std::string lines;
  const Logger logger(&Append, &lines, LogLevel::kInfo);
  const Made made = MakeBackend(*devices[0], &logger);
  CHECK(lines.find(devices[0]->info().name) != std::string::npos);
  CHECK(lines.find("compute capability") != std::string::npos);
}

TEST_CASE("CUDA devices: a backend that plans takes nothing and refuses work", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  StatusOr<std::unique_ptr<Backend>> backend = devices[0]->CreateBackend(BackendOptions());
  MF_REQUIRE_OK(backend);
  CHECK((*backend)->Allocate(64, MemoryClass::kKv).status().code() == StatusCode::kInternal);
  CHECK((*backend)->StagingBytes() > 0);
}

TEST_CASE("CUDA memory: the account counts what is taken, and all of it comes back", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  { const Made warm = MakeBackend(*devices[0]); }
  const uint64_t before = devices[0]->info().memory_free;
  for (int round = 0; round < 20; ++round) {
    const Made made = MakeBackend(*devices[0]);
    const MemoryAccount::Snapshot empty = made.account->Read();
    CHECK(empty.of(MemoryClass::kStaging).bytes == made.backend->StagingBytes());
    Take(made.backend.get(), 40u << 20);
    CHECK(made.account->Read().of(MemoryClass::kActivations).bytes == 40u << 20);
    CHECK(devices[0]->info().memory_free <= before - (40u << 20));
  }
  CHECK(devices[0]->info().memory_free == before);
}

TEST_CASE("CUDA memory: more than there is says how much there is", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  const Made made = MakeBackend(*devices[0]);
  const uint64_t wanted = devices[0]->info().memory_total * 2;
  const Status status = made.backend->Allocate(wanted, MemoryClass::kKv).status();
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.bytes_wanted() == wanted);
  CHECK(status.bytes_available() > 0);
  CHECK(made.account->Read().of(MemoryClass::kKv).bytes == 0);
  // A refusal is no latched error.
  Take(made.backend.get(), 1024);
}

TEST_CASE("CUDA transfers: larger than the pinned memory, in order", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  const Made made = MakeBackend(*devices[0]);
  std::vector<uint32_t> values(10u << 20);  // 40 MiB: the ring is 16, the readback 4
  std::iota(values.begin(), values.end(), 7u);
  const uint64_t bytes = values.size() * sizeof(uint32_t);
  const BufferRange range = Take(made.backend.get(), bytes);
  MF_REQUIRE_OK(made.backend->Write(range, values.data()));
  std::vector<uint32_t> back(values.size());
  std::vector<std::shared_ptr<Event>> events;
  // Parts that fit the pinned memory, and at the end one that does not.
  const uint64_t part = 1u << 20;
  for (uint64_t offset = 0; offset < bytes / 2; offset += part) {
    const auto event = made.backend->Read({range.buffer, offset, part},
                                          reinterpret_cast<uint8_t*>(back.data()) + offset);
    MF_REQUIRE_OK(event);
    events.push_back(*event);
  }
  const auto rest = made.backend->Read({range.buffer, bytes / 2, bytes / 2},
                                       reinterpret_cast<uint8_t*>(back.data()) + bytes / 2);
  MF_REQUIRE_OK(rest);
  events.push_back(*rest);
  for (const auto& event : events) {
    MF_REQUIRE_OK(event->Wait());
    CHECK(event->IsDone());
  }
  CHECK(back == values);
}

// As where the system refuses pinned memory: the account has no room for it.
TEST_CASE("CUDA transfers: where pinned memory is refused they are pageable, and the log says so",
          "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  std::string lines;
  const Logger logger(&Append, &lines, LogLevel::kWarning);
  const auto account = std::make_shared<MemoryAccount>(uint64_t{3} << 20);
  BackendOptions options;
  options.memory = HostMemory::CreateDefault(account);
  options.logger = &logger;
  StatusOr<std::unique_ptr<Backend>> backend = devices[0]->CreateBackend(options);
  MF_REQUIRE_OK(backend);
  CHECK(lines.find("pinned memory was refused") != std::string::npos);
  CHECK(account->Read().of(MemoryClass::kStaging).bytes == 0);
  const uint64_t half = 1u << 20;
  const BufferRange a = Take(backend->get(), half);
  const BufferRange b = Take(backend->get(), half);
  std::vector<uint8_t> values(half);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 31 >> 3);
  std::vector<uint8_t> back(half);
  for (int round = 0; round < 5; ++round) {
    values[static_cast<size_t>(round)] ^= 0x55;
    const HostWrite writes[] = {{a, values.data()}};
    MF_REQUIRE_OK((*backend)->WriteAll(writes));
    MF_REQUIRE_OK((*backend)->Copy(a, b));
    const auto event = (*backend)->Read(b, back.data());
    MF_REQUIRE_OK(event);
    MF_REQUIRE_OK((*event)->Wait());
    CHECK(back == values);
  }
  MF_REQUIRE_OK((*backend)->Synchronize());
}

TEST_CASE("CUDA errors: a latched one is reported as such, once", "[cuda]") {
  if (!CudaIsHere()) return;
  const auto devices = MakeCudaDevices();
  const Made made = MakeBackend(*devices[0]);
  const BufferRange range = Take(made.backend.get(), 64);
  // A call outside the backend fails and nobody looks.
  CHECK(cudaMemcpy(nullptr, nullptr, 16, static_cast<cudaMemcpyKind>(77)) != cudaSuccess);
  const std::vector<uint8_t> zeros(64, 0);
  const Status status = made.backend->Write(range, zeros.data());
  CHECK(status.code() == StatusCode::kInternal);
  CHECK(status.message().find("an earlier call had failed") != std::string_view::npos);
  MF_REQUIRE_OK(made.backend->Write(range, zeros.data()));
  MF_REQUIRE_OK(made.backend->Synchronize());
}

TEST_CASE("CUDA host: what the host had current stays current", "[cuda]") {
  if (!CudaIsHere()) return;
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
  cudaDriverEntryPointQueryResult found;
  REQUIRE(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent",
                                           reinterpret_cast<void**>(&get_current), 12000,
                                           cudaEnableDefault, &found) == cudaSuccess);
  REQUIRE(cudaGetDriverEntryPointByVersion("cuCtxSetCurrent",
                                           reinterpret_cast<void**>(&set_current), 12000,
                                           cudaEnableDefault, &found) == cudaSuccess);
  const auto devices = MakeCudaDevices();
  CUcontext current = nullptr;
  set_current(nullptr);
  const Made made = MakeBackend(*devices[0]);
  const BufferRange range = Take(made.backend.get(), 64);
  MF_REQUIRE_OK(made.backend->Write(range, std::vector<uint8_t>(64, 1).data()));
  MF_REQUIRE_OK(made.backend->Synchronize());
  get_current(&current);
  CHECK(current == nullptr);
  cudaSetDevice(0);
}

}  // namespace
}  // namespace minfer::testing
