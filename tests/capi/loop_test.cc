// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Loads, runs and destroys again and again, failed and cancelled loads among it, and sees that
// nothing grows: heap, threads, mappings, open files.
#include <dirent.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

struct Held {
  size_t heap = 0;
  size_t mappings = 0;
  size_t threads = 0;
  size_t files = 0;
};

size_t Entries(const char* folder) {
  size_t count = 0;
  DIR* dir = opendir(folder);
  while (dir != nullptr && readdir(dir) != nullptr) ++count;
  if (dir != nullptr) closedir(dir);
  return count;
}

Held Measure() {
  Held held;
  malloc_trim(0);
  const struct mallinfo2 info = mallinfo2();
  held.heap = info.uordblks + info.hblkhd;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    held.mappings += line.find(".gguf") != line.npos;
  held.threads = Entries("/proc/self/task");
  held.files = Entries("/proc/self/fd");
  return held;
}

bool Round(int round) {
  const char* path = CAPI_TEST_MODELS "/llama.gguf";
  const mf_token prompt[] = {1, 262, 261, 70};
  mf_model* model = nullptr;
  if (mf_model_load_path("/nowhere/a.gguf", nullptr, &model, nullptr) == MF_STATUS_OK) return false;
  mf_model_options stopped = MF_MODEL_OPTIONS_INIT;
  stopped.load_mode = MF_LOAD_READ;
  stopped.progress = [](void*, uint64_t, uint64_t) -> int32_t { return 1; };
  if (mf_model_load_path(path, &stopped, &model, nullptr) != MF_STATUS_CANCELLED) return false;
  if (mf_model_load_path(path, nullptr, &model, nullptr) != MF_STATUS_OK) return false;
  mf_context* context = nullptr;
  mf_context_options options = MF_CONTEXT_OPTIONS_INIT;
  options.n_ctx = 64;
  options.n_sessions = 2;
  options.n_threads = 2;
  if (mf_context_create(model, &options, &context, nullptr) != MF_STATUS_OK) return false;
  mf_session* session = nullptr;
  mf_session* fork = nullptr;
  if (mf_session_create(context, nullptr, &session, nullptr) != MF_STATUS_OK) return false;
  if (mf_session_feed_tokens(session, prompt, 4, nullptr) != MF_STATUS_OK) return false;
  mf_generate_options generate = MF_GENERATE_OPTIONS_INIT;
  generate.max_tokens = 4;
  if (mf_session_generate(session, &generate, nullptr, nullptr, nullptr, nullptr) != MF_STATUS_OK) {
    return false;
  }
  if (mf_session_fork(session, &fork, nullptr) != MF_STATUS_OK) return false;
  // Every order of the three.
  if (round % 3 == 0) mf_model_destroy(model);
  if (round % 2 == 0) mf_context_destroy(context);
  mf_session_destroy(session);
  mf_session_destroy(fork);
  if (round % 2 != 0) mf_context_destroy(context);
  if (round % 3 != 0) mf_model_destroy(model);
  return true;
}

// glibc counts the freed blocks that a thread keeps for itself as used, a few thousand bytes that
// differ from run to run. CTest and tests/run.sh switch that off, and then not a byte may be gone.
size_t AllowedBytes() {
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  const bool exact =
      tunables != nullptr && std::strstr(tunables, "glibc.malloc.tcache_count=0") != nullptr;
  return exact ? 0 : 16 << 10;
}

// What is held before and after `rounds` rounds that follow the first `warm`, in which what the
// runtime itself keeps (thread stacks, buffers) reaches its size.
struct Rounds {
  Held before;
  Held after;
};

template <typename Function>
Rounds RunRounds(int warm, int rounds, const Function& function) {
  Rounds held;
  bool all_worked = true;
  for (int round = 0; round < warm + rounds; ++round) {
    if (round == warm) held.before = Measure();
    all_worked &= function(round);
  }
  held.after = Measure();
  REQUIRE(all_worked);
  return held;
}

void CheckRounds(int warm, int rounds) {
  const auto [before, after] = RunRounds(warm, rounds, Round);
  CHECK(after.heap <= before.heap + AllowedBytes());
  CHECK(after.mappings == before.mappings);
  CHECK(after.threads == before.threads);
  CHECK(after.files == before.files);
}

TEST_CASE("Loops: sixty rounds of load, run, destroy leave nothing behind", "[capi]") {
  CheckRounds(12, 48);
}

TEST_CASE("Loops: half a kilobyte that every round leaves behind is seen", "[capi]") {
  std::vector<std::unique_ptr<char[]>> left;
  left.reserve(60);
  const auto [before, after] = RunRounds(12, 48, [&](int round) {
    left.push_back(std::make_unique<char[]>(512));
    return Round(round);
  });
  CHECK(after.heap > before.heap + AllowedBytes());
}

// Case G07.
TEST_CASE("Loops: a thousand rounds of load, run, destroy leave nothing behind", "[.loop]") {
  CheckRounds(1000, 1000);
}

}  // namespace
}  // namespace capi_test
