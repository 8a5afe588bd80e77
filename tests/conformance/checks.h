// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The checks of the suite. Each runs on a backend, or on several that share a graph, and returns
// the violations it found.
#pragma once

#include <vector>

#include "tests/conformance/rig.h"

namespace minfer::testing {

// pool_checks.cc
Faults CheckPool(const Factory& factory);
Faults CheckTransfers(const Factory& factory);
Faults CheckPending(const Factory& factory);

// split_checks.cc
Faults CheckSplitProtocol(const Factory& factory);
Faults CheckRepeatedSplits(const Factory& factory);
Faults CheckCapture(const Factory& factory);

// op_checks.cc, attention_checks.cc
Faults CheckOps(const Factory& factory);
Faults CheckAttention(const Factory& factory);

// expert_checks.cc
Faults CheckExperts(const Factory& factory);

// sampling_checks.cc
Faults CheckTopEntries(const Factory& factory);

// graph_checks.cc: through the planner and the executor
Faults CheckFusion(const Factory& factory);
Faults CheckInPlace(const Factory& factory);
Faults CheckCapturedSteps(const Factory& factory);
Faults CheckPlacements(const std::vector<Factory>& factories, double tolerance);
Faults CheckRandomGraphs(const std::vector<Factory>& factories, double tolerance);

}  // namespace minfer::testing
