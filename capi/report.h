// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// From a Status to what the caller sees. Nothing here allocates.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "minfer/error.h"

namespace minfer::capi {

// Copies as much as fits with a terminator: whole UTF-8 characters, '?' for a byte that is none of
// one, and for a NUL. `size` is at least 1.
void CopyText(std::string_view text, char* out, size_t size) noexcept;

// Fills `error`, which may be null, and returns the status's number.
mf_status Report(const Status& status, mf_error* error) noexcept;
mf_status Report(StatusCode code, std::string_view message, mf_error* error) noexcept;

// Failures of the boundary itself.
Status InvalidArgument(std::string_view name, std::string_view message);
Status FailedPrecondition(std::string_view message);
Status NullArgument(std::string_view name);

}  // namespace minfer::capi
