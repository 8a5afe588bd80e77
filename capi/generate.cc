// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/generate.h"

#include <utility>

#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "engine/session.h"

namespace capi = minfer::capi;
using minfer::FinishReason;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusOr;

static_assert(MF_FINISH_NONE == static_cast<int>(FinishReason::kNone) &&
              MF_FINISH_END_TOKEN == static_cast<int>(FinishReason::kEndToken) &&
              MF_FINISH_MAX_TOKENS == static_cast<int>(FinishReason::kMaxTokens) &&
              MF_FINISH_STOPPED == static_cast<int>(FinishReason::kStopped));

namespace {

mf_token_event ToEvent(const minfer::TokenEvent& event) {
  mf_token_event out = MF_TOKEN_EVENT_INIT;
  out.token = event.token;
  out.position = static_cast<uint32_t>(event.position);
  out.finish = static_cast<mf_finish>(event.finish);
  out.text = event.text.data() == nullptr ? "" : event.text.data();
  out.text_length = event.text.size();
  return out;
}

// The host's token callback during one generation.
struct TokenCall {
  const capi::HostThread& thread;
  mf_token_callback callback;
  void* user_data;

  static StatusOr<bool> Call(void* self, const minfer::TokenEvent& event) {
    auto& call = *static_cast<TokenCall*>(self);
    const mf_token_event out = ToEvent(event);
    int32_t answer = 1;
    MF_RETURN_IF_ERROR(capi::CallHost(call.thread, "callback",
                                      [&] { answer = call.callback(call.user_data, &out); }));
    return answer == 0;
  }
};

struct Settings {
  minfer::GenerateOptions engine;
  capi::CancelFlag cancel;  // what engine.cancel points at
};

StatusOr<Settings> ReadGenerateOptions(const mf_generate_options* in) {
  MF_ASSIGN_OR_RETURN(const mf_generate_options options,
                      capi::ReadOptions(in, "mf_generate_options"));
  MF_RETURN_IF_ERROR(
      capi::CheckReserved(options.reserved, sizeof(options.reserved), "mf_generate_options"));
  if (options.ignore_end > 1 || options.special_text > 1) {
    return capi::InvalidArgument("mf_generate_options", "a flag is neither 0 nor 1");
  }
  Settings settings;
  settings.engine.max_tokens = options.max_tokens;
  settings.engine.ignore_end = options.ignore_end != 0;
  settings.engine.special_text = options.special_text != 0;
  settings.cancel = capi::FlagOf(options.cancel);
  settings.engine.cancel = settings.cancel.get();
  return settings;
}

}  // namespace

void mf_token_event_init(mf_token_event* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_generate_options_init(mf_generate_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_generate_result_init(mf_generate_result* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_session_generate(mf_session* session, const mf_generate_options* options,
                              mf_token_callback callback, void* user_data,
                              mf_generate_result* out_result, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread& thread) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    if (out_result != nullptr) {
      MF_RETURN_IF_ERROR(capi::CheckOut(out_result, "out_result"));
    }
    MF_ASSIGN_OR_RETURN(const Settings settings, ReadGenerateOptions(options));
    MF_RETURN_IF_ERROR(call.CheckNotCancelled(settings.cancel));
    TokenCall token_call{thread, callback, user_data};
    minfer::TokenCallback engine_callback;
    if (callback != nullptr) engine_callback = {&TokenCall::Call, &token_call};
    minfer::GenerateResult result;
    MF_RETURN_IF_ERROR(
        call.Finish(call.session().Generate(settings.engine, engine_callback, &result)));
    if (out_result == nullptr) return OkStatus();
    mf_generate_result out = MF_GENERATE_RESULT_INIT;
    out.finish = static_cast<mf_finish>(result.finish);
    out.n_prompt_tokens = static_cast<uint32_t>(result.n_prompt_tokens);
    out.n_tokens = static_cast<uint32_t>(result.n_tokens);
    capi::WriteSized(out, out_result);
    return OkStatus();
  });
}

mf_status mf_session_start(mf_session* session, const mf_generate_options* options,
                           mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_ASSIGN_OR_RETURN(Settings settings, ReadGenerateOptions(options));
    MF_RETURN_IF_ERROR(call.CheckNotCancelled(settings.cancel));
    MF_RETURN_IF_ERROR(call.Finish(call.session().Start(settings.engine)));
    // The steps to come poll it.
    call.state().start_cancel = std::move(settings.cancel);
    return OkStatus();
  });
}

mf_status mf_session_next(mf_session* session, mf_token_event* out_event, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_event, "out_event"));
    auto event = call.session().Next();
    if (!event.ok()) return call.Finish(std::move(event).status());
    capi::WriteSized(ToEvent(*event), out_event);
    return OkStatus();
  });
}

mf_status mf_session_stop(mf_session* session, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::SessionCall call;
    MF_RETURN_IF_ERROR(call.Enter(session));
    return call.Finish(call.session().Stop());
  });
}
