// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_runtime.h"

#include <dlfcn.h>

#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr std::string_view kBuiltFor = MINFER_CUDA_BUILT_FOR;

// Errors after which every later call on the device's context fails too.
bool IsSticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorHardwareStackError:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorAssert:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

template <typename Function>
bool FindEntry(const char* name, Function* out) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    return false;
  }
  *out = reinterpret_cast<Function>(entry);
  return true;
}

}  // namespace

bool OpenCudaDriver() {
  constexpr const char* kPlaces[] = {
      "libcuda.so.1",
      "/usr/local/nvidia/lib64/libcuda.so.1",
      "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
      "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
      "/usr/lib64/libcuda.so.1",
      "/usr/lib/wsl/lib/libcuda.so.1",
      "/run/opengl-driver/lib/libcuda.so.1",
  };
  for (const char* place : kPlaces) {
    // Found by its own name from here on; a driver cannot be unloaded.
    void* library = dlopen(place, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) continue;
    dlclose(library);
    return true;
  }
  return false;
}

CudaErrorClass ClassifyCudaError(cudaError_t error) {
  if (IsSticky(error)) return {StatusCode::kUnavailable, true};
  if (error == cudaErrorMemoryAllocation) return {StatusCode::kResourceExhausted, false};
  return {StatusCode::kInternal, false};
}

StatusOr<std::shared_ptr<CudaRuntime>> CudaRuntime::Create(int ordinal) {
  std::shared_ptr<CudaRuntime> runtime(new CudaRuntime());
  runtime->ordinal_ = ordinal;
  cudaDeviceProp properties;
  MF_RETURN_IF_ERROR(
      runtime->Check(cudaGetDeviceProperties(&properties, ordinal), "device properties"));
  runtime->capability_ = 10 * properties.major + properties.minor;
  runtime->code_capability_ = FindCodeCapability(kBuiltFor, runtime->capability_);
  runtime->name_ = properties.name;
  runtime->memory_total_ = properties.totalGlobalMem;
  runtime->processors_ = properties.multiProcessorCount;
  const CudaTier* own = FindCudaTier(runtime->capability_);
  if (own == nullptr || runtime->code_capability_ == 0) {
    const std::string which =
        StrCat("compute capability ", properties.major, ".", properties.minor);
    return Status(StatusCode::kUnimplemented, Subsystem::kBackend,
                  own == nullptr ? StrCat(which, " is below 7.0")
                                 : StrCat("no code for ", which, ", only for ", kBuiltFor))
        .WithName(runtime->name_);
  }
  runtime->tier_ = ForceCudaTier(*own, runtime->code_capability_);
  if (!FindEntry("cuCtxGetCurrent", &runtime->get_current_) ||
      !FindEntry("cuCtxSetCurrent", &runtime->set_current_)) {
    return Status(StatusCode::kUnavailable, Subsystem::kBackend,
                  "the CUDA driver has no cuCtxGetCurrent")
        .WithName(runtime->name_);
  }
  return runtime;
}

Status CudaRuntime::Error(cudaError_t error, std::string_view what) const {
  // Taken, so that it is not found again by the next call.
  cudaGetLastError();
  const CudaErrorClass kind = ClassifyCudaError(error);
  if (kind.sticky) lost_.store(true, std::memory_order_relaxed);
  return Status(
             kind.code, Subsystem::kBackend,
             StrCat("cuda: ", what, ": ", cudaGetErrorName(error), ", ", cudaGetErrorString(error)))
      .WithName(name_);
}

Status CudaRuntime::TakeLatched() const {
  const cudaError_t error = cudaPeekAtLastError();
  if (error == cudaSuccess) return OkStatus();
  latched_.fetch_add(1, std::memory_order_relaxed);
  return Error(error, "an earlier call had failed");
}

CudaDeviceScope::CudaDeviceScope(const CudaRuntime& runtime) : runtime_(runtime) {
  runtime.get_current_(&before_);
  cudaSetDevice(runtime.ordinal());
}

CudaDeviceScope::~CudaDeviceScope() { runtime_.set_current_(before_); }

}  // namespace minfer
