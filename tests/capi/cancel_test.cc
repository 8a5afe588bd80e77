// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

mf_cancel* g_cancel_of_the_signal = nullptr;

TEST_CASE("Cancel: a call that starts under a request returns at once", "[capi]") {
  mf_error error = {};
  const Cancel cancel = MakeCancel();
  mf_cancel_request(cancel.get());
  CHECK(mf_cancel_is_requested(cancel.get()) == 1);
  mf_model_options load = MF_MODEL_OPTIONS_INIT;
  load.cancel = cancel.get();
  mf_model* none = nullptr;
  CHECK(mf_model_load_path(TinyModel("llama").c_str(), &load, &none, &error) ==
        MF_STATUS_CANCELLED);
  CHECK(none == nullptr);
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.cancel = cancel.get();
  mf_context* no_context = nullptr;
  CHECK(mf_context_create(model.get(), &options, &no_context, &error) == MF_STATUS_CANCELLED);
  mf_cancel_reset(cancel.get());
  CHECK(mf_cancel_is_requested(cancel.get()) == 0);
  const Context context = MakeContext(model.get(), options);
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_cancel_request(cancel.get());
  CHECK(mf_session_decode(session.get(), nullptr, &error) == MF_STATUS_CANCELLED);
  CHECK(mf_context_step(context.get(), nullptr, nullptr, &error) == MF_STATUS_CANCELLED);
  CHECK(mf_session_generate(session.get(), nullptr, nullptr, nullptr, nullptr, &error) ==
        MF_STATUS_CANCELLED);
  mf_cancel_reset(cancel.get());
  const Cancel of_call = MakeCancel();
  mf_cancel_request(of_call.get());
  CHECK(mf_session_decode(session.get(), of_call.get(), &error) == MF_STATUS_CANCELLED);
  // Usable afterwards.
  CAPI_REQUIRE_OK(mf_session_truncate(session.get(), mf_session_position(session.get()), &error));
  Feed(session.get(), Prompt());
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
}

TEST_CASE("Cancel: from another thread, from a signal handler, and by a destroyed flag", "[capi]") {
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.n_ctx = 8192;
  const Context context = MakeContext(model.get(), options);
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_cancel* cancel = MakeCancel().release();
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  generate.ignore_end = 1;
  generate.cancel = cancel;
  std::atomic<int> tokens{0};
  const auto count = [](void* out, const mf_token_event*) -> int32_t {
    ++*static_cast<std::atomic<int>*>(out);
    return 0;
  };
  mf_error error = {};
  SECTION("another thread, which destroys the flag at once") {
    std::thread other([&] {
      while (tokens < 3) std::this_thread::yield();
      mf_cancel_request(cancel);
      mf_cancel_destroy(cancel);
    });
    CHECK(mf_session_generate(session.get(), &generate, count, &tokens, nullptr, &error) ==
          MF_STATUS_CANCELLED);
    other.join();
  }
  SECTION("a signal handler") {
    g_cancel_of_the_signal = cancel;
    struct sigaction action = {};
    struct sigaction before = {};
    action.sa_handler = [](int) { mf_cancel_request(g_cancel_of_the_signal); };
    sigaction(SIGUSR1, &action, &before);
    std::thread other([&] {
      while (tokens < 3) std::this_thread::yield();
      kill(getpid(), SIGUSR1);
    });
    CHECK(mf_session_generate(session.get(), &generate, count, &tokens, nullptr, &error) ==
          MF_STATUS_CANCELLED);
    other.join();
    sigaction(SIGUSR1, &before, nullptr);
    mf_cancel_destroy(cancel);
  }
  SECTION("the session's own") {
    std::thread other([&] {
      while (tokens < 3) std::this_thread::yield();
      mf_session_cancel(session.get());
    });
    CHECK(mf_session_generate(session.get(), &generate, count, &tokens, nullptr, &error) ==
          MF_STATUS_CANCELLED);
    other.join();
    mf_cancel_destroy(cancel);
  }
  // What was committed is there, and the same as in a run that nobody stopped.
  const uint32_t position = mf_session_position(session.get());
  CHECK(position >= Prompt().size());
  CHECK(mf_session_pending(session.get()) == 0);
  std::vector<mf_token> have(position);
  size_t n = 0;
  CAPI_REQUIRE_OK(mf_session_tokens(session.get(), have.data(), have.size(), &n, &error));
  const Session fresh = MakeSession(context.get());
  Feed(fresh.get(), have);
  CAPI_REQUIRE_OK(mf_session_decode(fresh.get(), nullptr, &error));
  CHECK(mf_session_position(fresh.get()) == position);
}

TEST_CASE("Cancel: with no call in progress a session's cancel does nothing", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  mf_session_cancel(session.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  mf_session_cancel(session.get());
  CHECK(Generate(session.get(), 3).size() == 3);
}

TEST_CASE("Cancel: a step with a time budget commits one micro-batch at least", "[capi]") {
  const Model model = LoadModel();
  mf_context_options options = SmallContext();
  options.n_micro_batch = 2;
  const Context context = MakeContext(model.get(), options);
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_step_options step = MF_STEP_OPTIONS_INIT;
  step.time_budget_ns = 1;
  mf_error error = {};
  for (uint32_t steps = 1; mf_session_pending(session.get()) > 0; ++steps) {
    REQUIRE(steps <= Prompt().size());
    mf_step_result result = MF_STEP_RESULT_INIT;
    CAPI_REQUIRE_OK(mf_context_step(context.get(), &step, &result, &error));
    CHECK(result.n_rows == 2);
    CHECK(mf_session_position(session.get()) == 2 * steps);
  }
  CHECK(mf_session_position(session.get()) == Prompt().size());
}

}  // namespace
}  // namespace capi_test
