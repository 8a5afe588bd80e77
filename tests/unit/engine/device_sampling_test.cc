// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Picking tokens by the best entries that a backend finds, its rows of logits left where they are:
// the same tokens as by the rows, the rows there when asked for. Device by device; on the CPU the
// lever says so.
#include <numeric>
#include <thread>

#include "engine/context_options.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/random_model.h"

namespace minfer::testing {
namespace {

const std::vector<int32_t> kPrompt = {1, 262, 261, 70, 80, 3, 200, 263};

ContextOptions Options(bool on_device, uint32_t n_sessions = 1) {
  ContextOptions options;
  options.n_threads = 1;
  options.n_ctx = 128;
  options.n_sessions = n_sessions;
  options.tuning = on_device ? "device_sampling=2" : "device_sampling=0";
  return options;
}

// All there are: the CPU always, and no skip where it is alone.
std::vector<int32_t> Devices() {
  std::vector<int32_t> devices(FindDevices().size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

// Settings of every kind: those that the best entries are enough for, and those that want the row.
std::vector<SamplingSettings> AllSettings() {
  std::vector<SamplingSettings> all(1);  // greedy
  SamplingSettings usual = DefaultSamplingSettings();
  usual.seed = 11;
  all.push_back(usual);
  for (const int32_t k : {1, 5, 63, 64, 100000}) {
    SamplingSettings settings = usual;
    settings.temperature = 3.0f;
    settings.top_k = k;
    settings.top_p = 1.0f;
    settings.min_p = 0.0f;
    all.push_back(settings);
  }
  SamplingSettings penalised = usual;
  penalised.penalty_last_n = 16;
  penalised.repetition_penalty = 1.3f;
  all.push_back(penalised);
  SamplingSettings biased;
  biased.logit_bias = {{70, 5.0f}};
  all.push_back(biased);
  SamplingSettings mirostat = usual;
  mirostat.mirostat = 2;
  mirostat.mirostat_tau = 5.0f;
  mirostat.mirostat_eta = 0.1f;
  all.push_back(mirostat);
  SamplingSettings xtc = usual;
  xtc.xtc_probability = 0.5f;
  xtc.xtc_threshold = 0.05f;
  xtc.typical_p = 0.9f;
  all.push_back(xtc);
  return all;
}

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
};

Answer Run(const std::shared_ptr<Context>& context, const SamplingSettings& settings) {
  std::unique_ptr<Session> session = MakeSession(context);
  MF_REQUIRE_OK(session->SetSampling(settings));
  MF_REQUIRE_OK(session->Feed(kPrompt));
  Answer answer;
  GenerateOptions options;
  options.max_tokens = 20;
  options.ignore_end = true;
  TokenCallback callback;
  callback.user_data = &answer.tokens;
  callback.call = [](void* tokens, const TokenEvent& event) -> StatusOr<bool> {
    static_cast<std::vector<int32_t>*>(tokens)->push_back(event.token);
    return true;
  };
  GenerateResult result;
  MF_REQUIRE_OK(session->Generate(options, callback, &result));
  const StatusOr<absl::Span<const float>> logits = session->Logits();
  MF_REQUIRE_OK(logits);
  answer.logits.assign(logits->begin(), logits->end());
  return answer;
}

TEST_CASE("Device sampling: the same tokens and logits under all settings", "[engine]") {
  for (const int32_t device : Devices()) {
    const std::shared_ptr<const Model> model = LoadModel(TinyModelPath("qwen3"), device);
    const std::vector<SamplingSettings> all = AllSettings();
    for (size_t i = 0; i < all.size(); ++i) {
      INFO("device " << device << ", settings " << i);
      const Answer want = Run(MakeContext(model, Options(false)), all[i]);
      const Answer got = Run(MakeContext(model, Options(true)), all[i]);
      CHECK(got.tokens == want.tokens);
      CHECK(got.logits == want.logits);
    }
  }
}

TEST_CASE("Device sampling: a session that wants its row does not disturb the others", "[engine]") {
  const std::vector<SamplingSettings> all = AllSettings();
  for (const int32_t device : Devices()) {
    const std::shared_ptr<const Model> model = LoadModel(TinyModelPath("qwen3"), device);
    const auto run = [&](bool on_device) {
      std::shared_ptr<Context> context = MakeContext(model, Options(on_device, 12));
      std::vector<std::unique_ptr<Session>> sessions;
      std::vector<std::vector<int32_t>> tokens(all.size());
      GenerateOptions options;
      options.max_tokens = 12;
      options.ignore_end = true;
      for (size_t i = 0; i < all.size(); ++i) {
        sessions.push_back(MakeSession(context));
        MF_REQUIRE_OK(sessions[i]->SetSampling(all[i]));
        MF_REQUIRE_OK(sessions[i]->Feed({kPrompt.data(), 3 + i % 5}));
        // Greedy ones first alone, then beside those that want rows.
        if (i < 7) MF_REQUIRE_OK(sessions[i]->Start(options));
      }
      for (int step = 0; step < 16; ++step) {
        if (step == 4) {
          for (size_t i = 7; i < all.size(); ++i) MF_REQUIRE_OK(sessions[i]->Start(options));
        }
        StepResult result;
        MF_REQUIRE_OK(context->Step(StepOptions(), &result));
        for (size_t i = 0; i < all.size(); ++i) {
          if (i >= 7 && step < 4) continue;
          const StatusOr<TokenEvent> event = sessions[i]->Next();
          if (event.ok()) tokens[i].push_back(event->token);
        }
      }
      return tokens;
    };
    CHECK(run(true) == run(false));
  }
}

TEST_CASE("Device sampling: logits are there when asked for, also after a fork, a cancel, a rewind",
          "[engine]") {
  for (const int32_t device : Devices()) {
    const std::shared_ptr<const Model> model = LoadModel(TinyModelPath("llama"), device);
    std::vector<std::vector<float>> rows[2];
    std::vector<int32_t> picks[2];
    for (const bool on_device : {false, true}) {
      std::shared_ptr<Context> context = MakeContext(model, Options(on_device, 4));
      std::unique_ptr<Session> session = MakeSession(context);
      std::unique_ptr<Session> other = MakeSession(context);
      auto& seen = rows[on_device ? 1 : 0];
      auto& picked = picks[on_device ? 1 : 0];
      const auto look = [&](Session* at) {
        const StatusOr<absl::Span<const float>> logits = at->Logits();
        MF_REQUIRE_OK(logits);
        seen.emplace_back(logits->begin(), logits->end());
        const StatusOr<int32_t> token = at->Sample();
        MF_REQUIRE_OK(token);
        picked.push_back(*token);
      };
      MF_REQUIRE_OK(session->Feed(kPrompt));
      MF_REQUIRE_OK(session->Decode(nullptr));
      // A step of another session in between, and a step of its own that is cancelled.
      Decode(other.get(), {kPrompt.data(), 5});
      std::atomic<bool> cancel{true};
      MF_REQUIRE_OK(session->Feed({7}));
      CHECK(session->Decode(&cancel).code() == StatusCode::kCancelled);
      look(session.get());
      StatusOr<std::unique_ptr<Session>> fork = session->Fork();
      MF_REQUIRE_OK(fork);
      look(fork->get());
      // Settings that want the row, after a step that left it on the device.
      MF_REQUIRE_OK(session->Feed({9}));
      MF_REQUIRE_OK(session->Decode(nullptr));
      SamplingSettings biased;
      biased.logit_bias = {{42, 100.0f}};
      MF_REQUIRE_OK(session->SetSampling(biased));
      const StatusOr<int32_t> token = session->Sample();
      MF_REQUIRE_OK(token);
      CHECK(*token == 42);
      look(session.get());
      MF_REQUIRE_OK(session->Truncate(4));
      CHECK(session->Logits().status().code() == StatusCode::kFailedPrecondition);
      MF_REQUIRE_OK(session->Feed({3}));
      MF_REQUIRE_OK(session->Decode(nullptr));
      look(session.get());
    }
    CHECK(rows[0] == rows[1]);
    CHECK(picks[0] == picks[1]);
  }
}

TEST_CASE("Device sampling: a logit that is no number fails its session alone", "[engine]") {
  RandomModelSpec spec;
  spec.embedding_scale = 1e30f;
  for (const int32_t device : Devices()) {
    const std::shared_ptr<const Model> model = LoadModel(MakeRandomModel(spec), device);
    std::vector<std::string> said;
    for (const bool on_device : {false, true}) {
      std::unique_ptr<Session> session = MakeSession(MakeContext(model, Options(on_device)));
      MF_REQUIRE_OK(session->Feed({1, 2, 3}));
      const Status status = session->Decode(nullptr);
      said.push_back(status.ToString());
      CHECK(session->position() == (status.ok() ? 3 : 0));
    }
    CHECK(said[0] == said[1]);
  }
}

TEST_CASE("Device sampling: threads that generate and threads that look at logits", "[engine]") {
  const std::shared_ptr<const Model> model = LoadTinyModel("llama");
  std::shared_ptr<Context> context = MakeContext(model, Options(true, 4));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) sessions.push_back(MakeSession(context));
  std::vector<int64_t> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Session* session = sessions[i].get();
      for (int32_t step = 0; step < 20; ++step) {
        const int32_t token = 3 + static_cast<int32_t>(i) + step;
        if (!session->Feed({token}).ok() || !session->Decode(nullptr).ok()) ++wrong[i];
        const StatusOr<int32_t> pick = session->Sample();
        const StatusOr<absl::Span<const float>> logits = session->Logits();
        if (!pick.ok() || !logits.ok() || ArgMax(*logits) != *pick) ++wrong[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int64_t>(4, 0));
}

// On the thread that leads a step, with the context's backend in its hands.
TEST_CASE("Device sampling: a logits callback may look at another session", "[engine]") {
  const std::shared_ptr<const Model> model = LoadTinyModel("llama");
  std::shared_ptr<Context> context = MakeContext(model, Options(true, 2));
  std::unique_ptr<Session> first = MakeSession(context);
  std::unique_ptr<Session> second = MakeSession(context);
  MF_REQUIRE_OK(first->Feed(kPrompt));
  MF_REQUIRE_OK(first->Decode(nullptr));
  LogitsEditor editor;
  editor.user_data = first.get();
  editor.edit = [](void* session, absl::Span<float>) {
    return static_cast<Session*>(session)->Logits().status();
  };
  MF_REQUIRE_OK(second->SetSampling(SamplingSettings(), editor));
  MF_REQUIRE_OK(second->Feed(kPrompt));
  MF_REQUIRE_OK(second->Start(GenerateOptions()));
  StepResult result;
  MF_REQUIRE_OK(context->Step(StepOptions(), &result));
  CHECK(result.n_failed == 0);
  MF_REQUIRE_OK(second->Next());
}

TEST_CASE("Device sampling: the plan counts what it takes", "[engine]") {
  for (const int32_t device : Devices()) {
    const std::shared_ptr<const Model> model = LoadModel(TinyModelPath("llama"), device);
    for (const bool on_device : {false, true}) {
      const ContextOptions options = Options(on_device, 3);
      const StatusOr<MemoryUse> plan =
          PlanContext(model->description(), model->placement(), options);
      MF_REQUIRE_OK(plan);
      std::shared_ptr<Context> context = MakeContext(model, options);
      CHECK(plan->total() == context->memory().total.peak);
    }
  }
}

}  // namespace
}  // namespace minfer::testing
