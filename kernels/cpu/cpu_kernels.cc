// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/units.h"

namespace minfer::kernels {

const CpuKernels* FindCpuKernels(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return &kGenericKernels;
    default:
      return nullptr;
  }
}

}  // namespace minfer::kernels
