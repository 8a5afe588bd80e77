// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which device a model runs on, where the host names none.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "backend/device.h"
#include "base/log.h"
#include "models/architecture.h"

namespace minfer {

// In place of an index: the engine picks.
inline constexpr int32_t kAnyDevice = -1;

using DeviceList = absl::Span<const std::shared_ptr<const Device>>;

// Indices from the best to the worst: GPUs by compute capability, the CPU last. Equals keep their
// order.
std::vector<size_t> DevicesByPreference(DeviceList devices);

// The index of the best device whose kernels read each weight, whose backend runs the graph of the
// default context, and, for a whole model, which has the memory free for its weights. A better one
// that can't is named in a warning; the CPU is never left out.
int32_t ChooseDevice(const ModelDescription& model, bool whole, DeviceList devices,
                     const Logger* logger);

}  // namespace minfer
