/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Context: a place to run a model: threads, KV cache, buffers, and the loop that advances its
 * sessions. The host owns it; it is a child of its model, and sessions are its children.
 * Thread-safe: several threads that generate on different sessions of one context are batched
 * together, the first of them leading one step and handing over. A host with a loop of its own
 * calls mf_context_step() instead.
 *
 * A batch neighbour never changes the bits of a session's results, nor does the number of threads.
 */
#ifndef MINFER_CONTEXT_H_
#define MINFER_CONTEXT_H_

#include "cancel.h"
#include "error.h"
#include "host.h"
#include "log.h"
#include "memory.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How K or V are stored in the cache. */
typedef int32_t mf_kv_type;

enum {
  /** The device's own choice: f32 on the CPU. Default. */
  MF_KV_DEFAULT = 0,
  MF_KV_F32 = 1,
  MF_KV_F16 = 2,
  /** Blocks of 32 with a scale. */
  MF_KV_Q8_0 = 3
};

/** How to run. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_context_options {
  uint32_t struct_size;
  /** Threads that compute, the caller's included; 0: the processors that this process may use, by
   *  affinity and quota. Ignored when a host pool is given. */
  uint32_t n_threads;
  /** Tokens that one session can hold; 0: what the model was trained on. A model with two sets of
   *  RoPE factors (longrope) takes the long one where this is more than its original context, for
   *  the life of the context, whatever length is in use. */
  uint32_t n_ctx;
  /** Sessions that can exist at once; 0: 1. The KV cache holds n_ctx x n_sessions cells. */
  uint32_t n_sessions;
  /** Rows that a step takes, of all sessions together; 0: 512 on the CPU, 512 to 2,048 on a GPU, by
   *  the width of the model and the cells that there are. */
  uint32_t n_batch;
  /** Rows that run at once: a batch is cut into these, and cancel and time budget are looked at in
   *  between; 0: as many as n_batch has by default, but no more than n_batch. */
  uint32_t n_micro_batch;
  mf_kv_type kv_type_k;
  mf_kv_type kv_type_v;
  /** Bytes that the context may take on each device (mf_memory_use.total); 0: no limit. Too little
   * is RESOURCE_EXHAUSTED at creation, before anything is taken. */
  uint64_t budget_bytes;
  /** "lever=value,lever=value" of the tuning table (library.h), the context's rows; NULL: none. */
  const char* tuning;
  /** Stops every call on the context and its sessions. */
  const mf_cancel* cancel;
  mf_log_sink log;
  mf_host_allocator allocator;
  mf_host_pool pool;
  /** 1: the same bits whatever the batch, on every device. The CPU always holds to it. */
  uint8_t deterministic;
  uint8_t reserved[7];
  /** A stream (cudaStream_t) of the host on the model's CUDA device, for the life of the context:
   *  what it holds when a call begins is complete before the context's work starts, and the work is
   *  complete when the call returns. The library has a stream of its own; the host's is never
   *  captured, waited for or destroyed, and must not be captured by the host during a call
   *  (FAILED_PRECONDITION). With the legacy default stream, which cannot be captured, steps are not
   *  recorded as graphs; the log says so. NULL: none. */
  void* cuda_stream;
  /** The CUDA context (CUcontext) that the host works in. It must be the primary context of the
   *  model's device, where the model's weights lie; another is UNIMPLEMENTED. NULL: not asked. */
  void* cuda_context;
} mf_context_options;

#define MF_CONTEXT_OPTIONS_INIT                                                         \
  {                                                                                     \
    sizeof(mf_context_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, {NULL, NULL, 0, 0}, \
        {NULL, NULL, NULL}, {NULL, NULL, 0, 0}, 0, {0, 0, 0, 0, 0, 0, 0}, NULL, NULL    \
  }

/** How one step is to run. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_step_options {
  uint32_t struct_size;
  uint32_t reserved;
  /** Looked at between micro-batches: what has run is committed, the rest waits for the next step.
   *  One micro-batch always runs. 0: no limit. */
  uint64_t time_budget_ns;
  const mf_cancel* cancel;
} mf_step_options;

#define MF_STEP_OPTIONS_INIT \
  { sizeof(mf_step_options), 0, 0, NULL }

/** What one step did. */
typedef struct mf_step_result {
  uint32_t struct_size;
  /** Rows that were committed. */
  uint32_t n_rows;
  /** Sessions that went forward. */
  uint32_t n_sessions;
  /** Sessions that failed alone: mf_session_next() or their next call tells why. */
  uint32_t n_failed;
  /** Sessions that still have something to do. 0: nothing is left to step. */
  uint32_t n_runnable;
  uint32_t reserved;
} mf_step_result;

#define MF_STEP_RESULT_INIT \
  { sizeof(mf_step_result), 0, 0, 0, 0, 0 }

/** What a context has done since it was created. */
typedef struct mf_context_statistics {
  uint32_t struct_size;
  uint32_t n_sessions;
  uint64_t n_steps;
  /** Rows by class: prompts, and tokens being generated. */
  uint64_t n_prefill_rows;
  uint64_t n_decode_rows;
  /** Matrix products that ran, and bytes of weights that they read. N sessions that decode together
   *  need as many of each as one. */
  uint64_t n_matmul_nodes;
  uint64_t weight_bytes_read;
  /** Graphs that were built, and steps that found theirs ready. */
  uint64_t n_graphs_built;
  uint64_t n_graphs_reused;
  /** Time inside steps. */
  uint64_t step_time_ns;
  /** KV pages: in use now, and in all. */
  uint64_t n_kv_pages_used;
  uint64_t n_kv_pages;
} mf_context_statistics;

#define MF_CONTEXT_STATISTICS_INIT \
  { sizeof(mf_context_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** One row of the report on which kernels ran. Texts are NUL-terminated UTF-8. */
typedef struct mf_kernel_use {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t n_calls;
  /** The work: "matmul decode". */
  char operation[64];
  /** Its types and shape: "Q4_1 k=576". */
  char detail[64];
  /** What ran: "avx512_vnni q4_1 x q8". */
  char kernel[64];
  /** Why that one: "VNNI present". */
  char reason[128];
} mf_kernel_use;

#define MF_KERNEL_USE_INIT                            \
  {                                                   \
    sizeof(mf_kernel_use), 0, 0, {0}, {0}, {0}, { 0 } \
  }

/**
 * Zeroes a struct and sets its struct_size, as MF_CONTEXT_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_context_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_context_options_init(mf_context_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_STEP_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_step_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_step_options_init(mf_step_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_STEP_RESULT_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_step_result) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_step_result_init(mf_step_result* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_CONTEXT_STATISTICS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_context_statistics) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_context_statistics_init(mf_context_statistics* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_KERNEL_USE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_kernel_use) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_kernel_use_init(mf_kernel_use* out, size_t struct_size);

/**
 * Makes a context on a model. All memory that it will ever need on a device is taken here.
 *
 * @param model the model; it must not be destroyed while this call runs on another thread, as any
 *         argument must not.
 * @param options NULL: all defaults.
 * @param out_context the context; give it back with mf_context_destroy().
 * @param error optional; names the option or the device, and the bytes wanted and available.
 * @return OK; INVALID_ARGUMENT for an argument or an option; RESOURCE_EXHAUSTED when the budget or
 *         the memory is too small; UNIMPLEMENTED when the model cannot be run with these options;
 *         FAILED_PRECONDITION in a forked child; CANCELLED.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_context_create(mf_model* model, const mf_context_options* options,
                                   mf_context** out_context, mf_error* error);

/**
 * Gives a context back. Its sessions become shells. Calls on it and on its sessions that other
 * threads are in are cancelled and waited for.
 *
 * @param context the context; NULL does nothing. The handle is gone when this returns.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API void mf_context_destroy(mf_context* context);

/**
 * Advances every session that has something to do by one batch: decode rows first, then prompts. A
 * session that mf_session_start() put to generating gets its next token picked, which
 * mf_session_next() then fetches; no token callback is made. While another thread leads a step,
 * this call waits for its turn.
 *
 * @param context the context.
 * @param options NULL: all defaults.
 * @param out_result where to write; its struct_size says how much; may be NULL.
 * @param error optional.
 * @return OK, also when there was nothing to do; INVALID_ARGUMENT for NULL or an option;
 *         FAILED_PRECONDITION for a shell or in a forked child; CANCELLED: what was committed
 *         stays; UNAVAILABLE when the device was lost.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_context_step(mf_context* context, const mf_step_options* options,
                                 mf_step_result* out_result, mf_error* error);

/**
 * How many tokens one session can hold.
 *
 * @param context the context.
 * @return the number; 0 for NULL.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API uint32_t mf_context_n_ctx(const mf_context* context);

/**
 * What the context takes on a device, without its model.
 *
 * @param context the context.
 * @param device index of the device.
 * @param out_now in use now; may be NULL.
 * @param out_peak the most that was ever in use; may be NULL.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the device;
 *         FAILED_PRECONDITION for a shell or in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_context_get_memory(const mf_context* context, size_t device,
                                       mf_memory_use* out_now, mf_memory_use* out_peak,
                                       mf_error* error);

/**
 * What the context has done.
 *
 * @param context the context.
 * @param out_statistics where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; FAILED_PRECONDITION for a shell or
 *         in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_context_get_statistics(const mf_context* context,
                                           mf_context_statistics* out_statistics, mf_error* error);

/**
 * Which kernels have run, how often and why: rows in two-call form. The first element's
 * struct_size is the stride, and all must be equal.
 *
 * @param context the context.
 * @param out_rows where to write; NULL with capacity 0 asks for the number.
 * @param capacity rows that out_rows holds.
 * @param out_count the number of rows, also when they did not fit.
 * @param error optional.
 * @return OK; OUT_OF_RANGE when they did not fit; INVALID_ARGUMENT for NULL or a wrong
 *         struct_size; FAILED_PRECONDITION for a shell or in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_context_get_kernels(const mf_context* context, mf_kernel_use* out_rows,
                                        size_t capacity, size_t* out_count, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_CONTEXT_H_ */
