/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Cancel: a flag that stops calls. The host owns it and gives it to calls through their options;
 * one flag may serve many. Any thread may use it, and a signal handler may request.
 *
 * A request is sticky: it stops every call that holds the flag, and a later call that starts under
 * it returns CANCELLED at once, until it is reset. On the CPU a running call stops within 50 ms;
 * what it had committed stays. A flag may be destroyed while calls use it: they keep what they
 * need.
 */
#ifndef MINFER_CANCEL_H_
#define MINFER_CANCEL_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a flag that is not requested.
 *
 * @param out_cancel the flag; give it back with mf_cancel_destroy().
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_cancel_create(mf_cancel** out_cancel, mf_error* error);

/**
 * Requests that the calls which hold the flag stop. Async-signal-safe.
 *
 * @param cancel the flag; NULL does nothing.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_cancel_request(mf_cancel* cancel);

/**
 * Takes the request back. Calls that have seen it still return CANCELLED.
 *
 * @param cancel the flag; NULL does nothing.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_cancel_reset(mf_cancel* cancel);

/**
 * Whether the flag is requested now.
 *
 * @param cancel the flag.
 * @return 1 or 0; 0 for NULL.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API int32_t mf_cancel_is_requested(const mf_cancel* cancel);

/**
 * Gives the flag back. No other thread may be in a call on the flag itself; calls that hold it
 * through their options are no concern.
 *
 * @param cancel the flag; NULL does nothing.
 * @threadsafety thread-compatible
 * @since 0.1
 */
MF_API void mf_cancel_destroy(mf_cancel* cancel);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_CANCEL_H_ */
