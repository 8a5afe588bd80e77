// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Writes a model's file anew with its matrices in another type: quantising, or widening. Works on
// the file alone, so that it takes architectures which this version does not run, and in pieces, so
// that no tensor is ever in memory whole. The bytes do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/parallel_runner.h"
#include "base/status.h"
#include "engine/quantize_types.h"
#include "gguf/model_files.h"
#include "gguf/writer.h"

namespace minfer {

// What became of one tensor.
struct QuantizedTensor {
  size_t index = 0;
  std::string_view name;
  ElementType from = ElementType::kF32;
  ElementType to = ElementType::kF32;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  // Of all its values; 0 for a tensor that was copied.
  double rms = 0.0;
  double rms_error = 0.0;
  double max_error = 0.0;
};

struct QuantizeOptions {
  TypeRules rules;
  int32_t n_threads = 0;                   // 0: as many as there are processors
  std::shared_ptr<ParallelRunner> runner;  // the host's, used instead
  const std::atomic<bool>* cancel = nullptr;
  // Called on the calling thread; what is not OK ends the work. Either may be empty.
  std::function<Status(uint64_t bytes_done, uint64_t bytes_total)> progress;
  std::function<Status(const QuantizedTensor&)> tensor;
};

struct QuantizeResult {
  size_t n_tensors = 0;
  size_t n_changed = 0;
  uint64_t bytes_before = 0;  // of tensors
  uint64_t bytes_after = 0;
  uint64_t file_bytes = 0;  // of the new file
};

// DATA_LOSS, naming the tensor, for a value that is not finite.
StatusOr<QuantizeResult> QuantizeModel(const ModelFiles& files, const QuantizeOptions& options,
                                       const GgufWriter::ByteSink& sink);

}  // namespace minfer
