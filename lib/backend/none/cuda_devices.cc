// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda_devices.h"

namespace minfer {

std::vector<std::unique_ptr<Device>> MakeCudaDevices() { return {}; }

}  // namespace minfer
