// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The processor that the host runs on: always there, always one.
#pragma once

#include <memory>

#include "backend/device.h"

namespace minfer {

std::unique_ptr<Device> MakeCpuDevice();

}  // namespace minfer
