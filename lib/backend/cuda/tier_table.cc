// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/tier_table.h"

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

}  // namespace

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
  const CudaTier& wanted = found == nullptr ? kTiers[0] : *found;
  return wanted.capability < own.capability ? wanted : own;
}

}  // namespace minfer
