// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/context.h"

#include <atomic>
#include <random>
#include <thread>

#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

ContextOptions Options(uint32_t n_threads, uint32_t n_sessions) {
  ContextOptions options;
  options.n_threads = n_threads;
  options.n_sessions = n_sessions;
  options.n_ctx = 300;
  return options;
}

std::vector<int32_t> Prompt(int32_t seed, size_t n) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<int32_t> tokens(n);
  for (int32_t& token : tokens) token = 3 + static_cast<int32_t>(random() % 256);
  return tokens;
}

// What a session of its own gives: the reference of every test about neighbours.
std::vector<float> Solo(const std::string& model, const ContextOptions& options,
                        const std::vector<int32_t>& prompt, std::vector<int32_t>* greedy) {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel(model), options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::vector<float> logits = Decode(session.get(), prompt);
  *greedy = Greedy(session.get(), 20);
  return logits;
}

TEST_CASE("Context: D14 the same bits for any threads, pieces, page order and repetition",
          "[engine]") {
  const std::vector<int32_t> prompt = Prompt(1, 200);
  for (const char* model : {"llama", "qwen2", "qwen3"}) {
    std::vector<int32_t> greedy;
    const std::vector<float> want = Solo(model, Options(1, 1), prompt, &greedy);
    for (uint32_t n_threads : {1u, 2u, 5u}) {
      for (uint32_t n_micro_batch : {7u, 64u, 512u}) {
        for (const char* tuning : {"", "kv_shuffle=5", "kv_shuffle=99", "attention_stripes=0"}) {
          INFO(model << " threads " << n_threads << " micro-batch " << n_micro_batch << " "
                     << tuning);
          ContextOptions options = Options(n_threads, 3);
          options.n_micro_batch = n_micro_batch;
          options.tuning = tuning;
          std::vector<int32_t> got_greedy;
          CHECK(Solo(model, options, prompt, &got_greedy) == want);
          CHECK(got_greedy == greedy);
        }
      }
    }
  }
}

TEST_CASE("Context: D22 E19 sessions that decode together give what each gives alone", "[engine]") {
  for (size_t n : {1u, 2u, 3u, 8u, 13u, 32u}) {
    std::shared_ptr<Context> context =
        MakeContext(LoadTinyModel("qwen3"), Options(2, static_cast<uint32_t>(n)));
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<std::vector<int32_t>> tokens(n);
    GenerateOptions generate;
    generate.max_tokens = 20;
    for (size_t s = 0; s < n; ++s) {
      sessions.push_back(MakeSession(context));
      // Prompts of different lengths: some decode while others are still in their prompt.
      MF_REQUIRE_OK(sessions[s]->Feed(Prompt(static_cast<int32_t>(s), 1 + 31 * s % 200)));
      MF_REQUIRE_OK(sessions[s]->Start(generate));
    }
    StepResult result;
    do {
      StepOptions step;
      MF_REQUIRE_OK(context->Step(step, &result));
      for (size_t s = 0; s < n; ++s) {
        StatusOr<TokenEvent> event = sessions[s]->Next();
        if (event.ok()) tokens[s].push_back(event->token);
      }
    } while (result.n_rows > 0);
    for (size_t s = 0; s < n; ++s) {
      std::vector<int32_t> want;
      Solo("qwen3", Options(1, 1), Prompt(static_cast<int32_t>(s), 1 + 31 * s % 200), &want);
      INFO(n << " sessions, session " << s);
      CHECK(tokens[s] == want);
    }
  }
}

TEST_CASE("Context: N decode rows run as many matmuls and read the weights as often as one",
          "[engine]") {
  auto count = [](uint32_t n) {
    std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(2, n));
    std::vector<std::unique_ptr<Session>> sessions;
    for (uint32_t s = 0; s < n; ++s) {
      sessions.push_back(MakeSession(context));
      Decode(sessions.back().get(), Prompt(static_cast<int32_t>(s), 10));
      const int32_t token = 77;
      MF_REQUIRE_OK(sessions.back()->Feed({&token, 1}));
    }
    const BackendStatistics before = context->statistics().backend;
    StepResult result;
    MF_REQUIRE_OK(context->Step(StepOptions(), &result));
    REQUIRE(result.n_rows == static_cast<int64_t>(n));
    const BackendStatistics after = context->statistics().backend;
    return std::make_pair(after.matmul_nodes - before.matmul_nodes,
                          after.weight_bytes_read - before.weight_bytes_read);
  };
  const auto one = count(1);
  CHECK(one.first == 2 * 4 + 1);  // QKV, O, gate and up, down a layer; the output matrix
  CHECK(count(8) == one);
  CHECK(count(32) == one);
}

TEST_CASE("Context: G05 threads that generate on their own sessions share steps", "[engine]") {
  constexpr int kThreads = 8;
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen2"), Options(2, kThreads));
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<int32_t>> got(kThreads);
  for (int t = 0; t < kThreads; ++t) sessions.push_back(MakeSession(context));
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (!sessions[static_cast<size_t>(t)]->Feed(Prompt(t, 20)).ok()) ++failures;
      GenerateOptions options;
      options.max_tokens = 20;
      TokenCallback callback;
      callback.user_data = &got[static_cast<size_t>(t)];
      callback.call = [](void* user_data, const TokenEvent& event) -> StatusOr<bool> {
        static_cast<std::vector<int32_t>*>(user_data)->push_back(event.token);
        return true;
      };
      GenerateResult result;
      if (!sessions[static_cast<size_t>(t)]->Generate(options, callback, &result).ok()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  for (int t = 0; t < kThreads; ++t) {
    std::vector<int32_t> want;
    Solo("qwen2", Options(1, 1), Prompt(t, 20), &want);
    CHECK(got[static_cast<size_t>(t)] == want);
  }
}

TEST_CASE("Context: E23 a session more than there are is refused, and slots come back",
          "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(1, 2));
  std::unique_ptr<Session> a = MakeSession(context);
  std::unique_ptr<Session> b = MakeSession(context);
  Status status = context->CreateSession().status();
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.name() == "n_sessions");
  CHECK(a->Fork().status().code() == StatusCode::kResourceExhausted);
  for (int i = 0; i < 10000; ++i) {
    b.reset();
    b = MakeSession(context);
  }
  Decode(b.get(), Prompt(1, 30));
  b.reset();
  CHECK(context->statistics().n_kv_pages_used == 0);
}

TEST_CASE("Context: a time budget commits what ran and leaves the rest", "[engine]") {
  ContextOptions options = Options(1, 1);
  options.n_micro_batch = 16;
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), options);
  std::unique_ptr<Session> session = MakeSession(context);
  const std::vector<int32_t> prompt = Prompt(3, 100);
  MF_REQUIRE_OK(session->Feed(prompt));
  StepOptions step;
  step.time_budget_ns = 1;
  StepResult result;
  MF_REQUIRE_OK(context->Step(step, &result));
  CHECK(result.n_rows == 16);
  CHECK(result.n_runnable == 1);
  CHECK(session->position() == 16);
  CHECK(session->pending() == 84);
  MF_REQUIRE_OK(context->Step(StepOptions(), &result));
  CHECK(session->position() == 100);
  CHECK(result.n_runnable == 0);
  std::vector<int32_t> ignored;
  StatusOr<absl::Span<const float>> logits = session->Logits();
  MF_REQUIRE_OK(logits);
  CHECK(std::vector<float>(logits->begin(), logits->end()) ==
        Solo("llama", Options(1, 1), prompt, &ignored));
}

TEST_CASE("Context: E09 E21 a prompt beyond the batch is split, n_ctx is a session's own",
          "[engine]") {
  ContextOptions options = Options(1, 4);
  options.n_batch = 4;
  options.n_ctx = 64;
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), options);
  std::unique_ptr<Session> session = MakeSession(context);
  CHECK(session->room() == 64);
  Decode(session.get(), Prompt(1, 40));
  CHECK(session->position() == 40);
  CHECK(session->room() == 24);
}

TEST_CASE("Context: after Shutdown calls fail and nothing hangs", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(1, 2));
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), Prompt(1, 5));
  context->Shutdown();
  CHECK(context->CreateSession().status().code() == StatusCode::kFailedPrecondition);
  CHECK(session->Feed({}).code() == StatusCode::kFailedPrecondition);
  CHECK(session->Decode(nullptr).code() == StatusCode::kFailedPrecondition);
  StepResult result;
  CHECK(context->Step(StepOptions(), &result).code() == StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace minfer::testing
