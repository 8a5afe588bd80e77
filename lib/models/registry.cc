// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/architectures.h"

namespace minfer {
namespace {

using Maker = const Architecture& (*)();

// A new architecture is one line here.
// clang-format off
constexpr Maker kArchitectures[] = {
    Gemma2Architecture,
    Gemma3Architecture,
    GptOssArchitecture,
    GraniteArchitecture,
    LlamaArchitecture,
    Olmo2Architecture,
    Phi3Architecture,
    Qwen2Architecture,
    Qwen2MoeArchitecture,
    Qwen3Architecture,
    Qwen3MoeArchitecture,
    SmolLm3Architecture,
    StarCoder2Architecture,
};
// clang-format on

}  // namespace

const Architecture* FindArchitecture(std::string_view name) {
  for (Maker maker : kArchitectures) {
    if (maker().name() == name) return &maker();
  }
  return nullptr;
}

std::vector<std::string_view> ArchitectureNames() {
  std::vector<std::string_view> names;
  for (Maker maker : kArchitectures) names.push_back(maker().name());
  return names;
}

}  // namespace minfer
