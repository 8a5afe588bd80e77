// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// How a context is to run, and what follows from it: sizes, resolved once and used by the plan and
// by the context alike.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/device.h"
#include "base/host_memory.h"
#include "base/log.h"
#include "base/parallel_runner.h"
#include "base/status.h"
#include "engine/memory_use.h"
#include "engine/placement.h"
#include "engine/tuning.h"
#include "kv/kv_cache.h"
#include "models/architecture.h"

namespace minfer {

struct ContextOptions {
  uint32_t n_threads = 0;      // 0: DefaultThreadCount(); not looked at with a runner
  uint32_t n_ctx = 0;          // tokens a session; 0: the train context
  uint32_t n_sessions = 0;     // 0: 1
  uint32_t n_batch = 0;        // rows a step; 0: 512, more on a GPU
  uint32_t n_micro_batch = 0;  // rows at once; 0: the default of n_batch, but at most n_batch
  bool deterministic = false;  // the same bits whatever the batch, on every device
  int32_t kv_type_k = -1;      // KvFormat, -1: the device's default
  int32_t kv_type_v = -1;
  uint64_t budget_bytes = 0;                  // on each device; 0: none
  std::string tuning;                         // levers of scope kContext
  const std::atomic<bool>* cancel = nullptr;  // outlives the context
  HostAllocator allocator;
  std::shared_ptr<ParallelRunner> runner;  // the host's pool; empty: our own threads
  LogSinkFn log_sink = nullptr;
  void* log_user_data = nullptr;
  LogLevel log_level = LogLevel::kInfo;
  void* cuda_stream = nullptr;   // the host's: our work follows what it holds
  void* cuda_context = nullptr;  // the host's, which has to be the device's primary one
};

// Options with every default replaced.
struct ContextConfig {
  int32_t n_threads = 1;
  int32_t n_ctx = 0;
  int32_t n_sessions = 1;
  int32_t n_batch = 0;
  int32_t n_micro_batch = 0;
  int32_t max_outputs = 0;  // rows of logits of one micro-batch
  bool deterministic = false;
  KvFormat kv_format_k = KvFormat::kF32;
  KvFormat kv_format_v = KvFormat::kF32;
  Tuning tuning;
  KvCacheConfig kv;
};

// INVALID_ARGUMENT naming the option and its value.
StatusOr<ContextConfig> ResolveContext(const ModelDescription& model, const Device& device,
                                       const ContextOptions& options);

// The graph of the largest micro-batch: the one that is planned.
GraphParams LargestParams(const ContextConfig& config);
GraphParams StepParams(const ContextConfig& config, int32_t decode_rows, int32_t prefill_rows,
                       int32_t output_rows);

// Bytes of a group's pages, all layers together, and how they follow each other.
struct KvGroupBytes {
  KvPageBytes page;
  uint64_t k_layer = 0;  // all pages of K of one layer
  uint64_t v_layer = 0;
  uint64_t total = 0;
};
// The part of a group whose layers lie on a device of the placement.
KvGroup KvGroupOn(const Placement& placement, int32_t device, const KvGroup& group);
StatusOr<KvGroupBytes> MeasureKvGroup(const Backend& backend, const KvCacheConfig& config,
                                      const KvGroup& group);

// Rows of logits that the context keeps on the host: one a session, and those of a micro-batch.
uint64_t LogitsBytes(const ContextConfig& config, const ModelDescription& model);

// What picking tokens on the device takes: the newest row of logits of each session, the best
// entries of a micro-batch's rows, and their copy on the host. All 0 where rows are read back.
struct TopSizes {
  uint64_t logits = 0;
  uint64_t entries = 0;
  uint64_t host = 0;
};
TopSizes MeasureTop(const ContextConfig& config, const ModelDescription& model,
                    const Device& device, const Backend& backend);

// What a context takes, from the model's header alone; equal to the peak of its account.
StatusOr<std::vector<MemoryUse>> PlanContextByDevice(const ModelDescription& model,
                                                     const Placement& placement,
                                                     const ContextOptions& options);
StatusOr<MemoryUse> PlanContext(const ModelDescription& model, const Placement& placement,
                                const ContextOptions& options);

}  // namespace minfer
