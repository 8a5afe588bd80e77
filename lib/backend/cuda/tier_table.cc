// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/tier_table.h"

#include <algorithm>

namespace minfer {
namespace {

constexpr CudaTier kTiers[] = {
    {70, "Volta", true, false, false, false, 96 << 10, false},
    {75, "Turing", true, false, true, false, 64 << 10, false},
    {80, "Ampere", true, true, true, false, 163 << 10, false},
    {86, "Ampere", true, true, true, false, 99 << 10, false},
    {87, "Ampere", true, true, true, false, 163 << 10, false},
    {89, "Ada", true, true, true, false, 99 << 10, false},
    {90, "Hopper", true, true, true, true, 227 << 10, true},
    {100, "Blackwell", true, true, true, false, 227 << 10, false},
    {120, "Blackwell", true, true, true, false, 99 << 10, false},
};

// One architecture of a build: its number, and whether there is machine code and intermediate form.
struct BuiltCode {
  int32_t capability = 0;
  bool only_this = false;  // "90a": for no other device
  bool real = true;
  bool intermediate = true;
};

BuiltCode ParseCode(std::string_view text) {
  BuiltCode code;
  size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    code.capability = code.capability * 10 + (text[at] - '0');
  }
  code.only_this = at < text.size() && text[at] == 'a';
  code.real = text.find("-virtual") == std::string_view::npos;
  code.intermediate = text.find("-real") == std::string_view::npos;
  return code;
}

}  // namespace

int32_t FindCodeCapability(std::string_view built_for, int32_t capability) {
  int32_t real = 0;
  int32_t intermediate = 0;
  while (!built_for.empty()) {
    const size_t end = std::min(built_for.find(','), built_for.size());
    const BuiltCode code = ParseCode(built_for.substr(0, end));
    built_for.remove_prefix(std::min(end + 1, built_for.size()));
    const bool runs =
        code.only_this ? code.capability == capability : code.capability <= capability;
    if (!runs) continue;
    if (code.real && code.capability / 10 == capability / 10)
      real = std::max(real, code.capability);
    if (code.intermediate) intermediate = std::max(intermediate, code.capability);
  }
  return real > 0 ? real : intermediate;
}

const CudaTier* FindCudaTier(int32_t capability) {
  const CudaTier* found = nullptr;
  for (const CudaTier& tier : kTiers) {
    if (tier.capability <= capability) found = &tier;
  }
  return found;
}

CudaTier ForceCudaTier(const CudaTier& own, int32_t forced) {
  if (forced <= 0) return own;
  const CudaTier* found = FindCudaTier(forced);
  CudaTier wanted = found == nullptr ? kTiers[0] : *found;
  if (wanted.capability >= own.capability) return own;
  wanted.shared_opt_in_bytes = std::min(wanted.shared_opt_in_bytes, own.shared_opt_in_bytes);
  return wanted;
}

}  // namespace minfer
