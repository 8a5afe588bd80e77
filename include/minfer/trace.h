/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Trace: what a context computes, operation by operation, as a text in the format of Chrome's trace
 * viewer (chrome://tracing, Perfetto), and its compute graph as DOT or JSON. For finding out where
 * time goes and where a number goes wrong; a traced step is slower, and gives the same results.
 */
#ifndef MINFER_TRACE_H_
#define MINFER_TRACE_H_

#include "context.h"
#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Takes the next piece of a text: `length` bytes of UTF-8, not NUL-terminated, that live until the
 * callback returns. The pieces in order are the text. Runs on a thread that makes a call on the
 * context; it may make any-thread calls only. What it throws is dropped.
 */
typedef void (*mf_trace_callback)(void* user_data, const char* text, size_t length);

/** How to trace. */
typedef struct mf_trace_options {
  uint32_t struct_size;
  /** 1: with the least, largest and mean value, the root of the mean square and the number of NaN
   * of each result; every result is read back for it. */
  uint8_t values;
  uint8_t reserved[3];
  /** Must be set. */
  mf_trace_callback write;
  void* write_user_data;
} mf_trace_options;

#define MF_TRACE_OPTIONS_INIT \
  { sizeof(mf_trace_options), 0, {0, 0, 0}, NULL, NULL }

/** The text of a graph. */
typedef int32_t mf_graph_format;

enum {
  /** For Graphviz. */
  MF_GRAPH_DOT = 0,
  MF_GRAPH_JSON = 1
};

/**
 * Sets the options to MF_TRACE_OPTIONS_INIT.
 *
 * @param out written.
 * @param struct_size sizeof(mf_trace_options).
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_trace_options_init(mf_trace_options* out, size_t struct_size);

/**
 * Traces all steps of a context from now on, until mf_context_trace_stop() or its end. Nodes run
 * one by one, each waited for, so its event has the time that it took; recorded steps of a GPU are
 * not replayed meanwhile. The text is a JSON object: "traceEvents" with an event a node (its name;
 * the operation as category; the device as thread; shape and, where wanted, the values as
 * arguments), and at the end "ops", calls and microseconds by operation.
 *
 * @param context borrowed.
 * @param options borrowed; what it points at must live until the trace ends.
 * @param error may be NULL.
 * @return OK; INVALID_ARGUMENT for NULL, a wrong struct_size or options without `write`;
 *         FAILED_PRECONDITION when a trace is on, or a step is running.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_context_trace_start(mf_context* context, const mf_trace_options* options,
                                        mf_error* error);

/**
 * Ends the trace and writes the rest of its text.
 *
 * @param context borrowed.
 * @param error may be NULL.
 * @return OK; INVALID_ARGUMENT for NULL; FAILED_PRECONDITION when no trace is on, or a step is
 *         running.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_context_trace_stop(mf_context* context, mf_error* error);

/**
 * Writes the graph of the largest step that the context can make.
 *
 * @param context borrowed.
 * @param format MF_GRAPH_DOT or MF_GRAPH_JSON.
 * @param write takes the text.
 * @param user_data passed to `write`.
 * @param error may be NULL.
 * @return OK; INVALID_ARGUMENT for NULL or an unknown format.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_context_dump_graph(mf_context* context, mf_graph_format format,
                                       mf_trace_callback write, void* user_data, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_TRACE_H_ */
