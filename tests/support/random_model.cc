// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_model.h"

#include <cmath>
#include <random>
#include <vector>

#include "base/str_cat.h"
#include "gguf/writer.h"
#include "kernels/quant/quantize.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct Tensor {
  std::string name;
  std::vector<int64_t> dims;
  float scale = 1.0f;   // deviation of the values
  float offset = 0.0f;  // 1 for norms
};

std::vector<Tensor> Tensors(const RandomModelSpec& s) {
  const int64_t e = s.n_embd;
  const int64_t q = int64_t{s.n_heads} * s.head_dim;
  const int64_t kv = int64_t{s.n_kv_heads} * s.head_dim;
  const auto unit = [](int64_t n) { return 1.0f / std::sqrt(static_cast<float>(n)); };
  std::vector<Tensor> list = {{"token_embd.weight", {e, s.n_vocab}, s.embedding_scale},
                              {"output_norm.weight", {e}, 0.1f, 1.0f},
                              {"output.weight", {e, s.n_vocab}, 2.0f * unit(e)}};
  for (int32_t i = 0; i < s.n_layers; ++i) {
    const std::string p = StrCat("blk.", i, ".");
    list.push_back({p + "attn_norm.weight", {e}, 0.1f, 1.0f});
    list.push_back({p + "attn_q.weight", {e, q}, unit(e)});
    list.push_back({p + "attn_k.weight", {e, kv}, unit(e)});
    list.push_back({p + "attn_v.weight", {e, kv}, unit(e)});
    list.push_back({p + "attn_output.weight", {q, e}, unit(q)});
    list.push_back({p + "ffn_norm.weight", {e}, 0.1f, 1.0f});
    list.push_back({p + "ffn_gate.weight", {e, s.n_ff}, s.ffn_scale * unit(e)});
    list.push_back({p + "ffn_up.weight", {e, s.n_ff}, s.ffn_scale * unit(e)});
    list.push_back({p + "ffn_down.weight", {s.n_ff, e}, unit(s.n_ff)});
    if (s.architecture == "qwen2") {
      list.push_back({p + "attn_q.bias", {q}, s.bias_scale});
      list.push_back({p + "attn_k.bias", {kv}, s.bias_scale});
      list.push_back({p + "attn_v.bias", {kv}, 0.3f});
    }
    if (s.architecture == "qwen3") {
      list.push_back({p + "attn_q_norm.weight", {s.head_dim}, 0.1f, 1.0f});
      list.push_back({p + "attn_k_norm.weight", {s.head_dim}, 0.1f, 1.0f});
    }
  }
  return list;
}

ElementType TypeOf(const RandomModelSpec& spec, const Tensor& tensor) {
  if (tensor.dims.size() != 2) return ElementType::kF32;
  const bool has_more = tensor.name.find("attn_v.") != std::string::npos ||
                        tensor.name.find("ffn_down.") != std::string::npos;
  return has_more ? spec.v_type.value_or(spec.type) : spec.type;
}

void SetMetadata(const RandomModelSpec& s, GgufWriter* writer) {
  const std::string& a = s.architecture;
  auto u32 = [&](const char* key, int32_t value) {
    writer->Set<uint32_t>(a + "." + key, static_cast<uint32_t>(value));
  };
  writer->SetString("general.architecture", a);
  u32("context_length", 1 << 17);
  u32("embedding_length", s.n_embd);
  u32("block_count", s.n_layers);
  u32("feed_forward_length", s.n_ff);
  u32("attention.head_count", s.n_heads);
  u32("attention.head_count_kv", s.n_kv_heads);
  u32("attention.key_length", s.head_dim);
  u32("attention.value_length", s.head_dim);
  if (s.window > 0) u32("attention.sliding_window", s.window);
  writer->Set<float>(a + ".attention.layer_norm_rms_epsilon", 1e-5f);
  if (s.n_tokens == 0) {
    writer->SetString("tokenizer.ggml.model", "none");
    return;
  }
  writer->SetString("tokenizer.ggml.model", "llama");
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (int32_t t = 0; t < s.n_tokens; ++t) {
    tokens.push_back(t == 0 ? "<unk>" : t == 1 ? "<s>" : t == 2 ? "</s>" : StrCat("t", t));
    scores.push_back(0.0f);
    types.push_back(t == 0 ? 2 : t < 3 ? 3 : 1);
  }
  writer->SetStringArray("tokenizer.ggml.tokens", tokens);
  writer->SetArray<float>("tokenizer.ggml.scores", scores);
  writer->SetArray<int32_t>("tokenizer.ggml.token_type", types);
}

}  // namespace

std::string MakeRandomModel(const RandomModelSpec& spec) {
  GgufWriter writer;
  SetMetadata(spec, &writer);
  const std::vector<Tensor> tensors = Tensors(spec);
  for (const Tensor& tensor : tensors) {
    MF_REQUIRE_OK(writer.AddTensor(tensor.name, TypeOf(spec, tensor), tensor.dims));
  }
  std::mt19937_64 random(spec.seed);
  StatusOr<std::string> bytes =
      writer.WriteToString([&](size_t index, const GgufWriter::ByteSink& out) -> Status {
        const Tensor& tensor = tensors[index];
        const bool matrix = tensor.dims.size() == 2;
        const int64_t n = tensor.dims[0] * (matrix ? tensor.dims[1] : 1);
        std::normal_distribution<float> normal(tensor.offset, tensor.scale);
        std::vector<float> values(static_cast<size_t>(n));
        for (float& value : values) value = normal(random);
        if (tensor.name == "output.weight" && spec.n_tokens > 0) {
          for (int64_t i = int64_t{spec.n_tokens} * spec.n_embd; i < n; ++i) {
            values[static_cast<size_t>(i)] *= spec.spare_row_scale;
          }
        }
        std::vector<uint8_t> blocks(writer.tensor_bytes(index));
        REQUIRE(kernels::QuantizeRow(TypeOf(spec, tensor), values.data(), blocks.data(), n) ==
                kernels::KernelStatus::kOk);
        return out(blocks);
      });
  MF_REQUIRE_OK(bytes);
  const std::string path = MakeTempDir("random") + "/model.gguf";
  WriteFile(path, *bytes);
  return path;
}

}  // namespace minfer::testing
