// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The devices of this machine, from the one ordered table of backends. The only place that knows
// which backends exist.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"

namespace minfer {

// The CPU is always there and always device 0; others follow in the order of the table. Made anew
// at each call: nothing is kept.
std::vector<std::shared_ptr<const Device>> FindDevices();

}  // namespace minfer
