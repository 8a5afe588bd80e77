// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/context_options.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/cpu_info.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "plan/executor.h"

namespace minfer {
namespace {

constexpr uint32_t kDefaultBatch = 512;
constexpr uint32_t kMaxBatch = 1u << 16;
constexpr uint32_t kMaxSessions = 1u << 14;
constexpr uint32_t kMaxContext = 1u << 30;

// On a GPU a micro-batch decodes every weight once, so that more rows cost less each; but no more
// than keep the widest activation in 96 MiB, nor than all contexts hold.
constexpr int64_t kDefaultGpuBatch = 2048;
constexpr int64_t kWidestActivationBytes = int64_t{96} << 20;

int32_t DefaultBatch(const ModelDescription& model, const Device& device,
                     const ContextConfig& config) {
  int64_t rows = kDefaultBatch;
  if (device.info().kind == DeviceKind::kCpu) return static_cast<int32_t>(rows);
  const int64_t row_bytes = int64_t{4} * std::max(model.hp.n_ff, model.hp.n_embd);
  const int64_t cells = int64_t{config.n_ctx} * config.n_sessions;
  while (rows < kDefaultGpuBatch && 2 * rows * row_bytes <= kWidestActivationBytes &&
         2 * rows <= cells) {
    rows *= 2;
  }
  return static_cast<int32_t>(rows);
}

Status BadOption(std::string_view name, std::string message) {
  return Status(StatusCode::kInvalidArgument, Subsystem::kEngine, std::move(message))
      .WithName(name);
}

StatusOr<int32_t> Bounded(std::string_view name, uint32_t value, uint32_t limit) {
  if (value > limit) return BadOption(name, StrCat(value, " is more than ", limit));
  return static_cast<int32_t>(value);
}

StatusOr<KvFormat> Format(std::string_view name, int32_t value, KvFormat absent) {
  if (value == -1) return absent;
  if (value < 0 || value > static_cast<int32_t>(KvFormat::kQ8_0)) {
    return BadOption(name, StrCat(value, " is no KV type"));
  }
  return static_cast<KvFormat>(value);
}

// Stands for threads that a plan does not start.
class CountedRunner final : public ParallelRunner {
 public:
  explicit CountedRunner(int32_t concurrency) : concurrency_(concurrency) {}
  int32_t concurrency() const override { return concurrency_; }
  void For(int64_t n_tasks, TaskFn fn, void* arg) override {
    for (int64_t task = 0; task < n_tasks; ++task) fn(arg, task, 0);
  }

 private:
  int32_t concurrency_;
};

void DescribeKvGroups(const ModelDescription& model, ContextConfig* config) {
  config->kv.n_ctx = config->n_ctx;
  config->kv.n_sequences = config->n_sessions;
  config->kv.max_step_rows = config->n_micro_batch;
  config->kv.shuffle_seed = config->tuning.kv_shuffle;
  for (size_t g = 0; g < model.group_window.size(); ++g) {
    KvGroup group;
    group.window = model.group_window[g];
    group.shape.n_kv_heads = model.hp.n_kv_heads;
    group.shape.head_dim_k = model.hp.head_dim_k;
    group.shape.head_dim_v = model.hp.head_dim_v;
    group.shape.k_format = config->kv_format_k;
    group.shape.v_format = config->kv_format_v;
    for (int32_t layer = 0; layer < model.hp.n_layers; ++layer) {
      if (model.layer_group[static_cast<size_t>(layer)] == static_cast<int32_t>(g)) {
        group.layers.push_back(layer);
      }
    }
    config->kv.groups.push_back(std::move(group));
  }
}

}  // namespace

StatusOr<ContextConfig> ResolveContext(const ModelDescription& model, const Device& device,
                                       const ContextOptions& options) {
  ContextConfig config;
  MF_ASSIGN_OR_RETURN(config.tuning, ParseTuning(options.tuning, LeverScope::kContext));
  MF_ASSIGN_OR_RETURN(config.n_threads,
                      Bounded("n_threads", options.n_threads, uint32_t{kMaxThreads}));
  if (config.n_threads == 0) config.n_threads = DefaultThreadCount();
  if (options.runner != nullptr) config.n_threads = options.runner->concurrency();
  MF_ASSIGN_OR_RETURN(config.n_ctx, Bounded("n_ctx", options.n_ctx, kMaxContext));
  if (config.n_ctx == 0) config.n_ctx = std::min<int32_t>(model.hp.n_ctx_train, kMaxContext);
  MF_ASSIGN_OR_RETURN(config.n_sessions, Bounded("n_sessions", options.n_sessions, kMaxSessions));
  config.n_sessions = std::max(1, config.n_sessions);
  MF_ASSIGN_OR_RETURN(config.n_batch, Bounded("n_batch", options.n_batch, kMaxBatch));
  const int32_t default_batch = DefaultBatch(model, device, config);
  if (config.n_batch == 0) config.n_batch = default_batch;
  MF_ASSIGN_OR_RETURN(config.n_micro_batch,
                      Bounded("n_micro_batch", options.n_micro_batch, kMaxBatch));
  if (config.n_micro_batch == 0) config.n_micro_batch = default_batch;
  config.n_micro_batch = std::min(config.n_micro_batch, config.n_batch);
  config.max_outputs = std::min(config.n_sessions, config.n_micro_batch);
  config.deterministic = options.deterministic;
  MF_ASSIGN_OR_RETURN(config.kv_format_k,
                      Format("kv_type_k", options.kv_type_k, device.default_kv_format()));
  MF_ASSIGN_OR_RETURN(config.kv_format_v,
                      Format("kv_type_v", options.kv_type_v, device.default_kv_format()));
  // Physical cells are int32.
  const int64_t cells = int64_t{config.n_ctx} * config.n_sessions;
  if (cells > (int64_t{1} << 30)) {
    return BadOption("n_ctx", StrCat(config.n_ctx, " tokens for ", config.n_sessions,
                                     " sessions are more than 2^30 cells"));
  }
  DescribeKvGroups(model, &config);
  return config;
}

GraphParams StepParams(const ContextConfig& config, int32_t decode_rows, int32_t prefill_rows,
                       int32_t output_rows) {
  GraphParams params;
  params.decode_rows = decode_rows;
  params.prefill_rows = prefill_rows;
  params.output_rows = output_rows;
  params.outputs_all = output_rows == decode_rows + prefill_rows;
  params.sequences = config.n_sessions;
  params.pages_per_sequence = PageTableColumns(config.kv);
  params.fuse_qkv = config.tuning.fuse_qkv;
  params.fuse_gate_up = config.tuning.fuse_gate_up;
  params.fuse_rope_store = config.tuning.fuse_rope_store;
  return params;
}

GraphParams LargestParams(const ContextConfig& config) {
  const int32_t decode_rows = std::min(config.n_sessions, config.n_micro_batch);
  return StepParams(config, decode_rows, config.n_micro_batch - decode_rows, config.max_outputs);
}

KvGroup KvGroupOn(const Placement& placement, int32_t device, const KvGroup& group) {
  KvGroup part = group;
  std::erase_if(part.layers, [&](int32_t layer) { return placement.OfLayer(layer) != device; });
  return part;
}

StatusOr<KvGroupBytes> MeasureKvGroup(const Backend& backend, const KvCacheConfig& config,
                                      const KvGroup& group) {
  KvGroupBytes bytes;
  MF_ASSIGN_OR_RETURN(bytes.page, backend.PageBytes(group.shape));
  const uint64_t pages = static_cast<uint64_t>(PoolPages(config, group));
  bytes.k_layer = pages * bytes.page.k;
  bytes.v_layer = pages * bytes.page.v;
  bytes.total = (bytes.k_layer + bytes.v_layer) * group.layers.size();
  return bytes;
}

uint64_t LogitsBytes(const ContextConfig& config, const ModelDescription& model) {
  const uint64_t rows =
      static_cast<uint64_t>(config.n_sessions) + static_cast<uint64_t>(config.max_outputs);
  return rows * static_cast<uint64_t>(model.hp.n_vocab) * sizeof(float);
}

TopSizes MeasureTop(const ContextConfig& config, const ModelDescription& model,
                    const Device& device, const Backend& backend) {
  const int32_t from = device.info().kind == DeviceKind::kCpu ? 2 : 1;
  TopSizes sizes;
  if (config.tuning.device_sampling < from) return sizes;
  const int64_t n_vocab = model.hp.n_vocab;
  sizes.entries = backend.TopBytes(config.max_outputs, n_vocab);
  if (sizes.entries == 0) return sizes;
  // Of the last step and of the one that runs.
  sizes.logits =
      2 * static_cast<uint64_t>(config.n_sessions) * static_cast<uint64_t>(n_vocab) * sizeof(float);
  sizes.host = static_cast<uint64_t>(config.max_outputs) * kMaxTopEntries * sizeof(TopEntry);
  return sizes;
}

StatusOr<std::vector<MemoryUse>> PlanContextByDevice(const ModelDescription& model,
                                                     const Placement& placement,
                                                     const ContextOptions& options) {
  MF_ASSIGN_OR_RETURN(ContextConfig config, ResolveContext(model, *placement.devices[0], options));
  CountedRunner runner(config.n_threads);
  BackendOptions backend_options;
  backend_options.runner = &runner;
  ApplyTuning(config.tuning, &backend_options);
  backend_options.deterministic = config.deterministic;
  std::vector<std::unique_ptr<Backend>> backends;
  ExecutorBindings bindings;
  for (const std::shared_ptr<const Device>& device : placement.devices) {
    MF_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, device->CreateBackend(backend_options));
    bindings.backends.push_back(backend.get());
    backends.push_back(std::move(backend));
  }
  StepInputs inputs;
  MF_ASSIGN_OR_RETURN(Graph graph, BuildStepGraph(model, LargestParams(config), &inputs));
  bindings.weight_stores.resize(backends.size(), nullptr);
  bindings.rope_configs = model.rope_configs;
  bindings.kv_layers.resize(backends.size());
  MF_ASSIGN_OR_RETURN(Executor::Sizes sizes,
                      Executor::Measure(bindings, graph, PlaceNodes(placement, graph)));

  std::vector<MemoryUse> uses(backends.size());
  for (size_t d = 0; d < backends.size(); ++d) {
    MemoryUse& use = uses[d];
    const Backend& backend = *backends[d];
    for (const KvGroup& group : config.kv.groups) {
      const KvGroup part = KvGroupOn(placement, static_cast<int32_t>(d), group);
      MF_ASSIGN_OR_RETURN(KvGroupBytes bytes, MeasureKvGroup(backend, config.kv, part));
      if (bytes.total > 0) use[MemoryClass::kKv] += backend.AllocationBytes(bytes.total);
    }
    use[MemoryClass::kActivations] += backend.AllocationBytes(sizes.arena_bytes[d]);
    use[MemoryClass::kScratch] += sizes.scratch_bytes[d];
    use[MemoryClass::kStaging] += backend.StagingBytes();
  }
  // The logits are those of the last device, and so is what the host keeps.
  MemoryUse& use = uses.back();
  const TopSizes top = MeasureTop(config, model, *placement.devices.back(), *backends.back());
  use[MemoryClass::kActivations] += backends.back()->AllocationBytes(top.logits);
  use[MemoryClass::kScratch] += backends.back()->AllocationBytes(top.entries);
  use[MemoryClass::kStaging] += sizes.staging_bytes + LogitsBytes(config, model) + top.host;
  return uses;
}

StatusOr<MemoryUse> PlanContext(const ModelDescription& model, const Placement& placement,
                                const ContextOptions& options) {
  MF_ASSIGN_OR_RETURN(const std::vector<MemoryUse> uses,
                      PlanContextByDevice(model, placement, options));
  return SumOf(uses);
}

}  // namespace minfer
