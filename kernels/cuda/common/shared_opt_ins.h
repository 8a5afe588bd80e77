// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Which kernels of one device may have more than the 48 KB of shared memory that every block may
// ask for. The driver is asked before a kernel's first launch, not before each, and never while a
// stream is recorded. Belongs to the object of the device; thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels/common/kernel_status.h"

namespace minfer::kernels::cuda {

inline constexpr int kPlainSharedBytes = 48 << 10;

class SharedOptIns {
 public:
  // Lets blocks of the kernel have so many bytes, on the device that is current. kDeviceError, with
  // nothing asked and no error of the device, where that is new and the stream is recorded.
  KernelStatus Allow(const void* kernel, int bytes, bool recording);

  // How often the driver was asked.
  uint64_t asked() const;

 private:
  struct Entry {
    const void* kernel;
    int bytes;
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t asked_ = 0;
};

// The call itself.
KernelStatus AskForSharedBytes(const void* kernel, int bytes);

}  // namespace minfer::kernels::cuda
