// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cpu/units.h"

namespace minfer::kernels {

const CpuKernels* FindCpuKernels(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return &kGenericKernels;
    case Isa::kAvx2:
      return &kAvx2Kernels;
    case Isa::kAvx512:
      return &kAvx512Kernels;
    case Isa::kAvx512Vnni:
      return &kAvx512VnniKernels;
    case Isa::kAvx512Bf16:
      return &kAvx512Bf16Kernels;
  }
  return nullptr;
}

}  // namespace minfer::kernels
