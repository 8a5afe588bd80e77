/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Log: where the library tells what it does. It is silent unless a sink is given in the options of
 * a model or a context; the sink then hears that handle and nobody else, until the handle is
 * destroyed. There is no process-wide log.
 */
#ifndef MINFER_LOG_H_
#define MINFER_LOG_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How much is told: a sink hears its own level and all above it. */
typedef int32_t mf_log_level;

enum {
  /** In a sink: the default, which is MF_LOG_WARNING. */
  MF_LOG_DEFAULT = 0,
  /** For finding a fault: every decision. */
  MF_LOG_DEBUG = 1,
  /** What was loaded, which kernels were picked, sizes. */
  MF_LOG_INFO = 2,
  /** It works, but not as one may expect. */
  MF_LOG_WARNING = 3,
  /** A call failed. */
  MF_LOG_ERROR = 4,
  /** Nothing. */
  MF_LOG_OFF = 5
};

/**
 * Takes one message. Runs on the thread that caused it, at times a thread of the library's own, so
 * several may run at once. It may make any-thread calls only. `message` is UTF-8 without a line
 * end, `length` bytes, not NUL-terminated, and lives until the callback returns. What it throws is
 * dropped.
 */
typedef void (*mf_log_callback)(void* user_data, mf_log_level level, const char* message,
                                size_t length);

/** A sink, given inside options. All zero is silence. Size frozen. */
typedef struct mf_log_sink {
  /** NULL: silence. */
  mf_log_callback write;
  void* write_user_data;
  mf_log_level level;
  uint32_t reserved;
} mf_log_sink;

/**
 * The name of a level, such as "warning".
 *
 * @param level any number.
 * @return a text that lives as long as the library; "unknown" for a number without a name.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_log_level_name(mf_log_level level);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_LOG_H_ */
