// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "device_option.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

namespace console {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

void DeviceChoice::Apply(mf_model_options* options) const {
  options->devices = &device;
  options->n_devices = 1;
}

void AddDeviceOption(CLI::App* app, std::string* wish) {
  app->add_option("--device", *wish,
                  "Where it runs: cpu, cuda, any for the fastest, an index, or part of a name");
}

bool FindDevice(const std::string& wish, size_t* index, mf_error* error) {
  const std::map<std::string, mf_device_kind> kinds = {
      {"cpu", MF_DEVICE_CPU}, {"cuda", MF_DEVICE_CUDA}, {"any", MF_DEVICE_ANY}};
  if (const auto kind = kinds.find(wish); kind != kinds.end()) {
    return mf_device_pick(kind->second, 0, index, error) == MF_STATUS_OK;
  }
  mf_device_info info = MF_DEVICE_INFO_INIT;
  const char* end = wish.data() + wish.size();
  if (std::from_chars(wish.data(), end, *index).ptr == end && !wish.empty()) {
    return mf_device_get_info(*index, &info, error) == MF_STATUS_OK;
  }
  const auto same = [](char a, char b) { return Lower(a) == Lower(b); };
  for (*index = 0; *index < mf_device_count(); ++*index) {
    if (mf_device_get_info(*index, &info, error) != MF_STATUS_OK) return false;
    const std::string name = info.name;
    const auto at = std::search(name.begin(), name.end(), wish.begin(), wish.end(), same);
    if (at != name.end()) return true;
  }
  error->status = MF_STATUS_NOT_FOUND;
  std::snprintf(error->message, sizeof(error->message), "no device is named \"%s\"", wish.c_str());
  return false;
}

bool PickDevice(DeviceChoice* choice, mf_error* error) {
  size_t index = 0;
  if (!FindDevice(choice->wish, &index, error)) return false;
  choice->device.device = static_cast<uint32_t>(index);
  return mf_device_get_info(index, &choice->info, error) == MF_STATUS_OK;
}

bool AskForDevice(DeviceChoice* choice, mf_model_options* options, mf_error* error) {
  if (choice->wish == "any") return true;
  if (!PickDevice(choice, error)) return false;
  choice->Apply(options);
  return true;
}

}  // namespace console
