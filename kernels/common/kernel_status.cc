// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_status.h"

namespace minfer::kernels {

const char* KernelStatusName(KernelStatus status) {
  switch (status) {
    case KernelStatus::kOk:
      return "ok";
    case KernelStatus::kBadShape:
      return "bad shape";
    case KernelStatus::kBadAlignment:
      return "bad alignment";
    case KernelStatus::kUnsupportedType:
      return "unsupported type";
    case KernelStatus::kCancelled:
      return "cancelled";
    case KernelStatus::kDeviceError:
      return "device error";
  }
  return "unknown";
}

}  // namespace minfer::kernels
