// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A call on a handle, from entry to return: it is refused on a null handle, on a shell, in a forked
// child and on a busy session, and it keeps alive what it uses. Each lives on the stack of its
// call; Finish gives the status that the host sees.
#pragma once

#include <memory>

#include "base/status.h"
#include "capi/handles.h"

namespace minfer::capi {

// The flag behind a handle that options carry; empty for NULL.
CancelFlag FlagOf(const mf_cancel* cancel);
// CANCELLED when the flag is requested: a call that starts under it does nothing.
Status CheckNotCancelled(const CancelFlag& flag);

// Frees a session when no call of this thread can be using it: at once, or after the call whose
// callback this is.
void Bury(std::shared_ptr<SessionState> session) noexcept;

// True in a process that did not make the handle.
bool IsForkedChild(const ModelState& state);

class ModelCall {
 public:
  ModelCall() = default;
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;
  ~ModelCall();

  Status Enter(const mf_model* handle);
  Status Enter(std::shared_ptr<ModelState> state);
  Status Finish(Status status) const;
  const Model& model() const { return *state_->model; }
  ModelState& state() const { return *state_; }
  const std::shared_ptr<ModelState>& shared() const { return state_; }

 private:
  std::shared_ptr<ModelState> state_;
  Gate::Entry entry_;
};

class ContextCall {
 public:
  Status Enter(const mf_context* handle);
  Status Enter(std::shared_ptr<ContextState> state);
  Status Finish(Status status) const;
  Context& context() const { return *state_->context; }
  const std::shared_ptr<ContextState>& shared() const { return state_; }

 private:
  std::shared_ptr<ContextState> state_;
  ModelCall model_;
  Gate::Entry entry_;
};

class SessionCall {
 public:
  SessionCall() = default;
  SessionCall(const SessionCall&) = delete;
  SessionCall& operator=(const SessionCall&) = delete;
  ~SessionCall();

  Status Enter(const mf_session* handle);
  // Of the flag of the call, which may be empty, and that of the context.
  Status CheckNotCancelled(const CancelFlag& flag) const;
  Status Finish(Status status) const;
  Session& session() const { return *state_->session; }
  SessionState& state() const { return *state_; }
  const Model& model() const { return *state_->context->model->model; }

 private:
  std::shared_ptr<SessionState> state_;
  ContextCall context_;
  Gate::Entry entry_;
  bool holds_ = false;
};

}  // namespace minfer::capi
