// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Keys and tensors that would change what a model computes, and that nothing honours, are refused
// by name.
#include <functional>

#include "gguf/writer.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

// The file of a tiny model with keys set and a tensor left out.
Status DescribeChanged(const std::string& name, const std::function<void(GgufWriter*)>& change,
                       const std::string& without_tensor = "") {
  StatusOr<ModelFiles> files =
      ModelFiles::Open(TinyModelPath(name, "dense_ref.py"), FileAccess::kMap);
  MF_REQUIRE_OK(files);
  GgufWriter writer;
  writer.CopyMetadata(files->metadata());
  change(&writer);
  std::vector<const TensorInfo*> kept;
  for (const TensorInfo& tensor : files->tensors()) {
    if (tensor.name == without_tensor) continue;
    MF_REQUIRE_OK(writer.AddTensor(tensor.name, tensor.type, tensor.shape()));
    kept.push_back(&tensor);
  }
  StatusOr<std::string> bytes =
      writer.WriteToString([&](size_t index, const GgufWriter::ByteSink& out) -> Status {
        const uint8_t* data = files->TensorData(*kept[index]);
        return out({data, static_cast<size_t>(kept[index]->bytes)});
      });
  MF_REQUIRE_OK(bytes);
  const std::string path = MakeTempDir("dense-changed") + "/model.gguf";
  WriteFile(path, *bytes);
  StatusOr<ModelFiles> changed = ModelFiles::Open(path, FileAccess::kMap);
  MF_REQUIRE_OK(changed);
  return DescribeModel(*changed, DescribeOptions()).status();
}

Status DescribeWith(const std::string& name, const std::string& key, float value) {
  return DescribeChanged(name, [&](GgufWriter* writer) { writer->Set(key, value); });
}

Status DescribeWithType(const std::string& name, const std::string& type) {
  return DescribeChanged(
      name, [&](GgufWriter* writer) { writer->SetString("llama.rope.scaling.type", type); });
}

TEST_CASE("Refused keys: RoPE keys without a formula are refused by name", "[model][D08][D09]") {
  const auto refused = [](const std::string& model, const std::string& suffix, float value) {
    const std::string key = "llama.rope.scaling." + suffix;
    const Status status = DescribeWith(model, key, value);
    INFO(model << " " << suffix << " " << value << ": " << status.ToString());
    CHECK_FALSE(status.ok());
    CHECK(status.name() == key);
  };
  refused("llama_yarn_keys", "yarn_log_multiplier", 0.1f);
  refused("llama_yarn_keys", "yarn_ext_factor", 1.5f);
  refused("llama_yarn_keys", "yarn_ext_factor", -1.0f);
  refused("llama_yarn_keys", "yarn_attn_factor", 0.0f);
  refused("llama_yarn_keys", "yarn_attn_factor", 0.875f);
  refused("llama_yarn_keys", "attn_factor", -2.0f);
  refused("llama_yarn_keys", "yarn_beta_slow", 0.0f);
  // Only yarn gives these a meaning.
  refused("llama_window", "yarn_ext_factor", 1.0f);
  refused("llama_window", "yarn_attn_factor", 2.0f);
  refused("llama_window", "yarn_log_multiplier", 0.1f);
  refused("llama_long", "factor", 4.0f);
  // Their neutral values change nothing.
  MF_REQUIRE_OK(DescribeWith("llama_window", "llama.rope.scaling.yarn_ext_factor", 0.0f));
  MF_REQUIRE_OK(DescribeWith("llama_yarn_keys", "llama.rope.scaling.yarn_attn_factor", 1.0f));
  MF_REQUIRE_OK(DescribeWith("llama_yarn_keys", "llama.rope.scaling.yarn_log_multiplier", 0.0f));
}

TEST_CASE("Refused keys: longrope takes both tensors of factors and no other scaling",
          "[model][D09]") {
  for (const std::string missing : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    const Status status = DescribeChanged(
        "llama_long", [](GgufWriter*) {}, missing);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.name() == missing);
  }
  CHECK(DescribeWithType("llama_window", "longrope").name() == "rope_factors_long.weight");
  CHECK(DescribeWithType("llama_long", "yarn").code() == StatusCode::kUnimplemented);
  CHECK(DescribeWithType("llama_long", "dynamic").name() == "llama.rope.scaling.type");
  // Older files carry the tensors without the type.
  MF_REQUIRE_OK(DescribeWithType("llama_long", "linear"));
}

TEST_CASE("Refused keys: scales that an architecture has no formula for", "[model]") {
  const auto refused = [](const std::string& model, const std::string& key, float value) {
    const Status status = DescribeWith(model, key, value);
    INFO(key << ": " << status.ToString());
    CHECK_FALSE(status.ok());
    CHECK(status.name() == key);
  };
  for (const std::string suffix :
       {"embedding_scale", "residual_scale", "logit_scale", "attention.scale"}) {
    refused("llama_window", "llama." + suffix, 2.0f);
    refused("smollm3", "smollm3." + suffix, 2.0f);
  }
  refused("granite", "granite.logit_scale", -1.0f);
  refused("granite", "granite.attention.sliding_window", 4.0f);
  refused("olmo2", "olmo2.attention.clamp_kqv", 8.0f);
  refused("starcoder2", "starcoder2.attention.layer_norm_rms_epsilon", 1e-5f);
  refused("llama_window", "llama.attention.layer_norm_epsilon", 1e-5f);
  refused("phi3_window", "phi3.attn_logit_softcapping", 30.0f);
}

TEST_CASE("Refused keys: tensors that a dense architecture needs are named", "[model]") {
  const auto missing = [](const std::string& model, const std::string& tensor) {
    const Status status = DescribeChanged(
        model, [](GgufWriter*) {}, tensor);
    INFO(tensor << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.name() == tensor);
  };
  missing("phi3_window", "blk.1.attn_qkv.weight");
  missing("phi3_window", "blk.0.ffn_up.weight");
  missing("olmo2", "blk.1.post_ffw_norm.weight");
  missing("olmo2", "blk.0.attn_q_norm.weight");
  missing("starcoder2", "output_norm.bias");
  missing("starcoder2", "blk.1.ffn_up.bias");
  missing("granite", "blk.0.attn_norm.weight");
}

}  // namespace
}  // namespace minfer::testing
