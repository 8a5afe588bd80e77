/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * The words that every other header uses: handles, tokens, pieces of text, and the rules that hold
 * for the whole library. Nothing here is owned by anybody and nothing is called.
 *
 * Rules, stated once:
 *  - A fallible function returns ::mf_status and takes an optional `mf_error* error` last. Outputs
 *    are named `out_*` and are written only on success, save the length of the two-call form.
 *  - Two-call form: a buffer of NULL with capacity 0 gives OK and the length needed; a buffer that
 *    is too small gives OUT_OF_RANGE with the length set and nothing else written. Text written
 *    this way is not NUL-terminated: the length says all.
 *  - Structs that start with `struct_size` are set up by their _INIT macro or their _init
 *    function. A field left 0 has its default. An array of such structs has the first element's
 *    struct_size as its stride, and all must be equal. Bytes that this version does not know, and
 *    reserved fields, must be 0, else INVALID_ARGUMENT.
 *  - A NULL handle gives INVALID_ARGUMENT, or 0 from a getter. destroy(NULL) does nothing. A
 *    handle whose parent was destroyed is a shell: its calls give FAILED_PRECONDITION and its
 *    memory comes back when it is destroyed itself. Destroying a model or a context while another
 *    thread is in a call on it, or on a child of it, cancels that call and waits for it; inside a
 *    callback that the call makes, destroy returns at once and the call's own return finishes the
 *    work.
 *  - Input is copied before a call returns, unless the function says how long it must live.
 *  - A callback is a function pointer with its `user_data` after it, and is never called after the
 *    call that took it returned (log sinks, allocators and thread pools: after their owner was
 *    destroyed). A C++ exception that leaves a callback is caught, and the call returns ABORTED.
 *  - @threadsafety has one of three words. *thread-safe*: from several threads at once.
 *    *thread-compatible*: one thread at a time on one handle; a second call that overlaps gives
 *    FAILED_PRECONDITION. *any-thread*: at any time, also while other calls run.
 *  - In a forked child every fallible call on an older handle gives FAILED_PRECONDITION and
 *    destroy only forgets it; getters, and calls without a handle, work.
 *  - A call may also return: RESOURCE_EXHAUSTED when memory ran out, INTERNAL when the library
 *    found a fault of its own. These two are not repeated at every function.
 *  - A call leaves errno, floating-point control, locale and signal mask as it found them, and
 *    works under any rounding mode. It needs at most 64 KiB of stack. Thread cancellation is held
 *    off while a call runs.
 */
#ifndef MINFER_TYPES_H_
#define MINFER_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MF_API __attribute__((visibility("default")))
#else
#define MF_API
#endif

/** A loaded model: weights, tokenizer and chat template. Thread-safe. See model.h. */
typedef struct mf_model mf_model;
/** A place to run a model: threads, KV cache, buffers. Child of a model, thread-safe. See
 * context.h. */
typedef struct mf_context mf_context;
/** One conversation. Child of a context, thread-compatible. See session.h. */
typedef struct mf_session mf_session;
/** A flag that stops calls. Nobody's child, any-thread. See cancel.h. */
typedef struct mf_cancel mf_cancel;

/** A token id: an index in the model's vocabulary. */
typedef int32_t mf_token;
/** No token: what a getter returns for a special token that the model does not have. */
#define MF_TOKEN_NONE (-1)

/** A piece of text in an array: UTF-8 bytes and their number, no terminator. Size frozen. */
typedef struct mf_text {
  const char* data;
  size_t length;
} mf_text;

#endif /* MINFER_TYPES_H_ */
