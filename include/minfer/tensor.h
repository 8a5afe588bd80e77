/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Tensor: an array of numbers in a model's file: its name, type, shape and place. Tensors belong to
 * the model, which never changes them; names are borrowed and live as long as the model's memory.
 * Any thread may ask. It is for programs that look at files; nothing here reads a weight.
 */
#ifndef MINFER_TENSOR_H_
#define MINFER_TENSOR_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the numbers of a tensor are stored; the values are the codes of the GGUF format. */
typedef int32_t mf_tensor_type;

enum {
  MF_TENSOR_F32 = 0,
  MF_TENSOR_F16 = 1,
  MF_TENSOR_Q4_0 = 2,
  MF_TENSOR_Q4_1 = 3,
  MF_TENSOR_Q5_0 = 6,
  MF_TENSOR_Q5_1 = 7,
  MF_TENSOR_Q8_0 = 8,
  MF_TENSOR_Q8_1 = 9,
  MF_TENSOR_Q2_K = 10,
  MF_TENSOR_Q3_K = 11,
  MF_TENSOR_Q4_K = 12,
  MF_TENSOR_Q5_K = 13,
  MF_TENSOR_Q6_K = 14,
  MF_TENSOR_Q8_K = 15,
  MF_TENSOR_IQ2_XXS = 16,
  MF_TENSOR_IQ2_XS = 17,
  MF_TENSOR_IQ3_XXS = 18,
  MF_TENSOR_IQ1_S = 19,
  MF_TENSOR_IQ4_NL = 20,
  MF_TENSOR_IQ3_S = 21,
  MF_TENSOR_IQ2_S = 22,
  MF_TENSOR_IQ4_XS = 23,
  MF_TENSOR_I8 = 24,
  MF_TENSOR_I16 = 25,
  MF_TENSOR_I32 = 26,
  MF_TENSOR_I64 = 27,
  MF_TENSOR_F64 = 28,
  MF_TENSOR_IQ1_M = 29,
  MF_TENSOR_BF16 = 30,
  MF_TENSOR_TQ1_0 = 34,
  MF_TENSOR_TQ2_0 = 35,
  MF_TENSOR_MXFP4 = 39,
  MF_TENSOR_NVFP4 = 40,
  MF_TENSOR_Q1_0 = 41,
  MF_TENSOR_Q2_0 = 42
};

/** One tensor. */
typedef struct mf_tensor_info {
  uint32_t struct_size;
  mf_tensor_type type;
  /** Borrowed and not NUL-terminated. */
  mf_text name;
  uint32_t n_dims;
  /** Which file of a split model, from 0. */
  uint32_t file;
  /** The row's length first; 1 past n_dims. */
  uint64_t dims[4];
  uint64_t n_elements;
  /** As stored. */
  uint64_t n_bytes;
  /** From the start of its file. */
  uint64_t file_offset;
} mf_tensor_info;

#define MF_TENSOR_INFO_INIT \
  { sizeof(mf_tensor_info), 0, {NULL, 0}, 0, 0, {0, 0, 0, 0}, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_TENSOR_INFO_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_tensor_info) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_tensor_info_init(mf_tensor_info* out, size_t struct_size);

/**
 * How many tensors the model's files have.
 *
 * @param model the model.
 * @return the number; 0 for NULL.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API size_t mf_tensor_count(const mf_model* model);

/**
 * The tensor at an index; tensors keep the order of the file, those of a split model file after
 * file.
 *
 * @param model the model.
 * @param index from 0 to mf_tensor_count() - 1.
 * @param out_info where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the index;
 *         FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tensor_at(const mf_model* model, size_t index, mf_tensor_info* out_info,
                              mf_error* error);

/**
 * The tensor of a name.
 *
 * @param model the model.
 * @param name NUL-terminated, as "token_embd.weight".
 * @param out_info where to write; its struct_size says how much.
 * @param error optional; names the tensor.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; NOT_FOUND; FAILED_PRECONDITION in
 *         a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tensor_get(const mf_model* model, const char* name, mf_tensor_info* out_info,
                               mf_error* error);

/**
 * A type in words, such as "Q4_K".
 *
 * @param type the type.
 * @return a text that lives for ever; "unknown" for a number that is no type.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API const char* mf_tensor_type_name(mf_tensor_type type);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_TENSOR_H_ */
