// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The last step: one candidate by its weight.
#pragma once

#include "sampling/candidates.h"

namespace minfer {

// The candidate at which the running sum of weights, in the list's order, passes uniform * total.
// `uniform` is on [0, 1). A candidate of weight 0 is never taken.
const Candidate& Draw(const CandidateList& list, double uniform);

}  // namespace minfer
