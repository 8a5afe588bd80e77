// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda_devices.h"

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_runtime.h"
#include "backend/cuda/cuda_weight_store.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<const CudaRuntime> runtime) : runtime_(std::move(runtime)) {}

  DeviceInfo info() const override {
    DeviceInfo info;
    info.kind = DeviceKind::kCuda;
    info.name = runtime_->name();
    info.level = StrCat("sm_", runtime_->capability());
    info.memory_total = runtime_->memory_total();
    info.processors = runtime_->processors();
    info.capability = runtime_->capability();
    const CudaDeviceScope scope(*runtime_);
    size_t available = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&available, &total) == cudaSuccess) {
      info.memory_free = available;
    } else {
      cudaGetLastError();
    }
    return info;
  }

  KvFormat default_kv_format() const override { return KvFormat::kF16; }

  StatusOr<std::shared_ptr<WeightStore>> CreateWeightStore(
      const WeightStoreOptions& options) const override {
    return std::shared_ptr<WeightStore>(
        std::make_shared<CudaWeightStore>(runtime_, options.memory, options.copies));
  }

  StatusOr<std::unique_ptr<Backend>> CreateBackend(const BackendOptions& options) const override {
    return CudaBackend::Create(runtime_, options);
  }

 private:
  std::shared_ptr<const CudaRuntime> runtime_;
};

}  // namespace

// A device that is too old or does not answer is left out.
std::vector<std::unique_ptr<Device>> MakeCudaDevices() {
  std::vector<std::unique_ptr<Device>> devices;
  int count = 0;
  if (!OpenCudaDriver()) return devices;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return devices;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    StatusOr<std::shared_ptr<CudaRuntime>> runtime = CudaRuntime::Create(ordinal);
    if (runtime.ok()) devices.push_back(std::make_unique<CudaDevice>(*std::move(runtime)));
  }
  return devices;
}

}  // namespace minfer
