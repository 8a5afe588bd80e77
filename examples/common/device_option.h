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
  mf_device_kind kind = MF_DEVICE_ANY;
  mf_model_device device = MF_MODEL_DEVICE_INIT;
  mf_device_info info = MF_DEVICE_INFO_INIT;

  void Apply(mf_model_options* options) const;
};

// Adds --device with the kinds that it takes.
void AddDeviceOption(CLI::App* app, mf_device_kind* kind);

// Fills the choice by its kind; false, with the reason in `error`, when there is no such device.
bool PickDevice(DeviceChoice* choice, mf_error* error);

// Asks for the choice's kind in the options; any is left to the library, which takes the CPU where
// a better device can't run the model. False as PickDevice.
bool AskForDevice(DeviceChoice* choice, mf_model_options* options, mf_error* error);

}  // namespace console
