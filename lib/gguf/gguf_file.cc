// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/printable.h"
#include "base/str_cat.h"
#include "gguf/header_reader.h"
#include "gguf/metadata_reader.h"
#include "gguf/tensor_table.h"

namespace minfer {
namespace {

constexpr uint32_t kMinVersion = 2;
constexpr uint32_t kMaxVersion = 3;
constexpr uint64_t kDefaultAlignment = 32;
constexpr std::string_view kAlignmentKey = "general.alignment";

// The first four bytes of the formats that came before GGUF.
bool IsOlderFormat(std::string_view magic) {
  return magic == "tjgg" || magic == "fmgg" || magic == "lmgg" || magic == "algg";
}

}  // namespace

class GgufParser {
 public:
  explicit GgufParser(ByteSourcePtr source) : reader_(*source) {
    file_.source_ = std::move(source);
  }

  StatusOr<GgufFile> Parse() {
    MF_RETURN_IF_ERROR(CheckMagic());
    MF_RETURN_IF_ERROR(CheckVersion());
    uint64_t n_tensors = 0;
    uint64_t n_pairs = 0;
    const uint64_t counts_at = reader_.offset();
    MF_RETURN_IF_ERROR(reader_.Read(&n_tensors));
    MF_RETURN_IF_ERROR(reader_.Read(&n_pairs));
    MF_RETURN_IF_ERROR(CheckCount("tensors", n_tensors, kMinTensorEntryBytes, counts_at));
    MF_RETURN_IF_ERROR(CheckCount("key-value pairs", n_pairs, kMinPairBytes, counts_at + 8));
    MF_ASSIGN_OR_RETURN(file_.metadata_, MetadataReader(&reader_).Read(n_pairs));
    MF_RETURN_IF_ERROR(FindAlignment());
    TensorTableReader table(&reader_, file_.source_->size(), file_.alignment_);
    MF_RETURN_IF_ERROR(table.Read(n_tensors));
    file_.header_bytes_ = reader_.offset();
    file_.data_offset_ = table.data_offset;
    file_.names_ = std::move(table.names);
    file_.tensors_ = std::move(table.tensors);
    MF_RETURN_IF_ERROR(BuildIndex());
    return std::move(file_);
  }

 private:
  Status CheckMagic() {
    reader_.SetContext("header", "");
    std::vector<char> bytes;
    MF_RETURN_IF_ERROR(reader_.Append(std::min<uint64_t>(4, reader_.remaining()), &bytes));
    const std::string_view magic(bytes.data(), bytes.size());
    if (magic == "GGUF") return OkStatus();
    std::string message = "this is not a GGUF file: it is empty";
    if (!magic.empty()) {
      message = StrCat("this is not a GGUF file: it begins with '", Printable(magic), "'");
    }
    if (IsOlderFormat(magic)) {
      message += ", the mark of an older format; convert the model to GGUF again";
    }
    return reader_.Error(message, 0);
  }

  Status CheckVersion() {
    uint32_t& version = file_.version_;
    const uint64_t at = reader_.offset();
    MF_RETURN_IF_ERROR(reader_.Read(&version));
    if (version >= kMinVersion && version <= kMaxVersion) return OkStatus();
    std::string hint;
    if (version == 1) {
      hint = "; it is from August 2023, convert the model to GGUF again";
    } else if (version != 0 && (version & 0xFFFF) == 0) {
      hint = StrCat("; with the bytes swapped it is ", __builtin_bswap32(version),
                    ": the file is big-endian, which is not read");
    }
    return reader_.Error(StatusCode::kUnimplemented,
                         StrCat("GGUF version ", version, " is not read, only ", kMinVersion,
                                " and ", kMaxVersion, hint),
                         at);
  }

  Status CheckCount(std::string_view what, uint64_t count, uint64_t min_bytes, uint64_t at) {
    if (count <= reader_.remaining() / min_bytes) return OkStatus();
    return reader_
        .Error(StatusCode::kDataLoss,
               StrCat(count, " ", what, " cannot stand in the ", reader_.remaining(),
                      " bytes that are left (", min_bytes, " each at least)"),
               at)
        .WithBytes(SaturatingMul(count, min_bytes), reader_.remaining());
  }

  Status FindAlignment() {
    MF_ASSIGN_OR_RETURN(file_.alignment_,
                        file_.metadata_.GetU64Or(kAlignmentKey, kDefaultAlignment));
    const uint64_t alignment = file_.alignment_;
    const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (power_of_two && alignment >= kMinGgufAlignment) return OkStatus();
    reader_.SetContext("key", kAlignmentKey);
    return reader_.Error(
        StrCat(alignment, " is not a power of two of at least ", kMinGgufAlignment),
        reader_.offset());
  }

  Status BuildIndex() {
    for (size_t i = 0; i < file_.tensors_.size(); ++i) {
      const std::string_view name = file_.tensors_[i].name;
      const absl::string_view key(name.data(), name.size());
      if (file_.index_.emplace(key, static_cast<uint32_t>(i)).second) continue;
      reader_.SetContext("tensor", name);
      return reader_.Error("the name comes twice", file_.header_bytes_);
    }
    return OkStatus();
  }

  GgufFile file_;
  HeaderReader reader_;
};

StatusOr<GgufFile> GgufFile::Parse(ByteSourcePtr source) {
  if (source == nullptr) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kGguf, "there is no source to read");
  }
  return GgufParser(std::move(source)).Parse();
}

const TensorInfo* GgufFile::FindTensor(std::string_view name) const {
  const auto found = index_.find(absl::string_view(name.data(), name.size()));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const uint8_t* GgufFile::TensorData(const TensorInfo& tensor) const {
  const absl::Span<const uint8_t> bytes = source_->mapped();
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % kMinGgufAlignment == 0;
  if (bytes.empty() || !aligned) return nullptr;
  return bytes.data() + tensor.file_offset;
}

Status GgufFile::ReadTensor(const TensorInfo& tensor, uint64_t offset,
                            absl::Span<uint8_t> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    return Status(
               StatusCode::kOutOfRange, Subsystem::kGguf,
               StrCat("a read leaves the ", tensor.bytes, " bytes of tensor '", tensor.name, "'"))
        .WithName(tensor.name)
        .WithBytes(out.size(), tensor.bytes - std::min(tensor.bytes, offset))
        .WithOffset(tensor.file_offset);
  }
  return source_->ReadAt(tensor.file_offset + offset, out);
}

}  // namespace minfer
