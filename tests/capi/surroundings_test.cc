// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

std::vector<mf_token> Answer() {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  return Generate(session.get(), 6);
}

// What a process owns besides its memory: taken away for a while, and given back at the end.
class BareProcess {
 public:
  BareProcess() : folder_(OpenFolder()), environment_(environ), umask_(umask(0777)) {
    char name[] = "/tmp/minfer_removed_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    REQUIRE(chdir(name) == 0);
    REQUIRE(rmdir(name) == 0);
    environ = nullptr;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &file_size_) == 0);
    rlimit none = file_size_;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~BareProcess() {
    std::signal(SIGXFSZ, signal_);
    setrlimit(RLIMIT_FSIZE, &file_size_);
    environ = environment_;
    umask(umask_);
    if (fchdir(folder_) != 0) std::abort();
    close(folder_);
  }

 private:
  static int OpenFolder() { return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

  int folder_;
  char** environment_;
  mode_t umask_;
  rlimit file_size_ = {};
  void (*signal_)(int) = SIG_DFL;
};

TEST_CASE("Surroundings: G16 no folder, no environment and no room for a file are needed",
          "[capi]") {
  const std::vector<mf_token> want = Answer();
  std::vector<mf_token> have;
  bool environment_left = false;
  mode_t mask = 0;
  {
    const BareProcess bare;
    have = Answer();
    environment_left = environ == nullptr;
    mask = umask(0777);
  }
  CHECK(have == want);
  CHECK(environment_left);
  CHECK(mask == 0777);
}

// The calls that a sink may make: those on other objects, and getters.
struct Sink {
  int calls = 0;
  mf_status load = MF_STATUS_INTERNAL;
  bool inside = false;
};

void LoadFromASink(void* user_data, mf_log_level, const char*, size_t) {
  auto& sink = *static_cast<Sink*>(user_data);
  if (sink.inside || ++sink.calls > 1) return;
  sink.inside = true;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.log.level = MF_LOG_DEBUG;
  options.log.write_user_data = user_data;
  options.log.write = LoadFromASink;
  mf_model* model = nullptr;
  sink.load = mf_model_load_path(TinyModel("qwen2").c_str(), &options, &model, nullptr);
  mf_model_destroy(model);
  sink.inside = false;
}

TEST_CASE("Surroundings: G17 a log sink may call the library", "[capi]") {
  Sink sink;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.log.level = MF_LOG_DEBUG;
  options.log.write_user_data = &sink;
  options.log.write = LoadFromASink;
  const Model model = LoadModel("llama", &options);
  CHECK(sink.calls >= 1);
  CHECK(sink.load == MF_STATUS_OK);
}

}  // namespace
}  // namespace capi_test
