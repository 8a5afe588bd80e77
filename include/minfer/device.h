/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Device: something that can hold weights and run a model. The list is asked from the system at
 * every call and owned by nobody; device 0 is always the CPU. An index stays valid for the life of
 * the process unless the system adds or removes devices. Any thread may ask.
 */
#ifndef MINFER_DEVICE_H_
#define MINFER_DEVICE_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What kind of device it is. New ones are appended. */
typedef int32_t mf_device_kind;

enum {
  /** In a question: any kind. */
  MF_DEVICE_ANY = 0,
  MF_DEVICE_CPU = 1,
  MF_DEVICE_CUDA = 2
};

/** What is known about a device. */
typedef struct mf_device_info {
  uint32_t struct_size;
  mf_device_kind kind;
  /** Bytes of memory that it has, and that are free now; 0 when the system does not tell. */
  uint64_t memory_total;
  uint64_t memory_free;
  /** CPU: processors that this process may use (affinity and quota). CUDA: multiprocessors. */
  uint32_t compute_units;
  /** CUDA: the compute capability, 9 and 0 for 9.0. CPU: 0 and 0. */
  uint32_t capability_major;
  uint32_t capability_minor;
  /** 1 when this build can run on it. When 0, `reason` says why. */
  uint8_t usable;
  uint8_t reserved[3];
  /** Its name, NUL-terminated UTF-8, as is every text here. */
  char name[128];
  /** CPU: the kernel unit that would run: "generic", "avx2", "avx512", "avx512_vnni",
   * "avx512_bf16". CUDA: "sm_90". */
  char level[32];
  char reason[128];
} mf_device_info;

#define MF_DEVICE_INFO_INIT                                                 \
  {                                                                         \
    sizeof(mf_device_info), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, {0}, {0}, { 0 } \
  }

/**
 * Zeroes a struct and sets its struct_size, as MF_DEVICE_INFO_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_device_info) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_device_info_init(mf_device_info* out, size_t struct_size);

/**
 * How many devices there are.
 *
 * @return the number, at least 1: the CPU.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API size_t mf_device_count(void);

/**
 * What is known about a device.
 *
 * @param device an index below mf_device_count().
 * @param out_info where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the index.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_device_get_info(size_t device, mf_device_info* out_info, mf_error* error);

/**
 * Picks the best usable device: of the kind asked for, with the memory asked for free, and of
 * these the one that the library would choose itself.
 *
 * @param kind MF_DEVICE_ANY or the only kind to consider.
 * @param memory_needed bytes that must be free; 0 asks for none. A device that does not tell
 *         counts as having room.
 * @param out_device its index.
 * @param error optional; bytes_wanted and bytes_available tell of the nearest miss.
 * @return OK; INVALID_ARGUMENT for NULL or an unknown kind; NOT_FOUND when there is no device of
 *         the kind; RESOURCE_EXHAUSTED when none has the memory.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_device_pick(mf_device_kind kind, uint64_t memory_needed, size_t* out_device,
                                mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_DEVICE_H_ */
