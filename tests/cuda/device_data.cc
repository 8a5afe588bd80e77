// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/device_data.h"

#include <cstring>

#include "backend/cuda/cuda_runtime.h"
#include "kernels/cuda/common/row_layout.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr uint8_t kPattern = 0xa5;

}  // namespace

bool CudaIsHere() {
  int count = 0;
  if (OpenCudaDriver() && cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  cudaGetLastError();
  ReportSkip("no CUDA device");
  SUCCEED("skipped");  // a case without an assertion would not be counted
  return false;
}

TestStream::TestStream() {
  REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess);
}

TestStream::~TestStream() { cudaStreamDestroy(stream_); }

bool TestStream::Wait() const {
  const cudaError_t error = cudaStreamSynchronize(stream_);
  INFO(cudaGetErrorString(error));
  CHECK(error == cudaSuccess);
  return error == cudaSuccess;
}

DeviceBytes::DeviceBytes(const void* data, size_t bytes) : bytes_(bytes) {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, bytes + 2 * kGuard) == cudaSuccess);
  data_ = static_cast<uint8_t*>(memory);
  std::vector<uint8_t> host(bytes + 2 * kGuard, kPattern);
  if (data != nullptr) std::memcpy(host.data() + kGuard, data, bytes);
  REQUIRE(cudaMemcpy(data_, host.data(), host.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  // A small copy is only staged when the call returns, and the streams of the tests do not wait for
  // it.
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
}

DeviceBytes::~DeviceBytes() { cudaFree(data_); }

std::vector<uint8_t> DeviceBytes::Read() const {
  std::vector<uint8_t> host(bytes_);
  REQUIRE(cudaMemcpy(host.data(), data_ + kGuard, bytes_, cudaMemcpyDeviceToHost) == cudaSuccess);
  return host;
}

std::vector<float> DeviceBytes::ReadFloats() const {
  const std::vector<uint8_t> bytes = Read();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

bool DeviceBytes::GuardsHold() const {
  std::vector<uint8_t> host(bytes_ + 2 * kGuard);
  REQUIRE(cudaMemcpy(host.data(), data_, host.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  for (size_t i = 0; i < kGuard; ++i) {
    if (host[i] != kPattern || host[kGuard + bytes_ + i] != kPattern) return false;
  }
  return true;
}

std::vector<uint8_t> PackRows(ElementType type, int64_t rows, int64_t k, const uint8_t* data,
                              size_t row_bytes) {
  const auto packed = static_cast<size_t>(kernels::cuda::WeightRowBytes(type, k));
  REQUIRE(packed > 0);
  std::vector<uint8_t> out(packed * static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    REQUIRE(kernels::cuda::PackWeightRow(type, k, data + static_cast<size_t>(r) * row_bytes,
                                         out.data() + static_cast<size_t>(r) * packed) ==
            kernels::KernelStatus::kOk);
  }
  return out;
}

}  // namespace minfer::testing
