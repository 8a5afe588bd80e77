// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Case G08: a host that must see nothing of the library on its streams, and that ends with
// everything alive: handles, and a thread in the middle of a generation. The status must be 0.
#include <fcntl.h>
#include <minfer/minfer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

int Fail(int number) { _exit(number); }

}  // namespace

int main() {
  // Whatever is written to the two streams lands in a file that is looked at.
  char name[] = "/tmp/minfer_streams_XXXXXX";
  const int file = mkstemp(name);
  if (file < 0 || dup2(file, 1) != 1 || dup2(file, 2) != 2) return Fail(10);
  unlink(name);

  mf_model* model = nullptr;
  mf_context* context = nullptr;
  mf_session* session = nullptr;
  mf_error error = {};
  const mf_token tokens[] = {1, 262, 261};
  if (mf_model_load_path("/nowhere/a.gguf", nullptr, &model, &error) == MF_STATUS_OK)
    return Fail(11);
  if (mf_model_load_path("/proc/self/exe", nullptr, &model, &error) == MF_STATUS_OK)
    return Fail(12);
  if (mf_model_load_path(CAPI_TEST_MODELS "/llama.gguf", nullptr, &model, &error) != MF_STATUS_OK) {
    return Fail(13);
  }
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = 1 << 20;
  options.n_threads = 2;
  if (mf_context_create(model, &options, &context, &error) != MF_STATUS_OK) return Fail(14);
  if (mf_session_create(context, nullptr, &session, &error) != MF_STATUS_OK) return Fail(15);
  if (mf_session_feed_tokens(session, tokens, 3, &error) != MF_STATUS_OK) return Fail(16);
  static std::atomic<int> told{0};
  std::thread([session] {
    mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
    generate.ignore_end = 1;
    mf_session_generate(
        session, &generate,
        [](void*, const mf_token_event*) -> int32_t {
          ++told;
          return 0;
        },
        nullptr, nullptr, nullptr);
  }).detach();
  while (told < 5) std::this_thread::yield();
  struct stat written = {};
  if (fstat(file, &written) != 0 || written.st_size != 0) return Fail(17);
  std::exit(0);
}
