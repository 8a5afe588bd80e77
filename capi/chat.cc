// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/chat.h"

#include <string>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/chat_prompt.h"

namespace capi = minfer::capi;
using minfer::ChatPromptRequest;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusOr;

namespace {

Status Copy(const mf_text& text, std::string_view name, std::string* out) {
  MF_ASSIGN_OR_RETURN(const std::string_view view, capi::TextOf(text, name));
  *out = std::string(view);
  return OkStatus();
}

Status ReadLimits(const mf_chat_options& options, minfer::TemplateLimits* limits) {
  constexpr uint32_t kMaxRecursion = 1000;  // of what the stack that a call may use has room for
  if (options.max_recursion > kMaxRecursion) {
    return capi::InvalidArgument("max_recursion", minfer::StrCat("more than ", kMaxRecursion));
  }
  if (options.max_steps != 0) limits->max_steps = options.max_steps;
  if (options.max_output_bytes != 0) limits->max_output_bytes = options.max_output_bytes;
  if (options.max_memory_bytes != 0) limits->max_memory_bytes = options.max_memory_bytes;
  if (options.max_recursion != 0) {
    limits->max_recursion = static_cast<int>(options.max_recursion);
  }
  return OkStatus();
}

Status ReadChatOptions(const mf_chat_options* in, ChatPromptRequest* request) {
  MF_ASSIGN_OR_RETURN(const mf_chat_options options, capi::ReadOptions(in, "mf_chat_options"));
  MF_RETURN_IF_ERROR(
      capi::CheckReserved(&options.reserved, sizeof(options.reserved), "mf_chat_options"));
  MF_RETURN_IF_ERROR(
      capi::CheckReserved(&options.reserved_end, sizeof(options.reserved_end), "mf_chat_options"));
  if (options.no_generation_prompt > 1 || options.has_now > 1 || options.continue_last > 1) {
    return capi::InvalidArgument("mf_chat_options", "a flag is neither 0 nor 1");
  }
  request->template_name = std::string(capi::TextOf(options.template_name));
  MF_RETURN_IF_ERROR(Copy(options.template_text, "template_text", &request->template_text));
  MF_RETURN_IF_ERROR(Copy(options.tools_json, "tools_json", &request->chat.tools_json));
  MF_RETURN_IF_ERROR(Copy(options.variables_json, "variables_json", &request->chat.variables_json));
  request->chat.add_generation_prompt = options.no_generation_prompt == 0;
  request->chat.continue_last = options.continue_last != 0;
  if (options.has_now != 0) request->options.now = options.now;
  return ReadLimits(options, &request->options.limits);
}

StatusOr<ChatPromptRequest> ReadRequest(const mf_chat_message* messages, size_t n_messages,
                                        const mf_chat_options* options) {
  ChatPromptRequest request;
  MF_RETURN_IF_ERROR(ReadChatOptions(options, &request));
  Status read = capi::ReadArray(
      messages, n_messages, "messages", [&](size_t, const mf_chat_message& in) -> Status {
        MF_RETURN_IF_ERROR(
            capi::CheckReserved(&in.reserved, sizeof(in.reserved), "mf_chat_message"));
        minfer::ChatMessage message;
        MF_RETURN_IF_ERROR(Copy(in.role, "role", &message.role));
        MF_RETURN_IF_ERROR(Copy(in.content, "content", &message.content));
        MF_RETURN_IF_ERROR(Copy(in.extra_json, "extra_json", &message.fields_json));
        request.chat.messages.push_back(std::move(message));
        return OkStatus();
      });
  MF_RETURN_IF_ERROR(std::move(read));
  return request;
}

}  // namespace

void mf_chat_message_init(mf_chat_message* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

void mf_chat_options_init(mf_chat_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_chat_render(const mf_model* model, const mf_chat_message* messages, size_t n_messages,
                         const mf_chat_options* options, char* out_text, size_t capacity,
                         size_t* out_length, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_text, capacity, out_length, "out_text"));
    MF_ASSIGN_OR_RETURN(ChatPromptRequest request, ReadRequest(messages, n_messages, options));
    MF_ASSIGN_OR_RETURN(const minfer::RenderedText rendered,
                        call.state().chat->Render(std::move(request)));
    return capi::WriteBuffer<char>(rendered.text, out_text, capacity, out_length);
  });
}

mf_status mf_chat_encode(const mf_model* model, const mf_chat_message* messages, size_t n_messages,
                         const mf_chat_options* options, mf_token* out_tokens, size_t capacity,
                         size_t* out_count, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckBuffer(out_tokens, capacity, out_count, "out_tokens"));
    MF_ASSIGN_OR_RETURN(ChatPromptRequest request, ReadRequest(messages, n_messages, options));
    std::vector<mf_token> tokens;
    MF_RETURN_IF_ERROR(call.state().chat->Encode(std::move(request), &tokens));
    return capi::WriteBuffer<mf_token>(tokens, out_tokens, capacity, out_count);
  });
}

mf_status mf_chat_template_source(const mf_model* model, const char* name, mf_text* out_source,
                                  mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    if (out_source == nullptr) return capi::NullArgument("out_source");
    MF_ASSIGN_OR_RETURN(const std::string_view source,
                        call.state().chat->TemplateSource(capi::TextOf(name)));
    *out_source = {source.data(), source.size()};
    return OkStatus();
  });
}
