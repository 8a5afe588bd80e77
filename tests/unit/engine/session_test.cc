// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/session.h"

#include <atomic>
#include <thread>

#include "engine/context.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

ContextOptions Options(uint32_t n_ctx, uint32_t n_sessions = 1) {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = n_ctx;
  options.n_sessions = n_sessions;
  return options;
}

const std::vector<int32_t> kPrompt = {1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258};

TEST_CASE("Session: D21 E08 contexts of any size fill to the last cell, then say so", "[engine]") {
  for (uint32_t n_ctx : {1u, 2u, 31u, 33u, 64u, 257u}) {
    INFO(n_ctx);
    std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(n_ctx));
    std::unique_ptr<Session> session = MakeSession(context);
    MF_REQUIRE_OK(session->Feed({kPrompt.data(), 1}));
    GenerateOptions options;
    options.ignore_end = true;
    GenerateResult result;
    Status status = session->Generate(options, {}, &result);
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(session->position() == static_cast<int64_t>(n_ctx));
    CHECK(session->room() == 0);
    CHECK(result.n_tokens == static_cast<int64_t>(n_ctx) - 1);
    const int32_t token = 5;
    CHECK(session->Feed({&token, 1}).code() == StatusCode::kResourceExhausted);
    MF_REQUIRE_OK(session->Truncate(0));
    CHECK(session->room() == static_cast<int64_t>(n_ctx));
  }
}

TEST_CASE("Session: G13 ids outside the vocabulary are refused and nothing is fed", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(64));
  std::unique_ptr<Session> session = MakeSession(context);
  const int32_t n = context->model().n_tokens();
  for (int32_t bad : {-1, n, INT32_MAX, INT32_MIN}) {
    std::vector<int32_t> tokens = {1, 2, bad};
    Status status = session->Feed(tokens);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(session->pending() == 0);
  }
}

TEST_CASE("Session: E13 the same prompt after a rewind gives the same logits", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen3"), Options(64));
  std::unique_ptr<Session> session = MakeSession(context);
  const std::vector<float> want = Decode(session.get(), kPrompt);
  Greedy(session.get(), 10);
  MF_REQUIRE_OK(session->Truncate(0));
  CHECK(session->Logits().status().code() == StatusCode::kFailedPrecondition);
  CHECK(Decode(session.get(), kPrompt) == want);
  MF_REQUIRE_OK(session->Truncate(9));
  CHECK(Decode(session.get(), {kPrompt.data() + 9, 3}) == want);
  CHECK(session->Truncate(13).code() == StatusCode::kOutOfRange);
  CHECK(session->Truncate(-1).code() == StatusCode::kOutOfRange);
  CHECK(session->position() == 12);
}

TEST_CASE("Session: E11 a fork goes its own way and leaves the other alone", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen3"), Options(300, 4));
  std::unique_ptr<Session> a = MakeSession(context);
  const std::vector<float> at_fork = Decode(a.get(), kPrompt);
  StatusOr<std::unique_ptr<Session>> b = a->Fork();
  MF_REQUIRE_OK(b);
  StatusOr<absl::Span<const float>> logits = (*b)->Logits();
  MF_REQUIRE_OK(logits);
  CHECK(std::vector<float>(logits->begin(), logits->end()) == at_fork);
  const uint64_t shared_pages = context->statistics().n_kv_pages_used;
  CHECK(shared_pages == 1);

  const std::vector<int32_t> other = {7, 8, 9};
  const std::vector<float> b_logits = Decode(b->get(), other);
  CHECK(context->statistics().n_kv_pages_used == 2);
  const std::vector<int32_t> a_greedy = Greedy(a.get(), 10);

  std::unique_ptr<Session> fresh = MakeSession(context);
  Decode(fresh.get(), kPrompt);
  CHECK(Greedy(fresh.get(), 10) == a_greedy);
  MF_REQUIRE_OK(fresh->Truncate(12));
  CHECK(Decode(fresh.get(), other) == b_logits);
}

TEST_CASE("Session: F16 sampling reproduces after a rewind, in a fork and beside others",
          "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(300, 4));
  SamplingSettings settings = DefaultSamplingSettings();
  settings.seed = 42;
  settings.temperature = 1.5f;
  settings.mirostat = 2;
  settings.mirostat_tau = 4.0f;
  settings.mirostat_eta = 0.1f;
  std::unique_ptr<Session> a = MakeSession(context);
  MF_REQUIRE_OK(a->SetSampling(settings));
  Decode(a.get(), kPrompt);
  StatusOr<std::unique_ptr<Session>> b = a->Fork();
  MF_REQUIRE_OK(b);
  const std::vector<int32_t> first = Greedy(a.get(), 30);
  MF_REQUIRE_OK(a->Truncate(11));
  Decode(a.get(), {kPrompt.data() + 11, 1});
  CHECK(Greedy(a.get(), 30) == first);
  CHECK(Greedy(b->get(), 30) == first);
}

TEST_CASE("Session: a cancelled call keeps the committed position and drops the rest", "[engine]") {
  ContextOptions options = Options(300);
  options.n_micro_batch = 8;
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), options);
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), kPrompt);
  std::atomic<bool> cancel{true};
  MF_REQUIRE_OK(session->Feed(kPrompt));
  Status status = session->Decode(&cancel);
  CHECK(status.code() == StatusCode::kCancelled);
  CHECK(session->position() == 12);
  CHECK(session->pending() == 0);
  cancel = false;
  Decode(session.get(), kPrompt);
  CHECK(session->position() == 24);

  // In the middle of a generation, from its own callback.
  struct State {
    Session* session;
    int64_t n = 0;
  } state{session.get()};
  TokenCallback callback;
  callback.user_data = &state;
  callback.call = [](void* user_data, const TokenEvent&) -> StatusOr<bool> {
    State* s = static_cast<State*>(user_data);
    if (++s->n == 3) s->session->Cancel();
    return true;
  };
  GenerateOptions generate;
  generate.ignore_end = true;
  GenerateResult result;
  status = session->Generate(generate, callback, &result);
  CHECK(status.code() == StatusCode::kCancelled);
  CHECK(session->position() == 24 + 2);
  CHECK(session->pending() == 0);
  Greedy(session.get(), 0 + 1);
}

TEST_CASE("Session: G09 E20 the work between two polls of the cancel flag is bounded", "[engine]") {
  ContextOptions options = Options(512);
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen2"), options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 500; ++i) prompt.push_back(3 + i % 200);
  Decode(session.get(), prompt);
  const BackendStatistics statistics = context->statistics().backend;
  CHECK(statistics.cancel_polls > 100);
  // 2^26 multiply-adds are 7 ms of the slowest unit that is meant for speed (10 G a second).
  CHECK(statistics.work_between_polls_max <= (uint64_t{1} << 26));
}

TEST_CASE("Session: a cancelled neighbour does not change the others", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen3"), Options(300, 2));
  std::unique_ptr<Session> a = MakeSession(context);
  std::unique_ptr<Session> b = MakeSession(context);
  MF_REQUIRE_OK(a->Feed(kPrompt));
  MF_REQUIRE_OK(b->Feed(kPrompt));
  a->Cancel();  // with no call in progress: the next step of the host sees it
  StepResult result;
  MF_REQUIRE_OK(context->Step(StepOptions(), &result));
  CHECK(result.n_failed == 1);
  CHECK(a->position() == 0);
  CHECK(b->position() == 12);
  StatusOr<absl::Span<const float>> logits = b->Logits();
  MF_REQUIRE_OK(logits);
  std::unique_ptr<Session> fresh = MakeSession(MakeContext(LoadTinyModel("qwen3"), Options(300)));
  CHECK(std::vector<float>(logits->begin(), logits->end()) == Decode(fresh.get(), kPrompt));
}

TEST_CASE("Session: a callback that fails ends the generation with its status", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(300));
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), kPrompt);
  TokenCallback callback;
  callback.call = [](void*, const TokenEvent&) -> StatusOr<bool> {
    return Status(StatusCode::kAborted, Subsystem::kApi, "the host threw");
  };
  GenerateResult result;
  CHECK(session->Generate(GenerateOptions(), callback, &result).code() == StatusCode::kAborted);
  CHECK(session->position() == 12);
  CHECK(session->pending() == 0);
}

TEST_CASE("Session: stopping by the callback commits what was told", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("llama"), Options(300));
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), kPrompt);
  int64_t n = 0;
  TokenCallback callback;
  callback.user_data = &n;
  callback.call = [](void* user_data, const TokenEvent&) -> StatusOr<bool> {
    return ++*static_cast<int64_t*>(user_data) < 4;
  };
  GenerateOptions options;
  options.ignore_end = true;
  GenerateResult result;
  MF_REQUIRE_OK(session->Generate(options, callback, &result));
  CHECK(result.finish == FinishReason::kStopped);
  CHECK(result.n_tokens == 4);
  CHECK(session->position() == 16);
  MF_REQUIRE_OK(session->Logits());
}

TEST_CASE("Session: started generations give the same tokens as generate", "[engine]") {
  std::shared_ptr<Context> context = MakeContext(LoadTinyModel("qwen2"), Options(300, 2));
  std::unique_ptr<Session> a = MakeSession(context);
  std::unique_ptr<Session> b = MakeSession(context);
  Decode(a.get(), kPrompt);
  const std::vector<int32_t> want = Greedy(a.get(), 12);
  MF_REQUIRE_OK(b->Feed(kPrompt));
  GenerateOptions options;
  options.max_tokens = 12;
  MF_REQUIRE_OK(b->Start(options));
  CHECK(b->Start(options).code() == StatusCode::kFailedPrecondition);
  CHECK(b->Next().status().code() == StatusCode::kNotFound);
  std::vector<int32_t> got;
  StepResult result;
  while (true) {
    MF_REQUIRE_OK(context->Step(StepOptions(), &result));
    StatusOr<TokenEvent> event = b->Next();
    MF_REQUIRE_OK(event);
    got.push_back(event->token);
    if (event->finish != FinishReason::kNone) break;
  }
  CHECK(got == want);
  CHECK(b->Next().status().code() == StatusCode::kFailedPrecondition);
  MF_REQUIRE_OK(context->Step(StepOptions(), &result));  // commits the last token
  CHECK(b->position() == a->position());
  MF_REQUIRE_OK(b->Stop());
}

}  // namespace
}  // namespace minfer::testing
