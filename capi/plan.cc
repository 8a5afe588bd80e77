// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/plan.h"

#include <utility>
#include <vector>

#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/backends.h"

namespace capi = minfer::capi;
using minfer::Status;

mf_status mf_model_plan(const mf_source* sources, size_t n_sources,
                        const mf_model_options* model_options,
                        const mf_context_options* context_options, size_t device,
                        mf_memory_use* out_model_use, mf_memory_use* out_context_use,
                        mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    if (out_model_use != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_model_use, "out_model_use"));
    }
    if (out_context_use != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_context_use, "out_context_use"));
    }
    MF_ASSIGN_OR_RETURN(const capi::LoadSettings load, capi::ReadModelOptions(model_options));
    MF_ASSIGN_OR_RETURN(const capi::ContextSettings run, capi::ReadContextOptions(context_options));
    const auto devices = minfer::FindDevices();
    MF_RETURN_IF_ERROR(capi::CheckIndex("device", device, devices.size()));
    MF_ASSIGN_OR_RETURN(minfer::ModelFiles files,
                        capi::OpenSources(sources, n_sources, load.access));
    MF_ASSIGN_OR_RETURN(const minfer::ModelHeader header,
                        minfer::ReadModelHeader(std::move(files), load.engine));
    MF_ASSIGN_OR_RETURN(const minfer::Placement placement, minfer::PlaceModel(header, load.engine));
    MF_ASSIGN_OR_RETURN(const std::vector<minfer::MemoryUse> model_uses,
                        minfer::PlanModelByDevice(header, placement, load.engine));
    MF_ASSIGN_OR_RETURN(const std::vector<minfer::MemoryUse> context_uses,
                        minfer::PlanContextByDevice(header.description, placement, run.engine));
    const auto on = [&](const std::vector<minfer::MemoryUse>& uses) {
      return capi::ToMemoryUse(minfer::UseOn(placement, uses, static_cast<int32_t>(device)),
                               device);
    };
    if (out_model_use != nullptr) {
      capi::WriteSized(on(model_uses), out_model_use);
    }
    if (out_context_use != nullptr) {
      capi::WriteSized(on(context_uses), out_context_use);
    }
    return minfer::OkStatus();
  });
}
