// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// SmolLM2-135M-Instruct and Gemma 3 270M against tests/data/smollm2.json and gemma3.json, by the
// rules of their README: teacher-forced logits at listed positions, the greedy choice at every
// step, and free-running text. One of Gemma's prompts is longer than its window.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

struct GoldenModel {
  const char* name;
  const char* answers;
  std::optional<std::string> (*path)();
};

const GoldenModel kSmolLm2 = {"SmolLM2", "smollm2.json", SmolLm2Path};
const GoldenModel kGemma3 = {"Gemma 3", "gemma3.json", Gemma3Path};

struct Path {
  const char* name;
  const char* tuning;
  KvFormat kv;
  double median_error;  // of the listed positions
  double worst_error;   // at each position
  double sure_lead;     // from this lead on the greedy choice must be the reference's
};

// Share of both models' steps whose choice may differ.
constexpr double kMayMiss = 0.04;

constexpr Path kReference = {"reference", "reference=1", KvFormat::kF32, 2e-4, 2e-4, 0.005};
constexpr Path kF32 = {"f32 KV", "", KvFormat::kF32, 0.07, 0.2, 0.3};
constexpr Path kF16 = {"f16 KV", "", KvFormat::kF16, 0.07, 0.2, 0.3};
constexpr Path kQ8 = {"q8_0 KV", "", KvFormat::kQ8_0, 0.07, 0.2, 0.3};

// rms of the difference over the distinct listed entries, over the position's deviation.
double ErrorAt(const nlohmann::json& listed, const std::vector<float>& logits) {
  std::vector<std::pair<int32_t, double>> entries;
  for (const char* kind : {"top", "fixed"}) {
    for (const auto& entry : listed[kind]) {
      entries.emplace_back(entry[0].get<int32_t>(), entry[1].get<double>());
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const auto& a, const auto& b) { return a.first == b.first; }),
                entries.end());
  double sum = 0.0;
  for (const auto& [id, want] : entries) {
    const double difference = logits[static_cast<size_t>(id)] - want;
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(entries.size())) / listed["std"].get<double>();
}

struct Tally {
  std::vector<double> errors;
  int64_t steps = 0;
  int64_t misses = 0;
  double largest_lead_missed = 0.0;
};

// Feeds ids + greedy and looks at the listed positions and at every greedy step.
void TeacherForce(const nlohmann::json& prompt, const std::shared_ptr<Context>& context,
                  const Path& path, Tally* tally) {
  std::vector<int32_t> ids = prompt["ids"].get<std::vector<int32_t>>();
  const std::vector<int32_t> greedy = prompt["greedy"].get<std::vector<int32_t>>();
  const std::vector<double> lead = prompt["lead"].get<std::vector<double>>();
  const size_t n_prompt = ids.size();
  ids.insert(ids.end(), greedy.begin(), greedy.end());
  std::unique_ptr<Session> session = MakeSession(context);
  size_t done = 0;
  auto advance = [&](size_t end) {
    std::vector<float> logits = Decode(session.get(), {ids.data() + done, end - done});
    done = end;
    return logits;
  };
  auto listed_at = [&](size_t position) -> const nlohmann::json* {
    for (const auto& listed : prompt["logits"]) {
      if (listed["position"].get<size_t>() == position) return &listed;
    }
    return nullptr;
  };
  for (size_t position = 0; position + 1 < ids.size(); ++position) {
    const nlohmann::json* listed = listed_at(position);
    const bool generated = position + 1 >= n_prompt;
    if (listed == nullptr && !generated) continue;
    const std::vector<float> logits = advance(position + 1);
    if (listed != nullptr) {
      const double error = ErrorAt(*listed, logits);
      INFO(path.name << ", " << prompt["name"] << ", position " << position);
      CHECK(error <= path.worst_error);
      tally->errors.push_back(error);
    }
    if (!generated) continue;
    const size_t step = position + 1 - n_prompt;
    ++tally->steps;
    if (ArgMax(logits) == greedy[step]) continue;
    ++tally->misses;
    tally->largest_lead_missed = std::max(tally->largest_lead_missed, lead[step]);
    INFO(path.name << ", " << prompt["name"] << ", step " << step << ", lead " << lead[step]);
    CHECK(lead[step] < path.sure_lead);
  }
}

// Free-running text may leave the reference's only where its lead is small, if at all.
void RunFree(const nlohmann::json& prompt, const std::shared_ptr<Context>& context,
             const Path& path) {
  const std::string name = prompt["name"].get<std::string>();
  const std::vector<int32_t> ids = prompt["ids"].get<std::vector<int32_t>>();
  const std::vector<int32_t> want = prompt["greedy"].get<std::vector<int32_t>>();
  const std::vector<double> lead = prompt["lead"].get<std::vector<double>>();
  std::unique_ptr<Session> session = MakeSession(context);
  MF_REQUIRE_OK(session->Feed(ids));
  const std::vector<int32_t> got = Greedy(session.get(), static_cast<int64_t>(want.size()));
  INFO(path.name << ", " << name);
  if (name == "count" || name == "turns") {
    CHECK(got == want);
    return;
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (i < got.size() && got[i] == want[i]) continue;
    CHECK(lead[i] < path.sure_lead);
    break;
  }
}

Tally CheckModel(const GoldenModel& model, const Path& path, size_t longest_prompt,
                 int32_t device = 0) {
  Tally tally;
  std::optional<std::string> file = model.path();
  if (!file.has_value()) return tally;
  INFO(model.name);
  nlohmann::json prompts = nlohmann::json::array();
  const nlohmann::json answers = ReadJson(TestDataPath(model.answers));
  for (const auto& prompt : answers["prompts"]) {
    if (prompt["ids"].size() <= longest_prompt) prompts.push_back(prompt);
  }
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = 1024;
  options.tuning = path.tuning;
  options.kv_type_k = options.kv_type_v = static_cast<int32_t>(path.kv);
  std::shared_ptr<Context> context = MakeContext(LoadModel(*file, device), options);
  for (const auto& prompt : prompts) {
    const int64_t before = tally.misses;
    TeacherForce(prompt, context, path, &tally);
    // Where every forced choice was right, free text is the same.
    const std::string name = prompt["name"].get<std::string>();
    if (tally.misses > before || name == "count" || name == "turns") {
      RunFree(prompt, context, path);
    }
  }
  REQUIRE(!tally.errors.empty());
  std::sort(tally.errors.begin(), tally.errors.end());
  const double median = tally.errors[tally.errors.size() / 2];
  std::cout << model.name << ", " << path.name << ": median error " << median << ", worst "
            << tally.errors.back() << ", " << tally.misses << " of " << tally.steps
            << " greedy choices differ, largest lead among them " << tally.largest_lead_missed
            << std::endl;
  CHECK(median <= path.median_error);
  return tally;
}

void CheckBothModels(const Path& path, int32_t device = 0) {
  int64_t steps = 0;
  int64_t misses = 0;
  for (const GoldenModel& model : {kSmolLm2, kGemma3}) {
    const Tally tally = CheckModel(model, path, SIZE_MAX, device);
    steps += tally.steps;
    misses += tally.misses;
  }
  CHECK(static_cast<double>(misses) <= kMayMiss * static_cast<double>(steps));
}

// The prompts of Gemma that scalar code gets through in a few seconds.
constexpr size_t kShortPrompt = 10;

TEST_CASE("Golden: SmolLM2 with float activations and f32 KV", "[model][slow]") {
  CheckModel(kSmolLm2, kReference, SIZE_MAX);
}
TEST_CASE("Golden: short prompts of Gemma 3 with float activations and f32 KV", "[model][slow]") {
  CheckModel(kGemma3, kReference, kShortPrompt);
}
TEST_CASE("Golden: Gemma 3 with float activations and f32 KV", "[.long]") {
  CheckModel(kGemma3, kReference, SIZE_MAX);
}
TEST_CASE("Golden: both models with f32 KV", "[model]") { CheckBothModels(kF32); }
TEST_CASE("Golden: both models with f16 KV", "[model]") { CheckBothModels(kF16); }
TEST_CASE("Golden: both models with q8_0 KV", "[model]") { CheckBothModels(kQ8); }

TEST_CASE("Golden: both models on CUDA", "[model][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  for (const auto& [path, name] :
       {std::pair(kReference, "CUDA, float activations, f32 KV"), std::pair(kF32, "CUDA, f32 KV"),
        std::pair(kF16, "CUDA, f16 KV"), std::pair(kQ8, "CUDA, q8_0 KV")}) {
    Path named = path;
    named.name = name;
    CheckBothModels(named, *device);
  }
}

}  // namespace
}  // namespace minfer::testing
