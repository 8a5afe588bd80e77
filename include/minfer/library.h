/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * The library itself: its version, how it was built, what it can do and which levers it has. There
 * is nothing to initialise and nothing to shut down; these calls read constants and may be made
 * from any thread at any time.
 */
#ifndef MINFER_LIBRARY_H_
#define MINFER_LIBRARY_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header. mf_version() gives that of the library that was loaded. */
#define MF_VERSION_MAJOR 0
#define MF_VERSION_MINOR 1
#define MF_VERSION_PATCH 0
/** One number that orders versions: mf_version() >= MF_VERSION_NUMBER(0, 2, 0). */
#define MF_VERSION_NUMBER(major, minor, patch) ((major)*65536u + (minor)*256u + (patch))
/** The binary interface of this header; the number in the name of the shared object. */
#define MF_ABI_VERSION 0

/** Something that a build may have or not have. New ones are appended. */
typedef int32_t mf_feature;

enum {
  /** CUDA devices can be used, where a driver is present. */
  MF_FEATURE_CUDA = 1,
  /** Files can be mapped. */
  MF_FEATURE_MAPPED_FILES = 2,
  /** The processor's AVX2 kernels are in this build. */
  MF_FEATURE_CPU_AVX2 = 3,
  /** The processor's AVX-512 kernels are in this build. */
  MF_FEATURE_CPU_AVX512 = 4,
  /** Chat templates can be rendered. */
  MF_FEATURE_CHAT_TEMPLATES = 5
};

/** What pulling a lever may do to the results. */
typedef int32_t mf_lever_result;

enum {
  /** The results are the same, bit for bit. */
  MF_LEVER_BIT_EQUAL = 0,
  /** The results differ within the stated tolerance of the kernels. */
  MF_LEVER_TOLERANCE = 1
};

/** Whose options take a lever. */
typedef int32_t mf_lever_scope;

enum { MF_LEVER_MODEL = 0, MF_LEVER_CONTEXT = 1 };

/** One optimisation that a `tuning` option can switch. Texts live as long as the library. */
typedef struct mf_lever_info {
  uint32_t struct_size;
  mf_lever_result result;
  mf_lever_scope scope;
  uint32_t reserved;
  /** The name to use in the tuning option: "name=0,other=1". */
  const char* name;
  /** What it does, in one sentence. */
  const char* meaning;
  /** The value that holds when it is not named, and the bounds of what may be given. */
  int64_t default_value;
  int64_t min_value;
  int64_t max_value;
} mf_lever_info;

#define MF_LEVER_INFO_INIT \
  { sizeof(mf_lever_info), 0, 0, 0, NULL, NULL, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_LEVER_INFO_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_lever_info) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_lever_info_init(mf_lever_info* out, size_t struct_size);

/**
 * The version of the loaded library, as MF_VERSION_NUMBER makes it.
 *
 * @return the version number.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API uint32_t mf_version(void);

/**
 * The version of the loaded library as text, such as "0.1.0".
 *
 * @return a text that lives as long as the library.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_version_string(void);

/**
 * The binary interface of the loaded library. A host built against a header with the same
 * MF_ABI_VERSION runs on it.
 *
 * @return the number.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API uint32_t mf_abi_version(void);

/**
 * How the library was built: compiler, build type, backends and kernel units, in one line of
 * "key=value" pairs separated by "; ". For logs and reports; do not parse it, ask mf_supports().
 *
 * @return a text that lives as long as the library.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_build_info(void);

/**
 * Whether this build has a feature. It does not say whether this machine has: see device.h.
 *
 * @param feature one of the MF_FEATURE_ values; a number that this version does not know gives 0.
 * @return 1 or 0.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API int32_t mf_supports(mf_feature feature);

/**
 * How many levers the tuning table has.
 *
 * @return the number.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API size_t mf_lever_count(void);

/**
 * One row of the tuning table.
 *
 * @param index from 0 to mf_lever_count() - 1.
 * @param out_lever where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the index.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_lever_get(size_t index, mf_lever_info* out_lever, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_LIBRARY_H_ */
