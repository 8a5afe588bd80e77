// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Device memory and a stream for tests of kernels, and the skip where there is no device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/common/kernel_status.h"
#include "kernels/quant/element_type.h"

namespace minfer::testing {

// True where there is a device; otherwise prints the skip.
bool CudaIsHere();

// A stream that ends with the test.
class TestStream {
 public:
  TestStream();
  ~TestStream();
  cudaStream_t get() const { return stream_; }
  // Waits; false when anything before failed.
  bool Wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// Device memory with the bytes of a vector, guarded by bytes of a pattern on both sides.
class DeviceBytes {
 public:
  DeviceBytes(const void* data, size_t bytes);
  explicit DeviceBytes(size_t bytes) : DeviceBytes(nullptr, bytes) {}
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_ + kGuard);
  }
  std::vector<uint8_t> Read() const;
  std::vector<float> ReadFloats() const;
  // False when a byte beside the buffer was written.
  bool GuardsHold() const;

 private:
  static constexpr size_t kGuard = 256;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

template <typename T>
DeviceBytes ToDevice(const std::vector<T>& values) {
  return DeviceBytes(values.data(), values.size() * sizeof(T));
}

// Rows in the layout of the device.
std::vector<uint8_t> PackRows(ElementType type, int64_t rows, int64_t k, const uint8_t* data,
                              size_t row_bytes);

}  // namespace minfer::testing
