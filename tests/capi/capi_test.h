// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the C interface share. They see the public headers and nothing else.
#pragma once

#include <minfer/minfer.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

// Fails with the error's texts when the call is not OK. `error` must be in scope.
#define CAPI_REQUIRE_OK(call)                                                         \
  do {                                                                                \
    const mf_status capi_status = (call);                                             \
    INFO(mf_status_name(capi_status) << ": " << error.name << ": " << error.message); \
    REQUIRE(capi_status == MF_STATUS_OK);                                             \
  } while (false)

namespace capi_test {

// A tiny model of tests/data/tiny_ref.py, written when the tests are built: "llama", "qwen2", ...
inline std::string TinyModel(const std::string& name) {
  return std::string(CAPI_TEST_MODELS) + "/" + name + ".gguf";
}

struct Destroy {
  void operator()(mf_model* model) const { mf_model_destroy(model); }
  void operator()(mf_context* context) const { mf_context_destroy(context); }
  void operator()(mf_session* session) const { mf_session_destroy(session); }
  void operator()(mf_cancel* cancel) const { mf_cancel_destroy(cancel); }
};
using Model = std::unique_ptr<mf_model, Destroy>;
using Context = std::unique_ptr<mf_context, Destroy>;
using Session = std::unique_ptr<mf_session, Destroy>;
using Cancel = std::unique_ptr<mf_cancel, Destroy>;

// On the CPU, whatever else this machine has: what these tests look at is the host's.
inline mf_model_options CpuModel() {
  static const mf_model_device cpu = MF_MODEL_DEVICE_INIT;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.devices = &cpu;
  options.n_devices = 1;
  return options;
}

inline Model LoadModel(const std::string& name = "llama",
                       const mf_model_options* options = nullptr) {
  mf_model* model = nullptr;
  mf_error error = {};
  const mf_model_options cpu = CpuModel();
  CAPI_REQUIRE_OK(mf_model_load_path(TinyModel(name).c_str(), options == nullptr ? &cpu : options,
                                     &model, &error));
  return Model(model);
}

inline mf_context_options SmallContext() {
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_threads = 2;
  options.n_ctx = 64;
  options.n_sessions = 4;
  return options;
}

inline Context MakeContext(mf_model* model, mf_context_options options = SmallContext()) {
  mf_context* context = nullptr;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_context_create(model, &options, &context, &error));
  return Context(context);
}

inline Session MakeSession(mf_context* context) {
  mf_session* session = nullptr;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_create(context, nullptr, &session, &error));
  return Session(session);
}

inline Cancel MakeCancel() {
  mf_cancel* cancel = nullptr;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_cancel_create(&cancel, &error));
  return Cancel(cancel);
}

inline mf_sampling Greedy() { return mf_sampling(); }

// The prompt of tests/data/tiny_ref.py.
inline const std::vector<mf_token>& Prompt() {
  static const std::vector<mf_token> prompt = {1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258};
  return prompt;
}

inline void Feed(mf_session* session, const std::vector<mf_token>& tokens) {
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_feed_tokens(session, tokens.data(), tokens.size(), &error));
}

inline std::vector<float> Logits(mf_session* session) {
  const float* logits = nullptr;
  size_t count = 0;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_logits(session, &logits, &count, &error));
  return std::vector<float>(logits, logits + count);
}

// Generates greedily; the tokens as the callback saw them.
inline std::vector<mf_token> Generate(mf_session* session, uint32_t max_tokens) {
  std::vector<mf_token> tokens;
  const mf_sampling greedy = Greedy();
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_set_sampling(session, &greedy, &error));
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = max_tokens;
  options.ignore_end = 1;
  CAPI_REQUIRE_OK(mf_session_generate(
      session, &options,
      [](void* user_data, const mf_token_event* event) -> int32_t {
        static_cast<std::vector<mf_token>*>(user_data)->push_back(event->token);
        return 0;
      },
      &tokens, nullptr, &error));
  return tokens;
}

}  // namespace capi_test
