// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One function an architecture file; registry.cc lists them.
#pragma once

#include "models/architecture.h"

namespace minfer {

const Architecture& Gemma2Architecture();
const Architecture& Gemma3Architecture();
const Architecture& GptOssArchitecture();
const Architecture& GraniteArchitecture();
const Architecture& LlamaArchitecture();
const Architecture& Olmo2Architecture();
const Architecture& Phi3Architecture();
const Architecture& Qwen2Architecture();
const Architecture& Qwen2MoeArchitecture();
const Architecture& Qwen3Architecture();
const Architecture& Qwen3MoeArchitecture();
const Architecture& SmolLm3Architecture();
const Architecture& StarCoder2Architecture();

}  // namespace minfer
