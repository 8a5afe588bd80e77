// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_device.h"
#include "backend/cuda_devices.h"
#include "tests/conformance/rig.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

BackendOptions CpuOptions(std::shared_ptr<HostMemory> memory, bool reference) {
  static SerialRunner runner;
  BackendOptions options;
  options.runner = &runner;
  options.memory = std::move(memory);
  options.reference = reference;
  return options;
}

// reference: scalar twins and float activations, so quantised weights are as exact as f32 ones.
Factory CpuFactory(const std::string& name, bool reference) {
  Factory factory;
  factory.name = name;
  factory.make_backend = [reference](std::shared_ptr<HostMemory> memory) {
    StatusOr<std::unique_ptr<Backend>> backend =
        MakeCpuDevice()->CreateBackend(CpuOptions(std::move(memory), reference));
    MF_REQUIRE_OK(backend);
    return *std::move(backend);
  };
  factory.make_store = [](std::shared_ptr<HostMemory> memory) {
    WeightStoreOptions options;
    options.memory = std::move(memory);
    StatusOr<std::shared_ptr<WeightStore>> store = MakeCpuDevice()->CreateWeightStore(options);
    MF_REQUIRE_OK(store);
    return *std::move(store);
  };
  factory.host_visible = true;
  factory.tolerance = 2e-6;
  factory.bf16_tolerance = reference ? 2e-6 : 4e-3;
  factory.quantised_tolerance = reference ? 2e-6 : 2e-2;
  return factory;
}

}  // namespace

Factory DeferredFactory(
    const std::string& name,
    std::function<std::unique_ptr<Backend>(std::shared_ptr<HostMemory>)> make_backend) {
  Factory factory;
  factory.name = name;
  factory.make_backend = std::move(make_backend);
  factory.make_store = [](std::shared_ptr<HostMemory>) {
    return std::make_shared<DeferredWeightStore>();
  };
  factory.defers = true;
  factory.captures = true;
  factory.checks_protocol = true;
  return factory;
}

namespace {

// The first CUDA device, or nothing. Kept for the program: every backend made needs it.
const std::shared_ptr<Device>& FirstCudaDevice() {
  static const auto* const device = new std::shared_ptr<Device>([]() -> std::shared_ptr<Device> {
    std::vector<std::unique_ptr<Device>> devices = MakeCudaDevices();
    if (devices.empty()) return nullptr;
    return std::move(devices[0]);
  }());
  return *device;
}

// tier: kernels of a lower compute capability, or 0 for the device's own.
Factory CudaFactory(const std::string& name, bool reference, int32_t tier = 0) {
  Factory factory;
  factory.name = name;
  factory.make_backend = [reference, tier](std::shared_ptr<HostMemory> memory) {
    BackendOptions options = CpuOptions(std::move(memory), reference);
    options.cuda_tier = tier;
    StatusOr<std::unique_ptr<Backend>> backend = FirstCudaDevice()->CreateBackend(options);
    MF_REQUIRE_OK(backend);
    return *std::move(backend);
  };
  factory.make_store = [](std::shared_ptr<HostMemory> memory) {
    WeightStoreOptions options;
    options.memory = std::move(memory);
    StatusOr<std::shared_ptr<WeightStore>> store = FirstCudaDevice()->CreateWeightStore(options);
    MF_REQUIRE_OK(store);
    return *std::move(store);
  };
  factory.captures = true;
  factory.checks_protocol = true;
  factory.tolerance = 2e-6;
  factory.bf16_tolerance = 2e-6;
  factory.quantised_tolerance = reference ? 2e-6 : 2e-2;
  return factory;
}

std::vector<Factory>* MakeFactories() {
  auto* factories = new std::vector<Factory>{
      DeferredFactory(
          "deferred",
          [](std::shared_ptr<HostMemory>) { return std::make_unique<DeferredBackend>(); }),
      CpuFactory("cpu", false),
      CpuFactory("cpu reference", true),
  };
  if (HasCudaDevice()) {
    factories->push_back(CudaFactory("cuda", false));
    factories->push_back(CudaFactory("cuda reference", true));
    // A row of the tier table a kind of device.
    for (const int32_t tier : {70, 75, 80}) {
      factories->push_back(CudaFactory("cuda tier " + std::to_string(tier), false, tier));
    }
  }
  return factories;
}

}  // namespace

bool HasCudaDevice() { return FirstCudaDevice() != nullptr; }

const std::vector<Factory>& AllFactories() {
  static const std::vector<Factory>* const factories = MakeFactories();
  return *factories;
}

const Factory& FactoryNamed(const std::string& name) {
  for (const Factory& factory : AllFactories()) {
    if (factory.name == name) return factory;
  }
  FAIL("no factory named " << name);
  return AllFactories()[0];
}

}  // namespace minfer::testing
