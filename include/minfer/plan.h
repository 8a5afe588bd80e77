/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Plan: what a model and a context on it will take, before anything is taken. It needs the header
 * of the file and the options, no weights and no handle; what it writes belongs to the caller. Any
 * thread may ask.
 */
#ifndef MINFER_PLAN_H_
#define MINFER_PLAN_H_

#include "context.h"
#include "error.h"
#include "memory.h"
#include "model.h"
#include "source.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Says how much memory a model and one context on it would take, from the header of the file
 * alone. For the classes that `total` sums, the peak of the account is the same to the byte, so a
 * budget of that much works and a smaller one is refused at creation.
 *
 * @param sources as mf_model_load().
 * @param n_sources how many, at least 1.
 * @param model_options NULL: all defaults.
 * @param context_options NULL: all defaults.
 * @param device index of the device to tell about.
 * @param out_model_use what loading takes there; may be NULL.
 * @param out_context_use what the context takes there on top; may be NULL.
 * @param error optional.
 * @return as mf_model_load() and mf_context_create(), and OUT_OF_RANGE for the device.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API mf_status mf_model_plan(const mf_source* sources, size_t n_sources,
                               const mf_model_options* model_options,
                               const mf_context_options* context_options, size_t device,
                               mf_memory_use* out_model_use, mf_memory_use* out_context_use,
                               mf_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_PLAN_H_ */
