// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/device_choice.h"

#include <algorithm>
#include <numeric>

#include "base/str_cat.h"
#include "engine/context_options.h"
#include "engine/placement.h"

namespace minfer {
namespace {

Status CanRun(const ModelDescription& model, bool whole,
              const std::shared_ptr<const Device>& device, const DeviceInfo& info) {
  MF_ASSIGN_OR_RETURN(const std::shared_ptr<WeightStore> store,
                      device->CreateWeightStore(WeightStoreOptions()));
  uint64_t wanted = 0;
  for (const WeightInfo& weight : model.weight_table) {
    const uint64_t bytes = store->BytesFor(weight, false);
    if (bytes == 0) {
      return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                    StrCat("no kernel reads type ", static_cast<int32_t>(weight.type),
                           " with rows of ", weight.ne0))
          .WithName(weight.name);
    }
    wanted += bytes;
  }
  if (whole && info.memory_total != 0 && wanted > info.memory_free) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kEngine,
                  StrCat("the weights take ", wanted, " bytes, free are ", info.memory_free));
  }
  Placement placement;
  placement.devices = {device};
  return PlanContext(model, placement, ContextOptions()).status();
}

}  // namespace

std::vector<size_t> DevicesByPreference(DeviceList devices) {
  std::vector<size_t> order(devices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<int32_t> rank;
  for (const auto& device : devices) {
    const DeviceInfo info = device->info();
    rank.push_back(info.kind == DeviceKind::kCpu ? -1 : info.capability);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank[a] > rank[b]; });
  return order;
}

int32_t ChooseDevice(const ModelDescription& model, bool whole, DeviceList devices,
                     const Logger* logger) {
  for (const size_t i : DevicesByPreference(devices)) {
    const DeviceInfo info = devices[i]->info();
    if (info.kind == DeviceKind::kCpu) break;
    const Status able = CanRun(model, whole, devices[i], info);
    if (able.ok()) return static_cast<int32_t>(i);
    if (logger != nullptr) {
      logger->Warning(info.name, " is left out: ", able.name(), able.name().empty() ? "" : ": ",
                      able.message());
    }
  }
  return 0;
}

}  // namespace minfer
