// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How long a call goes on after its cancel was requested.
#pragma once

#include <minfer/minfer.hpp>

#include <string>
#include <vector>

#include "options.h"
#include "result.h"

namespace bench {

// Cancels a load, a prompt and a generation at times spread over their length.
mf::Result<void> MeasureCancel(const Options& options, const std::string& path, uint32_t n_threads,
                               std::vector<CancelRow>* rows);

}  // namespace bench
