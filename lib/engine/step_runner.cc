// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/step_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "absl/cleanup/cleanup.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

bool IsSet(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// The index of the first NaN, or -1. A sum is NaN when a term is; only then it is worth a look.
int64_t FindNan(const float* values, int64_t n) {
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) sum += values[i] * 0.0f;
  if (!std::isnan(sum)) return -1;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) return i;
  }
  return -1;
}

uint64_t Nanoseconds(std::chrono::steady_clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

}  // namespace

StepRunner::StepRunner(Context* context, bool include_idle, const StepOptions& options)
    : context_(context), include_idle_(include_idle), options_(options) {}

bool StepRunner::Wants(const Session& session) const {
  if (session.in_step_ || session.stepped_ || session.pending() == 0) return false;
  if (session.submitted_) return !session.done_;
  if (!include_idle_ || session.generating_) return false;
  // A token that the host has not fetched holds its session back.
  return !(session.generation_.has_value() && session.generation_->has_event);
}

bool StepRunner::StepCancelled() const {
  return IsSet(options_.cancel) || IsSet(context_->cancel_) ||
         context_->shutdown_.load(std::memory_order_relaxed);
}

// Room for the rows in the cache; a session that has none fails alone.
bool StepRunner::AddShare(Session* session, int64_t rows, bool decode) {
  Status reserved = context_->kv_->Reserve(&session->sequence_, rows, &copies_);
  if (!reserved.ok()) {
    session->in_step_ = true;
    session->outcome_ = std::move(reserved);
    shares_.push_back({session, 0, 0, decode, -1});
    return false;
  }
  Share share;
  share.session = session;
  share.rows = rows;
  share.decode = decode;
  share.first = decode_rows_ + prefill_rows_;
  if (rows == session->pending()) share.output = outputs_++;
  session->in_step_ = true;
  session->reserved_rows_ = rows;
  (decode ? decode_rows_ : prefill_rows_) += rows;
  shares_.push_back(share);
  return true;
}

// Decode rows first, then prompts, each from the slot after the one that was first last time.
void StepRunner::Gather(int64_t max_rows) {
  shares_.clear();
  copies_.clear();
  decode_rows_ = prefill_rows_ = outputs_ = 0;
  const int32_t n = static_cast<int32_t>(context_->sessions_.size());
  for (const bool decode : {true, false}) {
    for (int32_t i = 0; i < n; ++i) {
      Session* session = context_->sessions_[static_cast<size_t>((context_->next_slot_ + i) % n)];
      if (session == nullptr || !Wants(*session) || session->decode_class_ != decode) continue;
      const int64_t left = max_rows - decode_rows_ - prefill_rows_;
      if (left <= 0) return;
      int64_t rows = decode ? 1 : std::min(left, session->pending());
      if (outputs_ >= context_->config_.max_outputs && rows == session->pending()) {
        if (--rows == 0) continue;  // its last row waits for a free row of logits
      }
      AddShare(session, rows, decode);
    }
  }
}

void StepRunner::FillInputs(const StepGraph& step) {
  const int64_t rows = decode_rows_ + prefill_rows_;
  const size_t n_groups = step.inputs.cells.size();
  const ContextConfig& config = context_->config_;
  const int64_t columns = context_->kv_->columns();
  for (std::vector<int32_t>* input : {&token_ids_, &positions_, &row_sequence_, &row_length_}) {
    input->resize(static_cast<size_t>(rows));
  }
  output_rows_.resize(static_cast<size_t>(outputs_));
  cells_.resize(n_groups);
  page_tables_.resize(n_groups);
  for (size_t g = 0; g < n_groups; ++g) {
    cells_[g].resize(static_cast<size_t>(rows));
    page_tables_[g].resize(static_cast<size_t>(config.n_sessions * columns), -1);
  }
  for (const Share& share : shares_) {
    if (share.rows == 0) continue;
    const Session& session = *share.session;
    const int64_t position = session.position();
    for (int64_t r = 0; r < share.rows; ++r) {
      const size_t row = static_cast<size_t>(share.first + r);
      token_ids_[row] = session.tokens_[static_cast<size_t>(position + r)];
      positions_[row] = static_cast<int32_t>(position + r);
      row_sequence_[row] = session.slot_;
      row_length_[row] = static_cast<int32_t>(position + r + 1);
      for (size_t g = 0; g < n_groups; ++g) {
        cells_[g][row] = session.sequence_.PhysicalCell(static_cast<int32_t>(g), position + r);
      }
    }
    for (size_t g = 0; g < n_groups; ++g) {
      absl::Span<const int32_t> table = session.sequence_.page_table(static_cast<int32_t>(g));
      std::copy(table.begin(), table.end(),
                page_tables_[g].begin() + static_cast<int64_t>(session.slot_) * columns);
    }
    if (share.output >= 0) {
      output_rows_[static_cast<size_t>(share.output)] =
          static_cast<int32_t>(share.first + share.rows - 1);
    }
  }
}

void StepRunner::CollectCancelFlags() {
  flags_.clear();
  auto add = [this](const std::atomic<bool>* flag) {
    if (flag != nullptr) flags_.push_back(flag);
  };
  add(options_.cancel);
  add(context_->cancel_);
  add(&context_->shutdown_);
  for (const Share& share : shares_) {
    add(&share.session->cancelled_);
    add(share.session->call_cancel_);
  }
}

// Without the lock: only what the step owns is touched.
Status StepRunner::Compute(const StepGraph& step) {
  MF_RETURN_IF_ERROR(context_->CopyPages(copies_));
  std::vector<HostInput> inputs = {
      {step.inputs.token_ids, token_ids_.data()},
      {step.inputs.positions, positions_.data()},
      {step.inputs.row_sequence, row_sequence_.data()},
      {step.inputs.row_length, row_length_.data()},
      {step.inputs.output_rows, output_rows_.data()},
  };
  for (size_t g = 0; g < cells_.size(); ++g) {
    inputs.push_back({step.inputs.cells[g], cells_[g].data()});
    inputs.push_back({step.inputs.page_tables[g], page_tables_[g].data()});
  }
  // The rows of logits stand behind those of the sessions.
  HostOutput output{step.logits, context_->SessionLogits(context_->config_.n_sessions)};
  context_->SetCancelFlags(flags_);
  auto clear = absl::MakeCleanup([this] { context_->SetCancelFlags({}); });
  if (top_k_ == 0) return context_->executor_->Run(step.graph, inputs, {&output, 1});
  const auto find = [this](Backend* backend, const BufferRange& logits) {
    return FindTop(backend, logits);
  };
  const auto keep = [this](Backend* backend, const BufferRange& logits) {
    return KeepLogits(backend, logits);
  };
  const StepTail tail{step.logits, find, keep};
  return context_->executor_->Run(step.graph, inputs, {}, &tail);
}

// The most that a row of this micro-batch needs; 0 when one of them is wanted whole.
int32_t StepRunner::TopNeeded() const {
  if (context_->top_sizes_.entries == 0) return 0;
  int32_t most = 0;
  for (const Share& share : shares_) {
    if (share.output < 0) continue;
    const int32_t needed = share.session->TopNeeded();
    if (needed == 0) return 0;
    most = std::max(most, needed);
  }
  return most;
}

// Enqueued behind the step. The drain of the step waits for them.
Status StepRunner::FindTop(Backend* backend, const BufferRange& logits) {
  TopRows rows;
  rows.x = logits;
  rows.rows = outputs_;
  rows.stride = context_->model_->description().hp.n_vocab;
  rows.count = context_->model_->n_tokens();
  rows.k = top_k_;
  const BufferRange all{context_->top_buffer_, 0, context_->top_sizes_.entries};
  return backend->TopEntries(rows, all, reinterpret_cast<TopEntry*>(context_->top_entries_.data()));
}

// A committed session's entries; its row of logits stays on the device.
void StepRunner::TakeTop(const Share& share) {
  Session* session = share.session;
  const auto* entries =
      reinterpret_cast<const TopEntry*>(context_->top_entries_.data()) + share.output * top_k_;
  session->top_.clear();
  for (int32_t i = 0; i < top_k_; ++i) {
    session->top_.push_back({entries[i].index, entries[i].value});
  }
  session->logits_on_device_ = true;
  session->logits_side_ = 1 - session->logits_side_;
}

// Rows that follow each other in both places travel together. Behind the entries, so that the host
// does not wait for them; they count once the step commits.
Status StepRunner::KeepLogits(Backend* backend, const BufferRange& logits) const {
  const uint64_t row =
      static_cast<uint64_t>(context_->model_->description().hp.n_vocab) * sizeof(float);
  const Share* first = nullptr;
  int64_t n = 0;
  const auto copy = [&]() -> Status {
    if (first == nullptr) return OkStatus();
    const uint64_t offset = logits.offset + static_cast<uint64_t>(first->output) * row;
    return backend->Copy(
        {logits.buffer, offset, static_cast<uint64_t>(n) * row},
        context_->DeviceLogits(1 - first->session->logits_side_, first->session->slot_, n));
  };
  for (const Share& share : shares_) {
    if (share.output < 0) continue;
    if (first != nullptr && share.session->logits_side_ == first->session->logits_side_ &&
        share.session->slot_ == first->session->slot_ + static_cast<int32_t>(n) &&
        share.output == first->output + n) {
      ++n;
      continue;
    }
    MF_RETURN_IF_ERROR(copy());
    first = &share;
    n = 1;
  }
  return copy();
}

Status StepRunner::RunMicroBatch(std::unique_lock<std::mutex>* lock) {
  if (decode_rows_ + prefill_rows_ == 0) return OkStatus();
  const GraphParams params =
      StepParams(context_->config_, static_cast<int32_t>(decode_rows_),
                 static_cast<int32_t>(prefill_rows_), static_cast<int32_t>(outputs_));
  MF_ASSIGN_OR_RETURN(const StepGraph* step, context_->graphs_->Get(params));
  FillInputs(*step);
  top_k_ = TopNeeded();
  CollectCancelFlags();
  const auto start = std::chrono::steady_clock::now();
  lock->unlock();
  auto relock = absl::MakeCleanup([lock] {
    if (!lock->owns_lock()) lock->lock();
  });
  Status status = Compute(*step);
  lock->lock();
  context_->statistics_.step_time_ns += Nanoseconds(std::chrono::steady_clock::now() - start);
  ++context_->statistics_.n_steps;
  context_->PublishStatistics();
  return status;
}

void StepRunner::Fail(Session* session, Status status, StepResult* result) {
  if (session->reserved_rows_ > 0) context_->kv_->Rollback(&session->sequence_);
  session->reserved_rows_ = 0;
  session->in_step_ = false;
  session->DropPending();
  ++result->n_failed;
  if (session->submitted_) {
    session->outcome_ = std::move(status);
    session->done_ = true;
  } else if (session->generation_.has_value()) {
    session->generation_->failure = std::move(status);
    session->generation_->has_event = true;
  } else {
    session->outcome_ = std::move(status);
  }
}

// A session whose pending tokens are all computed: its caller goes on, or the host's loop gets its
// next token.
void StepRunner::AfterCommit(Session* session) {
  if (session->pending() > 0) return;
  if (session->submitted_) {
    session->done_ = true;
    session->outcome_ = OkStatus();
    return;
  }
  if (!session->generation_.has_value()) return;
  session->in_step_ = true;
  to_pick_.push_back(session);
}

// Without the lock, for the host may edit the logits; the sessions still belong to the step.
void StepRunner::PickTokens(std::unique_lock<std::mutex>* lock, StepResult* result) {
  if (to_pick_.empty()) return;
  lock->unlock();
  for (Session* session : to_pick_) {
    // A session that picks is generating.
    auto* const generation = &*session->generation_;  // NOLINT(bugprone-unchecked-optional-access)
    try {
      session->outcome_ =
          session->PickToken(generation, &context_->sampler_scratch_, /*leads=*/true);
    } catch (const std::bad_alloc&) {
      session->out_of_memory_ = true;
    }
  }
  lock->lock();
  for (Session* session : to_pick_) {
    session->in_step_ = false;
    // A session that picks is generating.
    session->generation_->has_event = true;  // NOLINT(bugprone-unchecked-optional-access)
    if (session->out_of_memory_) {
      session->DropPending();
      ++result->n_failed;
    } else if (session->outcome_.ok()) {
      session->stepped_ = true;
    } else {
      Fail(session, std::move(session->outcome_), result);
    }
  }
  to_pick_.clear();
}

const float* StepRunner::OutputRow(const Share& share) const {
  return context_->SessionLogits(context_->config_.n_sessions + static_cast<int32_t>(share.output));
}

// The token whose logit is no number, or -1. Among the best entries it would be the first.
int64_t StepRunner::NanOf(const Share& share) const {
  if (top_k_ == 0) return FindNan(OutputRow(share), context_->model_->n_tokens());
  const TopEntry& first =
      reinterpret_cast<const TopEntry*>(context_->top_entries_.data())[share.output * top_k_];
  return std::isnan(first.value) ? first.index : -1;
}

void StepRunner::Commit(const Share& share, StepResult* result) {
  Session* session = share.session;
  if (share.output >= 0) {
    const int64_t nan = NanOf(share);
    if (nan >= 0) {
      Fail(session,
           Status(StatusCode::kDataLoss, Subsystem::kEngine,
                  StrCat("the logit of token ", nan, " is not a number at position ",
                         session->position() + share.rows - 1))
               .WithName("logits"),
           result);
      return;
    }
    if (top_k_ > 0) {
      TakeTop(share);
    } else {
      std::memcpy(context_->SessionLogits(session->slot_), OutputRow(share),
                  static_cast<size_t>(context_->model_->description().hp.n_vocab) * sizeof(float));
      session->logits_on_device_ = false;
      session->top_.clear();
    }
  }
  context_->kv_->Commit(&session->sequence_, share.rows);
  session->reserved_rows_ = 0;
  session->in_step_ = false;
  session->has_logits_ = share.output >= 0;
  session->committed_.store(session->position() + share.rows, std::memory_order_relaxed);
  session->SetPending(session->pending() - share.rows);
  if (share.decode) {
    session->decode_class_ = false;
    ++context_->statistics_.n_decode_rows;
  } else {
    context_->statistics_.n_prefill_rows += static_cast<uint64_t>(share.rows);
    session->statistics_.n_prompt_tokens += static_cast<uint64_t>(share.rows);
  }
  result->n_rows += share.rows;
  ++result->n_sessions;
  AfterCommit(session);
}

void StepRunner::CommitAll(StepResult* result) {
  for (const Share& share : shares_) {
    if (share.rows == 0) {
      Fail(share.session, std::move(share.session->outcome_), result);
    } else if (context_->IsCancelled(*share.session)) {
      Fail(share.session,
           Status(StatusCode::kCancelled, Subsystem::kEngine, "the call was cancelled"), result);
    } else {
      Commit(share, result);
    }
  }
}

// Nothing of the micro-batch counts. After a cancel only the cancelled sessions fail; the others
// keep their pending rows for the next one.
void StepRunner::Abandon(const Status& status, StepResult* result) {
  const bool cancelled = status.code() == StatusCode::kCancelled;
  const bool all = !cancelled || StepCancelled();
  for (const Share& share : shares_) {
    Session* session = share.session;
    if (share.rows == 0) {
      Fail(session, std::move(session->outcome_), result);
    } else if (all || context_->IsCancelled(*session)) {
      Fail(session, status, result);
    } else {
      context_->kv_->Rollback(&session->sequence_);
      session->reserved_rows_ = 0;
      session->in_step_ = false;
    }
  }
}

// Allocates nothing: what waits for a session makes its status of the flag.
void StepRunner::AbandonOutOfMemory() noexcept {
  for (const Share& share : shares_) {
    Session* session = share.session;
    if (!session->in_step_) continue;  // committed
    if (session->reserved_rows_ > 0) context_->kv_->Rollback(&session->sequence_);
    session->reserved_rows_ = 0;
    session->in_step_ = false;
    session->DropPending();
    session->out_of_memory_ = true;
    session->done_ = session->submitted_;
    if (session->generation_.has_value()) session->generation_->has_event = true;
  }
  context_->changed_.notify_all();
}

Status StepRunner::Run(std::unique_lock<std::mutex>* lock, StepResult* result) {
  const auto start = std::chrono::steady_clock::now();
  int64_t rows_left = context_->config_.n_batch;
  shares_.reserve(context_->sessions_.size());
  to_pick_.reserve(context_->sessions_.size());
  for (Session* session : context_->sessions_) {
    if (session != nullptr) session->stepped_ = false;
  }
  // Out of memory on the way: nothing of the micro-batch counts, as after any failure.
  auto unwind = absl::MakeCleanup([this] { AbandonOutOfMemory(); });
  Status status;
  while (rows_left > 0) {
    if (StepCancelled()) {
      status = Status(StatusCode::kCancelled, Subsystem::kEngine, "the step was cancelled");
      break;
    }
    Gather(std::min<int64_t>(rows_left, context_->config_.n_micro_batch));
    if (shares_.empty()) break;
    Status ran = RunMicroBatch(lock);
    if (ran.ok()) {
      rows_left -= decode_rows_ + prefill_rows_;
      CommitAll(result);
      PickTokens(lock, result);
    } else {
      Abandon(ran, result);
      if (ran.code() != StatusCode::kCancelled || StepCancelled()) status = std::move(ran);
    }
    shares_.clear();
    context_->changed_.notify_all();
    if (!status.ok()) break;
    if (options_.time_budget_ns > 0 &&
        Nanoseconds(std::chrono::steady_clock::now() - start) >= options_.time_budget_ns) {
      break;
    }
  }
  std::move(unwind).Cancel();
  const int32_t n = static_cast<int32_t>(context_->sessions_.size());
  if (n > 0) context_->next_slot_ = (context_->next_slot_ + 1) % n;
  for (Session* session : context_->sessions_) {
    if (session == nullptr) continue;
    session->stepped_ = false;
    if (Wants(*session)) ++result->n_runnable;
  }
  return status;
}

}  // namespace minfer
