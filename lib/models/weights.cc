// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "models/weights.h"

#include "base/str_cat.h"
#include "tensor/dequantize.h"

namespace minfer {
namespace {

Status Refuse(StatusCode code, std::string_view name, std::string message) {
  return Status(code, Subsystem::kModel, std::move(message)).WithName(name);
}

std::string ShapeText(const TensorInfo& tensor) {
  std::string text = "[";
  for (int32_t d = 0; d < tensor.n_dims; ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(tensor.dims[static_cast<size_t>(d)]);
  }
  return text + "]";
}

// "blk.0.ffn_up_exps.weight" -> "blk.0.ffn_up.7.weight".
std::string ExpertTensor(std::string_view name, int64_t expert) {
  constexpr std::string_view kEnd = "_exps.weight";
  return StrCat(name.substr(0, name.size() - kEnd.size()), ".", expert, ".weight");
}

}  // namespace

bool WeightCollector::Has(std::string_view name) const {
  return file_->FindTensor(name) != nullptr;
}

void WeightCollector::MarkKnown(std::string_view name) {
  const TensorInfo* tensor = file_->FindTensor(name);
  if (tensor == nullptr) return;
  known_.resize(file_->tensors().size(), false);
  known_[static_cast<size_t>(tensor - file_->tensors().data())] = true;
}

StatusOr<WeightId> WeightCollector::Matrix(std::string_view name, int64_t ne0, int64_t ne1) {
  return Add(name, ne0, ne1, 1, /*must_be_f32=*/false);
}

StatusOr<WeightId> WeightCollector::Experts(std::string_view name, int64_t ne0, int64_t ne1,
                                            int64_t n_experts) {
  if (!Has(name) && Has(ExpertTensor(name, 0))) {
    return SeparateExperts(name, ne0, ne1, n_experts);
  }
  return Add(name, ne0, ne1, n_experts, /*must_be_f32=*/false);
}

StatusOr<WeightId> WeightCollector::SeparateExperts(std::string_view name, int64_t ne0, int64_t ne1,
                                                    int64_t n_experts) {
  MF_ASSIGN_OR_RETURN(const WeightId whole, Matrix(ExpertTensor(name, 0), ne0, ne1));
  const ElementType type = table_.back().type;
  for (int64_t expert = 1; expert < n_experts; ++expert) {
    const std::string part_name = ExpertTensor(name, expert);
    MF_RETURN_IF_ERROR(Matrix(part_name, ne0, ne1).status());
    const WeightInfo part = std::move(table_.back());
    const size_t tensor = places_.back().tensors[0];
    table_.pop_back();
    places_.pop_back();
    if (part.type != type) {
      return Refuse(StatusCode::kUnimplemented, part_name,
                    StrCat("type ", FindElementTraits(part.type)->name,
                           " where the experts before ", "it have ", FindElementTraits(type)->name))
          .WithOffset(file_->tensors()[tensor].file_offset);
    }
    table_.back().bytes += part.bytes;
    places_.back().tensors.push_back(tensor);
  }
  table_.back().name = std::string(name);
  table_.back().ne2 = n_experts;
  return whole;
}

StatusOr<WeightId> WeightCollector::ExpertBiases(std::string_view name, int64_t ne0,
                                                 int64_t n_experts) {
  return Add(name, ne0, n_experts, 1, /*must_be_f32=*/true);
}

StatusOr<std::vector<WeightId>> WeightCollector::StackedMatrices(std::string_view name, int64_t ne0,
                                                                 absl::Span<const int64_t> ne1) {
  int64_t all = 0;
  for (int64_t rows : ne1) all += rows;
  MF_ASSIGN_OR_RETURN(const WeightId whole, Matrix(name, ne0, all));
  const WeightInfo tensor = table_.back();
  const uint64_t row_bytes = tensor.bytes / static_cast<uint64_t>(all);
  int64_t first = 0;
  std::vector<WeightId> parts;
  for (size_t i = 0; i < ne1.size(); ++i) {
    if (i > 0) {
      table_.push_back(tensor);
      places_.push_back(places_.back());
    }
    WeightInfo& part = table_.back();
    part.name = StrCat(name, " rows ", first, " to ", first + ne1[i] - 1);
    part.ne1 = ne1[i];
    part.bytes = row_bytes * static_cast<uint64_t>(ne1[i]);
    places_.back().offset = row_bytes * static_cast<uint64_t>(first);
    parts.push_back(whole + static_cast<WeightId>(i));
    first += ne1[i];
  }
  return parts;
}

StatusOr<WeightId> WeightCollector::Vector(std::string_view name, int64_t ne0) {
  return Add(name, ne0, 1, 1, /*must_be_f32=*/true);
}

StatusOr<WeightId> WeightCollector::OptionalVector(std::string_view name, int64_t ne0) {
  if (!Has(name)) return WeightId{kNoId};
  return Vector(name, ne0);
}

StatusOr<WeightId> WeightCollector::Add(std::string_view name, int64_t ne0, int64_t ne1,
                                        int64_t ne2, bool must_be_f32) {
  const TensorInfo* tensor = file_->FindTensor(name);
  if (tensor == nullptr) {
    return Refuse(StatusCode::kInvalidArgument, name, "the model needs this tensor; it is missing");
  }
  const auto& dims = tensor->dims;
  if (dims[0] != ne0 || dims[1] != ne1 || dims[2] != ne2 || dims[3] != 1) {
    return Refuse(StatusCode::kInvalidArgument, name,
                  StrCat("shape ", ShapeText(*tensor), " where [", ne0, ", ", ne1,
                         ne2 == 1 ? "" : StrCat(", ", ne2), "] was expected"))
        .WithOffset(tensor->file_offset);
  }
  const char* type_name = FindElementTraits(tensor->type)->name;
  if (must_be_f32 && tensor->type != ElementType::kF32) {
    return Refuse(StatusCode::kInvalidArgument, name,
                  StrCat("type ", type_name, " where F32 was expected"))
        .WithOffset(tensor->file_offset);
  }
  if (!kernels::CanDequantize(tensor->type)) {
    return Refuse(StatusCode::kUnimplemented, name,
                  StrCat("type ", type_name, " (", static_cast<int32_t>(tensor->type),
                         ") has no kernel in this version"))
        .WithOffset(tensor->file_offset);
  }
  MarkKnown(name);
  WeightInfo info;
  info.name = std::string(name);
  info.type = tensor->type;
  info.ne0 = ne0;
  info.ne1 = ne1;
  info.ne2 = ne2;
  info.bytes = tensor->bytes;
  table_.push_back(std::move(info));
  places_.push_back({{static_cast<size_t>(tensor - file_->tensors().data())}, 0});
  return static_cast<WeightId>(table_.size() - 1);
}

Status WeightCollector::RefuseUnknownTensors() const {
  absl::Span<const TensorInfo> tensors = file_->tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i < known_.size() && known_[i]) continue;
    return Refuse(StatusCode::kUnimplemented, tensors[i].name,
                  StrCat("no part of the model uses this tensor (shape ", ShapeText(tensors[i]),
                         "); it may change what the model computes"))
        .WithOffset(tensors[i].file_offset);
  }
  return OkStatus();
}

}  // namespace minfer
