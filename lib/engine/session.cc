// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/str_cat.h"
#include "engine/context.h"

namespace minfer {
namespace {

Status NoLogits() {
  return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                "the session has no logits: decode a token first");
}

uint64_t Since(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count());
}

}  // namespace

Session::Session(std::shared_ptr<Context> context, int32_t slot, KvSequence sequence,
                 Sampler sampler)
    : context_(std::move(context)),
      slot_(slot),
      sequence_(std::move(sequence)),
      sampler_(std::move(sampler)) {
  top_.reserve(kMaxTopLogits);
}

Session::~Session() { context_->ReleaseSession(this); }

int64_t Session::room() const {
  return std::max<int64_t>(0, context_->config().n_ctx - position() - pending());
}

Status Session::CheckIdle() const {
  MF_RETURN_IF_ERROR(context_->CheckUsable());
  if (!in_step_ && !submitted_) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                "another call or a step is working on this session");
}

Status Session::TakeOutcome() {
  if (!out_of_memory_) return std::move(outcome_);
  out_of_memory_ = false;
  return Status(StatusCode::kResourceExhausted, Subsystem::kEngine, "out of memory in a step");
}

SamplerScratch* Session::Scratch() {
  if (scratch_ == nullptr) scratch_ = std::make_unique<SamplerScratch>();
  return scratch_.get();
}

void Session::DropPending() {
  tokens_.resize(static_cast<size_t>(position()));
  SetPending(0);
  decode_class_ = false;
}

Status Session::SetSampling(const SamplingSettings& settings, LogitsEditor editor) {
  MF_ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(settings, context_->model().n_tokens()));
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  sampler_ = std::move(sampler);
  editor_ = editor;
  return OkStatus();
}

StatusOr<std::vector<int32_t>> Session::CommittedTokens() const {
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  return std::vector<int32_t>(tokens().begin(), tokens().end());
}

Status Session::Feed(absl::Span<const int32_t> tokens) {
  const int32_t n_tokens = context_->model().n_tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < n_tokens) continue;
    return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                  StrCat("token ", i, " is ", tokens[i], ", the vocabulary has ", n_tokens))
        .WithName("tokens");
  }
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  if (static_cast<int64_t>(tokens.size()) > room()) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kKv,
                  StrCat(tokens.size(), " tokens fed, room for ", room(), " of ",
                         context_->config().n_ctx))
        .WithName("n_ctx");
  }
  if (tokens.empty()) return OkStatus();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  // The next token of a conversation is a decode row; anything longer is a prompt.
  decode_class_ = pending() == 0 && tokens.size() == 1 && position() > 0;
  SetPending(pending() + static_cast<int64_t>(tokens.size()));
  return OkStatus();
}

Status Session::Decode(const std::atomic<bool>* cancel) {
  {
    std::lock_guard<std::mutex> lock(context_->mutex_);
    MF_RETURN_IF_ERROR(CheckIdle());
    // A cancel of an earlier call is over.
    cancelled_.store(false, std::memory_order_relaxed);
    if (pending() == 0) return OkStatus();
  }
  const auto start = std::chrono::steady_clock::now();
  Status status = context_->RunPending(this, cancel);
  statistics_.prompt_time_ns += Since(start);
  return status;
}

StatusOr<absl::Span<const float>> Session::Logits() {
  {
    std::lock_guard<std::mutex> lock(context_->mutex_);
    MF_RETURN_IF_ERROR(CheckIdle());
    if (!has_logits_ || pending() > 0) return NoLogits();
  }
  MF_RETURN_IF_ERROR(context_->FetchLogits(this, /*leads=*/false));
  return absl::Span<const float>(context_->SessionLogits(slot_),
                                 static_cast<size_t>(context_->model().n_tokens()));
}

StatusOr<int32_t> Session::Sample() {
  {
    std::lock_guard<std::mutex> lock(context_->mutex_);
    MF_RETURN_IF_ERROR(CheckIdle());
    if (!has_logits_ || pending() > 0) return NoLogits();
  }
  SampleInput input;
  MF_RETURN_IF_ERROR(FillSampleInput(/*leads=*/false, &input));
  MF_ASSIGN_OR_RETURN(SampledToken token, sampler_.Sample(input, *Scratch()));
  return token.token;
}

Status Session::Truncate(int64_t new_position) {
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  MF_RETURN_IF_ERROR(context_->kv_->Truncate(&sequence_, new_position));
  committed_.store(new_position, std::memory_order_relaxed);
  DropPending();
  sampler_.Rewind(new_position);
  generation_.reset();
  has_logits_ = false;
  logits_on_device_ = false;
  top_.clear();
  return OkStatus();
}

StatusOr<std::unique_ptr<Session>> Session::Fork() {
  MF_RETURN_IF_ERROR(context_->FetchLogits(this, /*leads=*/false));
  MF_ASSIGN_OR_RETURN(std::unique_ptr<Session> fork, context_->CreateSession());
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  fork->sampler_ = sampler_;
  fork->editor_ = editor_;
  fork->tokens_.assign(tokens_.begin(), tokens_.begin() + position());
  fork->sequence_ = context_->kv_->Fork(sequence_);
  fork->committed_.store(position(), std::memory_order_relaxed);
  fork->has_logits_ = has_logits_;
  fork->top_.assign(top_.begin(), top_.end());
  if (has_logits_) {
    std::memcpy(context_->SessionLogits(fork->slot_), context_->SessionLogits(slot_),
                static_cast<size_t>(context_->model().description().hp.n_vocab) * sizeof(float));
  }
  return fork;
}

}  // namespace minfer
