/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Sampling: how the next token is picked from the logits. The settings are plain data that a
 * session copies when mf_session_set_sampling() is called. The steps run in this order: host's
 * edit, bias, penalties, DRY, top_k, typical, top_p, min_p, XTC, temperature, draw; mirostat takes
 * the place of the truncations (top_k to XTC). The random number of a draw depends on the seed and
 * the position only, so a rewind, a retry and a fork pick the same again.
 *
 * Here 0 is a value, so there is no _INIT: the all-zero struct is greedy with everything off, and
 * NULL in place of the struct means what mf_sampling_init() fills in.
 */
#ifndef MINFER_SAMPLING_H_
#define MINFER_SAMPLING_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A number to add to one token's logit; -infinity bans the token. Size frozen. */
typedef struct mf_logit_bias {
  mf_token token;
  float bias;
} mf_logit_bias;

/** A token and the natural logarithm of its probability. Size frozen. */
typedef struct mf_token_log_probability {
  mf_token token;
  float log_probability;
} mf_token_log_probability;

/**
 * May change logits before anything else does: the chain works on this copy. Returns 0; another
 * number ends the call with ABORTED. Runs on the thread that called generate, sample or step.
 * `position` is the one that the token will have. It may make any-thread calls, calls on the
 * model, and calls on other sessions unless it runs inside mf_context_step().
 */
typedef int32_t (*mf_logits_callback)(void* user_data, float* logits, size_t n_logits,
                                      uint32_t position);

/** The settings. A struct_size of 0 counts as that of version 0.1, so that all zero is a value. */
typedef struct mf_sampling {
  uint32_t struct_size;
  /** At most this many tokens, the best ones; 0: off. */
  int32_t top_k;
  /** Every value, 0 too, is a seed. */
  uint64_t seed;
  /** 0: greedy, the best token after bias, penalties and DRY; 1: the model's own distribution.
   *  Ackley, Hinton, Sejnowski, "A learning algorithm for Boltzmann machines", 1985. */
  float temperature;
  /** The fewest best tokens whose probabilities reach this sum; 1: off; 0: the best token. Holtzman
   * et al., "The curious case of neural text degeneration", 2020. */
  float top_p;
  /** Tokens with at least this share of the best one's probability; 0: off. Nguyen et al., "Turning
   * up the heat: min-p sampling", 2024. */
  float min_p;
  /** Tokens whose surprise is near the expected one, up to this sum; 1: off; 0: the nearest one.
   *  Meister et al., "Locally typical sampling", 2023. */
  float typical_p;
  /** With this probability, take away all tokens above the threshold but the least likely of them;
   *  probability 0, or a threshold above 0.5: off. P. E. Weidmann, text-generation-webui 6335,
   * 2024. */
  float xtc_probability;
  float xtc_threshold;
  /** DRY, a penalty of multiplier * base^(n - allowed_length) on a token that would lengthen a
   *  repetition of n tokens. Multiplier 0: off. P. E. Weidmann, text-generation-webui 5677, 2024.
   */
  float dry_multiplier;
  /** At least 1 when DRY is on. */
  float dry_base;
  int32_t dry_allowed_length;
  /** Newest tokens that DRY looks at; 0: off; -1: all. */
  int32_t dry_last_n;
  /** Tokens that no repetition reaches across. */
  const mf_token* dry_breakers;
  size_t n_dry_breakers;
  /** Newest tokens, prompt included, that the three penalties look at; 0: off; -1: all. */
  int32_t penalty_last_n;
  /** Divides a positive logit of a token that occurred, multiplies a negative one; 1: off; must be
   *  above 0 when penalty_last_n is not 0. Keskar et al., "CTRL", 2019, section 4.1. */
  float repetition_penalty;
  /** Taken off once an occurrence, and once if it occurred at all; 0: off. OpenAI API reference. */
  float frequency_penalty;
  float presence_penalty;
  /** 0: off; 2: version 2. Basu et al., "Mirostat", 2021. The aim in bits, and the learning rate.
   */
  int32_t mirostat;
  float mirostat_tau;
  float mirostat_eta;
  uint32_t reserved;
  /** Several entries of one token add up. */
  const mf_logit_bias* logit_bias;
  size_t n_logit_bias;
  mf_logits_callback edit_logits;
  void* edit_logits_user_data;
} mf_sampling;

/**
 * Fills in the defaults: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, the rest off, with the
 * usual figures in the parameters of what is off.
 *
 * @param out the struct; NULL does nothing.
 * @param struct_size sizeof(mf_sampling) as the caller knows it.
 * @threadsafety any-thread
 * @since 0.1
 */
MF_API void mf_sampling_init(mf_sampling* out, size_t struct_size);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_SAMPLING_H_ */
