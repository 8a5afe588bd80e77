/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Memory: what a model and a context take on one device, class by class. A plan (mf_model_plan)
 * gives it before anything is taken, the account (mf_context_get_memory) while it is held; for the
 * classes that `total` sums the two agree to the byte. Plain data, owned by the caller.
 */
#ifndef MINFER_MEMORY_H_
#define MINFER_MEMORY_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What memory is for: an index of mf_memory_use.bytes. New ones are appended. */
typedef int32_t mf_memory_class;

enum {
  /** Weights held in memory of ours; 0 when they are read in place from a mapping. */
  MF_MEMORY_WEIGHTS = 0,
  /** Copies of weights in another layout. */
  MF_MEMORY_REPACKED_WEIGHTS = 1,
  MF_MEMORY_KV = 2,
  /** Values of the graph, its inputs and outputs. */
  MF_MEMORY_ACTIVATIONS = 3,
  /** Working memory of kernels. */
  MF_MEMORY_SCRATCH = 4,
  /** Copies on the host of what goes in and comes out of a device. */
  MF_MEMORY_STAGING = 5,
  /** Captured graphs, by their limit. */
  MF_MEMORY_CAPTURED_GRAPHS = 6,
  /** C++ objects: an estimate, not in `total`. */
  MF_MEMORY_HOST_OBJECTS = 7,
  /** Pages of mapped files: the system's, not in `total`. */
  MF_MEMORY_MAPPED = 8,
  /** What a driver takes for itself: an estimate, not in `total`. */
  MF_MEMORY_DRIVER = 9
};

/** How many classes mf_memory_use has room for; those without a name are 0. */
#define MF_MEMORY_CLASS_ROOM 16

/** Bytes on one device. */
typedef struct mf_memory_use {
  uint32_t struct_size;
  /** Index of the device. */
  uint32_t device;
  /** Sum of the classes up to MF_MEMORY_CAPTURED_GRAPHS: what a budget is compared with. */
  uint64_t total;
  /** By MF_MEMORY_ class. */
  uint64_t bytes[MF_MEMORY_CLASS_ROOM];
} mf_memory_use;

#define MF_MEMORY_USE_INIT                                                          \
  {                                                                                 \
    sizeof(mf_memory_use), 0, 0, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } \
  }

/**
 * The name of a class, such as "activations".
 *
 * @param memory_class any number.
 * @return a text that lives as long as the library; "unknown" for a number without a name.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_memory_class_name(mf_memory_class memory_class);

/**
 * Zeroes a struct and sets its struct_size, as MF_MEMORY_USE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_memory_use) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_memory_use_init(mf_memory_use* out, size_t struct_size);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_MEMORY_H_ */
