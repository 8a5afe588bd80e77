/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Source: where the bytes of a GGUF file come from: a path, memory, or a callback that reads at an
 * offset (which covers an open descriptor, a part of an archive, a download). Plain data, owned by
 * the caller and read during the call that takes it.
 *
 * A split model is an array of sources in the order of its parts. A single path that ends in
 * "-00001-of-NNNNN.gguf" finds the other parts beside it by itself.
 */
#ifndef MINFER_SOURCE_H_
#define MINFER_SOURCE_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which fields of a source count. */
typedef int32_t mf_source_kind;

enum { MF_SOURCE_PATH = 1, MF_SOURCE_MEMORY = 2, MF_SOURCE_READER = 3 };

/**
 * Reads exactly `length` bytes at `offset` into `out`. Returns 0 when it did, or the ::mf_status
 * that the call shall fail with; a number that is no status becomes UNAVAILABLE. Runs on the
 * thread of the call that took the source, one read at a time, and is not called after that call
 * has returned. It may make any-thread calls only.
 */
typedef int32_t (*mf_read_callback)(void* user_data, uint64_t offset, void* out, size_t length);

/** One file, or one part of a split model. */
typedef struct mf_source {
  uint32_t struct_size;
  mf_source_kind kind;
  /** PATH: NUL-terminated, as the system's open() takes it. */
  const char* path;
  /** MEMORY: the file's bytes. When loaded by MF_LOAD_MAP they are used in place: they must stay
   *  unchanged until the model's memory has come back. With MF_LOAD_READ they are copied. */
  const void* data;
  /** MEMORY and READER: the file's size in bytes. */
  uint64_t size;
  /** READER. */
  mf_read_callback read;
  void* read_user_data;
} mf_source;

#define MF_SOURCE_INIT \
  { sizeof(mf_source), 0, NULL, NULL, 0, NULL, NULL }

/**
 * Zeroes a struct and sets its struct_size, as MF_SOURCE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_source) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_source_init(mf_source* out, size_t struct_size);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_SOURCE_H_ */
