// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Files whose container is sound and whose model or vocabulary is at fault, or only odd.
#include "tests/support/engine_fixture.h"
#include "tests/support/gguf_variants.h"

namespace minfer::testing {
namespace {

StatusOr<std::shared_ptr<const Model>> TryLoad(const std::string& path) {
  MF_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Open(path, FileAccess::kMap));
  return Model::Load(std::move(files), ModelOptions());
}

// Loads, tokenizes and decodes: any status will do, a crash will not.
Status UseModel(const std::shared_ptr<const Model>& model) {
  std::vector<int32_t> ids;
  MF_RETURN_IF_ERROR(model->tokenizer().Encode("a b", EncodeOptions(), &ids));
  if (ids.empty()) ids.push_back(0);
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 32;
  MF_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, Context::Create(model, options));
  MF_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, context->CreateSession());
  MF_RETURN_IF_ERROR(session->Feed(ids));
  MF_RETURN_IF_ERROR(session->Decode(nullptr));
  return session->Sample().status();
}

TEST_CASE("Model: A40-A60 each of the damaged and odd files does what it should", "[model]") {
  int64_t loaded = 0;
  int64_t refused = 0;
  for (const GgufVariant& variant : GgufVariants()) {
    INFO(variant.case_id << " " << variant.name << " (" << variant.want << "): " << variant.note);
    StatusOr<std::shared_ptr<const Model>> model = TryLoad(variant.path);
    INFO(model.status().ToString());
    if (variant.want == "load") CHECK(model.ok());
    if (variant.want == "reject") CHECK(!model.ok());
    if (!model.ok()) {
      ++refused;
      CHECK(!model.status().message().empty());
      CHECK(model.status().code() != StatusCode::kInternal);
      continue;
    }
    ++loaded;
    Status used = UseModel(*model);
    INFO(used.ToString());
    CHECK(used.code() != StatusCode::kInternal);
    if (variant.want == "load") CHECK(used.ok());
  }
  CHECK(loaded > 20);
  CHECK(refused > 100);
}

TEST_CASE("Model: A46 a tied output gives the logits of a file that repeats the matrix",
          "[model]") {
  // qwen2 of the tiny models is tied; its output is its embedding.
  std::shared_ptr<const Model> model = LoadTinyModel("qwen2");
  CHECK(model->description().weights.output == model->description().weights.token_embd);
}

TEST_CASE("Model: an unknown key of its architecture is refused by name unless allowed",
          "[model]") {
  const std::string path = MakeTempDir("key") + "/key.gguf";
  std::string bytes = ReadFile(TinyModelPath("qwen3"));
  for (size_t at = bytes.find("qwen3"); at != std::string::npos; at = bytes.find("qwen3", at)) {
    bytes.replace(at, 5, "qwenX");
  }
  WriteFile(path, bytes);
  Status status = TryLoad(path).status();
  CHECK(status.code() == StatusCode::kUnimplemented);
  CHECK(status.name() == "general.architecture");

  // The planted violation: a file whose architecture is known, with a key that nobody honours.
  bytes = ReadFile(TinyModelPath("qwen2_yarn"));
  const std::string from = "qwen2.rope.scaling.factor";
  const std::string to = "qwen2.rope.scaling.fact0r";
  bytes.replace(bytes.find(from), from.size(), to);
  WriteFile(path, bytes);
  status = TryLoad(path).status();
  CHECK(status.code() == StatusCode::kUnimplemented);
  CHECK(status.name() == to);
  StatusOr<ModelFiles> again = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(again);
  ModelOptions options;
  options.allow_unknown_keys = true;
  MF_REQUIRE_OK(Model::Load(std::move(*again), options));
}

TEST_CASE("Model: a load that is cancelled or fails gives everything back", "[model]") {
  std::atomic<bool> cancel{true};
  ModelOptions options;
  options.cancel = &cancel;
  StatusOr<ModelFiles> files = ModelFiles::Open(TinyModelPath("llama"), FileAccess::kRead);
  MF_REQUIRE_OK(files);
  CHECK(Model::Load(std::move(*files), options).status().code() == StatusCode::kCancelled);

  struct Counter {
    int64_t live = 0;
    int64_t calls = 0;
  } counter;
  options.cancel = nullptr;
  options.read_weights = true;
  options.allocator.user_data = &counter;
  options.allocator.alloc = [](void* user_data, size_t bytes, size_t alignment) -> void* {
    Counter* c = static_cast<Counter*>(user_data);
    if (++c->calls == 5) return nullptr;
    ++c->live;
    return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  };
  options.allocator.free = [](void* user_data, void* memory, size_t, size_t alignment) {
    --static_cast<Counter*>(user_data)->live;
    ::operator delete(memory, std::align_val_t(alignment));
  };
  StatusOr<ModelFiles> again = ModelFiles::Open(TinyModelPath("llama"), FileAccess::kRead);
  MF_REQUIRE_OK(again);
  Status status = Model::Load(std::move(*again), options).status();
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(!status.name().empty());
  CHECK(status.bytes_wanted() > 0);
  CHECK(counter.live == 0);

  int64_t told = 0;
  ModelOptions progress;
  progress.progress_user_data = &told;
  progress.progress = [](void* user_data, uint64_t done, uint64_t total) {
    ++*static_cast<int64_t*>(user_data);
    return done * 2 < total;
  };
  StatusOr<ModelFiles> third = ModelFiles::Open(TinyModelPath("llama"), FileAccess::kMap);
  MF_REQUIRE_OK(third);
  CHECK(Model::Load(std::move(*third), progress).status().code() == StatusCode::kCancelled);
  CHECK(told > 1);
}

}  // namespace
}  // namespace minfer::testing
