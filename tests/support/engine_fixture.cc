// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/engine_fixture.h"

#include <algorithm>
#include <filesystem>

#include "engine/backends.h"
#include "gguf/writer.h"
#include "kernels/quant/quantize.h"

namespace minfer::testing {

std::string TinyModelPath(const std::string& name, const std::string& script) {
  static const std::string folder = MakeTempDir("tiny");
  const std::string path = folder + "/" + name + ".gguf";
  if (!std::filesystem::exists(path)) {
    INFO(name);
    REQUIRE(RunPython({TestDataPath(script), "--gguf", name, path}));
  }
  return path;
}

std::string QuantizedTinyModelPath(const std::string& name, ElementType type) {
  return QuantizedModelPath(TinyModelPath(name), type);
}

std::string QuantizedModelPath(const std::string& source, ElementType type) {
  const ElementTraits& traits = *FindElementTraits(type);
  const std::string path = source + "." + traits.name;
  StatusOr<ModelFiles> files = ModelFiles::Open(source, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  GgufWriter writer;
  writer.CopyMetadata(files->metadata());
  auto converts = [&](const TensorInfo& tensor) {
    return tensor.n_dims >= 2 && tensor.dims[0] % traits.block_elements == 0;
  };
  for (const TensorInfo& tensor : files->tensors()) {
    MF_REQUIRE_OK(
        writer.AddTensor(tensor.name, converts(tensor) ? type : tensor.type, tensor.shape()));
  }
  StatusOr<std::string> bytes =
      writer.WriteToString([&](size_t index, const GgufWriter::ByteSink& out) -> Status {
        const TensorInfo& tensor = files->tensors()[index];
        const uint8_t* data = files->TensorData(tensor);
        if (!converts(tensor)) return out({data, static_cast<size_t>(tensor.bytes)});
        std::vector<uint8_t> blocks(writer.tensor_bytes(index));
        int64_t values = 1;
        for (const int64_t dim : tensor.shape()) values *= dim;
        REQUIRE(kernels::QuantizeRow(type, reinterpret_cast<const float*>(data), blocks.data(),
                                     values) == kernels::KernelStatus::kOk);
        return out(blocks);
      });
  MF_REQUIRE_OK(bytes);
  WriteFile(path, *bytes);
  return path;
}

std::shared_ptr<const Model> LoadModel(const std::string& path, int32_t device) {
  StatusOr<ModelFiles> files = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(files);
  ModelOptions options;
  options.device = device;
  StatusOr<std::shared_ptr<const Model>> model = Model::Load(std::move(*files), options);
  MF_REQUIRE_OK(model);
  return *model;
}

std::optional<int32_t> CudaDeviceIndex() {
  const auto devices = FindDevices();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->info().kind == DeviceKind::kCuda) return static_cast<int32_t>(i);
  }
  ReportSkip("no CUDA device, or a build without CUDA");
  return std::nullopt;
}

std::shared_ptr<const Model> LoadTinyModel(const std::string& name, const std::string& script) {
  return LoadModel(TinyModelPath(name, script));
}

std::optional<std::string> SmolLm2Path() {
  return RealModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
}

std::optional<std::string> Gemma3Path() { return RealModelPath("gemma-3-270m-q4_k_m.gguf"); }

std::shared_ptr<Context> MakeContext(std::shared_ptr<const Model> model,
                                     const ContextOptions& options) {
  StatusOr<std::shared_ptr<Context>> context = Context::Create(std::move(model), options);
  MF_REQUIRE_OK(context);
  return *context;
}

std::unique_ptr<Session> MakeSession(const std::shared_ptr<Context>& context) {
  StatusOr<std::unique_ptr<Session>> session = context->CreateSession();
  MF_REQUIRE_OK(session);
  MF_REQUIRE_OK((*session)->SetSampling(SamplingSettings()));
  return std::move(*session);
}

std::vector<float> Decode(Session* session, absl::Span<const int32_t> tokens) {
  MF_REQUIRE_OK(session->Feed(tokens));
  MF_REQUIRE_OK(session->Decode(nullptr));
  StatusOr<absl::Span<const float>> logits = session->Logits();
  MF_REQUIRE_OK(logits);
  return std::vector<float>(logits->begin(), logits->end());
}

std::vector<int32_t> Greedy(Session* session, int64_t n) {
  std::vector<int32_t> tokens;
  GenerateOptions options;
  options.max_tokens = n;
  TokenCallback callback;
  callback.user_data = &tokens;
  callback.call = [](void* user_data, const TokenEvent& event) -> StatusOr<bool> {
    static_cast<std::vector<int32_t>*>(user_data)->push_back(event.token);
    return true;
  };
  GenerateResult result;
  MF_REQUIRE_OK(session->Generate(options, callback, &result));
  return tokens;
}

int32_t ArgMax(absl::Span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace minfer::testing
