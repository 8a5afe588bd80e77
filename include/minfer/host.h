/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Host: what the library can use instead of its own: the host's memory and the host's threads.
 * Both are small structs given inside options; what they point to belongs to the host and must
 * live until the model or context that took them has given everything back (its last child
 * destroyed).
 */
#ifndef MINFER_HOST_H_
#define MINFER_HOST_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives `size` bytes at a multiple of `alignment` (a power of two), or NULL when there are none:
 * the call then returns RESOURCE_EXHAUSTED. Runs on a thread that works for the model or context,
 * never under a lock of the library; several may run at once. One that throws counts as NULL. It
 * may make any-thread calls only.
 */
typedef void* (*mf_allocate_callback)(void* user_data, size_t size, size_t alignment);

/** Takes memory back, with the size and alignment it was asked with. `memory` is never NULL. */
typedef void (*mf_free_callback)(void* user_data, void* memory, size_t size, size_t alignment);

/**
 * Where backend buffers come from: weights that are read or repacked, KV, activations, scratch and
 * staging. Small objects of C++ use operator new. Both callbacks, or neither. With an allocator
 * the KV cache is taken whole at creation. Size frozen; all zero means the library's own.
 */
typedef struct mf_host_allocator {
  mf_allocate_callback allocate;
  mf_free_callback free;
  /** Handed to both. */
  void* user_data;
} mf_host_allocator;

/** One task of many: does part `index` of the work behind `task`. Never throws, never blocks. */
typedef void (*mf_task)(void* task, size_t index);

/**
 * Calls `run(task, i)` once for each i from 0 to n - 1, in any order, on any threads, one after
 * the other if that is all there is, and returns when all are done. No task waits for another. The
 * tasks use at most 64 KiB of stack. Must not return before the last task did. One that throws,
 * skips a task or runs one twice makes the call return ABORTED.
 */
typedef void (*mf_parallel_for_callback)(void* user_data, size_t n, mf_task run, void* task);

/**
 * Threads of the host, used instead of the library's own. The results are the same bits either
 * way. Size frozen; all zero means the library's own threads.
 */
typedef struct mf_host_pool {
  mf_parallel_for_callback parallel_for;
  void* parallel_for_user_data;
  /** How many tasks are worth making at once: the number of threads behind it. 0 means 1. */
  uint32_t n_threads;
  uint32_t reserved;
} mf_host_pool;

#ifdef __cplusplus
}
#endif

#endif /* MINFER_HOST_H_ */
