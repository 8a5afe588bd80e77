// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/call_sequence.h"

#include <random>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

TEST_CASE("Call sequence: random orders and arguments never break the host", "[capi]") {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes(400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    // A model, a context and two sessions first, so that more than refusals is seen.
    const std::vector<uint8_t> start = {0, 0, 0, 1, 1, 1, 1,  10, 32, 3, 4,
                                        4, 0, 0, 1, 1, 0, 15, 0,  15, 0};
    bytes.insert(bytes.begin(), start.begin(), start.end());
    INFO("seed " << seed);
    const std::string fault = RunCallSequence(TinyModel("llama"), bytes.data(), bytes.size());
    CHECK(fault == "");
  }
}

}  // namespace
}  // namespace capi_test
