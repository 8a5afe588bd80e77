// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Names for memory of a backend. Only the backend knows the address behind a name.
#pragma once

#include <cstdint>

namespace minfer {

// A buffer of one backend's pool; -1 is no buffer.
struct BufferId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  friend bool operator==(BufferId, BufferId) = default;
};

// A range of a buffer.
struct BufferRange {
  BufferId buffer;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

}  // namespace minfer
