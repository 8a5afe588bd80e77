// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backends.h"

#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/cuda_devices.h"

namespace minfer {
namespace {

using Finder = std::vector<std::unique_ptr<Device>> (*)();

std::vector<std::unique_ptr<Device>> FindCpu() {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(MakeCpuDevice());
  return devices;
}

constexpr Finder kBackends[] = {FindCpu, MakeCudaDevices};

}  // namespace

std::vector<std::shared_ptr<const Device>> FindDevices() {
  std::vector<std::shared_ptr<const Device>> devices;
  for (Finder find : kBackends) {
    for (std::unique_ptr<Device>& device : find()) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace minfer
