/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Quantize: writing a model's file anew with its matrices in another type, mostly a smaller one. It
 * needs the file and no handle, so it takes models that this version does not run. The bytes of the
 * new file go to a callback of the host, which owns whatever they are written to. Any thread may
 * quantise.
 *
 * Changed are the matrices: tensors of two dimensions or more whose names end in ".weight", but not
 * norms, routers of experts ("ffn_gate_inp"), position and token-type embeddings, and what
 * recurrent layers mix with ("ssm_", "time_mix_"). The matrix that makes the logits
 * ("output.weight" or, without one, "token_embd.weight") takes Q6_K where the type is narrower. A
 * row that is not whole blocks of 256 takes a type of blocks of 32 (IQ4_NL for Q2_K, Q3_K and
 * IQ4_XS, Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K), one that is not whole blocks of 32 F16.
 * Everything else is copied: other tensors and all keys, but general.file_type,
 * general.quantization_version, general.alignment and the keys of a split.
 */
#ifndef MINFER_QUANTIZE_H_
#define MINFER_QUANTIZE_H_

#include "cancel.h"
#include "error.h"
#include "host.h"
#include "model.h"
#include "source.h"
#include "tensor.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Takes the next `length` bytes of the new file. Returns 0, or the ::mf_status that the call shall
 * fail with; a number that is no status becomes UNAVAILABLE. Runs on the thread of the call. It may
 * make any-thread calls only.
 */
typedef int32_t (*mf_write_callback)(void* user_data, const void* bytes, size_t length);

/** What became of one tensor. Nothing here is owned; it lives during the callback. */
typedef struct mf_quantize_event {
  uint32_t struct_size;
  /** Of how many, and which, from 0. */
  uint32_t n_tensors;
  uint32_t index;
  mf_tensor_type from;
  /** As `from` for a tensor that was copied. */
  mf_tensor_type to;
  uint32_t reserved;
  /** Not NUL-terminated. */
  mf_text name;
  uint64_t bytes_before;
  uint64_t bytes_after;
  /** The root mean square of its values, that of the differences which the new type makes, and the
   *  largest of these; 0 for a tensor that was copied. */
  double rms;
  double rms_error;
  double max_error;
} mf_quantize_event;

#define MF_QUANTIZE_EVENT_INIT \
  { sizeof(mf_quantize_event), 0, 0, 0, 0, 0, {NULL, 0}, 0, 0, 0, 0, 0 }

/**
 * Told once a tensor, when it has been written. 0 goes on; another number ends the call with
 * CANCELLED. Runs on the thread of the call. It may make any-thread calls only.
 */
typedef int32_t (*mf_quantize_callback)(void* user_data, const mf_quantize_event* event);

/** How to quantise. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_quantize_options {
  uint32_t struct_size;
  /** 0: as many as there are processors. The new file is the same for every number. */
  uint32_t n_threads;
  /** 1: take tensors that are quantised already; otherwise the first of them is refused. */
  uint8_t allow_requantize;
  /** 1: the matrix that makes the logits is no exception. */
  uint8_t pure;
  uint8_t reserved[6];
  /** In bytes of the old file's tensors. */
  mf_progress_callback progress;
  void* progress_user_data;
  /** Without it no error is measured. */
  mf_quantize_callback tensor;
  void* tensor_user_data;
  const mf_cancel* cancel;
  mf_host_pool pool;
} mf_quantize_options;

#define MF_QUANTIZE_OPTIONS_INIT                                                              \
  {                                                                                           \
    sizeof(mf_quantize_options), 0, 0, 0, {0, 0, 0, 0, 0, 0}, NULL, NULL, NULL, NULL, NULL, { \
      NULL, NULL, 0, 0                                                                        \
    }                                                                                         \
  }

/** What was written. */
typedef struct mf_quantize_result {
  uint32_t struct_size;
  uint32_t n_tensors;
  /** Those that have another type now. */
  uint32_t n_changed;
  uint32_t reserved;
  /** Of all tensors. */
  uint64_t bytes_before;
  uint64_t bytes_after;
  /** Of the whole new file. */
  uint64_t file_bytes;
} mf_quantize_result;

#define MF_QUANTIZE_RESULT_INIT \
  { sizeof(mf_quantize_result), 0, 0, 0, 0, 0, 0 }

/**
 * Zeroes a struct and sets its struct_size, as MF_QUANTIZE_EVENT_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_quantize_event) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_quantize_event_init(mf_quantize_event* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_QUANTIZE_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_quantize_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_quantize_options_init(mf_quantize_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_QUANTIZE_RESULT_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_quantize_result) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_quantize_result_init(mf_quantize_result* out, size_t struct_size);

/**
 * Whether mf_model_quantize() writes a type.
 *
 * @param type the type.
 * @return 1 or 0.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API int32_t mf_quantize_supports(mf_tensor_type type);

/**
 * Writes a model anew, as one GGUF file, with its matrices in a type. When it fails or is cancelled
 * what was written is not a whole file: write to a temporary one and rename it.
 *
 * @param sources as mf_model_load().
 * @param n_sources how many, at least 1.
 * @param type one that mf_quantize_supports().
 * @param options NULL: all defaults.
 * @param write takes the new file's bytes in order.
 * @param write_user_data handed to it.
 * @param out_result where to write; its struct_size says how much. May be NULL.
 * @param error optional; names the tensor, the offset in the file, and the bytes.
 * @return OK; INVALID_ARGUMENT for an argument or an option, or a file that is none; NOT_FOUND or
 *         PERMISSION_DENIED for a path; DATA_LOSS for a damaged file, one that was written to
 * meanwhile, or a value that is not finite; UNIMPLEMENTED for a type that is not written, or of a
 * tensor that is not read; FAILED_PRECONDITION for a tensor that is quantised already; CANCELLED;
 * ABORTED when a callback threw; what a reader or `write` returned.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_model_quantize(const mf_source* sources, size_t n_sources, mf_tensor_type type,
                                   const mf_quantize_options* options, mf_write_callback write,
                                   void* write_user_data, mf_quantize_result* out_result,
                                   mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_QUANTIZE_H_ */
