// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The plan from the header alone is what is taken, byte for byte and class by class.
#include "engine/context_options.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

struct Case {
  const char* model;
  bool read_weights;
  uint32_t n_ctx;
  int32_t kv;
  uint32_t n_batch;
  uint32_t n_micro_batch;
  uint32_t n_sessions;
  uint32_t n_threads;
};

constexpr Case kCases[] = {
    {"llama", false, 64, 0, 0, 0, 1, 1},         {"llama", true, 64, 0, 0, 0, 1, 2},
    {"llama", false, 1, 1, 1, 1, 1, 1},          {"llama_freqs", true, 500, 2, 64, 16, 3, 2},
    {"llama_linear", false, 65, 0, 33, 7, 2, 4}, {"qwen2", true, 512, 1, 512, 128, 4, 2},
    {"qwen2", false, 512, 2, 5, 5, 8, 3},        {"qwen2_yarn", false, 2048, 1, 256, 256, 2, 2},
    {"qwen3", true, 300, 0, 100, 50, 5, 2},      {"qwen3", false, 4096, 2, 512, 512, 1, 8},
    {"qwen3", false, 128, 1, 8, 8, 16, 1},       {"gemma3", false, 1000, -1, 0, 64, 7, 2},
};

ContextOptions OptionsOf(const Case& c) {
  ContextOptions options;
  options.n_ctx = c.n_ctx;
  options.kv_type_k = options.kv_type_v = c.kv;
  options.n_batch = c.n_batch;
  options.n_micro_batch = c.n_micro_batch;
  options.n_sessions = c.n_sessions;
  options.n_threads = c.n_threads;
  return options;
}

StatusOr<std::shared_ptr<const Model>> Load(const Case& c, MemoryUse* plan) {
  ModelOptions options;
  options.read_weights = c.read_weights;
  StatusOr<ModelFiles> planned = ModelFiles::Open(
      TinyModelPath(c.model), c.read_weights ? FileAccess::kRead : FileAccess::kMap);
  MF_REQUIRE_OK(planned);
  StatusOr<ModelHeader> header = ReadModelHeader(std::move(*planned), options);
  MF_REQUIRE_OK(header);
  StatusOr<MemoryUse> use = PlanModel(*header, options);
  MF_REQUIRE_OK(use);
  *plan = *use;
  StatusOr<ModelFiles> files = ModelFiles::Open(
      TinyModelPath(c.model), c.read_weights ? FileAccess::kRead : FileAccess::kMap);
  MF_REQUIRE_OK(files);
  return Model::Load(std::move(*files), options);
}

void CheckEqual(const MemoryUse& plan, const MemoryAccount::Snapshot& account) {
  for (int32_t c = 0; c < kMemoryClassCount; ++c) {
    const auto memory_class = static_cast<MemoryClass>(c);
    if (!IsExactMemoryClass(memory_class)) continue;
    INFO(MemoryClassName(memory_class));
    CHECK(plan[memory_class] == account.of(memory_class).peak);
  }
  CHECK(plan.total() == account.total.peak);
}

TEST_CASE("Plan: equals the account's peak over 12 sets of options", "[engine]") {
  static_assert(std::size(kCases) == 12);
  for (const Case& c : kCases) {
    INFO(c.model << " n_ctx " << c.n_ctx << " sessions " << c.n_sessions);
    MemoryUse model_plan;
    StatusOr<std::shared_ptr<const Model>> model = Load(c, &model_plan);
    MF_REQUIRE_OK(model);
    CheckEqual(model_plan, (*model)->memory());
    CHECK((model_plan[MemoryClass::kWeights] > 0) == c.read_weights);

    const ContextOptions options = OptionsOf(c);
    StatusOr<MemoryUse> plan = PlanContext((*model)->description(), (*model)->placement(), options);
    MF_REQUIRE_OK(plan);
    std::shared_ptr<Context> context = MakeContext(*model, options);
    CheckEqual(*plan, context->memory());
    // Work takes nothing more: a full prompt in each session, and a generation.
    std::vector<std::unique_ptr<Session>> sessions;
    for (uint32_t s = 0; s < c.n_sessions; ++s) {
      sessions.push_back(MakeSession(context));
      const int64_t n = std::min<int64_t>(sessions.back()->room() - 1, 40);
      std::vector<int32_t> tokens(static_cast<size_t>(std::max<int64_t>(n, 1)), 70);
      Decode(sessions.back().get(), tokens);
      if (n > 4) Greedy(sessions.back().get(), 1);
    }
    CheckEqual(*plan, context->memory());
  }
}

TEST_CASE("Plan: a budget of that works, a page less is refused before anything is taken",
          "[engine]") {
  for (const Case& c : kCases) {
    INFO(c.model << " n_ctx " << c.n_ctx);
    MemoryUse model_plan;
    StatusOr<std::shared_ptr<const Model>> model = Load(c, &model_plan);
    MF_REQUIRE_OK(model);
    // A host allocator that counts, so that "before anything is taken" is seen from outside.
    struct Counter {
      int64_t calls = 0;
    } counter;
    ContextOptions options = OptionsOf(c);
    options.allocator.user_data = &counter;
    options.allocator.alloc = [](void* user_data, size_t bytes, size_t alignment) -> void* {
      ++static_cast<Counter*>(user_data)->calls;
      return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    };
    options.allocator.free = [](void*, void* memory, size_t, size_t alignment) {
      ::operator delete(memory, std::align_val_t(alignment));
    };
    StatusOr<MemoryUse> plan = PlanContext((*model)->description(), (*model)->placement(), options);
    MF_REQUIRE_OK(plan);
    options.budget_bytes = plan->total() - 1;
    Status refused = Context::Create(*model, options).status();
    CHECK(refused.code() == StatusCode::kResourceExhausted);
    CHECK(refused.bytes_wanted() == plan->total());
    CHECK(refused.bytes_available() == plan->total() - 1);
    CHECK(counter.calls == 0);
    options.budget_bytes = plan->total();
    MF_REQUIRE_OK(Context::Create(*model, options));
    CHECK(counter.calls > 0);
  }
}

TEST_CASE("Plan: an option out of its range is refused by name", "[engine]") {
  std::shared_ptr<const Model> model = LoadTinyModel("llama");
  auto refused = [&](auto change, std::string_view name) {
    ContextOptions options;
    options.n_ctx = 64;
    change(&options);
    Status status = Context::Create(model, options).status();
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.name() == name);
  };
  refused([](ContextOptions* o) { o->n_threads = 100000; }, "n_threads");
  refused([](ContextOptions* o) { o->n_ctx = UINT32_MAX; }, "n_ctx");
  refused([](ContextOptions* o) { o->n_sessions = UINT32_MAX; }, "n_sessions");
  refused([](ContextOptions* o) { o->n_batch = UINT32_MAX; }, "n_batch");
  refused([](ContextOptions* o) { o->n_micro_batch = UINT32_MAX; }, "n_micro_batch");
  refused([](ContextOptions* o) { o->kv_type_k = 3; }, "kv_type_k");
  refused([](ContextOptions* o) { o->kv_type_v = -2; }, "kv_type_v");
  refused([](ContextOptions* o) { o->tuning = "no_such=1"; }, "no_such");
}

}  // namespace
}  // namespace minfer::testing
