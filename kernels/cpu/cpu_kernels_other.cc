// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// For processors that have no unit of their own.
#include "kernels/cpu/units.h"

namespace minfer::kernels {

const CpuKernels* FindCpuKernels(Isa isa) {
  return isa == Isa::kGeneric ? &kGenericKernels : nullptr;
}

}  // namespace minfer::kernels
