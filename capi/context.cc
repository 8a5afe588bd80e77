// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/context.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/context.h"

namespace capi = minfer::capi;
using minfer::OkStatus;
using minfer::Status;

namespace {

// Lets a destroy of the model find the context, so that it can stop its calls.
void Register(const std::shared_ptr<capi::ContextState>& context) {
  capi::ModelState& model = *context->model;
  const std::lock_guard<std::mutex> lock(model.mutex);
  auto& list = model.contexts;
  list.erase(
      std::remove_if(list.begin(), list.end(), [](const auto& weak) { return weak.expired(); }),
      list.end());
  list.push_back(context);
}

mf_kernel_use ToKernelUse(const minfer::KernelReport& report) {
  mf_kernel_use use = MF_KERNEL_USE_INIT;
  use.n_calls = report.calls;
  capi::CopyText(report.op, use.operation, sizeof(use.operation));
  capi::CopyText(report.detail, use.detail, sizeof(use.detail));
  capi::CopyText(report.kernel, use.kernel, sizeof(use.kernel));
  capi::CopyText(report.reason, use.reason, sizeof(use.reason));
  return use;
}

}  // namespace

void mf_context_options_init(mf_context_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_step_options_init(mf_step_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_step_result_init(mf_step_result* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_context_statistics_init(mf_context_statistics* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_kernel_use_init(mf_kernel_use* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_context_create(mf_model* model, const mf_context_options* options,
                            mf_context** out_context, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    if (out_context == nullptr) return capi::NullArgument("out_context");
    MF_ASSIGN_OR_RETURN(capi::ContextSettings settings, capi::ReadContextOptions(options));
    MF_RETURN_IF_ERROR(capi::CheckNotCancelled(settings.cancel));
    if (!call.model().has_weights()) {
      return capi::FailedPrecondition("only the model's header was loaded: MF_LOAD_HEADER");
    }
    auto handle = std::make_unique<mf_context>();
    handle->state = std::make_shared<capi::ContextState>();
    handle->state->model = call.shared();
    handle->state->cancel = settings.cancel;
    MF_ASSIGN_OR_RETURN(handle->state->context,
                        minfer::Context::Create(call.state().model, settings.engine));
    Register(handle->state);
    *out_context = handle.release();
    return OkStatus();
  });
}

void mf_context_destroy(mf_context* context) {
  capi::GuardVoid([&] {
    if (context == nullptr || capi::IsForkedChild(*context->state->model)) return;
    const std::shared_ptr<capi::ContextState> state = std::move(context->state);
    delete context;
    state->gate.Close();
    state->context->RequestShutdown();
    // In a callback of any call on this model, waiting could wait for itself.
    if (!state->model->gate.IsInside()) state->gate.Wait();
  });
}

mf_status mf_context_step(mf_context* context, const mf_step_options* options,
                          mf_step_result* out_result, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    if (out_result != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_result, "out_result"));
    }
    MF_ASSIGN_OR_RETURN(const mf_step_options in, capi::ReadOptions(options, "mf_step_options"));
    MF_RETURN_IF_ERROR(capi::CheckReserved(&in.reserved, sizeof(in.reserved), "mf_step_options"));
    const capi::CancelFlag cancel = capi::FlagOf(in.cancel);
    MF_RETURN_IF_ERROR(capi::CheckNotCancelled(cancel));
    MF_RETURN_IF_ERROR(capi::CheckNotCancelled(call.shared()->cancel));
    minfer::StepOptions step;
    step.time_budget_ns = in.time_budget_ns;
    step.cancel = cancel.get();
    minfer::StepResult result;
    MF_RETURN_IF_ERROR(call.Finish(call.context().Step(step, &result)));
    if (out_result == nullptr) return OkStatus();
    mf_step_result out = MF_STEP_RESULT_INIT;
    out.n_rows = static_cast<uint32_t>(result.n_rows);
    out.n_sessions = static_cast<uint32_t>(result.n_sessions);
    out.n_failed = static_cast<uint32_t>(result.n_failed);
    out.n_runnable = static_cast<uint32_t>(result.n_runnable);
    capi::WriteSized(out, out_result);
    return OkStatus();
  });
}

uint32_t mf_context_n_ctx(const mf_context* context) {
  return context == nullptr ? 0 : static_cast<uint32_t>(context->state->context->config().n_ctx);
}

mf_status mf_context_get_memory(const mf_context* context, size_t device, mf_memory_use* out_now,
                                mf_memory_use* out_peak, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    if (out_now != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_now, "out_now"));
    }
    if (out_peak != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_peak, "out_peak"));
    }
    MF_RETURN_IF_ERROR(capi::CheckIndex("device", device, minfer::FindDevices().size()));
    const minfer::MemoryAccount::Snapshot memory =
        call.context().memory(static_cast<int32_t>(device));
    if (out_now != nullptr) {
      capi::WriteSized(capi::ToMemoryUse(capi::UseOf(memory, /*peak=*/false), device), out_now);
    }
    if (out_peak != nullptr) {
      capi::WriteSized(capi::ToMemoryUse(capi::UseOf(memory, /*peak=*/true), device), out_peak);
    }
    return OkStatus();
  });
}

mf_status mf_context_get_statistics(const mf_context* context,
                                    mf_context_statistics* out_statistics, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_statistics, "out_statistics"));
    const minfer::ContextStatistics in = call.context().statistics();
    mf_context_statistics out = MF_CONTEXT_STATISTICS_INIT;
    out.n_sessions = static_cast<uint32_t>(in.n_sessions);
    out.n_steps = in.n_steps;
    out.n_prefill_rows = in.n_prefill_rows;
    out.n_decode_rows = in.n_decode_rows;
    out.n_matmul_nodes = in.backend.matmul_nodes;
    out.weight_bytes_read = in.backend.weight_bytes_read;
    out.n_graphs_built = in.n_graphs_built;
    out.n_graphs_reused = in.n_graphs_reused;
    out.step_time_ns = in.step_time_ns;
    out.n_kv_pages_used = in.n_kv_pages_used;
    out.n_kv_pages = in.n_kv_pages;
    capi::WriteSized(out, out_statistics);
    return OkStatus();
  });
}

mf_status mf_context_get_kernels(const mf_context* context, mf_kernel_use* out_rows,
                                 size_t capacity, size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_rows, capacity, out_count, "out_rows"));
    if (out_rows != nullptr && capacity != 0) {
      MF_RETURN_IF_ERROR(
          capi::ReadArray(out_rows, capacity, "out_rows",
                          [](size_t, const mf_kernel_use&) -> Status { return OkStatus(); }));
    }
    const std::vector<minfer::KernelReport> report = call.context().kernel_report();
    *out_count = report.size();
    if (out_rows == nullptr) return OkStatus();
    MF_RETURN_IF_ERROR(capi::CheckFits(report.size(), capacity));
    auto* bytes = reinterpret_cast<uint8_t*>(out_rows);
    for (size_t i = 0; i < report.size(); ++i) {
      auto* row = reinterpret_cast<mf_kernel_use*>(bytes + i * out_rows->struct_size);
      capi::WriteSized(ToKernelUse(report[i]), row);
    }
    return OkStatus();
  });
}
