// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The option --device of the programs that run a model.
#pragma once

#include <minfer/minfer.hpp>

#include <CLI/App.hpp>
#include <string>

namespace console {

// Where a model runs. Also the value of the options' `devices`, which points to it.
struct DeviceChoice {
  std::string wish = "any";  // as --device has it
  mf_model_device device = MF_MODEL_DEVICE_INIT;
  mf_device_info info = MF_DEVICE_INFO_INIT;

  void Apply(mf_model_options* options) const;
};

// Adds --device: a kind, an index, or a part of a name.
void AddDeviceOption(CLI::App* app, std::string* wish);

// The index of a device that is wished for so; false, with the reason in `error`, when there is
// none.
bool FindDevice(const std::string& wish, size_t* index, mf_error* error);

// Fills the choice by its wish; false as FindDevice.
bool PickDevice(DeviceChoice* choice, mf_error* error);

// Asks for what is wished in the options; any is left to the library, which takes the CPU where
// a better device can't run the model. False as PickDevice.
bool AskForDevice(DeviceChoice* choice, mf_model_options* options, mf_error* error);

}  // namespace console
