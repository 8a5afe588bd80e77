// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <xmmintrin.h>

#include <cerrno>
#include <clocale>
#include <cstring>
#include <thread>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

constexpr unsigned kFlushAndDenormals = 0x8040;
constexpr unsigned kRoundDown = 0x2000;

std::vector<float> RunOnce() {
  const Model model = LoadModel("qwen2");
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  Generate(session.get(), 4);
  return Logits(session.get());
}

TEST_CASE("Host state: the same bits under any floating-point mode, which is left as it was",
          "[capi]") {
  const std::vector<float> want = RunOnce();
  const unsigned old = _mm_getcsr();
  for (const unsigned mode : {kFlushAndDenormals, kRoundDown, kFlushAndDenormals | 0x4000}) {
    const unsigned set = (old & ~0x603Fu) | mode;
    _mm_setcsr(set);
    const std::vector<float> have = RunOnce();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(old);
    CHECK((after & ~0x3Fu) == (set & ~0x3Fu));
    REQUIRE(have.size() == want.size());
    CHECK(std::memcmp(have.data(), want.data(), want.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("Host state: unmasked floating-point exceptions do not fire inside", "[capi]") {
  const unsigned old = _mm_getcsr();
  _mm_setcsr((old & ~0x1FBFu) | 0x0000);  // all exceptions unmasked
  const std::vector<float> have = RunOnce();
  _mm_setcsr(old);
  CHECK(!have.empty());
}

TEST_CASE("Host state: a callback sees the host's floating-point mode", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  const unsigned old = _mm_getcsr();
  _mm_setcsr((old & ~0x603Fu) | kFlushAndDenormals);
  unsigned seen = 0;
  mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
  options.max_tokens = 1;
  const mf_status status = mf_session_generate(
      session.get(), &options,
      [](void* out, const mf_token_event*) -> int32_t {
        *static_cast<unsigned*>(out) = _mm_getcsr();
        return 0;
      },
      &seen, nullptr, nullptr);
  _mm_setcsr(old);
  CHECK(status == MF_STATUS_OK);
  CHECK((seen & kFlushAndDenormals) == kFlushAndDenormals);
}

TEST_CASE("Host state: errno, signal mask, locale and cancellation are left as they were",
          "[capi]") {
  sigset_t mask;
  sigset_t before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &mask, &before) == 0);
  sigset_t with;
  pthread_sigmask(SIG_SETMASK, nullptr, &with);
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  int cancel_state = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);

  mf_error error = {};
  mf_model* model = nullptr;
  errno = 4711;
  CHECK(mf_model_load_path("/nowhere/x.gguf", nullptr, &model, &error) == MF_STATUS_NOT_FOUND);
  CHECK(errno == 4711);
  const std::string path = TinyModel("llama");
  errno = 4712;
  CHECK(mf_model_load_path(path.c_str(), nullptr, &model, &error) == MF_STATUS_OK);
  CHECK(errno == 4712);
  mf_model_destroy(model);
  CHECK(errno == 4712);
  RunOnce();

  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int i = 1; i < NSIG; ++i) CHECK(sigismember(&with, i) == sigismember(&after, i));
  CHECK(locale == std::setlocale(LC_ALL, nullptr));
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
  CHECK(cancel_state == PTHREAD_CANCEL_ENABLE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Cases G04 and G15.
TEST_CASE("Host state: no signal or terminate handler is changed", "[capi]") {
  std::vector<struct sigaction> before(32);
  for (int i = 1; i < 32; ++i) sigaction(i, nullptr, &before[static_cast<size_t>(i)]);
  const std::terminate_handler terminate = std::get_terminate();
  RunOnce();
  for (int i = 1; i < 32; ++i) {
    struct sigaction now = {};
    sigaction(i, nullptr, &now);
    CHECK(now.sa_handler == before[static_cast<size_t>(i)].sa_handler);
  }
  CHECK(std::get_terminate() == terminate);
}

TEST_CASE("Host state: 64 KiB of stack are enough for every call", "[capi]") {
  // The system's smallest thread and what the C library keeps in it come on top.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN) + 65536) ==
          0);
  struct Job {
    std::string path = TinyModel("llama");
    mf_status status = -1;
    mf_error error = {};
  } job;
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    Job& in = *static_cast<Job*>(argument);
    mf_model* model = nullptr;
    mf_context* context = nullptr;
    mf_session* session = nullptr;
    in.status = mf_model_load_path(in.path.c_str(), nullptr, &model, &in.error);
    if (in.status == MF_STATUS_OK)
      in.status = mf_context_create(model, nullptr, &context, &in.error);
    if (in.status == MF_STATUS_OK) {
      in.status = mf_session_create(context, nullptr, &session, &in.error);
    }
    if (in.status == MF_STATUS_OK) {
      in.status = mf_session_feed_text(session, "hello", 5, 1, nullptr, &in.error);
    }
    mf_generate_options options = MF_GENERATE_OPTIONS_INIT;
    options.max_tokens = 4;
    if (in.status == MF_STATUS_OK) {
      in.status = mf_session_generate(session, &options, nullptr, nullptr, nullptr, &in.error);
    }
    mf_session_destroy(session);
    mf_context_destroy(context);
    mf_model_destroy(model);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &job) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  INFO(job.error.message);
  CHECK(job.status == MF_STATUS_OK);
}

}  // namespace
}  // namespace capi_test
