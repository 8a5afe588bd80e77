// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/memory.h"

#include "base/memory_class.h"
#include "capi/sized.h"

static_assert(minfer::kMemoryClassCount <= MF_MEMORY_CLASS_ROOM);
static_assert(MF_MEMORY_WEIGHTS == static_cast<int>(minfer::MemoryClass::kWeights));
static_assert(MF_MEMORY_REPACKED_WEIGHTS ==
              static_cast<int>(minfer::MemoryClass::kRepackedWeights));
static_assert(MF_MEMORY_KV == static_cast<int>(minfer::MemoryClass::kKv));
static_assert(MF_MEMORY_ACTIVATIONS == static_cast<int>(minfer::MemoryClass::kActivations));
static_assert(MF_MEMORY_SCRATCH == static_cast<int>(minfer::MemoryClass::kScratch));
static_assert(MF_MEMORY_STAGING == static_cast<int>(minfer::MemoryClass::kStaging));
static_assert(MF_MEMORY_CAPTURED_GRAPHS == static_cast<int>(minfer::MemoryClass::kCapturedGraphs));
static_assert(MF_MEMORY_HOST_OBJECTS == static_cast<int>(minfer::MemoryClass::kHostObjects));
static_assert(MF_MEMORY_MAPPED == static_cast<int>(minfer::MemoryClass::kMapped));
static_assert(MF_MEMORY_DRIVER == static_cast<int>(minfer::MemoryClass::kDriver));

// The names are string literals, so they are terminated.
const char* mf_memory_class_name(mf_memory_class memory_class) {
  return minfer::MemoryClassName(static_cast<minfer::MemoryClass>(memory_class)).data();
}

void mf_memory_use_init(mf_memory_use* out, size_t struct_size) {
  minfer::capi::InitSized(out, struct_size);
}
