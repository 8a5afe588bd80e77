// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "device_option.h"

#include <CLI/CLI.hpp>
#include <map>

namespace console {

void DeviceChoice::Apply(mf_model_options* options) const {
  options->devices = &device;
  options->n_devices = 1;
}

void AddDeviceOption(CLI::App* app, mf_device_kind* kind) {
  const std::map<std::string, mf_device_kind> kinds = {
      {"cpu", MF_DEVICE_CPU}, {"cuda", MF_DEVICE_CUDA}, {"any", MF_DEVICE_ANY}};
  app->add_option("--device", *kind, "Where it runs: cpu, cuda, or any for the fastest")
      ->transform(CLI::CheckedTransformer(kinds));
}

bool PickDevice(DeviceChoice* choice, mf_error* error) {
  size_t index = 0;
  if (mf_device_pick(choice->kind, 0, &index, error) != MF_STATUS_OK) return false;
  choice->device.device = static_cast<uint32_t>(index);
  return mf_device_get_info(index, &choice->info, error) == MF_STATUS_OK;
}

bool AskForDevice(DeviceChoice* choice, mf_model_options* options, mf_error* error) {
  if (choice->kind == MF_DEVICE_ANY) return true;
  if (!PickDevice(choice, error)) return false;
  choice->Apply(options);
  return true;
}

}  // namespace console
