// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Case G02: operator new fails at any place of a whole run, and the host sees a status. The program
// replaces operator new for itself and for the library.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/capi/capi_test.h"

namespace {

std::atomic<int64_t> g_live{0};
std::atomic<int64_t> g_countdown{0};  // 0: never fails; 1: the next one fails
std::atomic<bool> g_failed{false};

void* Take(size_t size, size_t alignment) {
  if (g_countdown.load() > 0 && g_countdown.fetch_sub(1) == 1) {
    g_failed = true;
    return nullptr;
  }
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++g_live;
  return memory;
}

void* TakeOrThrow(size_t size, size_t alignment) {
  void* memory = Take(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Give(void* memory) {
  if (memory == nullptr) return;
  --g_live;
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return TakeOrThrow(size, 1); }
void* operator new[](size_t size) { return TakeOrThrow(size, 1); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Take(size, 1); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Take(size, 1); }
void* operator new(size_t size, std::align_val_t alignment) {
  return TakeOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return TakeOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Give(memory); }
void operator delete[](void* memory) noexcept { Give(memory); }
void operator delete(void* memory, size_t) noexcept { Give(memory); }
void operator delete[](void* memory, size_t) noexcept { Give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Give(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Give(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { Give(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Give(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Give(memory);
}

namespace capi_test {
namespace {

struct Handles {
  mf_model* model = nullptr;
  mf_context* context = nullptr;
  mf_session* session = nullptr;
  mf_session* fork = nullptr;
  mf_cancel* cancel = nullptr;
};

// A whole run up to the first call that fails.
mf_status Run(const char* path, Handles* h, mf_error* error) {
  const char program[] = "{% for m in messages %}<{{ m.role|upper }}>{{ m.content }}{% endfor %}";
  mf_chat_message message = MF_CHAT_MESSAGE_INIT;
  message.role = {"user", 4};
  message.content = {"hello", 5};
  message.extra_json = {"{\"name\": [1, 2]}", 16};
  mf_chat_options chat = MF_CHAT_OPTIONS_INIT;
  chat.template_text = {program, sizeof(program) - 1};
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = 64;
  options.n_sessions = 2;
  options.n_threads = 2;
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  generate.max_tokens = 3;
  generate.ignore_end = 1;
  char text[64];
  size_t n = 0;
  mf_token_log_probability top[2];
  mf_token token = 0;
  mf_status s = mf_cancel_create(&h->cancel, error);
  if (s == 0) s = mf_model_load_path(path, nullptr, &h->model, error);
  if (s == 0) s = mf_chat_render(h->model, &message, 1, &chat, text, sizeof(text), &n, error);
  if (s == 0) s = mf_context_create(h->model, &options, &h->context, error);
  if (s == 0) s = mf_session_create(h->context, nullptr, &h->session, error);
  if (s == 0) s = mf_session_set_sampling(h->session, nullptr, error);
  if (s == 0) s = mf_session_feed_text(h->session, "hello world", 11, 1, nullptr, error);
  if (s == 0) s = mf_session_decode(h->session, nullptr, error);
  if (s == 0) s = mf_session_sample(h->session, &token, error);
  if (s == 0) s = mf_session_top_tokens(h->session, top, 2, &n, error);
  if (s == 0) s = mf_session_fork(h->session, &h->fork, error);
  if (s == 0) {
    s = mf_session_generate(h->session, &generate, nullptr, nullptr, nullptr, error);
  }
  if (s == 0) s = mf_session_start(h->fork, &generate, error);
  if (s == 0) s = mf_context_step(h->context, nullptr, nullptr, error);
  if (s == 0) s = mf_session_truncate(h->session, 2, error);
  return s;
}

void DestroyAll(const Handles& h) {
  mf_session_destroy(h.fork);
  mf_session_destroy(h.session);
  mf_context_destroy(h.context);
  mf_model_destroy(h.model);
  mf_cancel_destroy(h.cancel);
}

TEST_CASE("Out of memory: a failure of operator new anywhere is a status, and all comes back",
          "[capi]") {
  const std::string path = TinyModel("llama");
  mf_error error = {};
  {
    Handles warm;
    REQUIRE(Run(path.c_str(), &warm, &error) == MF_STATUS_OK);
    DestroyAll(warm);
  }
  int places = 0;
  int64_t at = 1;
  bool finished = false;
  while (!finished) {
    const int64_t live = g_live;
    Handles handles;
    g_failed = false;
    g_countdown = at;
    const mf_status status = Run(path.c_str(), &handles, &error);
    g_countdown = 0;
    DestroyAll(handles);
    const int64_t left = g_live - live;
    finished = !g_failed;
    if (status != MF_STATUS_OK && status != MF_STATUS_RESOURCE_EXHAUSTED) {
      CAPTURE(at, error.name, error.message);
      CHECK(status == MF_STATUS_RESOURCE_EXHAUSTED);
    }
    if (left != 0) {
      CAPTURE(at, error.message);
      CHECK(left == 0);
    }
    ++places;
    at += 1 + at / 100;
  }
  CHECK(places > 100);
}

}  // namespace
}  // namespace capi_test
