// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// One GGUF file: its metadata and its table of tensors. Parsing reads the header only and checks
// every number in it against the size of the file before it is used, so it is also how a file is
// validated without loading. Read-only once parsed; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_source.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "gguf/metadata.h"
#include "kernels/quant/element_type.h"

namespace minfer {

// Where the bytes of a tensor stand and how they are to be read. The name lives as long as the
// GgufFile it came from.
struct TensorInfo {
  std::string_view name;
  ElementType type = ElementType::kF32;
  int32_t n_dims = 0;
  std::array<int64_t, 4> dims = {1, 1, 1, 1};  // dims[0] is the row; 1 past n_dims
  uint64_t bytes = 0;                          // rows without gaps, inside the file
  uint64_t file_offset = 0;                    // from the start of its file
  uint32_t part = 0;                           // which file of a split model

  absl::Span<const int64_t> shape() const { return {dims.data(), static_cast<size_t>(n_dims)}; }
};

// Tensor data must start on a multiple of this: smaller alignments are refused.
inline constexpr uint64_t kMinGgufAlignment = 8;

class GgufFile {
 public:
  // INVALID_ARGUMENT: not GGUF, or malformed. DATA_LOSS: it ends too early. UNIMPLEMENTED: a
  // version, byte order or tensor type that is not read. The status carries the key or tensor, the
  // place in the file and the numbers.
  static StatusOr<GgufFile> Parse(ByteSourcePtr source);

  GgufFile(GgufFile&&) noexcept = default;
  GgufFile& operator=(GgufFile&&) noexcept = default;
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  // Where the header ends and where the tensor data begins.
  uint64_t header_bytes() const { return header_bytes_; }
  uint64_t data_offset() const { return data_offset_; }
  const Metadata& metadata() const { return metadata_; }
  const ByteSource& source() const { return *source_; }

  // In file order.
  absl::Span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* FindTensor(std::string_view name) const;  // nullptr when there is none

  // The tensor's bytes in place, or nullptr when they must be read: the source is not mapped, or it
  // is memory of the caller's that does not start on a multiple of kMinGgufAlignment.
  const uint8_t* TensorData(const TensorInfo& tensor) const;
  // Copies a piece of the tensor's bytes; OUT_OF_RANGE when it leaves the tensor.
  Status ReadTensor(const TensorInfo& tensor, uint64_t offset, absl::Span<uint8_t> out) const;

 private:
  friend class GgufParser;
  GgufFile() = default;

  ByteSourcePtr source_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 0;
  uint64_t header_bytes_ = 0;
  uint64_t data_offset_ = 0;
  Metadata metadata_;
  std::vector<char> names_;
  std::vector<TensorInfo> tensors_;
  HashMap<absl::string_view, uint32_t> index_;  // views of names_
};

}  // namespace minfer
