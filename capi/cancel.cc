// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/cancel.h"

#include "capi/guard.h"
#include "capi/handles.h"

using minfer::Status;
namespace capi = minfer::capi;

mf_status mf_cancel_create(mf_cancel** out_cancel, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    if (out_cancel == nullptr) return capi::NullArgument("out_cancel");
    auto cancel = std::make_unique<mf_cancel>();
    cancel->requested = std::make_shared<std::atomic<bool>>(false);
    *out_cancel = cancel.release();
    return minfer::OkStatus();
  });
}

void mf_cancel_request(mf_cancel* cancel) {
  if (cancel != nullptr) cancel->requested->store(true, std::memory_order_release);
}

void mf_cancel_reset(mf_cancel* cancel) {
  if (cancel != nullptr) cancel->requested->store(false, std::memory_order_release);
}

int32_t mf_cancel_is_requested(const mf_cancel* cancel) {
  return cancel != nullptr && cancel->requested->load(std::memory_order_acquire) ? 1 : 0;
}

void mf_cancel_destroy(mf_cancel* cancel) {
  capi::GuardVoid([&] { delete cancel; });
}
