// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which matrices a device keeps in other layouts beside the stored one, by the levers of a model.
#pragma once

#include "backend/device.h"
#include "engine/tuning.h"
#include "models/architecture.h"

namespace minfer {

// reads: the weights that the device reads. Groups of matrices are those that a step multiplies
// together; the first layers get halves until the budget of `w16_cache` is used up.
StatusOr<WeightCopies> ChooseWeightCopies(const ModelDescription& model, const Tuning& tuning,
                                          const std::vector<bool>& reads);

}  // namespace minfer
