// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The opaque handles of the C header and what they share.
//
// A handle is a thin owner of a state; a child's state holds its parent's. So destroying a parent
// first leaves shells: the parent's gate is closed, calls on the children find that and fail, and
// the memory goes with the last of them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "capi/lifetime.h"
#include "engine/chat_prompt.h"
#include "engine/context.h"
#include "engine/model.h"
#include "engine/session.h"
#include "minfer/sampling.h"
#include "minfer/types.h"

namespace minfer::capi {

using CancelFlag = std::shared_ptr<std::atomic<bool>>;

struct ContextState;
struct SessionState;

struct ModelState {
  pid_t pid = 0;  // the process that made it; any other is a forked child
  Gate gate;
  std::shared_ptr<const Model> model;
  std::unique_ptr<ChatPrompt> chat;

  std::mutex mutex;
  std::vector<std::weak_ptr<ContextState>> contexts;  // guarded by mutex; to stop their calls
  // Sessions that were destroyed inside a callback, linked by next_dead; freed by the next call
  // that leaves the model.
  std::shared_ptr<SessionState> dead;  // guarded by mutex
};

struct ContextState {
  std::shared_ptr<ModelState> model;
  Gate gate;
  CancelFlag cancel;  // of the options; the engine polls it
  std::shared_ptr<Context> context;
};

// The host's edit of a session's logits.
struct LogitsEdit {
  mf_logits_callback callback = nullptr;
  void* user_data = nullptr;
  SessionState* session = nullptr;
};

struct SessionState {
  std::shared_ptr<ContextState> context;
  Gate gate;
  std::atomic<bool> busy{false};
  std::unique_ptr<Session> session;
  std::unique_ptr<LogitsEdit> edit;  // what the engine's editor points at
  std::shared_ptr<SessionState> next_dead;
  CancelFlag start_cancel;  // of a generation that was started; the engine polls it
};

}  // namespace minfer::capi

struct mf_model {
  std::shared_ptr<minfer::capi::ModelState> state;
};

struct mf_context {
  std::shared_ptr<minfer::capi::ContextState> state;
};

struct mf_session {
  std::shared_ptr<minfer::capi::SessionState> state;
};

// Calls share the flag, so that destroying the handle does not pull it away from them. A request
// is one store to a lock-free atomic: all that a signal handler may do.
struct mf_cancel {
  minfer::capi::CancelFlag requested;
};
static_assert(std::atomic<bool>::is_always_lock_free);
