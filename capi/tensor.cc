// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/tensor.h"

#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "tensor/element_type.h"

namespace capi = minfer::capi;
using minfer::ElementType;
using minfer::OkStatus;
using minfer::Status;
using minfer::TensorInfo;

namespace {

static_assert(MF_TENSOR_Q8_K == static_cast<int>(ElementType::kQ8_K) &&
              MF_TENSOR_IQ4_XS == static_cast<int>(ElementType::kIQ4_XS) &&
              MF_TENSOR_BF16 == static_cast<int>(ElementType::kBF16) &&
              MF_TENSOR_Q2_0 == static_cast<int>(ElementType::kQ2_0));

mf_tensor_info ToInfo(const TensorInfo& tensor) {
  mf_tensor_info info = MF_TENSOR_INFO_INIT;
  info.type = static_cast<mf_tensor_type>(tensor.type);
  info.name = {tensor.name.data(), tensor.name.size()};
  info.n_dims = static_cast<uint32_t>(tensor.n_dims);
  info.file = tensor.part;
  info.n_elements = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    info.dims[i] = static_cast<uint64_t>(tensor.dims[i]);
    info.n_elements *= info.dims[i];
  }
  info.n_bytes = tensor.bytes;
  info.file_offset = tensor.file_offset;
  return info;
}

}  // namespace

void mf_tensor_info_init(mf_tensor_info* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

size_t mf_tensor_count(const mf_model* model) {
  return model == nullptr ? 0 : model->state->model->files().tensors().size();
}

mf_status mf_tensor_at(const mf_model* model, size_t index, mf_tensor_info* out_info,
                       mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_info, "out_info"));
    const auto tensors = call.model().files().tensors();
    MF_RETURN_IF_ERROR(capi::CheckIndex("index", index, tensors.size()));
    capi::WriteSized(ToInfo(tensors[index]), out_info);
    return OkStatus();
  });
}

mf_status mf_tensor_get(const mf_model* model, const char* name, mf_tensor_info* out_info,
                        mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_info, "out_info"));
    if (name == nullptr) return capi::NullArgument("name");
    const TensorInfo* tensor = call.model().files().FindTensor(name);
    if (tensor == nullptr) {
      return Status(minfer::StatusCode::kNotFound, minfer::Subsystem::kGguf,
                    "the file has no such tensor")
          .WithName(name);
    }
    capi::WriteSized(ToInfo(*tensor), out_info);
    return OkStatus();
  });
}

const char* mf_tensor_type_name(mf_tensor_type type) {
  const minfer::ElementTraits* traits = minfer::FindElementTraits(type);
  return traits == nullptr ? "unknown" : traits->name;
}
