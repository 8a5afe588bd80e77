// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A graph as text, for people (DOT) and for programs (JSON). The same graph gives the same text.
#pragma once

#include <string>

#include "graph/graph.h"

namespace minfer {

std::string PrintDot(const Graph& graph);
std::string PrintJson(const Graph& graph);

}  // namespace minfer
