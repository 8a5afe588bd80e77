// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tiny_transformer.h"

#include "graph/builder.h"

namespace minfer::testing {
namespace {

constexpr float kEps = 1e-5f;

std::string LayerName(int32_t layer) { return "blk." + std::to_string(layer); }

struct StepInputs {
  ValueId cells, page_table, row_sequence, row_length, rope;
};

class LayerBuilder {
 public:
  LayerBuilder(const TinyTransformer& model, int32_t layer, GraphBuilder* builder)
      : model_(model), options_(model.options()), layer_(layer), b_(*builder) {
    b_.SetPrefix(LayerName(layer));
    a_.layer = layer;
    a_.n_heads = options_.n_heads;
    a_.n_kv_heads = options_.n_kv_heads;
    a_.head_dim = options_.head_dim;
    a_.head_dim_v = options_.head_dim_v;
    a_.rope_dim = options_.rope_dim;
    a_.rope_style = options_.rope_style;
    a_.window = options_.window;
    a_.scale = 0.4f;
  }

  ValueId Attention(ValueId x, const StepInputs& in) {
    const ValueId h = b_.RmsNorm("attn_norm", x, Weight("attn_norm"), kEps);
    const ValueId q = Rotated("q", Projected("q", h), options_.n_heads, in);
    const ValueId k = Rotated("k", Projected("k", h), options_.n_kv_heads, in);
    const ValueId v = Projected("v", h);
    const ValueId store = b_.KvStore("kv_store", k, v, in.cells, a_);
    const ValueId out =
        b_.Attention("attention", q, store, in.page_table, in.row_sequence, in.row_length, a_);
    return b_.Add("attn_residual", x, b_.MatMul("attn_out", out, Weight("attn_out")));
  }

  ValueId FeedForward(ValueId x) {
    const ValueId h = b_.RmsNorm("ffn_norm", x, Weight("ffn_norm"), kEps);
    const ValueId gate = b_.MatMul("ffn_gate", h, Weight("ffn_gate"));
    const ValueId up = b_.MatMul("ffn_up", h, Weight("ffn_up"));
    const ValueId act = b_.GatedAct("ffn_act", gate, up, options_.activation);
    return b_.Add("ffn_residual", x, b_.MatMul("ffn_down", act, Weight("ffn_down")));
  }

 private:
  WeightId Weight(const std::string& name) const {
    return model_.FindWeight(LayerName(layer_) + "." + name);
  }

  ValueId Projected(const std::string& which, ValueId h) {
    const ValueId y = b_.MatMul(which, h, Weight("attn_" + which));
    return options_.bias ? b_.AddBias(which + "_bias", y, Weight("attn_" + which + "_bias")) : y;
  }

  ValueId Rotated(const std::string& which, ValueId x, int32_t n_heads, const StepInputs& in) {
    if (options_.qk_norm) {
      x = b_.HeadRmsNorm(which + "_norm", x, Weight("attn_" + which + "_norm"), kEps, n_heads,
                         options_.head_dim);
    }
    OpAttributes attributes = a_;
    attributes.n_heads = n_heads;
    return b_.Rope(which + "_rope", x, in.rope, attributes);
  }

  const TinyTransformer& model_;
  const TinyOptions& options_;
  const int32_t layer_;
  GraphBuilder& b_;
  OpAttributes a_;
};

}  // namespace

TinyTransformer::TinyTransformer(const TinyOptions& options) : options_(options) {
  const int64_t n_embd = options.n_embd;
  const int64_t n_q = static_cast<int64_t>(options.n_heads) * options.head_dim;
  const int64_t n_k = static_cast<int64_t>(options.n_kv_heads) * options.head_dim;
  const int64_t n_v = static_cast<int64_t>(options.n_kv_heads) * options.head_dim_v;
  const int64_t n_out = static_cast<int64_t>(options.n_heads) * options.head_dim_v;
  AddMatrix("token_embd", options.type, n_embd, options.n_vocab);
  for (int32_t layer = 0; layer < options.n_layers; ++layer) {
    const std::string prefix = LayerName(layer) + ".";
    AddWeight(prefix + "attn_norm", n_embd, 1);
    AddMatrix(prefix + "attn_q", options.type, n_embd, n_q);
    AddMatrix(prefix + "attn_k", options.type, n_embd, n_k);
    AddMatrix(prefix + "attn_v", options.value_type, n_embd, n_v);
    if (options.bias) {
      AddWeight(prefix + "attn_q_bias", n_q, 1);
      AddWeight(prefix + "attn_k_bias", n_k, 1);
      AddWeight(prefix + "attn_v_bias", n_v, 1);
    }
    if (options.qk_norm) {
      AddWeight(prefix + "attn_q_norm", options.head_dim, 1);
      AddWeight(prefix + "attn_k_norm", options.head_dim, 1);
    }
    AddMatrix(prefix + "attn_out", options.type, n_out, n_embd);
    AddWeight(prefix + "ffn_norm", n_embd, 1);
    AddMatrix(prefix + "ffn_gate", options.type, n_embd, options.n_ff);
    AddMatrix(prefix + "ffn_up", options.type, n_embd, options.n_ff);
    AddMatrix(prefix + "ffn_down", options.value_type, options.n_ff, n_embd);
  }
  AddWeight("output_norm", n_embd, 1);
}

StatusOr<Graph> TinyTransformer::Build(const GraphParams& params) const {
  GraphBuilder b(params, &weights_);
  const int64_t rows = params.rows();
  const ValueId ids = b.Input("ids", DataType::kI32, {rows, 1});
  const ValueId positions = b.Input("positions", DataType::kI32, {rows, 1});
  StepInputs in;
  in.cells = b.Input("cells", DataType::kI32, {rows, 1});
  in.page_table =
      b.Input("page_table", DataType::kI32, {params.sequences, params.pages_per_sequence});
  in.row_sequence = b.Input("row_sequence", DataType::kI32, {rows, 1});
  in.row_length = b.Input("row_length", DataType::kI32, {rows, 1});
  const ValueId output_rows = b.Input("output_rows", DataType::kI32, {params.output_rows, 1});
  in.rope = b.RopeTable("rope_table", positions, 0, options_.rope_dim);
  ValueId x = b.GetRows("embedding", FindWeight("token_embd"), ids);
  for (int32_t layer = 0; layer < options_.n_layers; ++layer) {
    LayerBuilder layer_builder(*this, layer, &b);
    x = layer_builder.Attention(x, in);
    x = layer_builder.FeedForward(x);
  }
  b.SetPrefix("");
  x = b.SelectRows("last_rows", x, output_rows);
  x = b.RmsNorm("output_norm", x, FindWeight("output_norm"), kEps);
  b.MarkOutput(b.MatMul("logits", x, FindWeight("token_embd")));
  return b.Finish();
}

WeightId TinyTransformer::FindWeight(const std::string& name) const {
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].name == name) return static_cast<WeightId>(i);
  }
  return kNoId;
}

std::vector<RopeConfig> TinyTransformer::rope_configs() const {
  RopeConfig config;
  config.rope_dim = options_.rope_dim;
  return {config};
}

void TinyTransformer::AddWeight(const std::string& name, int64_t ne0, int64_t ne1) {
  AddMatrix(name, ElementType::kF32, ne0, ne1);
}

void TinyTransformer::AddMatrix(const std::string& name, ElementType type, int64_t ne0,
                                int64_t ne1) {
  const ElementTraits& traits = *FindElementTraits(type);
  WeightInfo info;
  info.name = name;
  info.type = type;
  info.ne0 = ne0;
  info.ne1 = ne1;
  info.bytes = static_cast<uint64_t>(ne0 / traits.block_elements * ne1) *
               static_cast<uint64_t>(traits.block_bytes);
  weights_.push_back(info);
}

}  // namespace minfer::testing
