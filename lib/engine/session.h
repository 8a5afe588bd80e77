// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One conversation: its tokens, their place in the KV cache, the logits after the last of them, and
// the state of sampling. Belongs to a Context. One thread at a time; Cancel and the getters of
// numbers may be called from any thread.
//
// tokens_[0, committed) have been computed; the rest are pending. Every call that fails leaves the
// committed ones and drops the pending ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "kv/kv_cache.h"
#include "sampling/log_probabilities.h"
#include "sampling/sampler.h"
#include "tokenizer/detokenizer.h"

namespace minfer {

class Context;

enum class FinishReason : int32_t { kNone = 0, kEndToken = 1, kMaxTokens = 2, kStopped = 3 };

struct GenerateOptions {
  int64_t max_tokens = 0;  // 0: as many as there is room for
  bool ignore_end = false;
  bool special_text = false;  // control tokens as their text
  const std::atomic<bool>* cancel = nullptr;
};

struct TokenEvent {
  int32_t token = 0;
  int64_t position = 0;
  FinishReason finish = FinishReason::kNone;
  std::string_view text;  // whole characters; valid until the callback returns or the next call
};

// Answers whether to go on. A failure ends the generation with its status.
struct TokenCallback {
  StatusOr<bool> (*call)(void* user_data, const TokenEvent& event) = nullptr;
  void* user_data = nullptr;
};

struct GenerateResult {
  FinishReason finish = FinishReason::kNone;
  int64_t n_prompt_tokens = 0;
  int64_t n_tokens = 0;
};

struct SessionStatistics {
  uint64_t n_prompt_tokens = 0;
  uint64_t n_generated_tokens = 0;
  uint64_t prompt_time_ns = 0;
  uint64_t generate_time_ns = 0;
};

class Session {
 public:
  // Made by Context::CreateSession and Fork.
  Session(std::shared_ptr<Context> context, int32_t slot, KvSequence sequence, Sampler sampler);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The settings, and the host's edit of the logits, for every later pick.
  Status SetSampling(const SamplingSettings& settings, LogitsEditor editor = {});
  // Of a session that nobody else has seen yet: a fork.
  void SetLogitsEditor(LogitsEditor editor) { editor_ = editor; }

  // Adds to what is pending: all or nothing.
  Status Feed(absl::Span<const int32_t> tokens);
  // Computes what is pending.
  Status Decode(const std::atomic<bool>* cancel);
  // FAILED_PRECONDITION when there are none.
  StatusOr<absl::Span<const float>> Logits();
  StatusOr<int32_t> Sample();

  Status Generate(const GenerateOptions& options, TokenCallback callback, GenerateResult* result);
  // For hosts that step the context: from now on each step picks a token, which Next fetches.
  Status Start(const GenerateOptions& options);
  // NOT_FOUND when no token is there yet.
  StatusOr<TokenEvent> Next();
  Status Stop();

  Status Truncate(int64_t position);
  StatusOr<std::unique_ptr<Session>> Fork();
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  int64_t position() const { return committed_.load(std::memory_order_relaxed); }
  int64_t pending() const { return pending_.load(std::memory_order_relaxed); }
  int64_t room() const;
  absl::Span<const int32_t> tokens() const {
    return {tokens_.data(), static_cast<size_t>(position())};
  }
  // A copy, for hosts: refused while a step works on the session.
  StatusOr<std::vector<int32_t>> CommittedTokens() const;
  SessionStatistics statistics() const { return statistics_; }
  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  friend class Context;
  friend class StepRunner;

  // A generation in progress, of Generate or of Start.
  struct Generation {
    GenerateOptions options;
    StreamingDetokenizer detokenizer;
    int64_t n_tokens = 0;
    std::string text;
    bool has_event = false;  // an event waits for Next
    TokenEvent event;
    Status failure;  // why it ended, when it failed
  };

  Status CheckIdle() const;  // with the context's lock held
  Status TakeOutcome();
  StatusOr<Generation> MakeGeneration(const GenerateOptions& options) const;
  // Picks the next token from the logits, makes it pending and describes it in generation->event.
  // `leads`: the caller leads a step.
  Status PickToken(Generation* generation, SamplerScratch* scratch, bool leads);
  // The row of logits that the next token is picked from, or what stands for it.
  Status FillSampleInput(bool leads, SampleInput* input);
  // How many best entries of its rows are enough; 0: it wants the rows.
  int32_t TopNeeded() const { return editor_.edit == nullptr ? sampler_.TopNeeded() : 0; }
  Status GenerateTokens(Generation* generation, TokenCallback callback);
  SamplerScratch* Scratch();
  void DropPending();
  void SetPending(int64_t n) { pending_.store(n, std::memory_order_relaxed); }

  const std::shared_ptr<Context> context_;
  const int32_t slot_;
  KvSequence sequence_;
  std::vector<int32_t> tokens_;
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> pending_{0};
  bool decode_class_ = false;  // the one pending token is a decode row
  bool has_logits_ = false;
  bool logits_on_device_ = false;  // and not yet in the host's row
  int32_t logits_side_ = 0;        // where there: a step writes to the other side until it commits
  std::vector<TopLogit> top_;      // of the logits, where the step found them
  Sampler sampler_;
  LogitsEditor editor_;
  std::unique_ptr<SamplerScratch> scratch_;  // made by the first pick on the session's own thread
  std::atomic<bool> cancelled_{false};
  std::optional<Generation> generation_;
  std::string event_text_;  // of the event that Next gave last
  SessionStatistics statistics_;

  // Guarded by the context's lock: a call that waits for its rows.
  bool submitted_ = false;
  bool done_ = false;
  bool in_step_ = false;     // a step is working on it
  bool generating_ = false;  // inside Generate, between two tokens
  bool late_ = false;        // a leader has waited for it in vain
  bool stepped_ = false;     // has had its decode row in this step
  int64_t reserved_rows_ = 0;
  Status outcome_;
  bool out_of_memory_ = false;  // stands for an outcome that there was no memory to make
  const std::atomic<bool>* call_cancel_ = nullptr;
};

}  // namespace minfer
