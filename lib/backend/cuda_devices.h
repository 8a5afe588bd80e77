// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA devices of this machine. Defined by lib/backend/none where the build has no CUDA.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"

namespace minfer {

// Empty where the build, the driver or the device is missing.
std::vector<std::unique_ptr<Device>> MakeCudaDevices();

}  // namespace minfer
