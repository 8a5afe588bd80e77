/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Metadata: the keys and values that a GGUF file carries. They belong to the model, which never
 * changes them; what is read here is borrowed and lives as long as the model's memory. Any thread
 * may read.
 */
#ifndef MINFER_METADATA_H_
#define MINFER_METADATA_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The type of a value; the numbers are those of the GGUF format. */
typedef int32_t mf_metadata_type;

enum {
  MF_METADATA_UINT8 = 0,
  MF_METADATA_INT8 = 1,
  MF_METADATA_UINT16 = 2,
  MF_METADATA_INT16 = 3,
  MF_METADATA_UINT32 = 4,
  MF_METADATA_INT32 = 5,
  MF_METADATA_FLOAT32 = 6,
  MF_METADATA_BOOL = 7,
  MF_METADATA_STRING = 8,
  MF_METADATA_ARRAY = 9,
  MF_METADATA_UINT64 = 10,
  MF_METADATA_INT64 = 11,
  MF_METADATA_FLOAT64 = 12
};

/** A value, or one element of an array. Only the fields of its type are set, the others are 0. */
typedef struct mf_metadata_value {
  uint32_t struct_size;
  mf_metadata_type type;
  /** Unsigned numbers; 0 or 1 for a bool. */
  uint64_t as_unsigned;
  /** Signed numbers. */
  int64_t as_signed;
  /** Both widths of floating point. */
  double as_float;
  /** Strings: bytes that need not be UTF-8 and are not NUL-terminated. Borrowed. */
  const char* string;
  size_t string_length;
  /** Arrays: the type of the elements and their number. */
  mf_metadata_type element_type;
  uint32_t reserved;
  uint64_t n_elements;
} mf_metadata_value;

#define MF_METADATA_VALUE_INIT \
  { sizeof(mf_metadata_value), 0, 0, 0, 0, NULL, 0, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_METADATA_VALUE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_metadata_value) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_metadata_value_init(mf_metadata_value* out, size_t struct_size);

/**
 * How many keys there are.
 *
 * @param model the model.
 * @return the number; 0 for NULL.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API size_t mf_metadata_count(const mf_model* model);

/**
 * The key at an index; keys keep the order of the file.
 *
 * @param model the model.
 * @param index from 0 to mf_metadata_count() - 1.
 * @param out_key the key, borrowed and not NUL-terminated.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL; OUT_OF_RANGE for the index; FAILED_PRECONDITION in a
 * forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_metadata_key(const mf_model* model, size_t index, mf_text* out_key,
                                 mf_error* error);

/**
 * The value of a key.
 *
 * @param model the model.
 * @param key NUL-terminated, as "general.architecture".
 * @param out_value where to write; its struct_size says how much.
 * @param error optional; names the key.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; NOT_FOUND; FAILED_PRECONDITION in
 *         a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_metadata_get(const mf_model* model, const char* key,
                                 mf_metadata_value* out_value, mf_error* error);

/**
 * The value at an index.
 *
 * @param model the model.
 * @param index from 0 to mf_metadata_count() - 1.
 * @param out_value where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the index;
 *         FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_metadata_at(const mf_model* model, size_t index, mf_metadata_value* out_value,
                                mf_error* error);

/**
 * One element of an array.
 *
 * @param model the model.
 * @param key the array's key, NUL-terminated.
 * @param element from 0 to n_elements - 1.
 * @param out_value where to write; its struct_size says how much.
 * @param error optional; names the key.
 * @return OK; INVALID_ARGUMENT for NULL, a wrong struct_size or a value that is no array;
 *         NOT_FOUND; OUT_OF_RANGE for the element; FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_metadata_element(const mf_model* model, const char* key, uint64_t element,
                                     mf_metadata_value* out_value, mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_METADATA_H_ */
