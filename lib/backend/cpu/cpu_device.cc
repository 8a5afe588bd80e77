// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_device.h"

#include <unistd.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/cpu_weight_store.h"
#include "base/cpu_info.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice() : cpu_(DetectCpu()) {}

  DeviceInfo info() const override {
    DeviceInfo info;
    info.kind = DeviceKind::kCpu;
    info.name = cpu_.brand;
    info.level = BestKernels()->name;
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    info.memory_total = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
    info.memory_free = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
    info.processors = AllowedCpuCount();
    return info;
  }

  KvFormat default_kv_format() const override { return KvFormat::kF32; }

  StatusOr<std::shared_ptr<WeightStore>> CreateWeightStore(
      const WeightStoreOptions& options) const override {
    return std::shared_ptr<WeightStore>(std::make_shared<CpuWeightStore>(options.memory));
  }

  StatusOr<std::unique_ptr<Backend>> CreateBackend(const BackendOptions& options) const override {
    const kernels::CpuKernels* kernels = BestKernels();
    if (options.reference) {
      kernels = kernels::FindCpuKernels(kernels::Isa::kGeneric);
    } else if (options.forced_isa >= 0) {
      const auto isa = static_cast<kernels::Isa>(options.forced_isa);
      kernels = options.forced_isa < kernels::kIsaCount ? kernels::FindCpuKernels(isa) : nullptr;
      if (kernels == nullptr || !cpu_.CanRun(isa)) {
        return Status(StatusCode::kFailedPrecondition, Subsystem::kBackend,
                      StrCat("instruction set ", options.forced_isa,
                             kernels == nullptr ? " is not in this build"
                                                : " does not run on this processor"))
            .WithName(kernels == nullptr ? "isa" : kernels->name);
      }
    }
    return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(kernels, options));
  }

 private:
  const kernels::CpuKernels* BestKernels() const {
    for (int32_t isa = kernels::kIsaCount - 1; isa > 0; --isa) {
      const kernels::CpuKernels* kernels = kernels::FindCpuKernels(static_cast<kernels::Isa>(isa));
      if (kernels != nullptr && cpu_.CanRun(static_cast<kernels::Isa>(isa))) return kernels;
    }
    return kernels::FindCpuKernels(kernels::Isa::kGeneric);
  }

  CpuInfo cpu_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice() { return std::make_unique<CpuDevice>(); }

}  // namespace minfer
