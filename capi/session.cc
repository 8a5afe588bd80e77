// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "capi/calls.h"
#include "capi/encode_flags.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/session.h"
#include "sampling/log_probabilities.h"

namespace capi = minfer::capi;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusCode;
using minfer::StatusOr;
using minfer::Subsystem;

namespace {

// The host's edit of the logits. It may run inside a step that another thread leads.
Status EditLogits(void* user_data, absl::Span<float> logits) {
  const auto& edit = *static_cast<const capi::LogitsEdit*>(user_data);
  int32_t answer = 1;
  try {
    answer = edit.callback(edit.user_data, logits.data(), logits.size(),
                           static_cast<uint32_t>(edit.session->session->position()));
  } catch (...) {
    return Status(StatusCode::kAborted, Subsystem::kApi, "the host's callback threw an exception")
        .WithName("edit_logits");
  }
  if (answer == 0) return OkStatus();
  return Status(StatusCode::kAborted, Subsystem::kApi, "the host's edit of the logits failed")
      .WithName("edit_logits");
}

std::unique_ptr<capi::LogitsEdit> MakeEdit(mf_logits_callback callback, void* user_data,
                                           capi::SessionState* session) {
  if (callback == nullptr) return nullptr;
  return std::make_unique<capi::LogitsEdit>(capi::LogitsEdit{callback, user_data, session});
}

minfer::LogitsEditor EditorOf(capi::LogitsEdit* edit) {
  if (edit == nullptr) return {};
  return {&EditLogits, edit};
}

StatusOr<std::unique_ptr<mf_session>> Wrap(std::shared_ptr<capi::ContextState> context,
                                           std::unique_ptr<minfer::Session> session) {
  auto handle = std::make_unique<mf_session>();
  handle->state = std::make_shared<capi::SessionState>();
  handle->state->context = std::move(context);
  handle->state->session = std::move(session);
  return handle;
}

// Nothing of a shell can be asked, not even by a getter.
const minfer::Session* LiveSession(const mf_session* session) {
  if (session == nullptr) return nullptr;
  const capi::SessionState& state = *session->state;
  if (state.context->gate.closed() || state.context->model->gate.closed()) return nullptr;
  return state.session.get();
}

}  // namespace

void mf_session_options_init(mf_session_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_session_statistics_init(mf_session_statistics* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_session_create(mf_context* context, const mf_session_options* options,
                            mf_session** out_session, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    if (out_session == nullptr) return capi::NullArgument("out_session");
    MF_ASSIGN_OR_RETURN(const mf_session_options in,
                        capi::ReadOptions(options, "mf_session_options"));
    MF_RETURN_IF_ERROR(
        capi::CheckReserved(&in.reserved, sizeof(in.reserved), "mf_session_options"));
    MF_ASSIGN_OR_RETURN(auto session, call.context().CreateSession());
    MF_ASSIGN_OR_RETURN(auto handle, Wrap(call.shared(), std::move(session)));
    *out_session = handle.release();
    return OkStatus();
  });
}

void mf_session_destroy(mf_session* session) {
  capi::GuardVoid([&] {
    if (session == nullptr || capi::IsForkedChild(*session->state->context->model)) return;
    std::shared_ptr<capi::SessionState> state = std::move(session->state);
    delete session;
    state->gate.Close();
    state->session->Cancel();
    if (!state->context->model->gate.IsInside()) state->gate.Wait();
    capi::Bury(std::move(state));
  });
}

mf_status mf_session_set_sampling(mf_session* session, const mf_sampling* sampling,
                                  mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_ASSIGN_OR_RETURN(const mf_sampling in, capi::ReadSamplingStruct(sampling));
    MF_ASSIGN_OR_RETURN(const minfer::SamplingSettings settings, capi::ReadSampling(sampling));
    capi::SessionState& state = call.state();
    std::unique_ptr<capi::LogitsEdit> edit =
        MakeEdit(in.edit_logits, in.edit_logits_user_data, &state);
    MF_RETURN_IF_ERROR(call.Finish(call.session().SetSampling(settings, EditorOf(edit.get()))));
    // Only now the engine has let go of the old one.
    state.edit = std::move(edit);
    return OkStatus();
  });
}

mf_status mf_session_feed_tokens(mf_session* session, const mf_token* tokens, size_t n_tokens,
                                 mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (tokens == nullptr && n_tokens != 0) return capi::NullArgument("tokens");
    return call.Finish(call.session().Feed({tokens, n_tokens}));
  });
}

mf_status mf_session_feed_text(mf_session* session, const char* text, size_t length, uint32_t flags,
                               size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_ASSIGN_OR_RETURN(const minfer::EncodeOptions options, capi::ReadEncodeFlags(flags));
    MF_ASSIGN_OR_RETURN(const std::string_view view, capi::TextOf(text, length, "text"));
    std::vector<mf_token> tokens;
    MF_RETURN_IF_ERROR(call.model().tokenizer().Encode(view, options, &tokens));
    MF_RETURN_IF_ERROR(call.Finish(call.session().Feed(tokens)));
    if (out_count != nullptr) *out_count = tokens.size();
    return OkStatus();
  });
}

mf_status mf_session_decode(mf_session* session, const mf_cancel* cancel, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    const capi::CancelFlag flag = capi::FlagOf(cancel);
    MF_RETURN_IF_ERROR(call.CheckNotCancelled(flag));
    return call.Finish(call.session().Decode(flag.get()));
  });
}

mf_status mf_session_logits(mf_session* session, const float** out_logits, size_t* out_count,
                            mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (out_logits == nullptr) return capi::NullArgument("out_logits");
    MF_ASSIGN_OR_RETURN(const absl::Span<const float> logits, call.session().Logits());
    *out_logits = logits.data();
    if (out_count != nullptr) *out_count = logits.size();
    return OkStatus();
  });
}

mf_status mf_session_top_tokens(mf_session* session, mf_token_log_probability* out_tokens,
                                size_t capacity, size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (out_count == nullptr) return capi::NullArgument("out_count");
    if (out_tokens == nullptr && capacity != 0) return capi::NullArgument("out_tokens");
    MF_ASSIGN_OR_RETURN(const absl::Span<const float> logits, call.session().Logits());
    const int32_t n_tokens = call.model().n_tokens();
    MF_ASSIGN_OR_RETURN(const auto probabilities,
                        minfer::LogProbabilities::Create(logits, n_tokens));
    std::vector<minfer::TokenLogProbability> best(
        std::min(capacity, static_cast<size_t>(n_tokens)));
    std::vector<minfer::Candidate> scratch;
    const int32_t count = probabilities.Top(absl::MakeSpan(best), scratch);
    for (int32_t i = 0; i < count; ++i) {
      const minfer::TokenLogProbability& one = best[static_cast<size_t>(i)];
      out_tokens[i] = {one.token, one.log_probability};
    }
    *out_count = static_cast<size_t>(count);
    return OkStatus();
  });
}

mf_status mf_session_log_probabilities(mf_session* session, const mf_token* tokens, size_t n_tokens,
                                       float* out_log_probabilities, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (n_tokens == 0) return OkStatus();
    if (tokens == nullptr) return capi::NullArgument("tokens");
    if (out_log_probabilities == nullptr) return capi::NullArgument("out_log_probabilities");
    MF_ASSIGN_OR_RETURN(const absl::Span<const float> logits, call.session().Logits());
    MF_ASSIGN_OR_RETURN(const auto probabilities,
                        minfer::LogProbabilities::Create(logits, call.model().n_tokens()));
    std::vector<float> values;
    for (size_t i = 0; i < n_tokens; ++i) {
      auto value = probabilities.Of(tokens[i]);
      if (!value.ok()) return capi::InvalidArgument("tokens", value.status().message());
      values.push_back(*value);
    }
    std::copy(values.begin(), values.end(), out_log_probabilities);
    return OkStatus();
  });
}

mf_status mf_session_sample(mf_session* session, mf_token* out_token, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (out_token == nullptr) return capi::NullArgument("out_token");
    auto token = call.session().Sample();
    if (!token.ok()) return call.Finish(std::move(token).status());
    *out_token = *token;
    return OkStatus();
  });
}

uint32_t mf_session_position(const mf_session* session) {
  const minfer::Session* live = LiveSession(session);
  return live == nullptr ? 0 : static_cast<uint32_t>(live->position());
}

uint32_t mf_session_pending(const mf_session* session) {
  const minfer::Session* live = LiveSession(session);
  return live == nullptr ? 0 : static_cast<uint32_t>(live->pending());
}

uint32_t mf_session_room(const mf_session* session) {
  const minfer::Session* live = LiveSession(session);
  return live == nullptr ? 0 : static_cast<uint32_t>(live->room());
}

mf_status mf_session_tokens(mf_session* session, mf_token* out_tokens, size_t capacity,
                            size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_tokens, capacity, out_count, "out_tokens"));
    MF_ASSIGN_OR_RETURN(const std::vector<mf_token> tokens, call.session().CommittedTokens());
    return capi::WriteBuffer<mf_token>(tokens, out_tokens, capacity, out_count);
  });
}

mf_status mf_session_truncate(mf_session* session, uint32_t position, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    return call.Finish(call.session().Truncate(position));
  });
}

mf_status mf_session_fork(mf_session* session, mf_session** out_session, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (out_session == nullptr) return capi::NullArgument("out_session");
    MF_ASSIGN_OR_RETURN(auto forked, call.session().Fork());
    MF_ASSIGN_OR_RETURN(auto handle, Wrap(call.state().context, std::move(forked)));
    if (const capi::LogitsEdit* edit = call.state().edit.get()) {
      capi::SessionState& state = *handle->state;
      state.edit = MakeEdit(edit->callback, edit->user_data, &state);
      state.session->SetLogitsEditor(EditorOf(state.edit.get()));
    }
    *out_session = handle.release();
    return OkStatus();
  });
}

void mf_session_cancel(mf_session* session) {
  if (session != nullptr) session->state->session->Cancel();
}

mf_status mf_session_get_statistics(mf_session* session, mf_session_statistics* out_statistics,
                                    mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_statistics, "out_statistics"));
    const minfer::SessionStatistics in = call.session().statistics();
    mf_session_statistics out = MF_SESSION_STATISTICS_INIT;
    out.n_prompt_tokens = in.n_prompt_tokens;
    out.n_generated_tokens = in.n_generated_tokens;
    out.prompt_time_ns = in.prompt_time_ns;
    out.generate_time_ns = in.generate_time_ns;
    capi::WriteSized(out, out_statistics);
    return OkStatus();
  });
}
