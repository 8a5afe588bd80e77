// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A model's file that shrinks, is replaced or is written to, during a load and after it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/capi/capi_test.h"
#include "tests/support/sanitized.h"

namespace capi_test {
namespace {

namespace fs = std::filesystem;

// A copy of a tiny model that was last written to a year ago, so that any write is a later one.
class ModelCopy {
 public:
  explicit ModelCopy(const std::string& name)
      : path_((fs::temp_directory_path() /
               ("minfer-change-" + std::to_string(getpid()) + "-" + name + ".gguf"))
                  .string()) {
    fs::copy_file(TinyModel("llama"), path_, fs::copy_options::overwrite_existing);
    fs::last_write_time(path_, fs::file_time_type::clock::now() - std::chrono::hours(8760));
  }
  ~ModelCopy() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

  const char* path() const { return path_.c_str(); }
  uintmax_t size() const { return fs::file_size(path_); }
  void Shrink(uintmax_t size) const { fs::resize_file(path_, size); }
  // Zeros in place of its last bytes, which are weights.
  void SpoilWeights() const {
    const std::streamoff at = static_cast<std::streamoff>(size() - 20000);
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << std::string(20000, '\0');
  }
  // A file of another content and size is renamed over it.
  void Replace() const {
    const std::string other = path_ + ".new";
    std::ofstream(other) << "something else";
    fs::rename(other, path_);
  }

 private:
  std::string path_;
};

mf_status Load(const ModelCopy& file, mf_load_mode mode, mf_progress_callback progress,
               void* user_data, Model* out, mf_error* error) {
  mf_model_options options = CpuModel();
  options.load_mode = mode;
  options.progress = progress;
  options.progress_user_data = user_data;
  mf_model* model = nullptr;
  const mf_status status = mf_model_load_path(file.path(), &options, &model, error);
  out->reset(model);
  return status;
}

std::vector<float> PromptLogits(mf_model* model) {
  mf_context_options options = SmallContext();
  options.n_threads = 1;
  const Context context = MakeContext(model, options);
  const Session session = MakeSession(context.get());
  Feed(session.get(), Prompt());
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_session_decode(session.get(), nullptr, &error));
  return Logits(session.get());
}

TEST_CASE("File change: a model that was read is out of reach of its file", "[capi]") {
  const std::vector<float> wanted = PromptLogits(LoadModel().get());
  for (const int what : {0, 1, 2}) {
    const ModelCopy file("read");
    Model model;
    mf_error error = {};
    CAPI_REQUIRE_OK(Load(file, MF_LOAD_READ, nullptr, nullptr, &model, &error));
    if (what == 0) file.Shrink(0);
    if (what == 1) file.SpoilWeights();
    if (what == 2) file.Replace();
    INFO("change " << what);
    CHECK(PromptLogits(model.get()) == wanted);
    // Keys, tensors and vocabulary are in memory, too.
    mf_metadata_value value = MF_METADATA_VALUE_INIT;
    CAPI_REQUIRE_OK(mf_metadata_get(model.get(), "general.architecture", &value, &error));
    CHECK(std::string(value.string, value.string_length) == "llama");
  }
}

TEST_CASE("File change: a file that is replaced by rename lives on behind its mapping", "[capi]") {
  const std::vector<float> wanted = PromptLogits(LoadModel().get());
  const ModelCopy file("replaced");
  Model model;
  mf_error error = {};
  CAPI_REQUIRE_OK(Load(file, MF_LOAD_MAP, nullptr, nullptr, &model, &error));
  file.Replace();
  CHECK(PromptLogits(model.get()) == wanted);
  // The name is the new file's.
  CHECK(Load(file, MF_LOAD_MAP, nullptr, nullptr, &model, &error) == MF_STATUS_INVALID_ARGUMENT);
  // So does one that is replaced during the load.
  const auto replace = [](void* user_data, uint64_t, uint64_t) -> int32_t {
    static_cast<const ModelCopy*>(user_data)->Replace();
    return 0;
  };
  for (const mf_load_mode mode : {MF_LOAD_MAP, MF_LOAD_READ}) {
    const ModelCopy again("replaced-during");
    CAPI_REQUIRE_OK(Load(again, mode, replace, const_cast<ModelCopy*>(&again), &model, &error));
    CHECK(PromptLogits(model.get()) == wanted);
  }
}

TEST_CASE("File change: a write during the load is a status that names the file", "[capi]") {
  struct Change {
    const ModelCopy* file;
    bool shrink;
    bool done = false;
    static int32_t Make(void* user_data, uint64_t, uint64_t) {
      Change& self = *static_cast<Change*>(user_data);
      if (self.done) return 0;
      self.done = true;
      self.shrink ? self.file->Shrink(self.file->size() / 2) : self.file->SpoilWeights();
      return 0;
    }
  };
  // A mapped file is not made shorter here: see below.
  for (const auto& [mode, shrink] :
       {std::pair(MF_LOAD_READ, true), {MF_LOAD_READ, false}, {MF_LOAD_MAP, false}}) {
    const ModelCopy file("during");
    Change change{&file, shrink};
    Model model;
    mf_error error = {};
    INFO("mode " << mode << " shrink " << shrink);
    CHECK(Load(file, mode, &Change::Make, &change, &model, &error) == MF_STATUS_DATA_LOSS);
    CHECK(model == nullptr);
    CHECK(error.subsystem == MF_SUBSYSTEM_FILE);
    CHECK(std::string(error.name) == std::string(file.path()).substr(0, sizeof(error.name) - 1));
    CHECK(change.done);
    if (shrink) CHECK(error.file_offset > 0);
  }
}

TEST_CASE("File change: quantising a file that is written to meanwhile is a status", "[capi]") {
  const ModelCopy file("quantized");
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_PATH;
  source.path = file.path();
  mf_error error = {};
  const auto write = [](void* user_data, const void*, size_t) -> int32_t {
    static_cast<const ModelCopy*>(user_data)->SpoilWeights();
    return 0;
  };
  CHECK(mf_model_quantize(&source, 1, MF_TENSOR_Q8_0, nullptr, write, const_cast<ModelCopy*>(&file),
                          nullptr, &error) == MF_STATUS_DATA_LOSS);
}

// The one promise that a mapping cannot keep, as MF_LOAD_MAP states it.
TEST_CASE("File change: a mapped file that shrinks ends the process by SIGBUS", "[capi]") {
  if (minfer::testing::kSanitized) {
    std::cout << "SKIPPED: sanitizers handle SIGBUS themselves" << std::endl;
    return;
  }
  const ModelCopy file("shrunk");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGBUS, SIG_DFL);
    Model model;
    mf_error error = {};
    if (Load(file, MF_LOAD_MAP, nullptr, nullptr, &model, &error) != MF_STATUS_OK) _exit(1);
    file.Shrink(4096);
    (void)PromptLogits(model.get());
    _exit(2);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGBUS);
}

}  // namespace
}  // namespace capi_test
