// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_device.h"
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

const std::vector<Factory>& AllFactories() {
  static const auto* const factories = new std::vector<Factory>{
      DeferredFactory(
          "deferred",
          [](std::shared_ptr<HostMemory>) { return std::make_unique<DeferredBackend>(); }),
      CpuFactory("cpu", false),
      CpuFactory("cpu reference", true),
  };
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
