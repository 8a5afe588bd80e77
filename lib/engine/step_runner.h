// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One step: gathers pending rows of sessions, runs them in micro-batches, and commits each session
// by itself. Owned by the thread that leads; the context's lock is given up only while the graph
// runs.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "engine/context.h"

namespace minfer {

class StepRunner {
 public:
  // include_idle: also sessions that nobody waits for (a step of the host's own loop).
  StepRunner(Context* context, bool include_idle, const StepOptions& options);

  // Micro-batches until the batch is full, the time is over, or nothing is left. The status is that
  // of the step as a whole: CANCELLED, or what took the device.
  Status Run(std::unique_lock<std::mutex>* lock, StepResult* result);

 private:
  // The rows of one session in one micro-batch.
  struct Share {
    Session* session = nullptr;
    int64_t first = 0;  // index of the first row in the micro-batch
    int64_t rows = 0;
    bool decode = false;
    int64_t output = -1;  // its row of logits, or -1
  };

  bool Wants(const Session& session) const;
  void Gather(int64_t max_rows);
  bool AddShare(Session* session, int64_t rows, bool decode);
  Status RunMicroBatch(std::unique_lock<std::mutex>* lock);
  Status Compute(const StepGraph& step);
  void FillInputs(const StepGraph& step);
  int32_t TopNeeded() const;
  Status FindTop(Backend* backend, const BufferRange& logits);
  void TakeTop(const Share& share);
  const float* OutputRow(const Share& share) const;
  int64_t NanOf(const Share& share) const;
  Status KeepLogits(Backend* backend, const BufferRange& logits) const;
  void CollectCancelFlags();
  void CommitAll(StepResult* result);
  void Commit(const Share& share, StepResult* result);
  void Abandon(const Status& status, StepResult* result);
  void AbandonOutOfMemory() noexcept;
  void Fail(Session* session, Status status, StepResult* result);
  void AfterCommit(Session* session);
  void PickTokens(std::unique_lock<std::mutex>* lock, StepResult* result);
  bool StepCancelled() const;

  Context* context_;
  const bool include_idle_;
  const StepOptions options_;
  std::vector<Share> shares_;
  std::vector<Session*> to_pick_;  // whose next token is to be picked for the host
  int64_t decode_rows_ = 0;
  int64_t prefill_rows_ = 0;
  int64_t outputs_ = 0;
  int32_t top_k_ = 0;  // entries found of each row of logits; 0: the rows are read
  std::vector<PageCopy> copies_;
  std::vector<const std::atomic<bool>*> flags_;

  // Inputs of the micro-batch.
  std::vector<int32_t> token_ids_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> row_sequence_;
  std::vector<int32_t> row_length_;
  std::vector<int32_t> output_rows_;
  std::vector<std::vector<int32_t>> cells_;
  std::vector<std::vector<int32_t>> page_tables_;
};

}  // namespace minfer
