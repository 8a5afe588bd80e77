// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace inspect {
namespace {

mf_source SourceOf(const Settings& settings) {
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_PATH;
  source.path = settings.path.c_str();
  return source;
}

Json FileFacts(const mf_model_info& info, const Settings& settings) {
  Json file;
  file["path"] = settings.path;
  file["gguf_version"] = info.gguf_version;
  file["n_files"] = info.n_files;
  file["architecture"] = info.architecture;
  file["name"] = info.name;
  file["file_type"] = info.file_type;
  file["n_parameters"] = info.n_parameters;
  file["n_tensors"] = info.n_tensors;
  file["tensor_bytes"] = info.n_bytes;
  // Known only of an architecture that this version runs.
  if (info.n_layers > 0) {
    file["n_layers"] = info.n_layers;
    file["n_embd"] = info.n_embd;
    file["n_heads"] = info.n_heads;
    file["n_kv_heads"] = info.n_kv_heads;
    file["n_ctx_train"] = info.n_ctx_train;
  }
  file["n_vocab"] = info.n_vocab;
  return file;
}

const char* TypeName(mf_metadata_type type) {
  constexpr const char* kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                    "bool", "string", "array", "u64", "i64", "f64"};
  return type >= 0 && type <= MF_METADATA_FLOAT64 ? kNames[type] : "unknown";
}

Json ScalarOf(const mf_metadata_value& value) {
  switch (value.type) {
    case MF_METADATA_BOOL:
      return value.as_unsigned != 0;
    case MF_METADATA_STRING:
      return std::string(value.string, value.string_length);
    case MF_METADATA_FLOAT32:
      // The shortest text that is the same number in this width.
      return static_cast<float>(value.as_float);
    case MF_METADATA_FLOAT64:
      return value.as_float;
    case MF_METADATA_INT8:
    case MF_METADATA_INT16:
    case MF_METADATA_INT32:
    case MF_METADATA_INT64:
      return value.as_signed;
    default:
      return value.as_unsigned;
  }
}

mf::Result<Json> MetadataFacts(const mf::Model& model, size_t n_elements) {
  mf::Error error;
  Json list = Json::array();
  for (size_t i = 0; i < mf_metadata_count(model.get()); ++i) {
    mf_text text = {nullptr, 0};
    mf_metadata_value value = MF_METADATA_VALUE_INIT;
    if (mf_metadata_key(model.get(), i, &text, error.out()) != MF_STATUS_OK ||
        mf_metadata_at(model.get(), i, &value, error.out()) != MF_STATUS_OK) {
      return error;
    }
    const std::string key(text.data, text.length);
    Json one;
    one["key"] = key;
    one["type"] = TypeName(value.type);
    if (value.type != MF_METADATA_ARRAY) {
      one["value"] = ScalarOf(value);
      list.push_back(std::move(one));
      continue;
    }
    one["element_type"] = TypeName(value.element_type);
    one["n_elements"] = value.n_elements;
    one["value"] = Json::array();
    const uint64_t shown = std::min<uint64_t>(value.n_elements, n_elements);
    for (uint64_t k = 0; k < shown; ++k) {
      mf_metadata_value element = MF_METADATA_VALUE_INIT;
      if (mf_metadata_element(model.get(), key.c_str(), k, &element, error.out()) != MF_STATUS_OK) {
        return error;
      }
      one["value"].push_back(ScalarOf(element));
    }
    list.push_back(std::move(one));
  }
  return list;
}

struct TypeSum {
  uint64_t n_tensors = 0;
  uint64_t n_elements = 0;
  uint64_t n_bytes = 0;
};

// The types, the one with the most bytes first.
Json TypeFacts(const std::vector<mf_tensor_info>& tensors) {
  std::map<std::string, TypeSum> sums;
  for (const mf_tensor_info& tensor : tensors) {
    TypeSum& sum = sums[mf_tensor_type_name(tensor.type)];
    ++sum.n_tensors;
    sum.n_elements += tensor.n_elements;
    sum.n_bytes += tensor.n_bytes;
  }
  std::vector<std::pair<std::string, TypeSum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.n_bytes > b.second.n_bytes;
  });
  Json list = Json::array();
  for (const auto& [name, sum] : sorted) {
    list.push_back({{"type", name},
                    {"n_tensors", sum.n_tensors},
                    {"n_elements", sum.n_elements},
                    {"bytes", sum.n_bytes}});
  }
  return list;
}

Json TensorFacts(const std::vector<mf_tensor_info>& tensors) {
  Json list = Json::array();
  for (const mf_tensor_info& tensor : tensors) {
    Json shape = Json::array();
    for (uint32_t i = 0; i < tensor.n_dims; ++i) shape.push_back(tensor.dims[i]);
    list.push_back({{"name", std::string(tensor.name.data, tensor.name.length)},
                    {"type", mf_tensor_type_name(tensor.type)},
                    {"shape", std::move(shape)},
                    {"bytes", tensor.n_bytes},
                    {"file", tensor.file},
                    {"offset", tensor.file_offset}});
  }
  return list;
}

Json UseFacts(const mf_memory_use& use) {
  Json classes = Json::object();
  for (int i = 0; i < MF_MEMORY_CLASS_ROOM; ++i) {
    if (use.bytes[i] != 0) classes[mf_memory_class_name(i)] = use.bytes[i];
  }
  return {{"total", use.total}, {"classes", std::move(classes)}};
}

mf::Result<Json> PlanFacts(const mf_model_info& info, const Settings& settings) {
  mf::Error error;
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = settings.n_ctx;
  options.n_sessions = settings.n_sessions;
  options.kv_type_k = options.kv_type_v = settings.kv_type;
  mf_memory_use model_use = MF_MEMORY_USE_INIT;
  mf_memory_use context_use = MF_MEMORY_USE_INIT;
  const mf_source source = SourceOf(settings);
  if (mf_model_plan(&source, 1, nullptr, &options, 0, &model_use, &context_use, error.out()) !=
      MF_STATUS_OK) {
    return error;
  }
  return Json{{"n_ctx", settings.n_ctx == 0 ? info.n_ctx_train : settings.n_ctx},
              {"n_sessions", settings.n_sessions},
              {"model", UseFacts(model_use)},
              {"context", UseFacts(context_use)}};
}

}  // namespace

mf::Result<Json> Collect(const mf::Model& model, const Settings& settings) {
  mf::Error error;
  const mf::Result<mf_model_info> info = model.describe();
  if (!info) return info.error();
  const mf::Result<std::vector<mf_tensor_info>> tensors = model.tensors();
  if (!tensors) return tensors.error();
  Json facts;
  facts["file"] = FileFacts(*info, settings);
  const mf_source source = SourceOf(settings);
  const mf_status runs = mf_model_validate(&source, 1, nullptr, error.out());
  facts["runs"] = {{"status", mf_status_name(runs)}, {"message", std::string(error.message())}};
  mf::Result<Json> metadata = MetadataFacts(model, settings.n_elements);
  if (!metadata) return metadata.error();
  facts["metadata"] = *std::move(metadata);
  facts["tensor_types"] = TypeFacts(*tensors);
  if (settings.tensors) facts["tensors"] = TensorFacts(*tensors);
  if (runs == MF_STATUS_OK) {
    mf::Result<Json> plan = PlanFacts(*info, settings);
    if (!plan) return plan.error();
    facts["plan"] = *std::move(plan);
  }
  mf_text source_text = {nullptr, 0};
  if (mf_chat_template_source(model.get(), nullptr, &source_text, nullptr) == MF_STATUS_OK) {
    facts["chat_template"] = std::string(source_text.data, source_text.length);
  }
  return facts;
}

}  // namespace inspect
