// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What memory is for. Plans, accounts and budgets count by these classes; the numbers are those of
// MF_MEMORY_* in the C header.
#pragma once

#include <cstdint>
#include <string_view>

namespace minfer {

enum class MemoryClass : int32_t {
  kWeights = 0,          // weights as they stand in the file, read or uploaded
  kRepackedWeights = 1,  // copies of weights in another layout
  kKv = 2,               // KV pages
  kActivations = 3,      // values of the graph, inputs and outputs included
  kScratch = 4,          // working memory of kernels
  kStaging = 5,          // host copies of what goes in and comes out of a device, logits included
  kCapturedGraphs = 6,   // captured steps, by their limit
  kHostObjects = 7,      // C++ objects: an estimate
  kMapped = 8,           // mapped file pages: not ours
  kDriver = 9,           // a device driver's overhead: not ours
};
inline constexpr int kMemoryClassCount = 10;

// True for the classes that plan, account and budget count exactly.
constexpr bool IsExactMemoryClass(MemoryClass memory_class) {
  return memory_class <= MemoryClass::kStaging;
}

constexpr std::string_view MemoryClassName(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::kWeights:
      return "weights";
    case MemoryClass::kRepackedWeights:
      return "repacked weights";
    case MemoryClass::kKv:
      return "kv";
    case MemoryClass::kActivations:
      return "activations";
    case MemoryClass::kScratch:
      return "scratch";
    case MemoryClass::kStaging:
      return "staging";
    case MemoryClass::kCapturedGraphs:
      return "captured graphs";
    case MemoryClass::kHostObjects:
      return "host objects";
    case MemoryClass::kMapped:
      return "mapped";
    case MemoryClass::kDriver:
      return "driver";
  }
  return "unknown";
}

}  // namespace minfer
