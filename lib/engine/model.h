// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A loaded model: files, description, tokenizer, and its weights on each device. Read-only after
// Load; any thread. Contexts share it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/host_memory.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/backends.h"
#include "engine/device_choice.h"
#include "engine/memory_use.h"
#include "engine/placement.h"
#include "engine/tuning.h"
#include "gguf/model_files.h"
#include "models/architecture.h"
#include "tokenizer/tokenizer.h"

namespace minfer {

// Returns false to stop the load. Called on the loading thread.
using LoadProgressFn = bool (*)(void* user_data, uint64_t bytes_done, uint64_t bytes_total);

struct ModelOptions {
  int32_t device = 0;         // index into FindDevices(), or kAnyDevice
  bool read_weights = false;  // copy them even where they could be used in place
  // Only look at the file: no weight is touched, and what is not known of it is left out.
  bool header_only = false;
  bool allow_unknown_keys = false;
  std::string tuning;  // levers of scope kModel
  LoadProgressFn progress = nullptr;
  void* progress_user_data = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  HostAllocator allocator;
  LogSinkFn log_sink = nullptr;
  void* log_user_data = nullptr;
  LogLevel log_level = LogLevel::kInfo;
};

// What the header says, checked; no weight has been read.
struct ModelHeader {
  ModelFiles files;
  ModelDescription description;
  std::unique_ptr<Tokenizer> tokenizer;
};

StatusOr<ModelHeader> ReadModelHeader(ModelFiles files, const ModelOptions& options);

// Where the model of a header would run.
// What is left out on the way to a device is a warning in the log.
StatusOr<Placement> PlaceModel(const ModelHeader& header, const ModelOptions& options,
                               const Logger* logger = nullptr);

// What Load takes on the devices of the options for a header, to the byte for the classes of
// total().
StatusOr<MemoryUse> PlanModel(const ModelHeader& header, const ModelOptions& options);
// The same by place in the placement's list.
StatusOr<std::vector<MemoryUse>> PlanModelByDevice(const ModelHeader& header,
                                                   const Placement& placement,
                                                   const ModelOptions& options);

class Model {
 public:
  // CANCELLED when the flag or the progress function says so. On failure everything is given back.
  // With header_only every well-formed file is taken.
  static StatusOr<std::shared_ptr<const Model>> Load(ModelFiles files, const ModelOptions& options);

  const ModelFiles& files() const { return header_.files; }
  const Metadata& metadata() const { return header_.files.metadata(); }
  const ModelDescription& description() const { return header_.description; }
  // Without words when the header alone was loaded and tokenizer_status() says why.
  const Tokenizer& tokenizer() const { return *header_.tokenizer; }
  const Status& tokenizer_status() const { return tokenizer_status_; }
  bool has_weights() const { return !stores_.empty(); }
  // Tokens that may be fed and sampled: the vocabulary, never a spare row of the embedding.
  // Without a tokenizer every row counts.
  int32_t n_tokens() const {
    return header_.tokenizer->has_text() ? header_.tokenizer->vocab_size()
                                         : header_.description.hp.n_vocab;
  }
  uint64_t n_parameters() const { return n_parameters_; }

  // With the header alone there is none.
  const std::shared_ptr<const Device>& device() const { return placement_.devices[0]; }
  const Placement& placement() const { return placement_; }
  int32_t device_index() const { return placement_.device; }
  // One a device of the placement.
  const WeightStore& weights(size_t device) const { return *stores_[device]; }
  // The settings for a context of n_ctx tokens a session: see UsesLongFactors.
  absl::Span<const RopeConfig> rope_configs(int32_t n_ctx) const {
    return UsesLongFactors(header_.description, n_ctx) ? long_rope_configs_ : rope_configs_;
  }
  // Of all devices, and of the one of an index.
  MemoryAccount::Snapshot memory() const;
  MemoryAccount::Snapshot memory(int32_t device) const {
    return UseOn(placement_, accounts_, device);
  }
  const Logger& logger() const { return *logger_; }

 private:
  explicit Model(ModelHeader header) : header_(std::move(header)) {}
  // The parts that every kind of load has: log, account, counts.
  static std::shared_ptr<Model> Create(ModelHeader header, const ModelOptions& options);
  static StatusOr<std::shared_ptr<const Model>> LoadHeader(ModelFiles files,
                                                           const ModelOptions& options);
  Status LoadWeights(const ModelOptions& options);
  Status LoadOneWeight(const ModelOptions& options, WeightId id, size_t device, uint64_t* done,
                       uint64_t total);
  Status LoadRope();
  // Reads the divisors of a tensor in the file; -1: none.
  Status LoadFrequencyFactors(int64_t tensor_index, RopeConfig* rope) const;

  ModelHeader header_;
  Status tokenizer_status_;
  std::shared_ptr<const Logger> logger_;
  MemoryAccounts accounts_;  // by place; one where there is no placement
  Placement placement_;
  std::vector<std::shared_ptr<WeightStore>> stores_;
  std::vector<RopeConfig> rope_configs_;  // the description's, with the file's frequency factors
  std::vector<RopeConfig> long_rope_configs_;  // with longrope: beyond the original context
  uint64_t n_parameters_ = 0;
};

}  // namespace minfer
