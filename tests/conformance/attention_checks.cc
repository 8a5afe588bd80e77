// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Store and attention over pages: every format, several sequences, odd heads, windows, padding
// rows, pages in any order.
#include <array>
#include <memory>
#include <string>

#include "graph/builder.h"
#include "graph/passes/passes.h"
#include "tests/conformance/checks.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct AttentionShape {
  int32_t n_heads = 4;
  int32_t n_kv_heads = 2;
  int32_t head_dim = 6;
  int32_t head_dim_v = 6;
  int32_t window = 0;
  float softcap = 0.0f;
  KvFormat k_format = KvFormat::kF32;
  KvFormat v_format = KvFormat::kF32;
  bool rope = false;  // stored through kRopeKvStore
  bool sinks = false;
};

constexpr int32_t kSequences = 2;
constexpr int32_t kPagesPerSequence = 3;
constexpr int32_t kPages = 8;
constexpr int32_t kScratchPage = 7;
// Logical page i of sequence s; no order, no neighbours.
constexpr int32_t kPageTable[kSequences][kPagesPerSequence] = {{4, 0, 6}, {1, 5, 2}};

Graph BuildGraph(const AttentionShape& shape, const std::vector<WeightInfo>* weights,
                 int32_t decode_rows, int32_t prefill_rows) {
  GraphParams params;
  params.decode_rows = decode_rows;
  params.prefill_rows = prefill_rows;
  params.sequences = kSequences;
  params.pages_per_sequence = kPagesPerSequence;
  const int64_t rows = params.rows();
  GraphBuilder b(params, weights);
  OpAttributes a;
  a.layer = 0;
  a.n_heads = shape.n_heads;
  a.n_kv_heads = shape.n_kv_heads;
  a.head_dim = shape.head_dim;
  a.head_dim_v = shape.head_dim_v;
  a.window = shape.window;
  a.softcap = shape.softcap;
  a.scale = 1.1f / static_cast<float>(shape.head_dim);
  a.rope_dim = shape.head_dim / 2 * 2;
  const ValueId q = b.Input("q", DataType::kF32, {rows, shape.n_heads * shape.head_dim});
  ValueId k = b.Input("k", DataType::kF32, {rows, shape.n_kv_heads * shape.head_dim});
  const ValueId v = b.Input("v", DataType::kF32, {rows, shape.n_kv_heads * shape.head_dim_v});
  const ValueId positions = b.Input("positions", DataType::kI32, {rows, 1});
  const ValueId cells = b.Input("cells", DataType::kI32, {rows, 1});
  const ValueId table = b.Input("page_table", DataType::kI32, {kSequences, kPagesPerSequence});
  const ValueId sequence = b.Input("row_sequence", DataType::kI32, {rows, 1});
  const ValueId length = b.Input("row_length", DataType::kI32, {rows, 1});
  if (shape.rope) {
    OpAttributes rope = a;
    rope.n_heads = shape.n_kv_heads;
    k = b.Rope("k_rope", k, b.RopeTable("rope_table", positions, 0, a.rope_dim), rope);
  }
  const ValueId store = b.KvStore("store", k, v, cells, a);
  b.MarkOutput(b.Attention("out", q, store, table, sequence, length, a, shape.sinks ? 0 : kNoId));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  return *std::move(graph);
}

// One row of a step: where it lies, or a padding row.
struct Row {
  int32_t sequence = -1;
  int32_t position = 0;
};

NamedBytes Inputs(const Graph& graph, const std::vector<Row>& rows, Random* random) {
  NamedBytes inputs;
  for (const char* name : {"q", "k", "v"}) {
    std::vector<float> values;
    const int64_t count = graph.value(graph.FindValue(name)).shape.elements();
    for (int64_t i = 0; i < count; ++i) values.push_back(random->Uniform(-1.0f, 1.0f));
    inputs[name] = BytesOf(values);
  }
  std::vector<int32_t> positions, cells, sequences, lengths, table;
  for (size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    const bool padding = row.sequence < 0;
    const int32_t page =
        padding ? kScratchPage : kPageTable[row.sequence][row.position / kKvPageCells];
    positions.push_back(row.position);
    cells.push_back(page * kKvPageCells +
                    (padding ? static_cast<int32_t>(r) : row.position) % kKvPageCells);
    sequences.push_back(row.sequence);
    lengths.push_back(padding ? 0 : row.position + 1);
  }
  for (const auto& pages : kPageTable) table.insert(table.end(), pages, pages + kPagesPerSequence);
  inputs["positions"] = BytesOf(positions);
  inputs["cells"] = BytesOf(cells);
  inputs["page_table"] = BytesOf(table);
  inputs["row_sequence"] = BytesOf(sequences);
  inputs["row_length"] = BytesOf(lengths);
  return inputs;
}

// 70 rows of sequence 0, then 66 of sequence 1, then steps of mixed rows with padding.
std::vector<std::vector<Row>> Steps() {
  std::vector<std::vector<Row>> steps(2);
  for (int32_t p = 0; p < 70; ++p) steps[0].push_back({0, p});
  for (int32_t p = 0; p < 66; ++p) steps[1].push_back({1, p});
  steps.push_back({{0, 70}, {1, 66}, {-1, 0}});
  steps.push_back({{1, 67}, {-1, 0}, {0, 71}});
  steps.push_back({{0, 72}});
  return steps;
}

void CheckShape(const Factory& factory, const AttentionShape& shape, const std::string& label,
                double tolerance, Faults* faults) {
  WeightInfo sinks;
  sinks.name = "sinks";
  sinks.ne0 = shape.n_heads;
  sinks.bytes = static_cast<uint64_t>(shape.n_heads) * 4;
  const std::vector<WeightInfo> weights = {sinks};
  ModelData model = MakeModelData(weights, 37);
  model.n_pages = kPages;
  model.kv_layers = {
      {shape.n_kv_heads, shape.head_dim, shape.head_dim_v, shape.k_format, shape.v_format}};
  RopeConfig config;
  config.rope_dim = shape.head_dim / 2 * 2;
  model.rope_configs = {config};
  Rig rig({factory}, model);
  ScalarModel scalar(model);
  Random random(31);
  int step_number = 0;
  for (const std::vector<Row>& rows : Steps()) {
    const auto count = static_cast<int32_t>(rows.size());
    const bool prefill = count > 4;
    Graph graph = BuildGraph(shape, &weights, prefill ? 0 : count, prefill ? count : 0);
    MF_REQUIRE_OK(RunPasses(&graph));
    const std::unique_ptr<Executor> executor = rig.MakeExecutor(graph, {});
    const NamedBytes inputs = Inputs(graph, rows, &random);
    Compare(factory.name + ": attention " + label + ", step " + std::to_string(step_number++),
            RunStep(executor.get(), graph, inputs), scalar.Run(graph, inputs), tolerance, faults);
  }
}

}  // namespace

Faults CheckAttention(const Factory& factory) {
  Faults faults;
  AttentionShape shape;
  CheckShape(factory, shape, "plain", factory.tolerance, &faults);
  shape.rope = true;
  CheckShape(factory, shape, "rotated store", factory.tolerance, &faults);
  shape.window = 5;
  shape.softcap = 2.0f;
  CheckShape(factory, shape, "window of 5, softcap", factory.tolerance, &faults);
  shape.sinks = factory.experts;
  CheckShape(factory, shape, "window of 5, softcap, sinks", factory.tolerance, &faults);
  shape.window = 65;
  CheckShape(factory, shape, "window of 65", factory.tolerance, &faults);
  for (const auto [heads, kv_heads, dim, dim_v] :
       {std::array{1, 1, 1, 1}, std::array{3, 3, 5, 7}, std::array{6, 2, 40, 33},
        std::array{8, 1, 64, 64}, std::array{2, 2, 80, 96}, std::array{2, 1, 112, 128},
        std::array{1, 1, 256, 256}}) {
    AttentionShape odd;
    odd.n_heads = heads;
    odd.n_kv_heads = kv_heads;
    odd.head_dim = dim;
    odd.head_dim_v = dim_v;
    CheckShape(factory, odd, "head dimension " + std::to_string(dim), factory.tolerance, &faults);
  }
  const double rounding = factory.tolerance == 0.0 ? 0.0 : 1e-2;
  for (const KvFormat k_format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    for (const KvFormat v_format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
      AttentionShape stored;
      stored.head_dim = 40;
      stored.head_dim_v = 33;
      stored.k_format = k_format;
      stored.v_format = v_format;
      const bool q8 = k_format == KvFormat::kQ8_0 || v_format == KvFormat::kQ8_0;
      CheckShape(factory, stored,
                 "formats " + std::to_string(static_cast<int>(k_format)) + " and " +
                     std::to_string(static_cast<int>(v_format)),
                 q8 ? rounding : factory.tolerance, &faults);
    }
  }
  return faults;
}

}  // namespace minfer::testing
