// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Loads a model from bytes and counts what that cost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/model.h"

namespace minfer::testing {

struct LoadCost {
  uint64_t peak_bytes = 0;   // held at most: operator new and backend buffers together
  uint64_t allocations = 0;  // how many of both
  uint64_t reads = 0;        // of the file
  uint64_t bytes_read = 0;
};

struct HostileLoad {
  Status status;
  LoadCost cost;
};

// A whole load, the weights copied, from a reader over `bytes`. What loads is used as well: its
// tokenizer, a context, a token and a chat; that is not counted, and must end in any status but
// INTERNAL.
HostileLoad TryLoad(const std::string& bytes);

// What a load of so many bytes may cost; refused or not.
void CheckCost(const LoadCost& cost, uint64_t file_bytes);
// A refusal names what is at fault, and where in the file; it is never INTERNAL.
void CheckRefusal(const Status& status, uint64_t file_bytes);

}  // namespace minfer::testing
