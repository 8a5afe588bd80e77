// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

struct Job {
  mf_model* model = nullptr;
  mf_context* context = nullptr;
  std::vector<mf_token> tokens;
  mf_status status = MF_STATUS_OK;
};

// Everything that a serving thread does, without a check that another thread's failure could race.
void Serve(Job* job) {
  mf_session* raw = nullptr;
  job->status = mf_session_create(job->context, nullptr, &raw, nullptr);
  if (job->status != MF_STATUS_OK) return;
  const Session session(raw);
  const mf_sampling greedy = Greedy();
  mf_token ids[32];
  size_t n = 0;
  char text[64];
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = 6;
  options.ignore_end = 1;
  mf_context_statistics statistics = MF_CONTEXT_STATISTICS_INIT;
  const mf_status statuses[] = {
      mf_session_set_sampling(raw, &greedy, nullptr),
      mf_tokenizer_encode(job->model, "hello world", 11, 0, ids, 32, &n, nullptr),
      mf_tokenizer_decode(job->model, ids, n, 0, text, sizeof(text), &n, nullptr),
      mf_session_feed_tokens(raw, Prompt().data(), Prompt().size(), nullptr),
      mf_session_generate(
          raw, &options,
          [](void* out, const mf_token_event* event) -> int32_t {
            static_cast<std::vector<mf_token>*>(out)->push_back(event->token);
            return 0;
          },
          &job->tokens, nullptr, nullptr),
      mf_context_get_statistics(job->context, &statistics, nullptr),
      mf_context_get_kernels(job->context, nullptr, 0, &n, nullptr),
      mf_session_truncate(raw, 3, nullptr),
  };
  for (const mf_status status : statuses) {
    if (status != MF_STATUS_OK) job->status = status;
  }
}

// Case G05; run under the thread sanitizer by tests/run.sh --all.
TEST_CASE("Threads: eight on two models, while a third model loads", "[capi]") {
  const Model models[] = {LoadModel("llama"), LoadModel("qwen2")};
  mf_context_options options = SmallContext();
  options.n_sessions = 5;
  const Context contexts[] = {MakeContext(models[0].get(), options),
                              MakeContext(models[1].get(), options)};
  std::vector<Job> alone(2);
  std::vector<Job> jobs(8);
  for (size_t i = 0; i < 2; ++i) {
    alone[i].model = models[i].get();
    alone[i].context = contexts[i].get();
    Serve(&alone[i]);
    REQUIRE(alone[i].status == MF_STATUS_OK);
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i] = Job();
      jobs[i].model = models[i % 2].get();
      jobs[i].context = contexts[i % 2].get();
      threads.emplace_back(Serve, &jobs[i]);
    }
    const Model third = LoadModel("qwen3");
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < jobs.size(); ++i) {
      CHECK(jobs[i].status == MF_STATUS_OK);
      CHECK(jobs[i].tokens == alone[i % 2].tokens);
    }
  }
}

TEST_CASE("Threads: a host's loop steps while sessions are made, fed and destroyed", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  std::atomic<bool> stop{false};
  std::atomic<mf_status> step_status{MF_STATUS_OK};
  std::thread loop([&] {
    while (!stop) {
      const mf_status status = mf_context_step(context.get(), nullptr, nullptr, nullptr);
      if (status != MF_STATUS_OK) step_status = status;
      std::this_thread::yield();
    }
  });
  const mf_sampling greedy = Greedy();
  mf_error error = {};
  for (int round = 0; round < 20; ++round) {
    const Session session = MakeSession(context.get());
    CAPI_REQUIRE_OK(mf_session_set_sampling(session.get(), &greedy, &error));
    Feed(session.get(), Prompt());
    mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
    generate.max_tokens = 3;
    generate.ignore_end = 1;
    // The loop may have taken the prompt already: then the session is busy for a moment.
    mf_status status = MF_STATUS_FAILED_PRECONDITION;
    while (status == MF_STATUS_FAILED_PRECONDITION) {
      status = mf_session_start(session.get(), &generate, &error);
    }
    REQUIRE(status == MF_STATUS_OK);
    int told = 0;
    // Odd rounds destroy the session in the middle of its generation.
    while (told < (round % 2 == 0 ? 3 : 1)) {
      mf_token_event event = MF_TOKEN_EVENT_INIT;
      if (mf_session_next(session.get(), &event, &error) == MF_STATUS_OK) ++told;
      std::this_thread::yield();
    }
  }
  stop = true;
  loop.join();
  CHECK(step_status == MF_STATUS_OK);
}

}  // namespace
}  // namespace capi_test
