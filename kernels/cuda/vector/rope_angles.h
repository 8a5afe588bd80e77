// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The angles of RoPE for a launch, by the formulas that the CPU uses too.
#pragma once

#include "kernels/common/kernel_status.h"
#include "kernels/cpu/rope_table.h"
#include "kernels/cuda/vector/vector.h"

namespace minfer::kernels::cuda {

// kBadShape for settings that give no angles, or more than a launch carries.
KernelStatus MakeRopeAngles(const RopeParams& params, RopeAngles* out);

}  // namespace minfer::kernels::cuda
