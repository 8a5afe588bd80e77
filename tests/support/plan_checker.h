// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Checks a memory plan by playing it: it writes the name of a value over the bytes of its place and
// looks, at each read, whether the name still stands there. Shares no code with the planner.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "plan/memory_plan.h"
#include "plan/scheduler.h"

namespace minfer::testing {

// One line a violation; empty when the plan is sound.
std::vector<std::string> CheckPlan(const Graph& graph, const Schedule& schedule,
                                   const MemoryPlan& plan, absl::Span<Backend* const> backends);

}  // namespace minfer::testing
