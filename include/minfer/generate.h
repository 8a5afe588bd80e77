/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Generation: a session answers. Either mf_session_generate() runs to the end and calls back with
 * every token; or a host with a loop of its own says mf_session_start(), makes steps of the
 * context, and fetches tokens with mf_session_next(). A generation belongs to its session, and the
 * session's thread rules hold.
 *
 * The session's sampling settings decide what is picked (mf_session_set_sampling).
 */
#ifndef MINFER_GENERATE_H_
#define MINFER_GENERATE_H_

#include "cancel.h"
#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Why a generation ended. New ones are appended. */
typedef int32_t mf_finish;

enum {
  /** It has not. */
  MF_FINISH_NONE = 0,
  /** The model ended it with an end token, which is committed but has no text. */
  MF_FINISH_END_TOKEN = 1,
  /** max_tokens were made. */
  MF_FINISH_MAX_TOKENS = 2,
  /** The callback asked for it. */
  MF_FINISH_STOPPED = 3
};

/** One token of a generation. Lives until the callback returns, or until the next call. */
typedef struct mf_token_event {
  uint32_t struct_size;
  mf_token token;
  /** Its position in the session. */
  uint32_t position;
  /** Set on the last event of a generation. */
  mf_finish finish;
  /** Text that became whole with this token: never a part of a character, at times empty, not
   *  NUL-terminated. The last event brings what is left, whole or not. */
  const char* text;
  size_t text_length;
} mf_token_event;

#define MF_TOKEN_EVENT_INIT \
  { sizeof(mf_token_event), 0, 0, 0, NULL, 0 }

/**
 * Takes one token of a generation. 0 goes on; another number ends the generation after this token,
 * and mf_session_generate() returns OK. Runs on the thread that called generate; a slow one delays
 * its own session only. It may make any-thread calls, calls on the model, calls on other sessions,
 * and destroy anything.
 */
typedef int32_t (*mf_token_callback)(void* user_data, const mf_token_event* event);

/** How to generate. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_generate_options {
  uint32_t struct_size;
  /** Tokens to make at most; 0: as many as there is room for. */
  uint32_t max_tokens;
  /** 1: go on after an end token. */
  uint8_t ignore_end;
  /** 1: write control tokens as their text. */
  uint8_t special_text;
  uint8_t reserved[6];
  const mf_cancel* cancel;
} mf_generate_options;

#define MF_GENERATE_OPTIONS_INIT \
  { sizeof(mf_generate_options), 0, 0, 0, {0, 0, 0, 0, 0, 0}, NULL }

/** What a generation did. */
typedef struct mf_generate_result {
  uint32_t struct_size;
  mf_finish finish;
  /** Prompt tokens that were run, and tokens that were made. */
  uint32_t n_prompt_tokens;
  uint32_t n_tokens;
} mf_generate_result;

#define MF_GENERATE_RESULT_INIT \
  { sizeof(mf_generate_result), 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_TOKEN_EVENT_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_token_event) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_token_event_init(mf_token_event* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_GENERATE_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_generate_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_generate_options_init(mf_generate_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_GENERATE_RESULT_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_generate_result) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_generate_result_init(mf_generate_result* out, size_t struct_size);

/**
 * Runs what is pending and then generates: picks a token, tells it, feeds it, until something ends
 * it. Every token that was told is committed when this returns OK, so a later feed continues after
 * it. Logits are those after the last token.
 *
 * @param session the session; something must be pending or decoded.
 * @param options NULL: all defaults.
 * @param callback takes the tokens; NULL: nobody does.
 * @param user_data handed to the callback.
 * @param out_result where to write; its struct_size says how much; may be NULL.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an option; RESOURCE_EXHAUSTED when the session is full
 *         before anything else ended it: what was told is committed; FAILED_PRECONDITION for an
 *         empty session, a shell, a busy or started session, or in a forked child; CANCELLED;
 *         ABORTED when a callback threw; DATA_LOSS when the model gave NaN; UNAVAILABLE when the
 *         device was lost.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_generate(mf_session* session, const mf_generate_options* options,
                                     mf_token_callback callback, void* user_data,
                                     mf_generate_result* out_result, mf_error* error);

/**
 * Puts the session to generating: from now on each mf_context_step() that has run what was pending
 * picks one token, which mf_session_next() fetches. A token that was not fetched yet holds the
 * session back, so none is lost.
 *
 * @param session the session; something must be pending or decoded.
 * @param options NULL: all defaults.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an option; FAILED_PRECONDITION for an empty session, a
 *         shell, a busy or started session, or in a forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_start(mf_session* session, const mf_generate_options* options,
                                  mf_error* error);

/**
 * Fetches the token that a step has picked. When its `finish` is set, the generation has ended and
 * the session can be fed again.
 *
 * @param session the session.
 * @param out_event where to write; its struct_size says how much. Its text is borrowed until the
 *         next call on this session.
 * @param error optional.
 * @return OK; NOT_FOUND when no token is there: make a step; INVALID_ARGUMENT for NULL or a wrong
 *         struct_size; FAILED_PRECONDITION when none was started, for a shell, a busy session or
 *         in a forked child; what mf_session_generate() returns, when the generation failed: it
 *         has then ended.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_next(mf_session* session, mf_token_event* out_event, mf_error* error);

/**
 * Ends a generation that was started, at the last committed position. With none it does nothing.
 *
 * @param session the session.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION for a shell, a busy session or in a
 *         forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_stop(mf_session* session, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_GENERATE_H_ */
