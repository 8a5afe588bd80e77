// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The random calls of call_sequence.h, led by libFuzzer.
#include <cstdio>

#include "tests/capi/call_sequence.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string fault = capi_test::RunCallSequence(CAPI_TEST_MODELS "/llama.gguf", data, size);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  __builtin_trap();
}
