// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The random calls that leave no handle behind: looks at a model, a file used as a whole, and
// questions to the library itself.
#pragma once

#include <string>

#include "tests/capi/call_state.h"

namespace capi_test {

void LookAtModel(const mf_model* model, CallState* state);
// Loads, checks, plans or quantises the file at `path`, whole or damaged.
void UseFile(const std::string& path, const mf_cancel* cancel, CallState* state);
void LookAtLibrary(CallState* state);

}  // namespace capi_test
