/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Session: one conversation: the tokens so far, their place in the KV cache, the logits after the
 * last of them, and the state of sampling. The host owns it; it is a child of its context.
 * Thread-compatible: one thread at a time; while a call runs, every other call on it but
 * mf_session_cancel() gives FAILED_PRECONDITION, also from inside a callback. Getters, which
 * return their value, may be called at any time and tell of the last committed state.
 *
 * Tokens that are fed are pending until a decode, a generate or a step has run them; only then
 * does the position move. A call that is cancelled or fails leaves the session usable at the
 * position that it had committed, and drops what was still pending.
 *
 * Here are the parts: feed, decode, look at logits, sample. generate.h puts them together.
 */
#ifndef MINFER_SESSION_H_
#define MINFER_SESSION_H_

#include "cancel.h"
#include "error.h"
#include "sampling.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How to make a session. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_session_options {
  uint32_t struct_size;
  uint32_t reserved;
} mf_session_options;

#define MF_SESSION_OPTIONS_INIT \
  { sizeof(mf_session_options), 0 }

/** What a session has done since it was created or forked. Times are spans of wall-clock time. */
typedef struct mf_session_statistics {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t n_prompt_tokens;
  /** Prompt tokens that were in the cache already and were not computed. */
  uint64_t n_reused_tokens;
  uint64_t n_generated_tokens;
  uint64_t prompt_time_ns;
  uint64_t generate_time_ns;
} mf_session_statistics;

#define MF_SESSION_STATISTICS_INIT \
  { sizeof(mf_session_statistics), 0, 0, 0, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_SESSION_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_session_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_session_options_init(mf_session_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_SESSION_STATISTICS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_session_statistics) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_session_statistics_init(mf_session_statistics* out, size_t struct_size);

/**
 * Makes an empty session on a context.
 *
 * @param context the context.
 * @param options NULL: all defaults.
 * @param out_session the session; give it back with mf_session_destroy().
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an option; RESOURCE_EXHAUSTED when n_sessions exist;
 *         FAILED_PRECONDITION for a shell or in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_session_create(mf_context* context, const mf_session_options* options,
                                   mf_session** out_session, mf_error* error);

/**
 * Gives a session back. No other thread may be in a call on it. From its own callback the handle
 * is gone at once, the call that made the callback ends with CANCELLED and frees the rest.
 *
 * @param session the session; NULL does nothing. The handle is gone when this returns.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API void mf_session_destroy(mf_session* session);

/**
 * Chooses how this session samples from now on. Mirostat's state starts anew. A new session has
 * what NULL means.
 *
 * @param session the session.
 * @param sampling the settings, copied; NULL: those of mf_sampling_init().
 * @param error optional; names the field.
 * @return OK; INVALID_ARGUMENT for NULL or a setting; OUT_OF_RANGE for a token id that the
 *         vocabulary does not have; FAILED_PRECONDITION for a shell, a busy session or in a forked
 *         child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_set_sampling(mf_session* session, const mf_sampling* sampling,
                                         mf_error* error);

/**
 * Adds tokens to what is pending: all of them or, when it fails, none. Nothing is computed yet.
 *
 * @param session the session.
 * @param tokens ids; NULL only with 0 of them.
 * @param n_tokens how many.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an id that the vocabulary does not have;
 *         RESOURCE_EXHAUSTED when the session has no room for them; FAILED_PRECONDITION for a
 *         shell, a busy session or in a forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_feed_tokens(mf_session* session, const mf_token* tokens,
                                        size_t n_tokens, mf_error* error);

/**
 * Encodes a text and adds its tokens to what is pending: all of them or, when it fails, none.
 *
 * @param session the session.
 * @param text UTF-8; NULL only with length 0.
 * @param length bytes of text.
 * @param flags MF_ENCODE_ flags, or 0.
 * @param out_count how many tokens it made; may be NULL.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an unknown flag; RESOURCE_EXHAUSTED when the session
 *         has no room for them; FAILED_PRECONDITION for a shell, a busy session or in a forked
 *         child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_feed_text(mf_session* session, const char* text, size_t length,
                                      uint32_t flags, size_t* out_count, mf_error* error);

/**
 * Runs what is pending. Afterwards the logits are those after the last token. With nothing pending
 * it does nothing.
 *
 * @param session the session.
 * @param cancel stops the call; NULL: none.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; RESOURCE_EXHAUSTED when the cache is full;
 *         FAILED_PRECONDITION for a shell, a busy session or in a forked child; CANCELLED;
 *         DATA_LOSS when the model gave NaN; UNAVAILABLE when the device was lost. Unless OK, what
 *         was not committed is dropped.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_decode(mf_session* session, const mf_cancel* cancel, mf_error* error);

/**
 * The logits after the last token that was decoded: one number a token of the vocabulary.
 *
 * @param session the session.
 * @param out_logits borrowed until the next call on this session.
 * @param out_count how many, mf_tokenizer_size() of the model; may be NULL.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION when there are none, because nothing
 *         was decoded since creation or a truncate, for a shell, a busy session or in a forked
 *         child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_logits(mf_session* session, const float** out_logits, size_t* out_count,
                                   mf_error* error);

/**
 * The most probable next tokens, best first, by the model's own distribution: before bias,
 * penalties, truncation and temperature.
 *
 * @param session the session.
 * @param out_tokens where to write.
 * @param capacity how many are wanted.
 * @param out_count how many were written: the smaller of capacity and the vocabulary.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION as mf_session_logits(); DATA_LOSS
 *         when the logits have NaN.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_top_tokens(mf_session* session, mf_token_log_probability* out_tokens,
                                       size_t capacity, size_t* out_count, mf_error* error);

/**
 * The logarithm of the probability of tokens as the next one, by the model's own distribution.
 *
 * @param session the session.
 * @param tokens ids.
 * @param n_tokens how many.
 * @param out_log_probabilities one number a token.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an id that the vocabulary does not have;
 *         FAILED_PRECONDITION as mf_session_logits(); DATA_LOSS when the logits have NaN.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_log_probabilities(mf_session* session, const mf_token* tokens,
                                              size_t n_tokens, float* out_log_probabilities,
                                              mf_error* error);

/**
 * Picks the next token by the session's settings. It is not fed: feed it, or another one.
 *
 * @param session the session.
 * @param out_token the token.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION as mf_session_logits(), and when bias
 *         or the host's edit left no token; ABORTED when the host's edit failed or threw;
 *         DATA_LOSS when the logits have NaN.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_sample(mf_session* session, mf_token* out_token, mf_error* error);

/**
 * How many tokens are committed: the position that the next one will have.
 *
 * @param session the session.
 * @return the number; 0 for NULL or a shell.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API uint32_t mf_session_position(const mf_session* session);

/**
 * How many tokens are pending.
 *
 * @param session the session.
 * @return the number; 0 for NULL or a shell.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API uint32_t mf_session_pending(const mf_session* session);

/**
 * How many more tokens can be fed: n_ctx less what is committed and pending.
 *
 * @param session the session.
 * @return the number; 0 for NULL or a shell.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API uint32_t mf_session_room(const mf_session* session);

/**
 * Reads back the tokens that are committed, in two-call form.
 *
 * @param session the session.
 * @param out_tokens where to write; NULL with capacity 0 asks for the number.
 * @param capacity tokens that out_tokens holds.
 * @param out_count the number of tokens, also when they did not fit.
 * @param error optional.
 * @return OK; OUT_OF_RANGE when they did not fit; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION
 *         for a shell, a busy session or in a forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_tokens(mf_session* session, mf_token* out_tokens, size_t capacity,
                                   size_t* out_count, mf_error* error);

/**
 * Goes back to a position: later tokens, pending ones and logits are gone, and a generation that
 * was started has ended. Decode a token to have logits again.
 *
 * @param session the session.
 * @param position at most mf_session_position().
 * @param error optional; when a windowed layer has given rows back, says the earliest position.
 * @return OK; INVALID_ARGUMENT for NULL; OUT_OF_RANGE for a position past the end, or before what
 *         the cache still has; FAILED_PRECONDITION for a shell, a busy session or in a forked
 *         child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_truncate(mf_session* session, uint32_t position, mf_error* error);

/**
 * Makes a second session that is where this one is: committed tokens, logits, settings and the
 * state of sampling. The cache is shared until one of the two writes. Pending tokens and a started
 * generation stay with the first.
 *
 * @param session the session.
 * @param out_session the new one, child of the same context.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; RESOURCE_EXHAUSTED when n_sessions exist;
 *         FAILED_PRECONDITION for a shell, a busy session or in a forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_fork(mf_session* session, mf_session** out_session, mf_error* error);

/**
 * Stops the call in progress on this session, which returns CANCELLED; with none it does nothing.
 *
 * @param session the session; NULL does nothing. It must not be destroyed meanwhile.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_session_cancel(mf_session* session);

/**
 * What the session has done.
 *
 * @param session the session.
 * @param out_statistics where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; FAILED_PRECONDITION for a shell, a
 *         busy session or in a forked child.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API mf_status mf_session_get_statistics(mf_session* session,
                                           mf_session_statistics* out_statistics, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_SESSION_H_ */
