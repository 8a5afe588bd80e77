// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A mark in a backend's stream, done when all work enqueued before it is.
#pragma once

#include "base/status.h"

namespace minfer {

class Event {
 public:
  virtual ~Event() = default;
  virtual bool IsDone() const = 0;
  // Blocks the calling thread until done; the error of the work before it, if any.
  virtual Status Wait() = 0;
};

}  // namespace minfer
