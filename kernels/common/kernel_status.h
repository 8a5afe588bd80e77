// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a kernel launcher answers. Launchers check their preconditions before they touch memory.
#pragma once

namespace minfer::kernels {

enum class KernelStatus {
  kOk = 0,
  kBadShape,         // a size the kernel cannot take (negative, not a multiple of the block, ...)
  kBadAlignment,     // a pointer or a stride off its required alignment
  kUnsupportedType,  // no such kernel for this element type
  kCancelled,        // the cancel flag was seen between two tiles; the output is undefined
  kDeviceError,      // the device reported an error
};

const char* KernelStatusName(KernelStatus status);

}  // namespace minfer::kernels
