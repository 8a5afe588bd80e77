// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

// An allocator of a host that counts, and that can refuse.
struct HostMemory {
  std::mutex mutex;
  std::map<void*, size_t> blocks;
  uint64_t bytes = 0;
  uint64_t peak = 0;
  int refuse_after = 1 << 30;
  bool throws = false;
  bool wrong = false;

  static void* Allocate(void* user_data, size_t size, size_t alignment) {
    auto& self = *static_cast<HostMemory*>(user_data);
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (self.refuse_after-- <= 0) {
      if (self.throws) throw 1;
      return nullptr;
    }
    void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    self.blocks[memory] = size;
    self.bytes += size;
    self.peak = std::max(self.peak, self.bytes);
    return memory;
  }
  static void Free(void* user_data, void* memory, size_t size, size_t) {
    auto& self = *static_cast<HostMemory*>(user_data);
    const std::lock_guard<std::mutex> lock(self.mutex);
    const auto found = self.blocks.find(memory);
    self.wrong |= found == self.blocks.end() || found->second != size;
    if (found != self.blocks.end()) self.blocks.erase(found);
    self.bytes -= size;
    std::free(memory);
  }
  mf_host_allocator Struct() { return {&Allocate, &Free, this}; }
};

mf_memory_use Plan(const std::string& name, const mf_model_options* load,
                   const mf_context_options& options, mf_memory_use* model_use) {
  const std::string path = TinyModel(name);
  mf_source source = MF_SOURCE_INIT;
  source.kind = MF_SOURCE_PATH;
  source.path = path.c_str();
  mf_memory_use use = MF_MEMORY_USE_INIT;
  *model_use = MF_MEMORY_USE_INIT;
  mf_error error = {};
  CAPI_REQUIRE_OK(mf_model_plan(&source, 1, load, &options, 0, model_use, &use, &error));
  return use;
}

void Run(mf_context* context, uint32_t n_sessions) {
  std::vector<Session> sessions;
  for (uint32_t i = 0; i < n_sessions; ++i) {
    sessions.push_back(MakeSession(context));
    Feed(sessions.back().get(), Prompt());
    Generate(sessions.back().get(), 3);
  }
}

TEST_CASE("Memory: the plan is the account's peak and the host's, and the budget's edge",
          "[capi]") {
  mf_error error = {};
  for (const char* name : {"llama", "qwen2", "qwen3"}) {
    for (const mf_kv_type type : {MF_KV_F32, MF_KV_F16, MF_KV_Q8_0}) {
      if (type == MF_KV_Q8_0 && std::string(name) != "llama_linear" &&
          std::string(name) != "qwen3") {
        continue;  // rows of 8 and 16 values are no whole blocks in every model
      }
      for (const uint32_t n_sessions : {1u, 3u}) {
        INFO(name << " kv " << type << " sessions " << n_sessions);
        HostMemory load_memory;
        HostMemory run_memory;
        mf_model_options load = CpuModel();
        load.load_mode = MF_LOAD_READ;
        load.allocator = load_memory.Struct();
        mf_context_options options = SmallContext();
        options.kv_type_k = type;
        options.kv_type_v = type;
        options.n_sessions = n_sessions;
        options.n_batch = 8;
        options.allocator = run_memory.Struct();
        mf_memory_use model_use;
        const mf_memory_use plan = Plan(name, &load, options, &model_use);
        {
          const Model model = LoadModel(name, &load);
          CHECK(load_memory.peak == model_use.total);
          mf_memory_use now = MF_MEMORY_USE_INIT;
          CAPI_REQUIRE_OK(mf_model_get_memory(model.get(), 0, &now, &error));
          CHECK(now.total == model_use.total);
          // One byte less is refused before anything is taken.
          options.budget_bytes = plan.total - 1;
          mf_context* raw = nullptr;
          CHECK(mf_context_create(model.get(), &options, &raw, &error) ==
                MF_STATUS_RESOURCE_EXHAUSTED);
          CHECK(error.bytes_wanted == plan.total);
          CHECK(error.bytes_available == plan.total - 1);
          CHECK(run_memory.peak == 0);
          options.budget_bytes = plan.total;
          const Context context = MakeContext(model.get(), options);
          const uint64_t at_creation = run_memory.bytes;
          Run(context.get(), n_sessions);
          CHECK(run_memory.bytes == at_creation);
          CHECK(run_memory.peak == plan.total);
          mf_memory_use peak = MF_MEMORY_USE_INIT;
          CAPI_REQUIRE_OK(mf_context_get_memory(context.get(), 0, nullptr, &peak, &error));
          CHECK(peak.total == plan.total);
          for (int c = MF_MEMORY_WEIGHTS; c <= MF_MEMORY_CAPTURED_GRAPHS; ++c) {
            INFO(mf_memory_class_name(c));
            CHECK(peak.bytes[c] == plan.bytes[c]);
          }
        }
        CHECK(load_memory.blocks.empty());
        CHECK(run_memory.blocks.empty());
        CHECK(!load_memory.wrong);
        CHECK(!run_memory.wrong);
      }
    }
  }
}

TEST_CASE("Memory: a host allocator that refuses at any point is a status, and all comes back",
          "[capi]") {
  mf_error error = {};
  for (int n = 0; n < 64; ++n) {
    const bool throws = n % 2 == 1;
    HostMemory memory;
    memory.refuse_after = n;
    memory.throws = throws;
    mf_model_options load = CpuModel();
    load.load_mode = MF_LOAD_READ;
    load.allocator = memory.Struct();
    mf_model* raw = nullptr;
    const mf_status status = mf_model_load_path(TinyModel("llama").c_str(), &load, &raw, &error);
    if (status == MF_STATUS_OK) {
      mf_model_destroy(raw);
      REQUIRE(n > 0);
      break;
    }
    CHECK(status == MF_STATUS_RESOURCE_EXHAUSTED);
    CHECK(memory.blocks.empty());
  }
  const Model model = LoadModel();
  bool made = false;
  for (int n = 0; n < 64 && !made; ++n) {
    HostMemory memory;
    memory.refuse_after = n;
    mf_context_options options = SmallContext();
    options.allocator = memory.Struct();
    mf_context* raw = nullptr;
    const mf_status status = mf_context_create(model.get(), &options, &raw, &error);
    made = status == MF_STATUS_OK;
    if (!made) CHECK(status == MF_STATUS_RESOURCE_EXHAUSTED);
    mf_context_destroy(raw);
    CHECK(memory.blocks.empty());
  }
  CHECK(made);
  mf_context_options options = SmallContext();
  options.allocator.allocate = &HostMemory::Allocate;
  mf_context* raw = nullptr;
  CHECK(mf_context_create(model.get(), &options, &raw, &error) == MF_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Memory: the host's threads give the same bits", "[capi]") {
  const Model model = LoadModel();
  const auto run = [&](const mf_context_options& options) {
    const Context context = MakeContext(model.get(), options);
    const Session session = MakeSession(context.get());
    Feed(session.get(), Prompt());
    Generate(session.get(), 5);
    return Logits(session.get());
  };
  const std::vector<float> want = run(SmallContext());
  mf_context_options options = SmallContext();
  int calls = 0;
  options.pool.n_threads = 3;
  options.pool.parallel_for_user_data = &calls;
  options.pool.parallel_for = [](void* user_data, size_t n, mf_task task, void* argument) {
    ++*static_cast<int*>(user_data);
    // Serially, and backwards.
    for (size_t i = n; i-- > 0;) task(argument, i);
  };
  CHECK(run(options) == want);
  CHECK(calls > 0);
  options = SmallContext();
  options.n_threads = 1;
  CHECK(run(options) == want);
}

TEST_CASE("Memory: a host pool that breaks its promise makes the call fail", "[capi]") {
  const Model model = LoadModel();
  for (const bool throws : {true, false}) {
    mf_context_options options = SmallContext();
    options.pool.n_threads = 2;
    options.pool.parallel_for = throws ? [](void*, size_t, mf_task, void*) { throw 3; }
                                       : [](void*, size_t, mf_task, void*) {};
    const Context context = MakeContext(model.get(), options);
    const Session session = MakeSession(context.get());
    Feed(session.get(), Prompt());
    mf_error error = {};
    CHECK(mf_session_decode(session.get(), nullptr, &error) == MF_STATUS_ABORTED);
    CHECK(mf_session_position(session.get()) == 0);
  }
}

}  // namespace
}  // namespace capi_test
