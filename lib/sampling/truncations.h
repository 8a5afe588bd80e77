// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The steps that take candidates away, in the order of the chain. Each keeps at least one, and each
// works on the distribution that the one before left, renormalised. One file a step.
#pragma once

#include <cstdint>

#include "sampling/candidates.h"

namespace minfer {

// The k highest logits. A. Fan, M. Lewis, Y. Dauphin, "Hierarchical neural story generation", 2018,
// section 5.1. k of 0 is no limit.
void TopK(CandidateList& list, int32_t k);

// Locally typical sampling: the smallest set of weight p or more, nearest first by
// |-log p(x) - entropy|. C. Meister, T. Pimentel, G. Wiher, R. Cotterell, "Locally typical
// sampling", 2022. 1 is off.
void Typical(CandidateList& list, float typical_p);

// Nucleus: the smallest set of the best candidates of weight p or more. A. Holtzman et al., "The
// curious case of neural text degeneration", 2019. 1 is off.
void TopP(CandidateList& list, float top_p);

// The candidates whose probability is at least min_p times the highest one. M. N. Nguyen et al.,
// "Turning up the heat: min-p sampling for creative and coherent LLM outputs", 2024. 0 is off.
void MinP(CandidateList& list, float min_p);

// Exclude top choices: with the given probability, all candidates of probability `threshold` or
// more go but the least probable of them. P. E. Weidmann (p-e-w), oobabooga/text-generation-webui
// pull request 6335, 2024. `uniform` is the step's random number on [0, 1).
void Xtc(CandidateList& list, float probability, float threshold, double uniform);

}  // namespace minfer
