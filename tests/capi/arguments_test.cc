// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

void CheckAllRefused(const std::vector<mf_status>& statuses, const mf_error& error) {
  for (size_t i = 0; i < statuses.size(); ++i) {
    INFO("call " << i);
    CHECK(statuses[i] == MF_STATUS_INVALID_ARGUMENT);
  }
  CHECK(error.status == MF_STATUS_INVALID_ARGUMENT);
  CHECK(error.subsystem == MF_SUBSYSTEM_API);
}

// Case G01: every call with a NULL handle, or with nothing to work on.
TEST_CASE("C interface: a NULL model is refused", "[capi]") {
  mf_error error = {};
  size_t size = 0;
  mf_text text = {nullptr, 0};
  mf_model_info info = MF_MODEL_INFO_INIT;
  mf_memory_use use = MF_MEMORY_USE_INIT;
  mf_metadata_value value = MF_METADATA_VALUE_INIT;
  mf_context* context = nullptr;
  CheckAllRefused(
      {
          mf_cancel_create(nullptr, &error),
          mf_model_load_path(nullptr, nullptr, nullptr, &error),
          mf_model_load(nullptr, 0, nullptr, nullptr, &error),
          mf_model_validate(nullptr, 0, nullptr, &error),
          mf_model_plan(nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr, &error),
          mf_model_describe(nullptr, &info, &error),
          mf_model_get_memory(nullptr, 0, &use, &error),
          mf_metadata_key(nullptr, 0, &text, &error),
          mf_metadata_get(nullptr, "a", &value, &error),
          mf_metadata_at(nullptr, 0, &value, &error),
          mf_metadata_element(nullptr, "a", 0, &value, &error),
          mf_tokenizer_count(nullptr, "a", 1, 0, &size, &error),
          mf_tokenizer_encode(nullptr, "a", 1, 0, nullptr, 0, &size, &error),
          mf_tokenizer_decode(nullptr, nullptr, 0, 0, nullptr, 0, &size, &error),
          mf_tokenizer_piece(nullptr, 0, 0, nullptr, 0, &size, &error),
          mf_chat_render(nullptr, nullptr, 0, nullptr, nullptr, 0, &size, &error),
          mf_chat_encode(nullptr, nullptr, 0, nullptr, nullptr, 0, &size, &error),
          mf_chat_template_source(nullptr, nullptr, &text, &error),
          mf_context_create(nullptr, nullptr, &context, &error),
      },
      error);
  CHECK(context == nullptr);
}

TEST_CASE("C interface: a NULL context or session is refused", "[capi]") {
  mf_error error = {};
  size_t size = 0;
  mf_token token = 0;
  const float* logits = nullptr;
  mf_memory_use use = MF_MEMORY_USE_INIT;
  mf_context_statistics context_statistics = MF_CONTEXT_STATISTICS_INIT;
  mf_session_statistics session_statistics = MF_SESSION_STATISTICS_INIT;
  mf_token_event event = MF_TOKEN_EVENT_INIT;
  mf_session* session = nullptr;
  CheckAllRefused(
      {
          mf_context_step(nullptr, nullptr, nullptr, &error),
          mf_context_get_memory(nullptr, 0, &use, nullptr, &error),
          mf_context_get_statistics(nullptr, &context_statistics, &error),
          mf_context_get_kernels(nullptr, nullptr, 0, &size, &error),
          mf_context_trace_start(nullptr, nullptr, &error),
          mf_context_trace_stop(nullptr, &error),
          mf_context_dump_graph(nullptr, MF_GRAPH_DOT, nullptr, nullptr, &error),
          mf_session_create(nullptr, nullptr, &session, &error),
          mf_session_set_sampling(nullptr, nullptr, &error),
          mf_session_feed_tokens(nullptr, &token, 1, &error),
          mf_session_feed_text(nullptr, "a", 1, 0, nullptr, &error),
          mf_session_decode(nullptr, nullptr, &error),
          mf_session_logits(nullptr, &logits, &size, &error),
          mf_session_top_tokens(nullptr, nullptr, 0, &size, &error),
          mf_session_log_probabilities(nullptr, &token, 1, nullptr, &error),
          mf_session_sample(nullptr, &token, &error),
          mf_session_tokens(nullptr, nullptr, 0, &size, &error),
          mf_session_truncate(nullptr, 0, &error),
          mf_session_fork(nullptr, &session, &error),
          mf_session_get_statistics(nullptr, &session_statistics, &error),
          mf_session_generate(nullptr, nullptr, nullptr, nullptr, nullptr, &error),
          mf_session_start(nullptr, nullptr, &error),
          mf_session_next(nullptr, &event, &error),
          mf_session_stop(nullptr, &error),
      },
      error);
  CHECK(session == nullptr);
}

TEST_CASE("C interface: getters of NULL give 0, and destroy does nothing", "[capi]") {
  CHECK(mf_model_can(nullptr, MF_CAPABILITY_FORK) == 0);
  CHECK(mf_metadata_count(nullptr) == 0);
  CHECK(mf_tokenizer_attributes(nullptr, 0) == 0);
  CHECK(mf_tokenizer_special(nullptr, MF_SPECIAL_BOS) == MF_TOKEN_NONE);
  CHECK(mf_tokenizer_size(nullptr) == 0);
  CHECK(mf_tokenizer_is_eog(nullptr, 0) == 0);
  CHECK(mf_context_n_ctx(nullptr) == 0);
  CHECK(mf_session_position(nullptr) == 0);
  CHECK(mf_session_pending(nullptr) == 0);
  CHECK(mf_session_room(nullptr) == 0);
  CHECK(mf_cancel_is_requested(nullptr) == 0);
  mf_model_destroy(nullptr);
  mf_context_destroy(nullptr);
  mf_session_destroy(nullptr);
  mf_cancel_destroy(nullptr);
  mf_cancel_request(nullptr);
  mf_cancel_reset(nullptr);
  mf_session_cancel(nullptr);
}

TEST_CASE("C interface: error may be NULL", "[capi]") {
  mf_model* model = nullptr;
  CHECK(mf_model_load_path("/nowhere/a.gguf", nullptr, &model, nullptr) == MF_STATUS_NOT_FOUND);
  CHECK(model == nullptr);
}

TEST_CASE("C interface: an error is whole on failure and says OK on success", "[capi]") {
  mf_error error = {};
  std::memset(&error, 0xA5, sizeof(error));
  mf_model* model = nullptr;
  REQUIRE(mf_model_load_path("/nowhere/a.gguf", nullptr, &model, &error) == MF_STATUS_NOT_FOUND);
  CHECK(error.status == MF_STATUS_NOT_FOUND);
  CHECK(error.subsystem == MF_SUBSYSTEM_FILE);
  CHECK(std::strlen(error.message) < sizeof(error.message));
  CHECK(std::strlen(error.message) > 0);
  CHECK(std::strlen(error.name) < sizeof(error.name));
  for (const uint8_t byte : error.reserved) CHECK(byte == 0);
  mf_cancel* cancel = nullptr;
  REQUIRE(mf_cancel_create(&cancel, &error) == MF_STATUS_OK);
  CHECK(error.status == MF_STATUS_OK);
  mf_cancel_destroy(cancel);
}

TEST_CASE("C interface: a long name is cut at a character's edge", "[capi]") {
  // 126 bytes of 'a', then a character of two bytes that would end past the terminator's place.
  const std::string path = "/nowhere/" + std::string(117, 'a') + "\xC3\xA9\xC3\xA9.gguf";
  mf_error error = {};
  mf_model* model = nullptr;
  REQUIRE(mf_model_load_path(path.c_str(), nullptr, &model, &error) == MF_STATUS_NOT_FOUND);
  const std::string name = error.name;
  CHECK(name.size() < sizeof(error.name));
  if (!name.empty()) CHECK((name.back() & 0xC0) != 0xC0);
}

TEST_CASE("C interface: struct_size rules of input structs", "[capi]") {
  mf_error error = {};
  mf_model* model = nullptr;
  const std::string path = TinyModel("llama");
  mf_model_options options = MF_MODEL_OPTIONS_INIT;

  options.struct_size = 0;
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  options.struct_size = sizeof(options) - 8;  // shorter than the first version's
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  options.struct_size = 0xA5A5A5A5u;
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  options = MF_MODEL_OPTIONS_INIT;
  options.reserved[3] = 1;
  CHECK(mf_model_load_path(path.c_str(), &options, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(model == nullptr);

  // A newer host's struct: what this version does not know must be 0.
  struct {
    mf_model_options known;
    uint64_t more[2];
  } newer;
  mf_model_options_init(&newer.known, sizeof(newer));
  CHECK(newer.known.struct_size == sizeof(newer));
  CAPI_REQUIRE_OK(mf_model_load_path(path.c_str(), &newer.known, &model, &error));
  mf_model_destroy(model);
  newer.more[1] = 1;
  CHECK(mf_model_load_path(path.c_str(), &newer.known, &model, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("C interface: struct_size rules of output structs", "[capi]") {
  mf_error error = {};
  const Model model = LoadModel();
  mf_model_info info = MF_MODEL_INFO_INIT;
  info.struct_size = 4;
  CHECK(mf_model_describe(model.get(), &info, &error) == MF_STATUS_INVALID_ARGUMENT);
  struct {
    mf_model_info known;
    uint64_t more[2];
    uint64_t guard;
  } newer;
  std::memset(&newer, 0xA5, sizeof(newer));
  newer.known.struct_size = sizeof(newer) - sizeof(newer.guard);
  CAPI_REQUIRE_OK(mf_model_describe(model.get(), &newer.known, &error));
  CHECK(newer.known.struct_size == sizeof(newer) - sizeof(newer.guard));
  CHECK(std::string(newer.known.architecture) == "llama");
  CHECK(newer.more[0] == 0);
  CHECK(newer.more[1] == 0);
  CHECK(newer.guard == 0xA5A5A5A5A5A5A5A5u);
}

TEST_CASE("C interface: an array's stride is its first element's size", "[capi]") {
  mf_error error = {};
  const Model model = LoadModel();
  struct Newer {
    mf_chat_message known;
    uint64_t more;
  };
  Newer messages[2];
  for (Newer& message : messages) {
    mf_chat_message_init(&message.known, sizeof(message));
    message.known.role = {"user", 4};
    message.known.content = {"hi", 2};
  }
  mf_chat_options options = MF_CHAT_OPTIONS_INIT;
  const std::string source = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
  options.template_text = {source.data(), source.size()};
  char text[64];
  size_t length = 0;
  CAPI_REQUIRE_OK(mf_chat_render(model.get(), &messages[0].known, 2, &options, text, sizeof(text),
                                 &length, &error));
  CHECK(std::string(text, length) == "[user:hi][user:hi]");
  messages[1].known.struct_size = sizeof(mf_chat_message);
  CHECK(mf_chat_render(model.get(), &messages[0].known, 2, &options, text, sizeof(text), &length,
                       &error) == MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("C interface: the two-call form (B10, B14, C24)", "[capi]") {
  mf_error error = {};
  const Model model = LoadModel();
  const std::string text = "hello world";
  size_t count = 0;
  CAPI_REQUIRE_OK(
      mf_tokenizer_encode(model.get(), text.data(), text.size(), 0, nullptr, 0, &count, &error));
  REQUIRE(count > 1);
  std::vector<mf_token> tokens(count, -7);
  size_t again = 0;
  CHECK(mf_tokenizer_encode(model.get(), text.data(), text.size(), 0, tokens.data(), count - 1,
                            &again, &error) == MF_STATUS_OUT_OF_RANGE);
  CHECK(again == count);
  for (const mf_token token : tokens) CHECK(token == -7);
  CAPI_REQUIRE_OK(mf_tokenizer_encode(model.get(), text.data(), text.size(), 0, tokens.data(),
                                      count, &again, &error));
  CHECK(again == count);
  CHECK(mf_tokenizer_encode(model.get(), text.data(), text.size(), 0, nullptr, 4, &again, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_tokenizer_encode(model.get(), text.data(), text.size(), 0, nullptr, 0, nullptr,
                            &error) == MF_STATUS_INVALID_ARGUMENT);
  char out[64];
  size_t length = 0;
  CAPI_REQUIRE_OK(
      mf_tokenizer_decode(model.get(), tokens.data(), count, 0, out, sizeof(out), &length, &error));
  CHECK(std::string(out, length) == text);
  // A piece longer than its buffer: its length, and not a byte of it.
  for (const mf_token token : tokens) {
    char one[2] = {'#', '#'};
    const mf_status status = mf_tokenizer_piece(model.get(), token, 0, one, 1, &length, &error);
    CHECK(status == (length > 1 ? MF_STATUS_OUT_OF_RANGE : MF_STATUS_OK));
    CHECK(length <= text.size());
    CHECK((length <= 1 || one[0] == '#'));
    CHECK(one[1] == '#');
  }
  for (const mf_token token : {-1, static_cast<int>(mf_tokenizer_size(model.get())), INT32_MAX}) {
    CHECK(mf_tokenizer_piece(model.get(), token, 0, out, 1, &length, &error) ==
          MF_STATUS_INVALID_ARGUMENT);
  }
}

TEST_CASE("C interface: numbers out of their range are refused", "[capi]") {
  mf_error error = {};
  const Model model = LoadModel();
  mf_context* context = nullptr;
  mf_context_options options = SmallContext();
  options.kv_type_k = 99;
  CHECK(mf_context_create(model.get(), &options, &context, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.name) == "kv_type_k");
  options = SmallContext();
  options.deterministic = 2;
  CHECK(mf_context_create(model.get(), &options, &context, &error) == MF_STATUS_INVALID_ARGUMENT);
  options = SmallContext();
  options.tuning = "no_such_lever=1";
  CHECK(mf_context_create(model.get(), &options, &context, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.name) == "no_such_lever");
  options = SmallContext();
  options.log.level = 77;
  CHECK(mf_context_create(model.get(), &options, &context, &error) == MF_STATUS_INVALID_ARGUMENT);
  options = SmallContext();
  options.n_ctx = UINT32_MAX;
  CHECK(mf_context_create(model.get(), &options, &context, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(context == nullptr);
  size_t device = 7;
  CHECK(mf_device_pick(99, 0, &device, &error) == MF_STATUS_INVALID_ARGUMENT);
  if (mf_device_count() == 1) {
    CHECK(mf_device_pick(MF_DEVICE_CUDA, 0, &device, &error) == MF_STATUS_NOT_FOUND);
  }
  CHECK(mf_device_pick(MF_DEVICE_ANY, UINT64_MAX, &device, &error) == MF_STATUS_RESOURCE_EXHAUSTED);
  CHECK(error.bytes_wanted == UINT64_MAX);
  CHECK(device == 7);
}

TEST_CASE("C interface: the library says what it is and which levers it has", "[capi]") {
  mf_error error = {};
  CHECK(mf_version() >= MF_VERSION_NUMBER(0, 1, 0));
  CHECK(std::string(mf_version_string()).find('.') != std::string::npos);
  CHECK(mf_abi_version() == MF_ABI_VERSION);
  CHECK(std::string(mf_build_info()).find("backends=cpu") != std::string::npos);
  CHECK(mf_supports(MF_FEATURE_MAPPED_FILES) == 1);
  CHECK(mf_supports(MF_FEATURE_CUDA) == 0);
  CHECK(mf_supports(12345) == 0);
  REQUIRE(mf_lever_count() > 0);
  for (size_t i = 0; i < mf_lever_count(); ++i) {
    mf_lever_info lever = MF_LEVER_INFO_INIT;
    CAPI_REQUIRE_OK(mf_lever_get(i, &lever, &error));
    CHECK(std::strlen(lever.name) > 0);
    CHECK(std::strlen(lever.meaning) > 0);
    CHECK(lever.default_value >= lever.min_value);
    CHECK(lever.default_value <= lever.max_value);
  }
  mf_lever_info lever = MF_LEVER_INFO_INIT;
  CHECK(mf_lever_get(mf_lever_count(), &lever, &error) == MF_STATUS_OUT_OF_RANGE);
  REQUIRE(mf_device_count() >= 1);
  mf_device_info device = MF_DEVICE_INFO_INIT;
  CAPI_REQUIRE_OK(mf_device_get_info(0, &device, &error));
  CHECK(device.kind == MF_DEVICE_CPU);
  CHECK(device.usable == 1);
  CHECK(device.compute_units >= 1);
  CHECK(std::strlen(device.level) > 0);
  CHECK(mf_device_get_info(mf_device_count(), &device, &error) == MF_STATUS_OUT_OF_RANGE);
}

}  // namespace
}  // namespace capi_test
