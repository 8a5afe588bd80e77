// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

// The greedy tokens by the parts: feed, decode, sample.
std::vector<mf_token> ByHand(mf_context* context, int n_tokens) {
  const Session session = MakeSession(context);
  const mf_sampling greedy = Greedy();
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &greedy, &error));
  Feed(session.get(), Prompt());
  std::vector<mf_token> tokens;
  for (int i = 0; i < n_tokens; ++i) {
    CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
    mf_token token = MF_TOKEN_NONE;
    CAPI_REQUIRE_OK(mf_session_sample(session.get(), &token, &error));
    tokens.push_back(token);
    Feed(session.get(), {token});
  }
  return tokens;
}

// The same by start, step and next.
std::vector<mf_token> BySteps(mf_context* context, uint32_t n_tokens) {
  const Session session = MakeSession(context);
  const mf_sampling greedy = Greedy();
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &greedy, &error));
  Feed(session.get(), Prompt());
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = n_tokens;
  options.ignore_end = 1;
  CAPI_REQUIRE_OK(mf_session_start(session.get(), &options, &error));
  std::vector<mf_token> tokens;
  for (int steps = 0; steps < 100; ++steps) {
    mf_step_result result = MF_STEP_RESULT_INIT;
    CAPI_REQUIRE_OK(mf_context_step(context, nullptr, &result, &error));
    mf_token_event event = MF_TOKEN_EVENT_INIT;
    const mf_status status = mf_session_next(session.get(), &event, &error);
    if (status == MF_STATUS_NOT_FOUND) continue;
    CAPI_REQUIRE_OK(status);
    tokens.push_back(event.token);
    if (event.finish != MF_FINISH_NONE) {
      CHECK(event.finish == MF_FINISH_MAX_TOKENS);
      break;
    }
  }
  mf_token_event event = MF_TOKEN_EVENT_INIT;
  CHECK(mf_session_next(session.get(), &event, &error) == MF_STATUS_FAILED_PRECONDITION);
  return tokens;
}

TEST_CASE("Session: generate, steps and the parts give the same tokens", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  const std::vector<mf_token> tokens = Generate(session.get(), 8);
  CHECK(tokens.size() == 8);
  CHECK(mf_session_position(session.get()) == Prompt().size() + 8);
  CHECK(ByHand(context.get(), 8) == tokens);
  CHECK(BySteps(context.get(), 8) == tokens);
  size_t count = 0;
  mf_error error = {};
  std::vector<mf_token> all(64);
  CAPI_REQUIRE_OK(mf_session_tokens(session.get(), all.data(), all.size(), &count, &error));
  all.resize(count);
  std::vector<mf_token> want = Prompt();
  want.insert(want.end(), tokens.begin(), tokens.end());
  CHECK(all == want);
}

TEST_CASE("Session: text streams as whole characters", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  std::string text;
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = 16;
  mf_error error = {};
  mf_generate_result result = MF_GENERATE_RESULT_INIT;
  CAPI_REQUIRE_OK(mf_session_generate(
      session.get(), &options,
      [](void* out, const mf_token_event* event) -> int32_t {
        CHECK(event->struct_size == sizeof(*event));
        CHECK(event->text != nullptr);
        // A piece never begins inside a character, unless bytes of none came before.
        static_cast<std::string*>(out)->append(event->text, event->text_length);
        return 0;
      },
      &text, &result, &error));
  CHECK(result.n_prompt_tokens == Prompt().size());
  CHECK(result.n_tokens >= 1);
  CHECK(result.n_tokens <= 16);
  CHECK(result.finish != MF_FINISH_NONE);
}

TEST_CASE("Session: a callback can stop, and one that throws aborts", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  mf_generate_result result = MF_GENERATE_RESULT_INIT;
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.ignore_end = 1;
  CAPI_REQUIRE_OK(mf_session_generate(
      session.get(), &options, [](void*, const mf_token_event*) -> int32_t { return 1; }, nullptr,
      &result, &error));
  CHECK(result.finish == MF_FINISH_STOPPED);
  CHECK(result.n_tokens == 1);
  const uint32_t position = mf_session_position(session.get());
  CHECK(position == Prompt().size() + 1);
  CHECK(mf_session_generate(
            session.get(), &options,
            [](void*, const mf_token_event*) -> int32_t { throw std::runtime_error("host"); },
            nullptr, nullptr, &error) == MF_STATUS_ABORTED);
  CHECK(mf_session_position(session.get()) == position);
  CHECK(mf_session_pending(session.get()) == 0);
}

TEST_CASE("Session: the host edits logits, and an edit that fails or throws aborts", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  const std::vector<float> before = Logits(session.get());
  mf_sampling sampling = Greedy();
  uint32_t seen = 0;
  sampling.edit_logits_user_data = &seen;
  sampling.edit_logits = [](void* out, float* logits, size_t n, uint32_t position) -> int32_t {
    *static_cast<uint32_t*>(out) = position;
    for (size_t i = 0; i < n; ++i) logits[i] = i == 77 ? 1.0F : 0.0F;
    return 0;
  };
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &sampling, &error));
  mf_token token = 0;
  CAPI_REQUIRE_OK(mf_session_sample(session.get(), &token, &error));
  CHECK(token == 77);
  CHECK(seen == Prompt().size());
  CHECK(Logits(session.get()) == before);

  mf_session* forked = nullptr;
  CAPI_REQUIRE_OK(mf_session_fork(session.get(), &forked, &error));
  const Session fork(forked);
  CAPI_REQUIRE_OK(mf_session_sample(fork.get(), &token, &error));
  CHECK(token == 77);

  sampling.edit_logits = [](void*, float*, size_t, uint32_t) -> int32_t { return 1; };
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &sampling, &error));
  CHECK(mf_session_sample(session.get(), &token, &error) == MF_STATUS_ABORTED);
  sampling.edit_logits = [](void*, float*, size_t, uint32_t) -> int32_t { throw 1; };
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &sampling, &error));
  CHECK(mf_session_generate(session.get(), nullptr, nullptr, nullptr, nullptr, &error) ==
        MF_STATUS_ABORTED);
}

TEST_CASE("Session: sampling settings, all zero and NULL", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  mf_error error = {};
  mf_sampling defaults;
  mf_sampling_init(&defaults, sizeof(defaults));
  CHECK(defaults.temperature == 0.8F);
  CHECK(defaults.top_k == 40);
  CHECK(defaults.top_p == 0.95F);
  CHECK(defaults.min_p == 0.05F);
  Feed(session.get(), Prompt());
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  const std::vector<float> logits = Logits(session.get());
  const mf_sampling zero = Greedy();
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &zero, &error));
  mf_token token = 0;
  CAPI_REQUIRE_OK(mf_session_sample(session.get(), &token, &error));
  for (const float logit : logits) CHECK(logit <= logits[static_cast<size_t>(token)]);
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), nullptr, &error));
  mf_token by_null = 0;
  CAPI_REQUIRE_OK(mf_session_sample(session.get(), &by_null, &error));
  CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &defaults, &error));
  mf_token by_init = 0;
  CAPI_REQUIRE_OK(mf_session_sample(session.get(), &by_init, &error));
  CHECK(by_null == by_init);
  mf_sampling bad = zero;
  bad.temperature = -1.0F;
  CHECK(mf_session_set_sampling(session.get(), &bad, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(error.name) == "temperature");
  bad = zero;
  const mf_logit_bias bias = {100000, 1.0F};
  bad.logit_bias = &bias;
  bad.n_logit_bias = 1;
  CHECK(mf_session_set_sampling(session.get(), &bad, &error) == MF_STATUS_OUT_OF_RANGE);
}

TEST_CASE("Session: log-probabilities are those of the model", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  const std::vector<float> logits = Logits(session.get());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  mf_token_log_probability top[3];
  size_t count = 0;
  CAPI_REQUIRE_OK(mf_session_top_tokens(session.get(), top, 3, &count, &error));
  REQUIRE(count == 3);
  CHECK(top[0].log_probability >= top[1].log_probability);
  const mf_token tokens[] = {top[1].token, 5};
  float values[2] = {};
  CAPI_REQUIRE_OK(mf_session_log_probabilities(session.get(), tokens, 2, values, &error));
  CHECK(values[0] == top[1].log_probability);
  CHECK(values[1] == Approx(static_cast<double>(logits[5]) - std::log(sum)).epsilon(1e-5));
  const mf_token bad = 264;
  CHECK(mf_session_log_probabilities(session.get(), &bad, 1, values, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Session: truncate and fork go on as if nothing had been", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  const std::vector<mf_token> first = Generate(session.get(), 6);
  mf_error error = {};
  const uint32_t prompt = static_cast<uint32_t>(Prompt().size());
  CHECK(mf_session_truncate(session.get(), prompt + 7, &error) == MF_STATUS_OUT_OF_RANGE);
  CHECK(mf_session_position(session.get()) == prompt + 6);
  CAPI_REQUIRE_OK(mf_session_truncate(session.get(), prompt - 1, &error));
  const float* logits = nullptr;
  CHECK(mf_session_logits(session.get(), &logits, nullptr, &error) ==
        MF_STATUS_FAILED_PRECONDITION);
  mf_token token = 0;
  CHECK(mf_session_sample(session.get(), &token, &error) == MF_STATUS_FAILED_PRECONDITION);
  Feed(session.get(), {Prompt().back()});
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  mf_session* forked = nullptr;
  CAPI_REQUIRE_OK(mf_session_fork(session.get(), &forked, &error));
  const Session fork(forked);
  CHECK(Generate(session.get(), 6) == first);
  CHECK(Generate(fork.get(), 6) == first);
  CHECK(Logits(fork.get()) == Logits(session.get()));
}

// Case E08.
TEST_CASE("Session: a full cache is a status, and what was told is committed", "[capi]") {
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.n_ctx = 16;
  const Context context = MakeContext(model.get(), options);
  const Session session = MakeSession(context.get());
  CHECK(mf_context_n_ctx(context.get()) == 16);
  CHECK(mf_session_room(session.get()) == 16);
  mf_error error = {};
  const std::vector<mf_token> long_prompt(17, 5);
  CHECK(mf_session_feed_tokens(session.get(), long_prompt.data(), 17, &error) ==
        MF_STATUS_RESOURCE_EXHAUSTED);
  CHECK(mf_session_pending(session.get()) == 0);
  Feed(session.get(), Prompt());
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  generate.ignore_end = 1;
  uint32_t told = 0;
  CHECK(mf_session_generate(
            session.get(), &generate,
            [](void* count, const mf_token_event*) -> int32_t {
              ++*static_cast<uint32_t*>(count);
              return 0;
            },
            &told, nullptr, &error) == MF_STATUS_RESOURCE_EXHAUSTED);
  CHECK(told == 4);
  CHECK(mf_session_position(session.get()) == 16);
  CHECK(mf_session_room(session.get()) == 0);
  CAPI_REQUIRE_OK(mf_session_truncate(session.get(), 4, &error));
  CHECK(mf_session_room(session.get()) == 12);
}

// Cases E09 and G05.
TEST_CASE("Session: threads on one context get what each would get alone", "[capi]") {
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.n_sessions = 8;
  options.n_batch = 4;  // prompts are cut
  const Context context = MakeContext(model.get(), options);
  const std::vector<mf_token> want = [&] {
    const Session session = MakeSession(context.get());
    Feed(session.get(), Prompt());
    return Generate(session.get(), 10);
  }();
  std::vector<std::vector<mf_token>> have(8);
  std::vector<std::thread> threads;
  for (std::vector<mf_token>& out : have) {
    threads.emplace_back([&out, &context] {
      mf_session* raw = nullptr;
      if (mf_session_create(context.get(), nullptr, &raw, nullptr) != MF_STATUS_OK) return;
      const Session session(raw);
      const mf_sampling greedy = Greedy();
      mf_session_set_sampling(raw, &greedy, nullptr);
      mf_session_feed_tokens(raw, Prompt().data(), Prompt().size(), nullptr);
      mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
      generate.max_tokens = 10;
      generate.ignore_end = 1;
      mf_session_generate(
          raw, &generate,
          [](void* list, const mf_token_event* event) -> int32_t {
            static_cast<std::vector<mf_token>*>(list)->push_back(event->token);
            return 0;
          },
          &out, nullptr, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<mf_token>& one : have) CHECK(one == want);
}

TEST_CASE("Session: nothing fed is a status", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  mf_error error = {};
  CHECK(mf_session_generate(session.get(), nullptr, nullptr, nullptr, nullptr, &error) ==
        MF_STATUS_FAILED_PRECONDITION);
  CHECK(mf_session_start(session.get(), nullptr, &error) == MF_STATUS_FAILED_PRECONDITION);
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  CAPI_REQUIRE_OK(mf_session_stop(session.get(), &error));
  const mf_token bad[] = {5, -1};
  CHECK(mf_session_feed_tokens(session.get(), bad, 2, &error) == MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_session_pending(session.get()) == 0);
  mf_step_result result = MF_STEP_RESULT_INIT;
  CAPI_REQUIRE_OK(mf_context_step(context.get(), nullptr, &result, &error));
  CHECK(result.n_rows == 0);
  CHECK(result.n_runnable == 0);
}

TEST_CASE("Session: statistics and kernels tell what ran", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  Generate(session.get(), 4);
  mf_error error = {};
  mf_session_statistics mine = MF_SESSION_STATISTICS_INIT;
  CAPI_REQUIRE_OK(mf_session_get_statistics(session.get(), &mine, &error));
  CHECK(mine.n_prompt_tokens == Prompt().size());
  CHECK(mine.n_generated_tokens == 4);
  mf_context_statistics all = MF_CONTEXT_STATISTICS_INIT;
  CAPI_REQUIRE_OK(mf_context_get_statistics(context.get(), &all, &error));
  CHECK(all.n_sessions == 1);
  CHECK(all.n_prefill_rows == Prompt().size());
  CHECK(all.n_decode_rows == 4);
  CHECK(all.n_matmul_nodes > 0);
  CHECK(all.weight_bytes_read > 0);
  CHECK(all.n_kv_pages_used >= 1);
  size_t count = 0;
  CAPI_REQUIRE_OK(mf_context_get_kernels(context.get(), nullptr, 0, &count, &error));
  REQUIRE(count > 0);
  std::vector<mf_kernel_use> rows(count);
  for (mf_kernel_use& row : rows) row = MF_KERNEL_USE_INIT;
  CAPI_REQUIRE_OK(mf_context_get_kernels(context.get(), rows.data(), rows.size(), &count, &error));
  for (const mf_kernel_use& row : rows) {
    CHECK(std::strlen(row.operation) > 0);
    CHECK(std::strlen(row.kernel) > 0);
    CHECK(std::strlen(row.reason) > 0);
  }
  if (count > 1) {
    size_t again = 0;
    CHECK(mf_context_get_kernels(context.get(), rows.data(), 1, &again, &error) ==
          MF_STATUS_OUT_OF_RANGE);
    CHECK(again == count);
  }
}

}  // namespace
}  // namespace capi_test
