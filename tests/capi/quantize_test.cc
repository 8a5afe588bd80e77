// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

mf_source Memory(const std::string& bytes) {
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_MEMORY;
  source.data = bytes.data();
  source.size = bytes.size();
  return source;
}

int32_t Append(void* user_data, const void* bytes, size_t length) {
  static_cast<std::string*>(user_data)->append(static_cast<const char*>(bytes), length);
  return 0;
}

mf_status Quantize(const std::string& in, mf_tensor_type type, const mf_quantize_options* options,
                   std::string* out, mf_error* error) {
  out->clear();
  const mf_source source = Memory(in);
  return mf_model_quantize(&source, 1, type, options, &Append, out, nullptr, error);
}

Model LoadBytes(const std::string& bytes, mf_load_mode mode) {
  const mf_source source = Memory(bytes);
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.load_mode = mode;
  mf_model* model = nullptr;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_model_load(&source, 1, &options, &model, &error));
  return Model(model);
}

std::vector<float> PromptLogits(const std::string& bytes) {
  const Model model = LoadBytes(bytes, MF_LOAD_READ);
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  return Logits(session.get());
}

uint64_t NumberOf(const mf_model* model, const char* key) {
  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_metadata_get(model, key, &value, &error));
  return value.as_unsigned;
}

// What the callbacks of one call were told.
struct Seen {
  std::vector<std::string> changed;
  uint32_t n_events = 0;
  uint64_t done = 0;
  uint64_t total = 0;
};

int32_t SeeTensor(void* user_data, const mf_quantize_event* event) {
  auto& seen = *static_cast<Seen*>(user_data);
  CHECK(event->struct_size == sizeof(mf_quantize_event));
  CHECK(event->index == seen.n_events++);
  if (event->from == event->to) {
    CHECK(event->rms_error == 0.0);
    CHECK(event->bytes_before == event->bytes_after);
    return 0;
  }
  CHECK(event->from == MF_TENSOR_F32);
  CHECK(event->to == MF_TENSOR_Q8_0);
  CHECK(event->rms_error > 0.0);
  CHECK(event->rms_error < 0.01 * event->rms);
  CHECK(event->max_error >= event->rms_error);
  seen.changed.emplace_back(event->name.data, event->name.length);
  return 0;
}

int32_t SeeProgress(void* user_data, uint64_t done, uint64_t total) {
  auto& seen = *static_cast<Seen*>(user_data);
  CHECK(done > seen.done);
  seen.done = done;
  seen.total = total;
  return 0;
}

TEST_CASE("Quantize: a model in Q8_0 says nearly the same", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  Seen seen;
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.n_threads = 2;
  options.tensor_user_data = options.progress_user_data = &seen;
  options.tensor = &SeeTensor;
  options.progress = &SeeProgress;
  std::string out;
  mf_error error = {};
  mf_quantize_result result = MF_QUANTIZE_RESULT_INIT;
  const mf_source source = Memory(bytes);
  CAPI_REQUIRE_OK(
      mf_model_quantize(&source, 1, MF_TENSOR_Q8_0, &options, &Append, &out, &result, &error));
  CHECK(result.file_bytes == out.size());
  CHECK(result.n_tensors == seen.n_events);
  CHECK(result.n_changed == seen.changed.size());
  CHECK(result.bytes_after < result.bytes_before);
  CHECK(seen.done == seen.total);
  CHECK(seen.total == result.bytes_before);
  REQUIRE(!seen.changed.empty());
  for (const std::string& name : seen.changed) CHECK(name.find("norm") == std::string::npos);

  const std::vector<float> want = PromptLogits(bytes);
  const std::vector<float> got = PromptLogits(out);
  REQUIRE(want.size() == got.size());
  double squares = 0.0;
  double error_squares = 0.0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double difference = static_cast<double>(want[i]) - got[i];
    squares += static_cast<double>(want[i]) * want[i];
    error_squares += difference * difference;
  }
  CHECK(std::sqrt(error_squares / squares) < 0.03);
}

std::string TextOf(const mf_metadata_value& value) {
  return value.string == nullptr ? std::string() : std::string(value.string, value.string_length);
}

TEST_CASE("Quantize: the keys stay, but those that say how it is stored", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  std::string out;
  mf_error error = {};
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q8_0, nullptr, &out, &error));
  const Model before = LoadBytes(bytes, MF_LOAD_HEADER);
  const Model after = LoadBytes(out, MF_LOAD_HEADER);
  CHECK(NumberOf(after.get(), "general.file_type") == 7);
  CHECK(NumberOf(after.get(), "general.quantization_version") == 2);
  for (size_t i = 0; i < mf_metadata_count(before.get()); ++i) {
    mf_text text = {nullptr, 0};
    CAPI_REQUIRE_OK(mf_metadata_key(before.get(), i, &text, &error));
    const std::string key(text.data, text.length);
    if (key == "general.file_type") continue;
    mf_metadata_value old_value = MF_METADATA_VALUE_INIT;
    mf_metadata_value new_value = MF_METADATA_VALUE_INIT;
    CAPI_REQUIRE_OK(mf_metadata_get(before.get(), key.c_str(), &old_value, &error));
    CAPI_REQUIRE_OK(mf_metadata_get(after.get(), key.c_str(), &new_value, &error));
    CHECK(old_value.type == new_value.type);
    CHECK(old_value.as_unsigned == new_value.as_unsigned);
    CHECK(old_value.as_float == new_value.as_float);
    CHECK(old_value.n_elements == new_value.n_elements);
    CHECK(TextOf(old_value) == TextOf(new_value));
  }
}

TEST_CASE("Quantize: every type that is written loads and runs", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  int n_types = 0;
  for (mf_tensor_type type = -1; type < 64; ++type) {
    if (mf_quantize_supports(type) == 0) continue;
    ++n_types;
    INFO(mf_tensor_type_name(type));
    std::string out;
    mf_error error = {};
    CAPI_REQUIRE_OK(Quantize(bytes, type, nullptr, &out, &error));
    for (const float logit : PromptLogits(out)) REQUIRE(std::isfinite(logit));
  }
  CHECK(n_types == 16);
}

TEST_CASE("Quantize: the bytes do not depend on the threads", "[capi]") {
  const std::string bytes = Bytes(TinyModel("qwen2"));
  std::string want;
  std::string got;
  mf_error error = {};
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.n_threads = 1;
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q4_0, &options, &want, &error));
  options.n_threads = 5;
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q4_0, &options, &got, &error));
  CHECK(want == got);
  options.pool.n_threads = 3;
  options.pool.parallel_for = [](void*, size_t n, mf_task run, void* task) {
    for (size_t i = n; i > 0; --i) run(task, i - 1);
  };
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q4_0, &options, &got, &error));
  CHECK(want == got);
  options.pool.parallel_for = [](void*, size_t, mf_task, void*) {};
  options.pool.n_threads = 2;
  // A tensor of one task is run by the caller; this model's are all of one.
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q4_0, &options, &got, &error));
  CHECK(want == got);
}

TEST_CASE("Quantize: wrong arguments are refused", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  const mf_source source = Memory(bytes);
  std::string out;
  mf_error error = {};
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  CHECK(mf_model_quantize(&source, 1, MF_TENSOR_Q8_0, nullptr, nullptr, nullptr, nullptr, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.name) == "write");
  CHECK(mf_model_quantize(nullptr, 1, MF_TENSOR_Q8_0, nullptr, &Append, &out, nullptr, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_model_quantize(&source, 0, MF_TENSOR_Q8_0, nullptr, &Append, &out, nullptr, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(Quantize(bytes, 77, nullptr, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(Quantize(bytes, -1, nullptr, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(Quantize(bytes, MF_TENSOR_IQ1_S, nullptr, &out, &error) == MF_STATUS_UNIMPLEMENTED);
  CHECK(std::string(error.message).find("IQ1_S") != std::string::npos);
  CHECK(mf_quantize_supports(MF_TENSOR_IQ1_S) == 0);
  CHECK(mf_quantize_supports(-1) == 0);
  options.pure = 2;
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.name) == "pure");
  options = MF_QUANTIZE_OPTIONS_INIT;
  options.n_threads = 100000;
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  options = MF_QUANTIZE_OPTIONS_INIT;
  options.reserved[5] = 1;
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  options = MF_QUANTIZE_OPTIONS_INIT;
  options.struct_size = 4;
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_INVALID_ARGUMENT);
  mf_quantize_result result = MF_QUANTIZE_RESULT_INIT;
  result.struct_size = 4;
  CHECK(mf_model_quantize(&source, 1, MF_TENSOR_Q8_0, nullptr, &Append, &out, &result, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(out.empty());
}

TEST_CASE("Quantize: it stops when told, and says who stopped it", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  const mf_source source = Memory(bytes);
  std::string out;
  mf_error error = {};
  const Cancel cancel = MakeCancel();
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.cancel = cancel.get();
  mf_cancel_request(cancel.get());
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_CANCELLED);
  CHECK(out.empty());
  mf_cancel_reset(cancel.get());
  options.progress_user_data = cancel.get();
  options.progress = [](void* user_data, uint64_t, uint64_t) -> int32_t {
    mf_cancel_request(static_cast<mf_cancel*>(user_data));
    return 0;
  };
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_CANCELLED);
  CHECK(out.size() < bytes.size());

  options = MF_QUANTIZE_OPTIONS_INIT;
  options.progress = [](void*, uint64_t, uint64_t) -> int32_t { return 1; };
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_CANCELLED);
  options = MF_QUANTIZE_OPTIONS_INIT;
  options.tensor = [](void*, const mf_quantize_event*) -> int32_t { return 1; };
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_CANCELLED);
  options.tensor = [](void*, const mf_quantize_event*) -> int32_t { throw 7; };
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, &options, &out, &error) == MF_STATUS_ABORTED);

  const auto with = [&](mf_write_callback write) {
    return mf_model_quantize(&source, 1, MF_TENSOR_Q8_0, nullptr, write, nullptr, nullptr, &error);
  };
  CHECK(with([](void*, const void*, size_t) -> int32_t { return MF_STATUS_RESOURCE_EXHAUSTED; }) ==
        MF_STATUS_RESOURCE_EXHAUSTED);
  CHECK(std::string(error.name) == "write");
  CHECK(with([](void*, const void*, size_t) -> int32_t { return 999; }) == MF_STATUS_UNAVAILABLE);
  CHECK(with([](void*, const void*, size_t) -> int32_t { throw std::runtime_error("disk"); }) ==
        MF_STATUS_ABORTED);
}

TEST_CASE("Quantize: what is quantised is taken only when asked", "[capi]") {
  const std::string bytes = Bytes(TinyModel("llama"));
  std::string q8;
  std::string out;
  mf_error error = {};
  CAPI_REQUIRE_OK(Quantize(bytes, MF_TENSOR_Q8_0, nullptr, &q8, &error));
  CHECK(Quantize(q8, MF_TENSOR_Q4_0, nullptr, &out, &error) == MF_STATUS_FAILED_PRECONDITION);
  CHECK(std::string(error.name).find(".weight") != std::string::npos);
  CHECK(out.empty());
  mf_quantize_options options = MF_QUANTIZE_OPTIONS_INIT;
  options.allow_requantize = 1;
  CAPI_REQUIRE_OK(Quantize(q8, MF_TENSOR_Q4_0, &options, &out, &error));
  CHECK(out.size() < q8.size());
  // The same type again changes nothing and is no requantising.
  CAPI_REQUIRE_OK(Quantize(q8, MF_TENSOR_Q8_0, nullptr, &out, &error));
  CHECK(out == q8);
}

TEST_CASE("Quantize: a damaged file and a value that is not finite are named", "[capi]") {
  std::string bytes = Bytes(TinyModel("llama"));
  std::string out;
  mf_error error = {};
  const std::string cut = bytes.substr(0, bytes.size() - 64);
  CHECK(Quantize(cut, MF_TENSOR_Q8_0, nullptr, &out, &error) == MF_STATUS_DATA_LOSS);
  CHECK(std::string(error.name).find('.') != std::string::npos);
  mf_tensor_info info = MF_TENSOR_INFO_INIT;
  {
    const Model model = LoadBytes(bytes, MF_LOAD_HEADER);
    CAPI_REQUIRE_OK(mf_tensor_get(model.get(), "blk.1.attn_k.weight", &info, &error));
  }
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[info.file_offset + 4 * 100], &bad, sizeof(bad));
  CHECK(Quantize(bytes, MF_TENSOR_Q8_0, nullptr, &out, &error) == MF_STATUS_DATA_LOSS);
  CHECK(std::string(error.name) == "blk.1.attn_k.weight");
  CHECK(std::string(error.message).find("value 100") != std::string::npos);
}

}  // namespace
}  // namespace capi_test
