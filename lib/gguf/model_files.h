// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A model's files: one GGUF file, or the parts of a split one read as if they were one. Only the
// headers are read, so opening is also how a model's files are validated. Read-only; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_source.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "gguf/gguf_file.h"

namespace minfer {

enum class FileAccess { kMap, kRead };

class ModelFiles {
 public:
  // Opens a file and, when its keys say that it is the first part of several, the others beside it,
  // which are named NAME-00001-of-00003.gguf. NOT_FOUND names a missing part; INVALID_ARGUMENT when
  // a later part is opened first (naming the first), or the parts contradict each other.
  static StatusOr<ModelFiles> Open(const std::string& path, FileAccess access);
  // The same from sources in order, one for each part.
  static StatusOr<ModelFiles> FromSources(std::vector<ByteSourcePtr> sources);

  ModelFiles(ModelFiles&&) noexcept = default;
  ModelFiles& operator=(ModelFiles&&) noexcept = default;
  ModelFiles(const ModelFiles&) = delete;
  ModelFiles& operator=(const ModelFiles&) = delete;

  // Of the first part, which holds all keys but those about the split.
  const Metadata& metadata() const { return parts_[0].metadata(); }
  absl::Span<const GgufFile> parts() const { return parts_; }

  // Of all parts, part after part; TensorInfo::part says which.
  absl::Span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* FindTensor(std::string_view name) const;
  uint64_t tensor_bytes() const { return tensor_bytes_; }

  // As in GgufFile.
  const uint8_t* TensorData(const TensorInfo& tensor) const {
    return parts_[tensor.part].TensorData(tensor);
  }
  Status ReadTensor(const TensorInfo& tensor, uint64_t offset, absl::Span<uint8_t> out) const {
    return parts_[tensor.part].ReadTensor(tensor, offset, out);
  }
  // DATA_LOSS when one of the files was written to since it was opened.
  Status CheckUnchanged() const;

 private:
  ModelFiles() = default;
  Status Merge(std::vector<GgufFile> parts);

  std::vector<GgufFile> parts_;
  std::vector<TensorInfo> tensors_;
  HashMap<absl::string_view, uint32_t> index_;
  uint64_t tensor_bytes_ = 0;
};

}  // namespace minfer
