// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Loads the header of a file in memory with `from` replaced by `to`, of the same length, where it
// first stands after `after`.
Model LoadChanged(std::string* bytes, const std::string& after, const std::string& from,
                  const std::string& to) {
  const size_t at = bytes->find(from, bytes->find(after));
  REQUIRE(at != std::string::npos);
  bytes->replace(at, to.size(), to);
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_MEMORY;
  source.data = bytes->data();
  source.size = bytes->size();
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = MF_LOAD_HEADER;
  mf_model* model = nullptr;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_model_load(&source, 1, &options, &model, &error));
  return Model(model);
}

TEST_CASE("Tensors: names, types, shapes and places", "[capi]") {
  const Model model = LoadModel();
  const std::string bytes = Bytes(TinyModel("llama"));
  mf_error error = {};
  mf_model_info model_info = MF_MODEL_INFO_INIT;
  CAPI_REQUIRE_OK(mf_model_describe(model.get(), &model_info, &error));
  const size_t count = mf_tensor_count(model.get());
  CHECK(count == model_info.n_tensors);
  uint64_t n_bytes = 0;
  uint64_t n_elements = 0;
  for (size_t i = 0; i < count; ++i) {
    mf_tensor_info info = MF_TENSOR_INFO_INIT;
    mf_tensor_info same = MF_TENSOR_INFO_INIT;
    CAPI_REQUIRE_OK(mf_tensor_at(model.get(), i, &info, &error));
    const std::string name(info.name.data, info.name.length);
    CAPI_REQUIRE_OK(mf_tensor_get(model.get(), name.c_str(), &same, &error));
    CHECK(std::memcmp(&info, &same, sizeof(info)) == 0);
    CHECK(info.type == MF_TENSOR_F32);
    CHECK(info.n_dims >= 1);
    CHECK(info.dims[0] * info.dims[1] * info.dims[2] * info.dims[3] == info.n_elements);
    CHECK(info.n_bytes == 4 * info.n_elements);
    CHECK(info.file == 0);
    CHECK(info.file_offset + info.n_bytes <= bytes.size());
    n_bytes += info.n_bytes;
    n_elements += info.n_elements;
  }
  CHECK(n_bytes == model_info.n_bytes);
  CHECK(n_elements == model_info.n_parameters);
  mf_tensor_info info = MF_TENSOR_INFO_INIT;
  CAPI_REQUIRE_OK(mf_tensor_get(model.get(), "token_embd.weight", &info, &error));
  CHECK(info.n_dims == 2);
  CHECK(info.dims[0] == 32);
  CHECK(info.dims[1] == 264);
}

TEST_CASE("Tensors: wrong arguments are refused", "[capi]") {
  const Model model = LoadModel();
  mf_error error = {};
  mf_tensor_info info = MF_TENSOR_INFO_INIT;
  CHECK(mf_tensor_count(nullptr) == 0);
  CHECK(mf_tensor_at(nullptr, 0, &info, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_tensor_get(nullptr, "a", &info, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_tensor_at(model.get(), 0, nullptr, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_tensor_get(model.get(), nullptr, &info, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_tensor_at(model.get(), mf_tensor_count(model.get()), &info, &error) ==
        MF_STATUS_OUT_OF_RANGE);
  CHECK(mf_tensor_get(model.get(), "no.such", &info, &error) == MF_STATUS_NOT_FOUND);
  CHECK(std::string(error.name) == "no.such");
  info.struct_size = 8;
  CHECK(mf_tensor_at(model.get(), 0, &info, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(mf_tensor_type_name(MF_TENSOR_Q4_K)) == "Q4_K");
  CHECK(std::string(mf_tensor_type_name(4)) == "unknown");
  CHECK(std::string(mf_tensor_type_name(-7)) == "unknown");
}

TEST_CASE("Model: the header alone has all but weights", "[capi]") {
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = MF_LOAD_HEADER;
  const Model model = LoadModel("llama", &options);
  const Model whole = LoadModel();
  mf_error error = {};
  mf_model_info info = MF_MODEL_INFO_INIT;
  mf_model_info whole_info = MF_MODEL_INFO_INIT;
  CAPI_REQUIRE_OK(mf_model_describe(model.get(), &info, &error));
  CAPI_REQUIRE_OK(mf_model_describe(whole.get(), &whole_info, &error));
  CHECK(info.n_layers == whole_info.n_layers);
  CHECK(info.n_parameters == whole_info.n_parameters);
  CHECK(info.n_vocab == whole_info.n_vocab);
  CHECK(mf_metadata_count(model.get()) == mf_metadata_count(whole.get()));
  std::vector<mf_token> tokens(16);
  std::vector<mf_token> whole_tokens(16);
  size_t n = 0;
  CAPI_REQUIRE_OK(mf_tokenizer_encode(model.get(), "hello", 5, 0, tokens.data(), 16, &n, &error));
  CAPI_REQUIRE_OK(
      mf_tokenizer_encode(whole.get(), "hello", 5, 0, whole_tokens.data(), 16, &n, &error));
  CHECK(tokens == whole_tokens);
  mf_memory_use use = MF_MEMORY_USE_INIT;
  CAPI_REQUIRE_OK(mf_model_get_memory(model.get(), 0, &use, &error));
  CHECK(use.total == 0);
  CHECK(use.bytes[MF_MEMORY_MAPPED] == 0);
  mf_context* context = nullptr;
  CHECK(mf_context_create(model.get(), nullptr, &context, &error) == MF_STATUS_FAILED_PRECONDITION);
  CHECK(context == nullptr);
  options.load_mode = 3;
  mf_model* none = nullptr;
  CHECK(mf_model_load_path(TinyModel("llama").c_str(), &options, &none, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Model: the header of a model that does not run here is there to look at", "[capi]") {
  std::string bytes = Bytes(TinyModel("llama"));
  mf_error error = {};
  {
    const Model model = LoadChanged(&bytes, "general.architecture", "llama", "xlama");
    mf_model_info info = MF_MODEL_INFO_INIT;
    CAPI_REQUIRE_OK(mf_model_describe(model.get(), &info, &error));
    CHECK(std::string(info.architecture) == "xlama");
    CHECK(info.n_layers == 0);
    CHECK(info.n_tensors == mf_tensor_count(model.get()));
    size_t n = 0;
    CAPI_REQUIRE_OK(mf_tokenizer_count(model.get(), "hello", 5, 0, &n, &error));
    CHECK(n > 0);
  }
  bytes = Bytes(TinyModel("llama"));
  mf_metadata_value kind = MF_METADATA_VALUE_INIT;
  const Model whole = LoadModel();
  CAPI_REQUIRE_OK(mf_metadata_get(whole.get(), "tokenizer.ggml.model", &kind, &error));
  std::string other(kind.string, kind.string_length);
  other[0] = 'X';
  const Model model = LoadChanged(&bytes, "tokenizer.ggml.model",
                                  std::string(kind.string, kind.string_length), other);
  CHECK(mf_tokenizer_size(model.get()) == 0);
  size_t n = 0;
  // The reason for which there is none.
  CHECK(mf_tokenizer_count(model.get(), "hello", 5, 0, &n, &error) == MF_STATUS_UNIMPLEMENTED);
  CHECK(std::string(error.message).find(other) != std::string::npos);
}

}  // namespace
}  // namespace capi_test
