/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Model: a GGUF file that was read, checked and made ready: weights, tokenizer, chat template and
 * metadata. It never changes after loading, so any number of threads and contexts may share it.
 * The host owns it; contexts are its children and keep its memory until the last of them is
 * destroyed.
 *
 * metadata.h, tokenizer.h and chat.h hold the other calls on a model, and plan.h says what it
 * needs.
 */
#ifndef MINFER_MODEL_H_
#define MINFER_MODEL_H_

#include "cancel.h"
#include "error.h"
#include "host.h"
#include "log.h"
#include "memory.h"
#include "source.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the weights come in. */
typedef int32_t mf_load_mode;

enum {
  /** Map a path and use memory in place, so that weights share the system's page cache; a reader is
   *  read. The file must keep its bytes until the model's memory has come back. Replacing it is
   *  safe: a new file that is renamed over the old one leaves the old one behind the mapping.
   *  Writing into it changes the weights of a loaded model. Making it shorter lets the system end
   *  this process (SIGBUS) at the next use of a page that is gone: the one thing that the library
   *  cannot turn into a status. Where others may write to the file, take MF_LOAD_READ. Default. */
  MF_LOAD_MAP = 0,
  /** Never map: copy the weights into memory of ours. What becomes of the file after the load does
   *  not reach the model. */
  MF_LOAD_READ = 1,
  /** Only look: keys, tensors, tokenizer and template, for programs that need no more. No weight is
   *  touched and no context can be made. Every well-formed file is taken: what this version does
   *  not know of it, such as its architecture, is left out, 0 or empty, and calls that need the
   *  tokenizer say why there is none. mf_model_validate() and mf_model_plan() take it as
   *  MF_LOAD_MAP. */
  MF_LOAD_HEADER = 2
};

/** One device of the list in the options. Fields for splitting a model will follow. */
typedef struct mf_model_device {
  uint32_t struct_size;
  /** Index as in device.h. */
  uint32_t device;
} mf_model_device;

#define MF_MODEL_DEVICE_INIT \
  { sizeof(mf_model_device), 0 }

/**
 * Told how far a load is: from 0 to `bytes_total` of weights, not decreasing. 0 goes on; another
 * number ends the load with CANCELLED. Runs on the thread that loads. It may make any-thread
 * calls.
 */
typedef int32_t (*mf_progress_callback)(void* user_data, uint64_t bytes_done, uint64_t bytes_total);

/** How to load. Every 0 is a default; NULL in place of the struct is all defaults. */
typedef struct mf_model_options {
  uint32_t struct_size;
  mf_load_mode load_mode;
  /** Where it runs; none: the library picks. Asked for and unable is FAILED_PRECONDITION, picked
   * and unable is the CPU with a warning in the log. */
  const mf_model_device* devices;
  size_t n_devices;
  /** "lever=value,lever=value" of the tuning table (library.h), the model's rows; NULL: none. */
  const char* tuning;
  mf_progress_callback progress;
  void* progress_user_data;
  const mf_cancel* cancel;
  mf_log_sink log;
  mf_host_allocator allocator;
  /** 1: load although the file has keys of its architecture that this version does not know, and
   *  that may change the results. Otherwise such a key is refused by name. */
  uint8_t allow_unknown_keys;
  uint8_t reserved[7];
} mf_model_options;

#define MF_MODEL_OPTIONS_INIT                                                         \
  {                                                                                   \
    sizeof(mf_model_options), 0, NULL, 0, NULL, NULL, NULL, NULL, {NULL, NULL, 0, 0}, \
        {NULL, NULL, NULL}, 0, {                                                      \
      0, 0, 0, 0, 0, 0, 0                                                             \
    }                                                                                 \
  }

/** What a model is. Texts live as long as the model's memory. */
typedef struct mf_model_info {
  uint32_t struct_size;
  uint32_t gguf_version;
  const char* architecture;
  /** general.name, or empty. */
  const char* name;
  /** general.file_type in words, such as "Q4_K_M", or empty. */
  const char* file_type;
  uint64_t n_parameters;
  /** Bytes of all tensors as they are in the file. */
  uint64_t n_bytes;
  uint32_t n_tensors;
  uint32_t n_files;
  uint32_t n_layers;
  uint32_t n_embd;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  uint32_t n_vocab;
  /** The context that it was trained on, in tokens. */
  uint32_t n_ctx_train;
  /** Index of the device that it runs on, as in device.h; 0 for MF_LOAD_HEADER. */
  uint32_t device;
  uint32_t reserved;
} mf_model_info;

#define MF_MODEL_INFO_INIT \
  { sizeof(mf_model_info), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Something that a model lets its sessions do. New ones are appended. */
typedef int32_t mf_capability;

enum {
  /** mf_chat_render() without a template of the host's: the file has one. */
  MF_CAPABILITY_CHAT = 1,
  /** mf_session_truncate() to any position. */
  MF_CAPABILITY_TRUNCATE = 2,
  /** mf_session_fork(). */
  MF_CAPABILITY_FORK = 3,
  /** Moving cached rows to other positions; no call for it in this version. */
  MF_CAPABILITY_SHIFT = 4,
  /** Embeddings; no call for it in this version. */
  MF_CAPABILITY_EMBED = 5
};

/**
 * Zeroes a struct and sets its struct_size, as MF_MODEL_DEVICE_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_model_device) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_model_device_init(mf_model_device* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_MODEL_OPTIONS_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_model_options) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_model_options_init(mf_model_options* out, size_t struct_size);

/**
 * Zeroes a struct and sets its struct_size, as MF_MODEL_INFO_INIT does.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_model_info) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_model_info_init(mf_model_info* out, size_t struct_size);

/**
 * Loads a model from a path: mf_model_load() with one source of that kind.
 *
 * @param path NUL-terminated. The first part of a split model finds the others beside it.
 * @param options NULL: all defaults.
 * @param out_model the model; give it back with mf_model_destroy().
 * @param error optional.
 * @return as mf_model_load().
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_model_load_path(const char* path, const mf_model_options* options,
                                    mf_model** out_model, mf_error* error);

/**
 * Loads a model. When it fails or is cancelled, everything that it took has been given back.
 *
 * @param sources one source, or the parts of a split model in order.
 * @param n_sources how many, at least 1.
 * @param options NULL: all defaults.
 * @param out_model the model; give it back with mf_model_destroy().
 * @param error optional; names the tensor or key, the offset in the file, and the bytes.
 * @return OK; INVALID_ARGUMENT for an argument or an option; NOT_FOUND or PERMISSION_DENIED for a
 *         path; DATA_LOSS for a damaged file, and for one that was written to during the load;
 *         UNIMPLEMENTED for an architecture, an element type, a tokenizer rule or a key that this
 *         version does not do; FAILED_PRECONDITION for a device that cannot run it; CANCELLED;
 *         ABORTED when a callback threw; what a reader returned.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_model_load(const mf_source* sources, size_t n_sources,
                               const mf_model_options* options, mf_model** out_model,
                               mf_error* error);

/**
 * Checks whether a model would load: every header, key, tensor size and place, without taking
 * memory for weights or reading them.
 *
 * @param sources as mf_model_load().
 * @param n_sources how many, at least 1.
 * @param options NULL: all defaults. Progress is not called.
 * @param error optional.
 * @return as mf_model_load().
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_model_validate(const mf_source* sources, size_t n_sources,
                                   const mf_model_options* options, mf_error* error);

/**
 * Gives a model back. Its contexts and sessions become shells. Calls on it and on its children
 * that other threads are in are cancelled and waited for.
 *
 * @param model the model; NULL does nothing. The handle is gone when this returns.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API void mf_model_destroy(mf_model* model);

/**
 * What the model is.
 *
 * @param model the model.
 * @param out_info where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; FAILED_PRECONDITION in a forked
 *         child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_model_describe(const mf_model* model, mf_model_info* out_info, mf_error* error);

/**
 * Whether the model's sessions can do something.
 *
 * @param model the model.
 * @param capability one of the MF_CAPABILITY_ values; a number that this version does not know
 *         gives 0.
 * @return 1 or 0; 0 for NULL.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API int32_t mf_model_can(const mf_model* model, mf_capability capability);

/**
 * What the model itself takes on a device, without its contexts.
 *
 * @param model the model.
 * @param device index of the device.
 * @param out_use where to write; its struct_size says how much.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or a wrong struct_size; OUT_OF_RANGE for the device;
 *         FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_model_get_memory(const mf_model* model, size_t device, mf_memory_use* out_use,
                                     mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_MODEL_H_ */
