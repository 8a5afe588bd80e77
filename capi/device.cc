// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/device.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/str_cat.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "engine/backends.h"
#include "engine/device_choice.h"

namespace capi = minfer::capi;
using minfer::DeviceInfo;
using minfer::DeviceKind;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusCode;
using minfer::Subsystem;

namespace {

mf_device_kind KindOf(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? MF_DEVICE_CPU : MF_DEVICE_CUDA;
}

mf_device_info Describe(const DeviceInfo& info) {
  mf_device_info out = MF_DEVICE_INFO_INIT;
  out.kind = KindOf(info.kind);
  out.memory_total = info.memory_total;
  out.memory_free = info.memory_free;
  out.compute_units = static_cast<uint32_t>(info.processors);
  out.capability_major = static_cast<uint32_t>(info.capability / 10);
  out.capability_minor = static_cast<uint32_t>(info.capability % 10);
  out.usable = 1;
  capi::CopyText(info.name, out.name, sizeof(out.name));
  capi::CopyText(info.level, out.level, sizeof(out.level));
  return out;
}

Status NoRoom(uint64_t wanted, uint64_t available) {
  return Status(StatusCode::kResourceExhausted, Subsystem::kApi,
                "no device of this kind has the memory free")
      .WithBytes(wanted, available);
}

}  // namespace

void mf_device_info_init(mf_device_info* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

size_t mf_device_count(void) {
  size_t count = 1;
  capi::GuardVoid([&] { count = minfer::FindDevices().size(); });
  return count;
}

mf_status mf_device_get_info(size_t device, mf_device_info* out_info, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    MF_RETURN_IF_ERROR(capi::CheckOut(out_info, "out_info"));
    const auto devices = minfer::FindDevices();
    MF_RETURN_IF_ERROR(capi::CheckIndex("device", device, devices.size()));
    capi::WriteSized(Describe(devices[device]->info()), out_info);
    return OkStatus();
  });
}

mf_status mf_device_pick(mf_device_kind kind, uint64_t memory_needed, size_t* out_device,
                         mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    if (out_device == nullptr) return capi::NullArgument("out_device");
    if (kind < MF_DEVICE_ANY || kind > MF_DEVICE_CUDA) {
      return capi::InvalidArgument("kind", minfer::StrCat(kind, " is no kind of device"));
    }
    const auto devices = minfer::FindDevices();
    bool found = false;
    uint64_t most = 0;
    for (const size_t i : minfer::DevicesByPreference(devices)) {
      const DeviceInfo info = devices[i]->info();
      if (kind != MF_DEVICE_ANY && kind != KindOf(info.kind)) continue;
      found = true;
      const bool tells = info.memory_total != 0;
      if (!tells || info.memory_free >= memory_needed) {
        *out_device = i;
        return OkStatus();
      }
      most = std::max(most, info.memory_free);
    }
    if (found) return NoRoom(memory_needed, most);
    return Status(StatusCode::kNotFound, Subsystem::kApi, "there is no device of this kind");
  });
}
