// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mixtures of experts, whole: against logits computed in double precision (tests/data/moe_ref.py),
// and the same bits for any threads, pieces and neighbours.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "engine/context_options.h"
#include "gguf/writer.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

// As moe_ref.py states.
constexpr float kF32Tolerance = 2e-4f;
constexpr float kF16Tolerance = 2e-2f;

// gpt-oss where something is rounded before its experts: an f16 cache (2^-11 of a value), or the
// 8-bit activations of MXFP4 experts (1/254 of the largest in a block). The reference scales the
// gate and up matrices by 12, so that rows reach the clamp, and what is rounded before them comes
// out forty times as large as in the other models: 3.4e-2 and 4.0e-2 in logits of up to 7.8. With
// float activations and an f32 cache the same file is within 2e-6.
constexpr float kMagnifiedTolerance = 5e-2f;
// The same on a device, whose kernels sum in another order.
constexpr float kStoredTolerance = 2e-1f;

constexpr const char* kModels[] = {"mixtral", "qwen2moe", "qwen3moe", "gpt-oss", "gpt-oss_mxfp4"};

std::string MoePath(const std::string& name) {
  static const std::string folder = MakeTempDir("experts");
  const std::string path = folder + "/" + name + ".gguf";
  if (!std::filesystem::exists(path)) {
    INFO(name);
    REQUIRE(RunPython({TestDataPath("moe_ref.py"), "--gguf", name, path}));
  }
  return path;
}

struct Golden {
  std::vector<int32_t> prompt;
  std::vector<int32_t> greedy;
  std::vector<float> gap;
  std::vector<float> last;
};

Golden ReadGolden(const std::string& name) {
  nlohmann::json json = ReadJson(TestDataPath("moe_logits.json"));
  Golden golden;
  golden.prompt = json["prompt"].get<std::vector<int32_t>>();
  golden.greedy = json[name]["greedy_at_every_position"].get<std::vector<int32_t>>();
  golden.gap = json[name]["gap_to_second"].get<std::vector<float>>();
  const std::vector<uint8_t> bytes = FromHex(json[name]["last_f32_hex"].get<std::string>());
  golden.last.resize(bytes.size() / sizeof(float));
  std::memcpy(golden.last.data(), bytes.data(), bytes.size());
  return golden;
}

ContextOptions SmallContext(const std::string& tuning) {
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = 64;
  options.tuning = tuning;
  return options;
}

// The prompt in pieces of `piece` tokens: the best token after each piece and the last logits.
void CheckModel(const std::string& name, const ContextOptions& options, size_t piece,
                float tolerance, int32_t device = 0) {
  INFO(name << " in pieces of " << piece << ", tuning " << options.tuning);
  const Golden golden = ReadGolden(name);
  std::shared_ptr<Context> context = MakeContext(LoadModel(MoePath(name), device), options);
  std::unique_ptr<Session> session = MakeSession(context);
  std::vector<float> logits;
  for (size_t begin = 0; begin < golden.prompt.size(); begin += piece) {
    const size_t end = std::min(golden.prompt.size(), begin + piece);
    logits = Decode(session.get(), {golden.prompt.data() + begin, end - begin});
    if (golden.gap[end - 1] > 2 * tolerance) CHECK(ArgMax(logits) == golden.greedy[end - 1]);
  }
  REQUIRE(logits.size() == golden.last.size());
  float largest = 0.0f;
  for (size_t i = 0; i < logits.size(); ++i) {
    REQUIRE(std::isfinite(logits[i]));
    largest = std::max(largest, std::abs(logits[i] - golden.last[i]));
  }
  CHECK(largest <= tolerance);
}

TEST_CASE("Experts: tiny models give the reference logits, in any pieces", "[model]") {
  for (const std::string name : kModels) {
    const bool stored = name == "gpt-oss_mxfp4";
    for (const size_t piece : {size_t{12}, size_t{1}, size_t{3}}) {
      CheckModel(name, SmallContext(""), piece, stored ? kMagnifiedTolerance : kF32Tolerance);
      CheckModel(name, SmallContext("reference=1"), piece, kF32Tolerance);
    }
    ContextOptions options = SmallContext("");
    options.kv_type_k = options.kv_type_v = static_cast<int32_t>(KvFormat::kF16);
    const bool clamped = name.rfind("gpt-oss", 0) == 0;
    CheckModel(name, options, 12, clamped ? kMagnifiedTolerance : kF16Tolerance);
  }
}

TEST_CASE("Experts: tiny models on CUDA", "[model][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  for (const std::string name : kModels) {
    const bool stored = name == "gpt-oss_mxfp4";
    for (const size_t piece : {size_t{12}, size_t{1}, size_t{3}}) {
      for (const char* tuning : {"", "reference=1", "cuda_tier=70"}) {
        ContextOptions options = SmallContext(tuning);
        options.kv_type_k = options.kv_type_v = static_cast<int32_t>(KvFormat::kF32);
        CheckModel(name, options, piece, stored ? kStoredTolerance : kF32Tolerance, *device);
      }
    }
    ContextOptions options = SmallContext("");
    options.kv_type_k = options.kv_type_v = static_cast<int32_t>(KvFormat::kF16);
    const bool clamped = name.rfind("gpt-oss", 0) == 0;
    CheckModel(name, options, 12, clamped ? kStoredTolerance : kF16Tolerance, *device);
  }
}

// Gate and up in a type with an integer product, the way down as it was.
TEST_CASE("Experts: the levers of their products change what runs, within their class",
          "[model][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  const std::shared_ptr<const Model> model =
      LoadModel(QuantizedModelPath(MoePath("qwen3moe"), ElementType::kQ8_0), *device);
  const std::vector<int32_t> prompt = ReadGolden("qwen3moe").prompt;
  const auto run = [&](const std::string& tuning, std::string* report) {
    std::shared_ptr<Context> context = MakeContext(model, SmallContext(tuning));
    std::unique_ptr<Session> session = MakeSession(context);
    std::vector<float> logits = Decode(session.get(), prompt);
    const std::vector<float> more = Decode(session.get(), {prompt.data(), 1});
    logits.insert(logits.end(), more.begin(), more.end());
    for (const KernelReport& row : context->kernel_report()) {
      *report += row.op + row.detail + row.kernel + row.reason + "\n";
    }
    return logits;
  };
  std::string all_on, apart, floats;
  const std::vector<float> want = run("", &all_on);
  CHECK(all_on.find("experts with slots, mmq") != std::string::npos);
  CHECK(run("fuse_experts=0", &apart) == want);
  CHECK(apart != all_on);
  const std::vector<float> decoded = run("expert_mmq=0", &floats);
  CHECK(floats.find("tuning expert_mmq=0") != std::string::npos);
  float largest = 0.0f;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(want[i] - decoded[i]));
  }
  CHECK(largest > 0.0f);
  CHECK(largest < 0.15f);  // 8-bit activations against float ones
}

// 30 tokens one by one: from the fourth on each step is one replayed graph, whatever experts its
// rows go to. The same tokens as without graphs.
TEST_CASE("Experts: a replayed step follows the choice of experts", "[model][cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  for (const char* name : {"qwen3moe", "gpt-oss"}) {
    std::vector<std::vector<int32_t>> tokens;
    for (const char* tuning : {"", "cuda_graph=0"}) {
      std::shared_ptr<Context> context =
          MakeContext(LoadModel(MoePath(name), *device), SmallContext(tuning));
      std::unique_ptr<Session> session = MakeSession(context);
      MF_REQUIRE_OK(session->Feed(ReadGolden(name).prompt));
      tokens.push_back(Greedy(session.get(), 30));
    }
    INFO(name);
    CHECK(tokens[0] == tokens[1]);
  }
}

std::vector<int32_t> Prompt(size_t seed, size_t n) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<int32_t>(3 + (seed * 97 + i * i * 31) % 256));
  return tokens;
}

ContextOptions Options(uint32_t n_threads, uint32_t n_sessions, uint32_t n_micro_batch) {
  ContextOptions options;
  options.n_threads = n_threads;
  options.n_sessions = n_sessions;
  options.n_ctx = 128;
  options.n_micro_batch = n_micro_batch;
  return options;
}

struct Answer {
  std::vector<float> logits;
  std::vector<int32_t> tokens;
};

Answer Solo(const std::string& name, const ContextOptions& options,
            const std::vector<int32_t>& prompt) {
  std::shared_ptr<Context> context = MakeContext(LoadModel(MoePath(name)), options);
  std::unique_ptr<Session> session = MakeSession(context);
  Answer answer;
  answer.logits = Decode(session.get(), prompt);
  answer.tokens = Greedy(session.get(), 12);
  return answer;
}

TEST_CASE("Experts: D14 the same bits for any threads and micro-batch", "[model]") {
  const std::vector<int32_t> prompt = Prompt(1, 90);
  for (const char* name : kModels) {
    const Answer want = Solo(name, Options(1, 1, 512), prompt);
    for (const uint32_t n_threads : {1u, 2u, 5u}) {
      for (const uint32_t n_micro_batch : {1u, 7u, 64u}) {
        INFO(name << ", " << n_threads << " threads, micro-batch " << n_micro_batch);
        const Answer got = Solo(name, Options(n_threads, 3, n_micro_batch), prompt);
        CHECK(got.logits == want.logits);
        CHECK(got.tokens == want.tokens);
      }
    }
  }
}

TEST_CASE("Experts: D22 sessions together give what each gives alone", "[model]") {
  for (const char* name : kModels) {
    for (const size_t n : {2u, 3u, 9u}) {
      std::shared_ptr<Context> context =
          MakeContext(LoadModel(MoePath(name)), Options(2, static_cast<uint32_t>(n), 32));
      std::vector<std::unique_ptr<Session>> sessions;
      std::vector<std::vector<int32_t>> tokens(n);
      GenerateOptions generate;
      generate.max_tokens = 12;
      // Prompts of different lengths: some decode while others are still in their prompt.
      const auto length = [](size_t s) { return 1 + 17 * s % 80; };
      for (size_t s = 0; s < n; ++s) {
        sessions.push_back(MakeSession(context));
        MF_REQUIRE_OK(sessions[s]->Feed(Prompt(s, length(s))));
        MF_REQUIRE_OK(sessions[s]->Start(generate));
      }
      StepResult result;
      do {
        MF_REQUIRE_OK(context->Step(StepOptions(), &result));
        for (size_t s = 0; s < n; ++s) {
          StatusOr<TokenEvent> event = sessions[s]->Next();
          if (event.ok()) tokens[s].push_back(event->token);
        }
      } while (result.n_rows > 0);
      for (size_t s = 0; s < n; ++s) {
        INFO(name << ", " << n << " sessions, session " << s);
        CHECK(tokens[s] == Solo(name, Options(1, 1, 512), Prompt(s, length(s))).tokens);
      }
    }
  }
}

TEST_CASE("Experts: the plan is what is taken, byte for byte", "[model]") {
  for (const char* name : kModels) {
    for (const uint32_t n_micro_batch : {1u, 9u, 64u}) {
      INFO(name << ", micro-batch " << n_micro_batch);
      const std::shared_ptr<const Model> model = LoadModel(MoePath(name));
      const ContextOptions options = Options(2, 3, n_micro_batch);
      StatusOr<MemoryUse> plan = PlanContext(model->description(), model->placement(), options);
      MF_REQUIRE_OK(plan);
      std::shared_ptr<Context> context = MakeContext(model, options);
      std::unique_ptr<Session> session = MakeSession(context);
      Decode(session.get(), Prompt(2, 100));
      Greedy(session.get(), 2);
      CHECK(plan->total() == context->memory().total.peak);
      CHECK((*plan)[MemoryClass::kScratch] == context->memory().of(MemoryClass::kScratch).peak);
    }
  }
}

TEST_CASE("Experts: a step reads the experts that its rows chose and no other", "[model]") {
  // A decode row of qwen3moe has 3 of 8 experts a layer.
  std::shared_ptr<Context> context = MakeContext(LoadModel(MoePath("qwen3moe")), Options(2, 1, 64));
  std::unique_ptr<Session> session = MakeSession(context);
  Decode(session.get(), Prompt(3, 5));
  const BackendStatistics before = context->statistics().backend;
  Decode(session.get(), Prompt(4, 1));
  const BackendStatistics after = context->statistics().backend;
  // E = 32, H D = 64, K D = 32, D = 16, F = 24, X = 8; 264 rows of output.
  const uint64_t attention = 32 + 32 * 64 + 2 * 32 * 32 + 64 * 32 + 2 * 16;
  const uint64_t experts = 32 + 32 * 8 + 3 * 3 * 32 * 24;
  CHECK(after.weight_bytes_read - before.weight_bytes_read ==
        4 * (2 * (attention + experts) + 32 + 32 * 264));
  // Q, K and V in one; O; the router; gate, up and down of the experts; the output matrix.
  CHECK(after.matmul_nodes - before.matmul_nodes == 2 * 6 + 1);
}

// The model with one key changed; tensors of `left_out` are not in the file.
Status LoadChanged(const std::string& name, const std::string& key, uint32_t value,
                   const std::string& left_out = "") {
  StatusOr<ModelFiles> source = ModelFiles::Open(MoePath(name), FileAccess::kMap);
  MF_REQUIRE_OK(source);
  GgufWriter writer;
  writer.CopyMetadata(source->metadata());
  if (!key.empty()) writer.Set<uint32_t>(key, value);
  std::vector<const TensorInfo*> tensors;
  for (const TensorInfo& tensor : source->tensors()) {
    if (tensor.name == left_out) continue;
    tensors.push_back(&tensor);
    MF_REQUIRE_OK(writer.AddTensor(tensor.name, tensor.type, tensor.shape()));
  }
  StatusOr<std::string> bytes = writer.WriteToString([&](size_t index,
                                                         const GgufWriter::ByteSink& out)
                                                         -> Status {
    return out({source->TensorData(*tensors[index]), static_cast<size_t>(tensors[index]->bytes)});
  });
  MF_REQUIRE_OK(bytes);
  const std::string path = MakeTempDir("changed") + "/model.gguf";
  WriteFile(path, *bytes);
  StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  return Model::Load(std::move(*files), ModelOptions()).status();
}

// The model with one tensor an expert, as files had it before there were tensors of three
// dimensions. `odd` has another type than the experts before it; `left_out` is not in the file.
std::string SeparateExpertsPath(const std::string& name, const std::string& odd = "",
                                const std::string& left_out = "") {
  StatusOr<ModelFiles> source = ModelFiles::Open(MoePath(name), FileAccess::kMap);
  MF_REQUIRE_OK(source);
  GgufWriter writer;
  writer.CopyMetadata(source->metadata());
  struct Piece {
    const uint8_t* data;
    uint64_t bytes;
  };
  std::vector<Piece> pieces;
  const auto add = [&](const std::string& tensor, ElementType type, absl::Span<const int64_t> shape,
                       const uint8_t* data) {
    if (tensor == left_out) return;
    if (tensor == odd) type = ElementType::kF16;
    MF_REQUIRE_OK(writer.AddTensor(tensor, type, shape));
    pieces.push_back({data, writer.tensor_bytes(pieces.size())});
  };
  for (const TensorInfo& tensor : source->tensors()) {
    const std::string whole(tensor.name);
    const size_t at = whole.find("_exps.weight");
    const uint8_t* data = source->TensorData(tensor);
    if (at == std::string::npos) {
      add(whole, tensor.type, tensor.shape(), data);
      continue;
    }
    const auto experts = static_cast<uint64_t>(tensor.dims[2]);
    for (uint64_t i = 0; i < experts; ++i) {
      add(whole.substr(0, at) + "." + std::to_string(i) + ".weight", tensor.type,
          tensor.shape().subspan(0, 2), data + i * (tensor.bytes / experts));
    }
  }
  StatusOr<std::string> bytes =
      writer.WriteToString([&](size_t index, const GgufWriter::ByteSink& out) -> Status {
        return out({pieces[index].data, static_cast<size_t>(pieces[index].bytes)});
      });
  MF_REQUIRE_OK(bytes);
  const std::string path = MakeTempDir("separate") + "/model.gguf";
  WriteFile(path, *bytes);
  return path;
}

TEST_CASE("Experts: a file with one tensor an expert gives the same bits", "[model]") {
  for (const char* name : {"mixtral", "qwen3moe"}) {
    std::vector<std::vector<float>> logits;
    for (const std::string& path : {MoePath(name), SeparateExpertsPath(name)}) {
      std::shared_ptr<Context> context = MakeContext(LoadModel(path), Options(2, 1, 64));
      std::unique_ptr<Session> session = MakeSession(context);
      logits.push_back(Decode(session.get(), Prompt(3, 20)));
    }
    INFO(name);
    CHECK(logits[0] == logits[1]);
  }
  // The plan knows that they are copied together.
  StatusOr<ModelFiles> files = ModelFiles::Open(SeparateExpertsPath("mixtral"), FileAccess::kMap);
  MF_REQUIRE_OK(files);
  StatusOr<ModelHeader> header = ReadModelHeader(std::move(*files), ModelOptions());
  MF_REQUIRE_OK(header);
  StatusOr<MemoryUse> plan = PlanModel(*header, ModelOptions());
  MF_REQUIRE_OK(plan);
  StatusOr<ModelFiles> again = ModelFiles::Open(SeparateExpertsPath("mixtral"), FileAccess::kMap);
  MF_REQUIRE_OK(again);
  StatusOr<std::shared_ptr<const Model>> model = Model::Load(std::move(*again), ModelOptions());
  MF_REQUIRE_OK(model);
  CHECK((*plan)[MemoryClass::kWeights] > 0);
  CHECK((*plan)[MemoryClass::kWeights] == (*model)->memory().of(MemoryClass::kWeights).peak);
}

TEST_CASE("Experts: one tensor an expert that is missing or of another type is named", "[model]") {
  const std::string expert = "blk.1.ffn_up.2.weight";
  for (const auto& [odd, left_out] :
       {std::pair<std::string, std::string>{expert, ""}, {"", expert}}) {
    StatusOr<ModelFiles> files =
        ModelFiles::Open(SeparateExpertsPath("mixtral", odd, left_out), FileAccess::kMap);
    MF_REQUIRE_OK(files);
    const Status status = Model::Load(std::move(*files), ModelOptions()).status();
    INFO(status.ToString());
    CHECK(status.code() ==
          (odd.empty() ? StatusCode::kInvalidArgument : StatusCode::kUnimplemented));
    CHECK(status.name() == expert);
  }
}

TEST_CASE("Experts: keys and tensors that do not fit are refused by name", "[model]") {
  MF_REQUIRE_OK(LoadChanged("qwen3moe", "qwen3moe.expert_gating_func", 1));
  const auto refused = [](const std::string& model, const std::string& key, uint32_t value,
                          const std::string& name, StatusCode code) {
    const Status status = LoadChanged(model, key, value);
    INFO(key << " = " << value << ": " << status.ToString());
    CHECK(status.code() == code);
    CHECK(status.name() == name);
  };
  const auto invalid = StatusCode::kInvalidArgument;
  for (const uint32_t bad : {0u, 9u, 4294967295u}) {
    refused("qwen3moe", "qwen3moe.expert_used_count", bad, "qwen3moe.expert_used_count", invalid);
  }
  for (const uint32_t bad : {0u, 4294967295u}) {
    refused("qwen3moe", "qwen3moe.expert_count", bad, "qwen3moe.expert_count", invalid);
  }
  refused("qwen3moe", "qwen3moe.expert_count", 7, "blk.0.ffn_gate_inp.weight", invalid);
  refused("qwen3moe", "qwen3moe.expert_feed_forward_length", 25, "blk.0.ffn_gate_exps.weight",
          invalid);
  refused("qwen3moe", "qwen3moe.expert_feed_forward_length", 0,
          "qwen3moe.expert_feed_forward_length", invalid);
  refused("qwen3moe", "qwen3moe.expert_gating_func", 2, "qwen3moe.expert_gating_func",
          StatusCode::kUnimplemented);
  refused("qwen2moe", "qwen2moe.expert_shared_feed_forward_length", 0,
          "qwen2moe.expert_shared_feed_forward_length", invalid);
  // A key that no one honours: groups of experts change the choice.
  refused("qwen3moe", "qwen3moe.expert_group_count", 2, "qwen3moe.expert_group_count",
          StatusCode::kUnimplemented);
  // Without its count, Mixtral would be a dense model: the first tensor that it lacks is named.
  refused("mixtral", "llama.expert_count", 0, "blk.0.ffn_gate.weight", invalid);
  for (const char* tensor : {"blk.1.ffn_down_exps.weight", "blk.0.ffn_gate_inp.weight"}) {
    CHECK(LoadChanged("mixtral", "", 0, tensor).name() == tensor);
  }
}

}  // namespace
}  // namespace minfer::testing
