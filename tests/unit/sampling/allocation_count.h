// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Counts the calls of operator new in this test program.
#pragma once

#include <cstdint>

namespace minfer::testing {

int64_t AllocationCount();

}  // namespace minfer::testing
