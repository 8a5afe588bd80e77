// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/deferred_stream.h"

#include <algorithm>
#include <utility>

namespace minfer::testing {
namespace {

bool Contains(const std::vector<BufferId>& buffers, BufferId buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

}  // namespace

uint64_t DeferredStream::Enqueue(DeferredWork work) {
  queue_.push_back(std::move(work));
  return last();
}

void DeferredStream::RunUntil(uint64_t upto) {
  while (first_ < upto && !queue_.empty()) {
    const DeferredWork work = std::move(queue_.front());
    if (error_.ok()) error_ = work.run();
    queue_.pop_front();
    ++first_;
  }
}

bool DeferredStream::Writes(BufferId buffer) const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [buffer](const DeferredWork& work) { return Contains(work.writes, buffer); });
}

bool DeferredStream::Uses(BufferId buffer) const {
  return std::any_of(queue_.begin(), queue_.end(), [buffer](const DeferredWork& work) {
    return Contains(work.writes, buffer) || Contains(work.reads, buffer);
  });
}

void DeferredStream::Drop() {
  first_ = last();
  queue_.clear();
}

Status DeferredStream::TakeError() { return std::exchange(error_, OkStatus()); }

Status DeferredEvent::Wait() {
  if (stream_->window_open()) {
    return Status(StatusCode::kInternal, Subsystem::kBackend, "a wait inside a capture window");
  }
  stream_->RunUntil(number_);
  return stream_->error();
}

}  // namespace minfer::testing
