// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Writes results to the standard output.
#pragma once

#include <vector>

#include "options.h"
#include "result.h"

namespace bench {

void WriteRows(const std::vector<Row>& rows, Format format);
void WriteCancelRows(const std::vector<CancelRow>& rows, Format format);

}  // namespace bench
