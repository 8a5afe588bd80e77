// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "gguf/model_files.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/printable.h"
#include "base/str_cat.h"

namespace minfer {
namespace {

constexpr std::string_view kSplitNo = "split.no";
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitTensors = "split.tensors.count";
constexpr uint32_t kMaxParts = 99999;  // the names have five digits

// What a file says of its place in a split model; count 1 for a whole one.
struct SplitPlace {
  uint32_t number = 0;  // from 0
  uint32_t count = 1;
};

Status SplitError(StatusCode code, const GgufFile& file, const std::string& message) {
  const std::string name = Printable(file.source().name(), 200);
  const std::optional<size_t> key = file.metadata().Find(kSplitNo);
  return Status(code, Subsystem::kGguf, StrCat(name, ": ", message))
      .WithName(name)
      .WithOffset(key.has_value() ? file.metadata().file_offset(*key) : file.header_bytes());
}

StatusOr<SplitPlace> ReadSplitPlace(const GgufFile& file) {
  SplitPlace place;
  MF_ASSIGN_OR_RETURN(place.number, file.metadata().GetU32Or(kSplitNo, 0));
  MF_ASSIGN_OR_RETURN(place.count, file.metadata().GetU32Or(kSplitCount, 1));
  // A count of 0 stands in files that were never split.
  if (place.count == 0) place.count = 1;
  if (place.count > kMaxParts || place.number >= place.count) {
    return SplitError(StatusCode::kInvalidArgument, file,
                      StrCat("split.no ", place.number, " of split.count ", place.count,
                             " is no part of a split model"));
  }
  return place;
}

// "-00001-of-00003.gguf" for part 0 of 3.
std::string PartSuffix(uint32_t number, uint32_t count) {
  const auto five_digits = [](uint32_t value) {
    const std::string digits = StrCat(value);
    return std::string(5 - digits.size(), '0') + digits;
  };
  return StrCat("-", five_digits(number + 1), "-of-", five_digits(count), ".gguf");
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

StatusOr<ByteSourcePtr> OpenSource(const std::string& path, FileAccess access) {
  return access == FileAccess::kMap ? OpenMappedSource(path) : OpenFileSource(path);
}

// What goes before the part's suffix in `path`; an error that says what the part should be called.
StatusOr<std::string> SplitStem(const std::string& path, const GgufFile& file, SplitPlace place) {
  const std::string suffix = PartSuffix(place.number, place.count);
  if (EndsWith(path, suffix)) return path.substr(0, path.size() - suffix.size());
  return SplitError(StatusCode::kNotFound, file,
                    StrCat("the file is part ", place.number + 1, " of ", place.count,
                           " of a split model, but its name does not end in '", suffix,
                           "', so that the other parts, up to '",
                           PartSuffix(place.count - 1, place.count), "', cannot be found"));
}

Status CheckFirstPart(const std::string& path, const GgufFile& file, SplitPlace place) {
  if (place.number == 0) return OkStatus();
  const StatusOr<std::string> stem = SplitStem(path, file, place);
  const std::string first = StrCat(stem.ok() ? *stem : "", PartSuffix(0, place.count));
  return SplitError(StatusCode::kInvalidArgument, file,
                    StrCat("the file is part ", place.number + 1, " of ", place.count,
                           " of a split model; open part 1, '", Printable(first, 300), "'"));
}

// Part `number` of the model must say so itself.
Status CheckPart(const GgufFile& file, uint32_t number, uint32_t count) {
  MF_ASSIGN_OR_RETURN(const SplitPlace place, ReadSplitPlace(file));
  if (place.number == number && place.count == count) return OkStatus();
  return SplitError(StatusCode::kInvalidArgument, file,
                    StrCat("part ", number + 1, " of ", count, " is expected here, the file says ",
                           place.number + 1, " of ", place.count));
}

}  // namespace

StatusOr<ModelFiles> ModelFiles::Open(const std::string& path, FileAccess access) {
  std::vector<GgufFile> parts;
  MF_ASSIGN_OR_RETURN(ByteSourcePtr source, OpenSource(path, access));
  MF_ASSIGN_OR_RETURN(GgufFile first, GgufFile::Parse(std::move(source)));
  MF_ASSIGN_OR_RETURN(const SplitPlace place, ReadSplitPlace(first));
  MF_RETURN_IF_ERROR(CheckFirstPart(path, first, place));
  std::string stem;
  if (place.count > 1) {
    MF_ASSIGN_OR_RETURN(stem, SplitStem(path, first, place));
  }
  parts.push_back(std::move(first));
  for (uint32_t number = 1; number < place.count; ++number) {
    const std::string part_path = stem + PartSuffix(number, place.count);
    StatusOr<ByteSourcePtr> part = OpenSource(part_path, access);
    if (!part.ok() && part.status().code() == StatusCode::kNotFound) {
      return SplitError(StatusCode::kNotFound, parts[0],
                        StrCat("part ", number + 1, " of ", place.count,
                               " of the split model is missing: ", Printable(part_path, 300)))
          .WithName(Printable(part_path, 300));
    }
    MF_RETURN_IF_ERROR(part.status());
    MF_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Parse(std::move(part).value()));
    parts.push_back(std::move(file));
  }
  ModelFiles files;
  MF_RETURN_IF_ERROR(files.Merge(std::move(parts)));
  return files;
}

StatusOr<ModelFiles> ModelFiles::FromSources(std::vector<ByteSourcePtr> sources) {
  if (sources.empty()) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kGguf, "a model needs a source");
  }
  std::vector<GgufFile> parts;
  for (ByteSourcePtr& source : sources) {
    MF_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Parse(std::move(source)));
    parts.push_back(std::move(file));
  }
  ModelFiles files;
  MF_RETURN_IF_ERROR(files.Merge(std::move(parts)));
  return files;
}

Status ModelFiles::Merge(std::vector<GgufFile> parts) {
  parts_ = std::move(parts);
  const uint32_t count = static_cast<uint32_t>(parts_.size());
  for (uint32_t part = 0; part < count; ++part) {
    const GgufFile& file = parts_[part];
    MF_RETURN_IF_ERROR(CheckPart(file, part, count));
    for (TensorInfo tensor : file.tensors()) {
      tensor.part = part;
      const absl::string_view key(tensor.name.data(), tensor.name.size());
      if (!index_.emplace(key, static_cast<uint32_t>(tensors_.size())).second) {
        return SplitError(StatusCode::kInvalidArgument, file,
                          StrCat("tensor '", tensor.name, "' is in an earlier part, too"))
            .WithName(tensor.name);
      }
      tensors_.push_back(tensor);
      if (!CheckedAdd(tensor_bytes_, tensor.bytes, &tensor_bytes_)) {
        return SplitError(StatusCode::kOutOfRange, file, "the tensors pass 2^64 bytes together");
      }
    }
  }
  MF_ASSIGN_OR_RETURN(const uint64_t declared, metadata().GetU64Or(kSplitTensors, tensors_.size()));
  if (count > 1 && declared != tensors_.size()) {
    return SplitError(StatusCode::kInvalidArgument, parts_[0],
                      StrCat("split.tensors.count says ", declared, " tensors, the parts have ",
                             tensors_.size()))
        .WithName(kSplitTensors);
  }
  return OkStatus();
}

Status ModelFiles::CheckUnchanged() const {
  for (const GgufFile& part : parts_) MF_RETURN_IF_ERROR(part.source().CheckUnchanged());
  return OkStatus();
}

const TensorInfo* ModelFiles::FindTensor(std::string_view name) const {
  const auto found = index_.find(absl::string_view(name.data(), name.size()));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace minfer
