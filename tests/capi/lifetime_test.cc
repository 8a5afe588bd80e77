// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "tests/capi/capi_test.h"
#include "tests/support/sanitized.h"

namespace capi_test {
namespace {

// Case G06.
TEST_CASE("Lifetime: any destroy order is safe, and a shell says so", "[capi]") {
  mf_error error = {};
  mf_model* model = LoadModel().release();
  mf_context* context = MakeContext(model).release();
  mf_session* session = MakeSession(context).release();
  Feed(session, Prompt());
  CAPI_REQUIRE_OK(mf_session_decode(session, nullptr, &error));
  CHECK(mf_session_position(session) == Prompt().size());

  SECTION("model first") {
    mf_model_destroy(model);
    CHECK(mf_session_decode(session, nullptr, &error) == MF_STATUS_FAILED_PRECONDITION);
    CHECK(error.status == MF_STATUS_FAILED_PRECONDITION);
    CHECK(mf_context_step(context, nullptr, nullptr, &error) == MF_STATUS_FAILED_PRECONDITION);
    mf_session* more = nullptr;
    CHECK(mf_session_create(context, nullptr, &more, &error) == MF_STATUS_FAILED_PRECONDITION);
    CHECK(mf_session_fork(session, &more, &error) == MF_STATUS_FAILED_PRECONDITION);
    CHECK(more == nullptr);
    CHECK(mf_session_position(session) == 0);
    CHECK(mf_session_room(session) == 0);
    mf_session_cancel(session);
    SECTION("then the context") {
      mf_context_destroy(context);
      mf_session_destroy(session);
    }
    SECTION("then the session") {
      mf_session_destroy(session);
      mf_context_destroy(context);
    }
  }
  SECTION("context first") {
    mf_context_destroy(context);
    CHECK(mf_session_decode(session, nullptr, &error) == MF_STATUS_FAILED_PRECONDITION);
    CHECK(mf_session_position(session) == 0);
    const float* logits = nullptr;
    CHECK(mf_session_logits(session, &logits, nullptr, &error) == MF_STATUS_FAILED_PRECONDITION);
    mf_context* other = MakeContext(model).release();
    mf_context_destroy(other);
    SECTION("then the model") {
      mf_model_destroy(model);
      mf_session_destroy(session);
    }
    SECTION("then the session") {
      mf_session_destroy(session);
      mf_model_destroy(model);
    }
  }
  SECTION("session first") {
    mf_session_destroy(session);
    mf_model_destroy(model);
    mf_context_destroy(context);
  }
}

struct Destroyer {
  mf_model* model;
  mf_context* context;
  mf_session* session;
  int what;
  int calls;
};

// Destroys something while the call that it runs in uses it.
int32_t DestroyInside(void* user_data, const mf_token_event*) {
  auto& destroyer = *static_cast<Destroyer*>(user_data);
  if (destroyer.calls++ != 1) return 0;
  if (destroyer.what == 0) mf_session_destroy(destroyer.session);
  if (destroyer.what == 1) mf_context_destroy(destroyer.context);
  if (destroyer.what == 2) mf_model_destroy(destroyer.model);
  return 0;
}

TEST_CASE("Lifetime: destroy from a callback is deferred, and the call ends as cancelled",
          "[capi]") {
  const int what = GENERATE(0, 1, 2);
  mf_error error = {};
  mf_model* model = LoadModel().release();
  mf_context* context = MakeContext(model).release();
  mf_session* session = MakeSession(context).release();
  Feed(session, Prompt());
  Destroyer destroyer = {model, context, session, what, 0};
  CHECK(mf_session_generate(session, nullptr, &DestroyInside, &destroyer, nullptr, &error) ==
        MF_STATUS_CANCELLED);
  CHECK(destroyer.calls == 2);
  if (what != 0) mf_session_destroy(session);
  if (what != 1) mf_context_destroy(context);
  if (what != 2) mf_model_destroy(model);
}

TEST_CASE("Lifetime: destroy during another thread's call cancels it and waits", "[capi]") {
  const bool whole_model = GENERATE(false, true);
  mf_model* model = LoadModel().release();
  mf_context_options options = SmallContext();
  options.n_ctx = 4096;
  mf_context* context = MakeContext(model, options).release();
  mf_session* session = MakeSession(context).release();
  Feed(session, Prompt());
  std::atomic<int> tokens{0};
  std::atomic<mf_status> status{-1};
  std::thread caller([&] {
    mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
    generate.ignore_end = 1;
    status = mf_session_generate(
        session, &generate,
        [](void* count, const mf_token_event*) -> int32_t {
          ++*static_cast<std::atomic<int>*>(count);
          return 0;
        },
        &tokens, nullptr, nullptr);
  });
  while (tokens < 2 && status == -1) std::this_thread::yield();
  if (whole_model) {
    mf_model_destroy(model);
  } else {
    mf_context_destroy(context);
  }
  // It has returned: nothing is told any more.
  const int seen = tokens;
  caller.join();
  CHECK(tokens == seen);
  CHECK(status == MF_STATUS_CANCELLED);
  mf_session_destroy(session);
  if (whole_model) {
    mf_context_destroy(context);
  } else {
    mf_model_destroy(model);
  }
}

TEST_CASE("Lifetime: a session in a call refuses every other call but cancel", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  struct Inside {
    mf_session* session;
    std::vector<mf_status> statuses;
  } inside = {session.get(), {}};
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = 4;
  options.ignore_end = 1;
  mf_error error = {};
  CHECK(mf_session_generate(
            session.get(), &options,
            [](void* user_data, const mf_token_event*) -> int32_t {
              auto& in = *static_cast<Inside*>(user_data);
              mf_token token = 5;
              size_t count = 0;
              mf_session* fork = nullptr;
              in.statuses.push_back(mf_session_decode(in.session, nullptr, nullptr));
              in.statuses.push_back(mf_session_feed_tokens(in.session, &token, 1, nullptr));
              in.statuses.push_back(mf_session_truncate(in.session, 0, nullptr));
              in.statuses.push_back(mf_session_fork(in.session, &fork, nullptr));
              in.statuses.push_back(mf_session_tokens(in.session, nullptr, 0, &count, nullptr));
              in.statuses.push_back(mf_session_set_sampling(in.session, nullptr, nullptr));
              mf_session_cancel(in.session);
              return 0;
            },
            &inside, nullptr, &error) == MF_STATUS_CANCELLED);
  REQUIRE(inside.statuses.size() == 6);
  for (const mf_status status : inside.statuses) CHECK(status == MF_STATUS_FAILED_PRECONDITION);
  // Usable afterwards, at the last committed position.
  const uint32_t position = mf_session_position(session.get());
  CHECK(position >= Prompt().size());
  CHECK(mf_session_pending(session.get()) == 0);
  Feed(session.get(), {5});
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  CHECK(mf_session_position(session.get()) == position + 1);
}

// What a forked child may do: 0 when all is as the header says, else the number of the check.
int CheckInChild(mf_model* model, mf_context* context, mf_session* session) {
  mf_error error = {};
  mf_model_info info = MF_MODEL_INFO_INIT;
  if (mf_model_describe(model, &info, &error) != MF_STATUS_FAILED_PRECONDITION) return 1;
  if (mf_session_decode(session, nullptr, &error) != MF_STATUS_FAILED_PRECONDITION) return 2;
  if (mf_context_step(context, nullptr, nullptr, &error) != MF_STATUS_FAILED_PRECONDITION) return 3;
  mf_context* more = nullptr;
  if (mf_context_create(model, nullptr, &more, &error) != MF_STATUS_FAILED_PRECONDITION) return 4;
  if (mf_tokenizer_size(model) != 264 || mf_session_position(session) != 12) return 5;
  mf_session_cancel(session);
  mf_session_destroy(session);
  mf_context_destroy(context);
  mf_model_destroy(model);
  // Calls without an older handle work.
  mf_model* own = nullptr;
  if (mf_model_load_path(TinyModel("llama").c_str(), nullptr, &own, &error) != MF_STATUS_OK)
    return 6;
  mf_context* own_context = nullptr;
  if (mf_context_create(own, nullptr, &own_context, &error) != MF_STATUS_OK) return 7;
  mf_context_destroy(own_context);
  mf_model_destroy(own);
  return 0;
}

// Case G12.
TEST_CASE("Lifetime: a forked child is refused, and destroy only forgets", "[capi]") {
  if (minfer::testing::kThreadSanitized) {
    std::cout << "SKIPPED: the thread sanitizer ends a forked child that starts a thread"
              << std::endl;
    return;
  }
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(CheckInChild(model.get(), context.get(), session.get()));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  // The parent goes on.
  Feed(session.get(), {5});
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
}

TEST_CASE("Lifetime: sessions are counted and their places come back", "[capi]") {
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.n_sessions = 2;
  const Context context = MakeContext(model.get(), options);
  mf_error error = {};
  for (int round = 0; round < 5; ++round) {
    const Session one = MakeSession(context.get());
    const Session two = MakeSession(context.get());
    mf_session* three = nullptr;
    CHECK(mf_session_create(context.get(), nullptr, &three, &error) ==
          MF_STATUS_RESOURCE_EXHAUSTED);
    CHECK(mf_session_fork(one.get(), &three, &error) == MF_STATUS_RESOURCE_EXHAUSTED);
    CHECK(three == nullptr);
  }
}

}  // namespace
}  // namespace capi_test
