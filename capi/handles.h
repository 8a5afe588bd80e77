// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The opaque handles of the C header.
#pragma once

#include <atomic>
#include <memory>

#include "minfer/types.h"

// Calls share the flag, so that destroying the handle does not pull it away from them. A request
// is one store to a lock-free atomic: all that a signal handler may do.
struct mf_cancel {
  std::shared_ptr<std::atomic<bool>> requested;
};
static_assert(std::atomic<bool>::is_always_lock_free);
