/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Status and error: how a call says what went wrong. A status is a number with the meaning of the
 * canonical codes (Abseil, gRPC). An error is a struct of fixed size that belongs to the caller,
 * so that telling of an allocation failure allocates nothing. Any thread may use its own.
 */
#ifndef MINFER_ERROR_H_
#define MINFER_ERROR_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a call ended. One of the MF_STATUS_ values, whose numbers never change. */
typedef int32_t mf_status;

enum {
  /** It worked. */
  MF_STATUS_OK = 0,
  /** A cancel was requested, or the handle was destroyed during the call. */
  MF_STATUS_CANCELLED = 1,
  /** An argument is wrong whatever the state: NULL, a size, a number out of its range. */
  MF_STATUS_INVALID_ARGUMENT = 3,
  /** A time budget ran out. */
  MF_STATUS_DEADLINE_EXCEEDED = 4,
  /** A file, key, template or device is not there. */
  MF_STATUS_NOT_FOUND = 5,
  /** It is there already. */
  MF_STATUS_ALREADY_EXISTS = 6,
  /** The operating system forbids it. */
  MF_STATUS_PERMISSION_DENIED = 7,
  /** Memory, a budget or the KV cache has no room. bytes_wanted says how much was needed. */
  MF_STATUS_RESOURCE_EXHAUSTED = 8,
  /** Right call, wrong time: a shell, a busy session, no logits yet, a forked child. */
  MF_STATUS_FAILED_PRECONDITION = 9,
  /** A callback of the host failed or threw. */
  MF_STATUS_ABORTED = 10,
  /** A buffer is too small, or an index or position is past the end. */
  MF_STATUS_OUT_OF_RANGE = 11,
  /** This version does not do it: an element type, an architecture, a template construct. */
  MF_STATUS_UNIMPLEMENTED = 12,
  /** A fault of the library. Please report it with the message. */
  MF_STATUS_INTERNAL = 13,
  /** A device was lost, or the system refused for now. */
  MF_STATUS_UNAVAILABLE = 14,
  /** The file is damaged or was cut short. */
  MF_STATUS_DATA_LOSS = 15
};

/** Which part of the library speaks. One of the MF_SUBSYSTEM_ values; new ones are appended. */
typedef int32_t mf_subsystem;

enum {
  MF_SUBSYSTEM_NONE = 0,
  MF_SUBSYSTEM_API = 1,
  MF_SUBSYSTEM_FILE = 2,
  MF_SUBSYSTEM_GGUF = 3,
  MF_SUBSYSTEM_TOKENIZER = 4,
  MF_SUBSYSTEM_CHAT = 5,
  MF_SUBSYSTEM_MODEL = 6,
  MF_SUBSYSTEM_GRAPH = 7,
  MF_SUBSYSTEM_PLAN = 8,
  MF_SUBSYSTEM_BACKEND = 9,
  MF_SUBSYSTEM_KV = 10,
  MF_SUBSYSTEM_SAMPLING = 11,
  MF_SUBSYSTEM_ENGINE = 12
};

/** Bytes of mf_error.name, its terminator included. */
#define MF_ERROR_NAME_SIZE 128
/** Bytes of mf_error.message, its terminator included. */
#define MF_ERROR_MESSAGE_SIZE 512

/**
 * What went wrong. The size is frozen, so there is no struct_size. On failure every field is
 * written; on success `status` becomes MF_STATUS_OK and the rest is left as it was. Texts are
 * UTF-8, always terminated, and shortened at a character's edge when they do not fit.
 */
typedef struct mf_error {
  mf_status status;
  mf_subsystem subsystem;
  /** What was asked for and what there was, in bytes; 0 and 0 when it is not about bytes. */
  uint64_t bytes_wanted;
  uint64_t bytes_available;
  /** Where in the file the fault was seen; 0 when it is not about a file. */
  uint64_t file_offset;
  /** The tensor, node, key, option, template or device in question; empty when there is none. */
  char name[MF_ERROR_NAME_SIZE];
  char message[MF_ERROR_MESSAGE_SIZE];
  uint8_t reserved[64];
} mf_error;

/**
 * The name of a status, such as "INVALID_ARGUMENT".
 *
 * @param status any number.
 * @return a text that lives as long as the library; "UNKNOWN" for a number without a name.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_status_name(mf_status status);

/**
 * The name of a subsystem, such as "gguf".
 *
 * @param subsystem any number.
 * @return a text that lives as long as the library; "unknown" for a number without a name.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_subsystem_name(mf_subsystem subsystem);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_ERROR_H_ */
