// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/calls.h"

#include <unistd.h>

#include <utility>

#include "capi/report.h"

namespace minfer::capi {
namespace {

Status Destroyed(const char* what) { return FailedPrecondition(what); }

// A call that a destroy has stopped says so, whatever it stumbled over on its way out.
Status StoppedBy(const Gate& gate, Status status) {
  if (status.ok() || !gate.closed()) return status;
  return Status(StatusCode::kCancelled, Subsystem::kApi,
                "the handle was destroyed during the call");
}

}  // namespace

CancelFlag FlagOf(const mf_cancel* cancel) {
  return cancel == nullptr ? nullptr : cancel->requested;
}

Status CheckNotCancelled(const CancelFlag& flag) {
  if (flag == nullptr || !flag->load(std::memory_order_acquire)) return OkStatus();
  return Status(StatusCode::kCancelled, Subsystem::kApi, "cancelled before the call began");
}

void Bury(std::shared_ptr<SessionState> session) noexcept {
  ModelState& model = *session->context->model;
  if (!model.gate.IsInside()) return;  // this was the last reference
  const std::lock_guard<std::mutex> lock(model.mutex);
  session->next_dead = std::move(model.dead);
  model.dead = std::move(session);
}

bool IsForkedChild(const ModelState& state) { return state.pid != getpid(); }

Status ModelCall::Enter(const mf_model* handle) {
  if (handle == nullptr) return NullArgument("model");
  return Enter(handle->state);
}

Status ModelCall::Enter(std::shared_ptr<ModelState> state) {
  if (IsForkedChild(*state)) {
    return FailedPrecondition("the handle belongs to the process that this one was forked from");
  }
  state_ = std::move(state);
  if (!state_->gate.Enter(entry_)) return Destroyed("the model was destroyed");
  return OkStatus();
}

ModelCall::~ModelCall() {
  if (state_ == nullptr) return;
  entry_.Leave();
  // An outer call of this thread may still be working with what its callback destroyed.
  if (state_->gate.IsInside()) return;
  std::shared_ptr<SessionState> dead;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    dead = std::move(state_->dead);
  }
  // One after the other: a long list must not unwind recursively.
  while (dead != nullptr) dead = std::move(dead->next_dead);
}

Status ModelCall::Finish(Status status) const { return StoppedBy(state_->gate, std::move(status)); }

Status ContextCall::Enter(const mf_context* handle) {
  if (handle == nullptr) return NullArgument("context");
  return Enter(handle->state);
}

Status ContextCall::Enter(std::shared_ptr<ContextState> state) {
  state_ = std::move(state);
  MF_RETURN_IF_ERROR(model_.Enter(state_->model));
  if (!state_->gate.Enter(entry_)) return Destroyed("the context was destroyed");
  return OkStatus();
}

Status ContextCall::Finish(Status status) const {
  return model_.Finish(StoppedBy(state_->gate, std::move(status)));
}

Status SessionCall::Enter(const mf_session* handle) {
  if (handle == nullptr) return NullArgument("session");
  state_ = handle->state;
  MF_RETURN_IF_ERROR(context_.Enter(state_->context));
  if (!state_->gate.Enter(entry_)) return Destroyed("the session was destroyed");
  if (state_->busy.exchange(true, std::memory_order_acquire)) {
    return FailedPrecondition("another call on this session is running");
  }
  holds_ = true;
  return OkStatus();
}

SessionCall::~SessionCall() {
  if (!holds_) return;
  state_->busy.store(false, std::memory_order_release);
}

Status SessionCall::CheckNotCancelled(const CancelFlag& flag) const {
  MF_RETURN_IF_ERROR(capi::CheckNotCancelled(flag));
  return capi::CheckNotCancelled(state_->context->cancel);
}

Status SessionCall::Finish(Status status) const {
  return context_.Finish(StoppedBy(state_->gate, std::move(status)));
}

}  // namespace minfer::capi
