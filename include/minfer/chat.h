/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Chat: renders a conversation into the one text that the model was trained to read, by the
 * template that the model's file carries or one that the host gives. It is a part of its model;
 * any thread may use it. A template is a program from a stranger, so its steps, its output and its
 * depth are limited.
 */
#ifndef MINFER_CHAT_H_
#define MINFER_CHAT_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One message of the conversation. */
typedef struct mf_chat_message {
  uint32_t struct_size;
  uint32_t reserved;
  /** "system", "user", "assistant", "tool", or what the template knows. */
  mf_text role;
  /** UTF-8. */
  mf_text content;
  /** A JSON object whose members the template sees beside role and content, or in place of them:
   *  tool_calls, name, reasoning_content, a content that is null or a list of parts; length 0:
   * none. */
  mf_text extra_json;
} mf_chat_message;

#define MF_CHAT_MESSAGE_INIT                                      \
  {                                                               \
    sizeof(mf_chat_message), 0, {NULL, 0}, {NULL, 0}, { NULL, 0 } \
  }

/** How to render. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_chat_options {
  uint32_t struct_size;
  /** 1: end after the last message. Default: end where the assistant's answer begins. */
  uint8_t no_generation_prompt;
  /** 1: `now` below is given, though it may be 0. */
  uint8_t has_now;
  /** 1: the text ends with the content of the last message, which the model is to go on with: an
   *  assistant's answer that the host has begun. no_generation_prompt is not looked at then.
   * Refused as INVALID_ARGUMENT where the template does not write that content as it is. */
  uint8_t continue_last;
  uint8_t reserved;
  /** Which template of the file, NUL-terminated ("tool_use"); NULL: the default one. */
  const char* template_name;
  /** A template to use instead of the file's; length 0: none. */
  mf_text template_text;
  /** A JSON array of tool descriptions; length 0: none. */
  mf_text tools_json;
  /** A JSON object whose members the template sees as variables; length 0: none. */
  mf_text variables_json;
  /** The time that the template may print: seconds since 1970 of the host's wall clock (add the
   *  offset of its time zone). Looked at when has_now is 1; otherwise the system's clock in UTC. */
  int64_t now;
  /** Limits: steps of evaluation (0: 20,000,000), bytes of output (0: 16 MiB), bytes that values
   *  hold at one time (0: 128 MiB), and calls within one another (0: 64). Past one of them is
   *  RESOURCE_EXHAUSTED. */
  uint64_t max_steps;
  uint64_t max_output_bytes;
  uint64_t max_memory_bytes;
  uint32_t max_recursion;
  uint32_t reserved_end;
} mf_chat_options;

#define MF_CHAT_OPTIONS_INIT \
  { sizeof(mf_chat_options), 0, 0, 0, 0, NULL, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_CHAT_MESSAGE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_chat_message) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_chat_message_init(mf_chat_message* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_CHAT_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_chat_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_chat_options_init(mf_chat_options* out, size_t struct_size);

/**
 * Renders messages as text, in two-call form: for looking at, and for hosts that encode
 * themselves. What a message says can look like a control token in it: mf_chat_encode() keeps the
 * two apart.
 *
 * @param model the model.
 * @param messages the conversation from its start; NULL only with 0 of them.
 * @param n_messages how many.
 * @param options NULL: all defaults.
 * @param out_text where to write; NULL with capacity 0 asks for the length.
 * @param capacity bytes that out_text holds.
 * @param out_length the number of bytes, also when they did not fit; there is no terminator.
 * @param error optional; names the construct and says the template's line.
 * @return OK; OUT_OF_RANGE when it did not fit; INVALID_ARGUMENT for an argument, for JSON that is
 *         none, or when the template itself raised an error; NOT_FOUND when there is no template
 *         of that name; UNIMPLEMENTED for a construct that this version does not do;
 *         RESOURCE_EXHAUSTED at a limit; FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_chat_render(const mf_model* model, const mf_chat_message* messages,
                                size_t n_messages, const mf_chat_options* options, char* out_text,
                                size_t capacity, size_t* out_length, mf_error* error);

/**
 * Renders messages and encodes the result, in two-call form. Control tokens come from the
 * template's own text only: what messages and tools say is plain text, whatever it looks like.
 *
 * @param model the model.
 * @param messages the conversation from its start; NULL only with 0 of them.
 * @param n_messages how many.
 * @param options NULL: all defaults.
 * @param out_tokens where to write; NULL with capacity 0 asks for the number.
 * @param capacity tokens that out_tokens holds.
 * @param out_count the number of tokens, also when they did not fit.
 * @param error optional; names the construct and says the template's line.
 * @return as mf_chat_render().
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_chat_encode(const mf_model* model, const mf_chat_message* messages,
                                size_t n_messages, const mf_chat_options* options,
                                mf_token* out_tokens, size_t capacity, size_t* out_count,
                                mf_error* error);

/**
 * The source of a template of the file.
 *
 * @param model the model.
 * @param name NUL-terminated; NULL: the default one.
 * @param out_source the text, borrowed: it lives as long as the model's memory, and is not
 *         NUL-terminated.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; NOT_FOUND; FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_chat_template_source(const mf_model* model, const char* name,
                                         mf_text* out_source, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_CHAT_H_ */
