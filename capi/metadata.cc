// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/metadata.h"

#include <cstring>
#include <string>

#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"

namespace capi = minfer::capi;
using minfer::GgufType;
using minfer::Metadata;
using minfer::OkStatus;
using minfer::Status;
using minfer::StatusCode;
using minfer::StatusOr;
using minfer::Subsystem;

namespace {

static_assert(MF_METADATA_UINT8 == static_cast<int>(GgufType::kU8) &&
              MF_METADATA_STRING == static_cast<int>(GgufType::kString) &&
              MF_METADATA_FLOAT64 == static_cast<int>(GgufType::kF64));

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// A number at `bytes`, which hold one of the type.
void SetNumber(GgufType type, const char* bytes, mf_metadata_value* out) {
  switch (type) {
    case GgufType::kU8:
      out->as_unsigned = Load<uint8_t>(bytes);
      break;
    case GgufType::kBool:
      out->as_unsigned = Load<uint8_t>(bytes) != 0 ? 1 : 0;
      break;
    case GgufType::kU16:
      out->as_unsigned = Load<uint16_t>(bytes);
      break;
    case GgufType::kU32:
      out->as_unsigned = Load<uint32_t>(bytes);
      break;
    case GgufType::kU64:
      out->as_unsigned = Load<uint64_t>(bytes);
      break;
    case GgufType::kI8: {
      const int8_t value = Load<int8_t>(bytes);
      out->as_signed = value;
      break;
    }
    case GgufType::kI16:
      out->as_signed = Load<int16_t>(bytes);
      break;
    case GgufType::kI32:
      out->as_signed = Load<int32_t>(bytes);
      break;
    case GgufType::kI64:
      out->as_signed = Load<int64_t>(bytes);
      break;
    case GgufType::kF32:
      out->as_float = Load<float>(bytes);
      break;
    case GgufType::kF64:
      out->as_float = Load<double>(bytes);
      break;
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
}

void SetString(std::string_view text, mf_metadata_value* out) {
  out->string = text.data();
  out->string_length = text.size();
}

mf_metadata_value ValueAt(const Metadata& metadata, size_t index) {
  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  const GgufType type = metadata.type(index);
  value.type = static_cast<mf_metadata_type>(type);
  if (type == GgufType::kArray) {
    value.element_type = static_cast<mf_metadata_type>(metadata.element_type(index));
    value.n_elements = metadata.count(index);
  } else if (type == GgufType::kString) {
    SetString(metadata.ValueBytes(index), &value);
  } else {
    SetNumber(type, metadata.ValueBytes(index).data(), &value);
  }
  return value;
}

mf_metadata_value ElementAt(const Metadata& metadata, size_t index, uint64_t element) {
  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  const GgufType type = metadata.element_type(index);
  value.type = static_cast<mf_metadata_type>(type);
  if (type == GgufType::kString) {
    SetString(metadata.Strings(index)[static_cast<size_t>(element)], &value);
  } else {
    const size_t size = minfer::TraitsOf(type).size;
    SetNumber(type, metadata.ValueBytes(index).data() + element * size, &value);
  }
  return value;
}

StatusOr<size_t> IndexOf(const Metadata& metadata, const char* key) {
  if (key == nullptr) return capi::NullArgument("key");
  if (const auto index = metadata.Find(key)) return *index;
  return Status(StatusCode::kNotFound, Subsystem::kGguf, "the file has no such key").WithName(key);
}

using FoundValue = StatusOr<mf_metadata_value>;

// The frame of the calls that write one value: `find` takes the metadata and gives a FoundValue.
template <typename Find>
mf_status WriteValue(const mf_model* model, mf_metadata_value* out_value, mf_error* error,
                     const Find& find) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    MF_RETURN_IF_ERROR(capi::CheckOut(out_value, "out_value"));
    MF_ASSIGN_OR_RETURN(const mf_metadata_value value, find(call.model().metadata()));
    capi::WriteSized(value, out_value);
    return OkStatus();
  });
}

}  // namespace

void mf_metadata_value_init(mf_metadata_value* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

size_t mf_metadata_count(const mf_model* model) {
  return model == nullptr ? 0 : model->state->model->metadata().size();
}

mf_status mf_metadata_key(const mf_model* model, size_t index, mf_text* out_key, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ModelCall call;
    MF_RETURN_IF_ERROR(call.Enter(model));
    if (out_key == nullptr) return capi::NullArgument("out_key");
    const Metadata& metadata = call.model().metadata();
    MF_RETURN_IF_ERROR(capi::CheckIndex("index", index, metadata.size()));
    const std::string_view key = metadata.key(index);
    *out_key = {key.data(), key.size()};
    return OkStatus();
  });
}

mf_status mf_metadata_get(const mf_model* model, const char* key, mf_metadata_value* out_value,
                          mf_error* error) {
  return WriteValue(model, out_value, error, [&](const Metadata& metadata) -> FoundValue {
    MF_ASSIGN_OR_RETURN(const size_t index, IndexOf(metadata, key));
    return ValueAt(metadata, index);
  });
}

mf_status mf_metadata_at(const mf_model* model, size_t index, mf_metadata_value* out_value,
                         mf_error* error) {
  return WriteValue(model, out_value, error, [&](const Metadata& metadata) -> FoundValue {
    MF_RETURN_IF_ERROR(capi::CheckIndex("index", index, metadata.size()));
    return ValueAt(metadata, index);
  });
}

mf_status mf_metadata_element(const mf_model* model, const char* key, uint64_t element,
                              mf_metadata_value* out_value, mf_error* error) {
  return WriteValue(model, out_value, error, [&](const Metadata& metadata) -> FoundValue {
    MF_ASSIGN_OR_RETURN(const size_t index, IndexOf(metadata, key));
    if (metadata.type(index) != GgufType::kArray) {
      return capi::InvalidArgument(key, "the value is no array");
    }
    MF_RETURN_IF_ERROR(capi::CheckIndex(key, element, metadata.count(index)));
    return ElementAt(metadata, index, element);
  });
}
