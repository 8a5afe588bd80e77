// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Random calls of the C interface in random order with random arguments, driven by bytes: from a
// seeded generator in a test, or from a fuzzer. Every call must give a status and leave the host
// alive; what breaks that is found by the sanitizers, by a hang, or by the checks inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace capi_test {

// Nothing, or what the library did against its header. `model_path` is a model to load.
std::string RunCallSequence(const std::string& model_path, const uint8_t* data, size_t size);

}  // namespace capi_test
