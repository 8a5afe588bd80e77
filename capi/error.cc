// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/error.h"

#include <cstddef>

#include "base/status.h"

// The size is frozen, and the numbers are those of the library's own types.
static_assert(sizeof(mf_error) == 736 && offsetof(mf_error, name) == 32 &&
              offsetof(mf_error, message) == 160 && offsetof(mf_error, reserved) == 672);
static_assert(MF_STATUS_CANCELLED == static_cast<int>(minfer::StatusCode::kCancelled));
static_assert(MF_STATUS_DATA_LOSS == static_cast<int>(minfer::StatusCode::kDataLoss));
static_assert(MF_SUBSYSTEM_NONE == static_cast<int>(minfer::Subsystem::kNone));
static_assert(MF_SUBSYSTEM_API == static_cast<int>(minfer::Subsystem::kApi));
static_assert(MF_SUBSYSTEM_FILE == static_cast<int>(minfer::Subsystem::kFile));
static_assert(MF_SUBSYSTEM_GGUF == static_cast<int>(minfer::Subsystem::kGguf));
static_assert(MF_SUBSYSTEM_TOKENIZER == static_cast<int>(minfer::Subsystem::kTokenizer));
static_assert(MF_SUBSYSTEM_CHAT == static_cast<int>(minfer::Subsystem::kChat));
static_assert(MF_SUBSYSTEM_MODEL == static_cast<int>(minfer::Subsystem::kModel));
static_assert(MF_SUBSYSTEM_GRAPH == static_cast<int>(minfer::Subsystem::kGraph));
static_assert(MF_SUBSYSTEM_PLAN == static_cast<int>(minfer::Subsystem::kPlan));
static_assert(MF_SUBSYSTEM_BACKEND == static_cast<int>(minfer::Subsystem::kBackend));
static_assert(MF_SUBSYSTEM_KV == static_cast<int>(minfer::Subsystem::kKv));
static_assert(MF_SUBSYSTEM_SAMPLING == static_cast<int>(minfer::Subsystem::kSampling));
static_assert(MF_SUBSYSTEM_ENGINE == static_cast<int>(minfer::Subsystem::kEngine));

// The names are string literals, so they are terminated.
const char* mf_status_name(mf_status status) {
  return minfer::StatusCodeName(static_cast<minfer::StatusCode>(status)).data();
}

const char* mf_subsystem_name(mf_subsystem subsystem) {
  return minfer::SubsystemName(static_cast<minfer::Subsystem>(subsystem)).data();
}
