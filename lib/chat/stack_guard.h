// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Bounds the C stack that a recursive walk takes, whatever the compiler makes of its frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::chat {

// A call of the library may take 64 KiB of the caller's stack; this leaves room for the frames
// above the walk and for the leaves below it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A sanitizer's frames are many times as large: with the same bound ordinary templates would not
// render.
inline constexpr size_t kStackBytes = size_t{1024} * 1024;
#else
inline constexpr size_t kStackBytes = size_t{40} * 1024;
#endif

class StackGuard {
 public:
  // Measures from the frame that makes it.
  StackGuard() : base_(reinterpret_cast<uintptr_t>(__builtin_frame_address(0))) {}

  bool Exceeded() const {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return (here < base_ ? base_ - here : here - base_) > kStackBytes;
  }

 private:
  uintptr_t base_;
};

}  // namespace minfer::chat
