// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Generation: decode, pick, tell, feed, until something ends it; in one call, or a token a step.
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/str_cat.h"
#include "engine/context.h"
#include "engine/session.h"

namespace minfer {

StatusOr<Session::Generation> Session::MakeGeneration(const GenerateOptions& options) const {
  if (options.max_tokens < 0) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                  StrCat(options.max_tokens, " is no number of tokens"))
        .WithName("max_tokens");
  }
  DecodeOptions decode;
  decode.skip_special = !options.special_text;
  decode.at_start = position() + pending() == 0;
  return Generation{
      options, StreamingDetokenizer(&context_->model().tokenizer(), decode), 0, {}, false, {}, {}};
}

Status Session::FillSampleInput(bool leads, SampleInput* input) {
  input->position = position();
  input->history = tokens();
  input->editor = editor_;
  if (editor_.edit == nullptr && sampler_.TopSuffices(top_)) {
    input->top = top_;
    return OkStatus();
  }
  MF_RETURN_IF_ERROR(context_->FetchLogits(this, leads));
  input->logits = absl::Span<const float>(context_->SessionLogits(slot_),
                                          static_cast<size_t>(context_->model().n_tokens()));
  return OkStatus();
}

Status Session::PickToken(Generation* generation, SamplerScratch* scratch, bool leads) {
  if (room() < 1) {
    return Status(StatusCode::kResourceExhausted, Subsystem::kKv,
                  StrCat("the session is full: ", position(), " of ", context_->config().n_ctx,
                         " tokens"))
        .WithName("n_ctx");
  }
  SampleInput input;
  MF_RETURN_IF_ERROR(FillSampleInput(leads, &input));
  MF_ASSIGN_OR_RETURN(SampledToken picked, sampler_.Sample(input, *scratch));

  const Tokenizer& tokenizer = context_->model().tokenizer();
  const bool end = tokenizer.IsEndOfGeneration(picked.token) && !generation->options.ignore_end;
  generation->text.clear();
  if (!end && tokenizer.has_text()) {
    MF_RETURN_IF_ERROR(generation->detokenizer.Add(picked.token, &generation->text));
  }
  tokens_.reserve(tokens_.size() + 1);
  sampler_.Accept(picked);
  tokens_.push_back(picked.token);
  SetPending(1);
  decode_class_ = position() > 0;
  ++generation->n_tokens;
  ++statistics_.n_generated_tokens;

  TokenEvent& event = generation->event;
  event.token = picked.token;
  event.position = position();
  event.finish = FinishReason::kNone;
  if (end) {
    event.finish = FinishReason::kEndToken;
  } else if (generation->options.max_tokens > 0 &&
             generation->n_tokens >= generation->options.max_tokens) {
    event.finish = FinishReason::kMaxTokens;
  }
  if (event.finish != FinishReason::kNone) generation->detokenizer.Finish(&generation->text);
  event.text = generation->text;
  return OkStatus();
}

Status Session::GenerateTokens(Generation* generation, TokenCallback callback) {
  while (true) {
    MF_RETURN_IF_ERROR(PickToken(generation, Scratch(), /*leads=*/false));
    bool go_on = generation->event.finish == FinishReason::kNone;
    if (callback.call != nullptr) {
      StatusOr<bool> answer = callback.call(callback.user_data, generation->event);
      if (!answer.ok()) {
        DropPending();
        sampler_.Rewind(position());
        return std::move(answer).status();
      }
      if (go_on && !*answer) {
        generation->event.finish = FinishReason::kStopped;
        go_on = false;
      }
    }
    Status status = context_->RunPending(this, generation->options.cancel);
    if (!status.ok()) {
      sampler_.Rewind(position());
      return status;
    }
    if (!go_on) return OkStatus();
  }
}

Status Session::Generate(const GenerateOptions& options, TokenCallback callback,
                         GenerateResult* result) {
  *result = GenerateResult();
  std::unique_lock<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  if (generation_.has_value()) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                  "a generation was started on this session");
  }
  if (pending() == 0 && !has_logits_) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                  "the session is empty: feed something first");
  }
  MF_ASSIGN_OR_RETURN(Generation generation, MakeGeneration(options));
  cancelled_.store(false, std::memory_order_relaxed);
  generating_ = true;
  lock.unlock();
  auto leave = absl::MakeCleanup([this] {
    std::lock_guard<std::mutex> guard(context_->mutex_);
    generating_ = false;
  });
  const auto start = std::chrono::steady_clock::now();
  auto nanoseconds = [](std::chrono::steady_clock::duration time) {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
  };
  result->n_prompt_tokens = pending();
  if (pending() > 0) MF_RETURN_IF_ERROR(context_->RunPending(this, options.cancel));
  const auto prompt_done = std::chrono::steady_clock::now();
  statistics_.prompt_time_ns += nanoseconds(prompt_done - start);
  Status status = GenerateTokens(&generation, callback);
  statistics_.generate_time_ns += nanoseconds(std::chrono::steady_clock::now() - prompt_done);
  result->n_tokens = generation.n_tokens;
  result->finish = status.ok() ? generation.event.finish : FinishReason::kNone;
  return status;
}

Status Session::Start(const GenerateOptions& options) {
  std::unique_lock<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  if (generation_.has_value()) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                  "a generation was started already");
  }
  if (pending() == 0 && !has_logits_) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                  "the session is empty: feed something first");
  }
  MF_ASSIGN_OR_RETURN(Generation generation, MakeGeneration(options));
  cancelled_.store(false, std::memory_order_relaxed);
  if (pending() == 0) {
    // The logits are there: the first token needs no step. The host may edit them, so the lock is
    // let go; steps and other calls keep off meanwhile.
    in_step_ = true;
    lock.unlock();
    auto relock = absl::MakeCleanup([&] {
      lock.lock();
      in_step_ = false;
      context_->changed_.notify_all();
    });
    MF_RETURN_IF_ERROR(PickToken(&generation, Scratch(), /*leads=*/false));
    generation.has_event = true;
    std::move(relock).Invoke();
  }
  generation_.emplace(std::move(generation));
  call_cancel_ = options.cancel;
  return OkStatus();
}

StatusOr<TokenEvent> Session::Next() {
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  if (!generation_.has_value()) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine,
                  "no generation was started on this session");
  }
  if (!generation_->has_event) {
    return Status(StatusCode::kNotFound, Subsystem::kEngine,
                  "no token is there: make a step of the context");
  }
  if (!generation_->failure.ok() || out_of_memory_) {
    Status failure = out_of_memory_ ? TakeOutcome() : std::move(generation_->failure);
    generation_.reset();
    call_cancel_ = nullptr;
    return failure;
  }
  generation_->has_event = false;
  // The text outlives the generation: it moves to the session until the next call.
  event_text_ = generation_->text;
  TokenEvent event = generation_->event;
  event.text = event_text_;
  if (event.finish != FinishReason::kNone) {
    generation_.reset();
    call_cancel_ = nullptr;
  }
  return event;
}

Status Session::Stop() {
  std::lock_guard<std::mutex> lock(context_->mutex_);
  MF_RETURN_IF_ERROR(CheckIdle());
  if (!generation_.has_value()) return OkStatus();
  generation_.reset();
  call_cancel_ = nullptr;
  DropPending();
  sampler_.Rewind(position());
  return OkStatus();
}

}  // namespace minfer
