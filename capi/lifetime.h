// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Who is inside a handle, so that destroying it can stop them and wait.
//
// A call enters the gates of its session, its context and its model. Closing a gate refuses new
// calls, raises a flag that running calls poll, and waits until all have left, except when the
// closing thread is itself inside (it is in a callback): waiting would then never end, and the
// objects live until that call returns, since it shares them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace minfer::capi {

class Gate {
 public:
  // One call; lives on its stack.
  class Entry {
   public:
    Entry() = default;
    ~Entry() { Leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    // Leaves early; again does nothing.
    void Leave();

   private:
    friend class Gate;

    Gate* gate_ = nullptr;  // null: not inside
    std::thread::id thread_;
    Entry* previous_ = nullptr;
    Entry* next_ = nullptr;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // False when the gate is closed.
  bool Enter(Entry& entry);
  void Close();
  // Waits until nobody is inside.
  void Wait();

  // True when the calling thread is in a call.
  bool IsInside() const;
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  // Raised by Close; running calls poll it.
  const std::atomic<bool>* closed_flag() const noexcept { return &closed_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  Entry* first_ = nullptr;  // guarded by mutex_
  std::atomic<bool> closed_{false};
};

}  // namespace minfer::capi
