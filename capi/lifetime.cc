// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/lifetime.h"

namespace minfer::capi {

bool Gate::Enter(Entry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_.load(std::memory_order_relaxed)) return false;
  entry.gate_ = this;
  entry.thread_ = std::this_thread::get_id();
  entry.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &entry;
  first_ = &entry;
  return true;
}

void Gate::Entry::Leave() {
  if (gate_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(gate_->mutex_);
  (previous_ != nullptr ? previous_->next_ : gate_->first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  // Under the lock: the gate may be gone as soon as the waiting thread has seen the list empty.
  if (gate_->first_ == nullptr) gate_->empty_.notify_all();
  gate_ = nullptr;
}

void Gate::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_.store(true, std::memory_order_release);
}

void Gate::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  empty_.wait(lock, [this] { return first_ == nullptr; });
}

bool Gate::IsInside() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::thread::id self = std::this_thread::get_id();
  for (const Entry* entry = first_; entry != nullptr; entry = entry->next_) {
    if (entry->thread_ == self) return true;
  }
  return false;
}

}  // namespace minfer::capi
