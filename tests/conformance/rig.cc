// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/rig.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/quant/quantize.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr int32_t kVocab = 11;  // ids below this are in every table of the suite

template <typename T>
std::vector<uint8_t> ToBytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<uint8_t> Encode(const WeightInfo& info, const std::vector<float>& values) {
  const ElementTraits* traits = FindElementTraits(info.type);
  REQUIRE(traits != nullptr);
  std::vector<uint8_t> bytes(values.size() / static_cast<size_t>(traits->block_elements) *
                             static_cast<size_t>(traits->block_bytes));
  const kernels::KernelStatus status = kernels::QuantizeRow(info.type, values.data(), bytes.data(),
                                                            static_cast<int64_t>(values.size()));
  INFO(info.name);
  REQUIRE(status == kernels::KernelStatus::kOk);
  return bytes;
}

KvLayerBinding MakeLayer(Backend* backend, const KvLayerShape& shape, int32_t n_pages) {
  const StatusOr<KvPageBytes> page = backend->PageBytes(shape);
  MF_REQUIRE_OK(page);
  KvLayerBinding layer;
  layer.k_page_bytes = page->k;
  layer.v_page_bytes = page->v;
  layer.k_format = shape.k_format;
  layer.v_format = shape.v_format;
  const auto pages = static_cast<uint64_t>(n_pages);
  const std::vector<uint8_t> zeros(pages * std::max(page->k, page->v), 0);
  for (auto [range, bytes] : {std::pair(&layer.k, page->k), std::pair(&layer.v, page->v)}) {
    const StatusOr<BufferId> buffer = backend->Allocate(bytes * pages, MemoryClass::kKv);
    MF_REQUIRE_OK(buffer);
    *range = {*buffer, 0, bytes * pages};
    MF_REQUIRE_OK(backend->Write(*range, zeros.data()));
  }
  return layer;
}

std::vector<int32_t> RowValues(const std::string& name, const Value& value, const StepRows& step,
                               Random* random) {
  std::vector<int32_t> values;
  if (name == "page_table") {
    for (int64_t i = 0; i < value.shape.elements(); ++i) {
      values.push_back(step.pages[static_cast<size_t>(i) % step.pages.size()]);
    }
    return values;
  }
  for (int32_t r = 0; r < value.shape.rows; ++r) {
    const int32_t position = step.first + r;
    if (name == "ids") values.push_back(random->Below(kVocab));
    if (name == "positions") values.push_back(position);
    if (name == "cells") {
      const int32_t page = step.pages[static_cast<size_t>(position / kKvPageCells)];
      values.push_back(page * kKvPageCells + position % kKvPageCells);
    }
    if (name == "row_sequence") values.push_back(0);
    if (name == "row_length") values.push_back(position + 1);
    if (name == "output_rows") values.push_back(static_cast<int32_t>(value.shape.rows) - 1 - r);
  }
  return values;
}

}  // namespace

ModelData MakeModelData(const std::vector<WeightInfo>& weights, uint64_t seed) {
  ModelData model;
  model.weights = &weights;
  Random random(seed);
  for (const WeightInfo& info : weights) {
    std::vector<float> values;
    const float spread = 1.5f / std::sqrt(static_cast<float>(info.ne0));
    for (int64_t i = 0; i < info.elements(); ++i) {
      values.push_back(info.ne1 == 1 ? random.Uniform(0.7f, 1.3f)
                                     : random.Uniform(-spread, spread));
    }
    model.bytes.push_back(Encode(info, values));
  }
  return model;
}

Rig::Rig(const std::vector<Factory>& factories, const ModelData& model)
    : model_(model),
      account_(std::make_shared<MemoryAccount>()),
      memory_(HostMemory::CreateDefault(account_)) {
  for (const Factory& factory : factories) {
    backends_.push_back(factory.make_backend(memory_));
    stores_.push_back(factory.make_store(memory_));
    for (size_t i = 0; i < model.bytes.size(); ++i) {
      MF_REQUIRE_OK(stores_.back()->Register(static_cast<WeightId>(i), (*model.weights)[i],
                                             model.bytes[i].data(), true));
    }
    MF_REQUIRE_OK(stores_.back()->Finish());
    kv_layers_.emplace_back();
    for (const KvLayerShape& shape : model.kv_layers) {
      kv_layers_.back().push_back(MakeLayer(backends_.back().get(), shape, model.n_pages));
    }
    MF_REQUIRE_OK(backends_.back()->Synchronize());
  }
}

Rig::~Rig() = default;

ExecutorBindings Rig::bindings() const {
  ExecutorBindings bindings;
  for (size_t i = 0; i < backends_.size(); ++i) {
    bindings.backends.push_back(backends_[i].get());
    bindings.weight_stores.push_back(stores_[i].get());
  }
  bindings.kv_layers = kv_layers_;
  bindings.rope_configs = model_.rope_configs;
  bindings.host_memory = memory_.get();
  return bindings;
}

std::unique_ptr<Executor> Rig::MakeExecutor(const Graph& largest,
                                            const std::vector<int32_t>& wanted) const {
  StatusOr<std::unique_ptr<Executor>> executor = Executor::Create(bindings(), largest, wanted);
  MF_REQUIRE_OK(executor);
  return *std::move(executor);
}

StatusOr<NamedBytes> RunStep(Executor* executor, const Graph& graph, const NamedBytes& inputs) {
  std::vector<HostInput> in;
  for (const auto& [name, bytes] : inputs) in.push_back({graph.FindValue(name), bytes.data()});
  NamedBytes outputs;
  std::vector<HostOutput> out;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (!value.is_output) continue;
    std::vector<uint8_t>& bytes = outputs[value.name];
    bytes.resize(value.bytes());
    out.push_back({static_cast<ValueId>(v), bytes.data()});
  }
  MF_RETURN_IF_ERROR(executor->Run(graph, in, out));
  return outputs;
}

ScalarModel::ScalarModel(const ModelData& model) : model_(model) {
  for (size_t i = 0; i < model.bytes.size(); ++i) {
    StatusOr<std::vector<float>> values = DecodeWeight((*model.weights)[i], model.bytes[i].data());
    MF_REQUIRE_OK(values);
    weights_.push_back(*std::move(values));
  }
  for (const KvLayerShape& shape : model.kv_layers) {
    const KvPageBytes page = ScalarPageBytes(shape);
    k_pages_.emplace_back(page.k * static_cast<uint64_t>(model.n_pages));
    v_pages_.emplace_back(page.v * static_cast<uint64_t>(model.n_pages));
  }
}

NamedBytes ScalarModel::Run(const Graph& graph, const NamedBytes& inputs) {
  std::vector<std::vector<uint8_t>> values(graph.values.size());
  for (size_t v = 0; v < values.size(); ++v) {
    const auto given = inputs.find(graph.values[v].name);
    if (given != inputs.end()) values[v] = given->second;
    values[v].resize(graph.values[v].bytes());
  }
  for (const Node& node : graph.nodes) {
    ScalarCall call = MakeScalarCall(graph, node, model_.rope_configs);
    for (const ValueId id : node.inputs) {
      call.inputs.push_back(values[static_cast<size_t>(id)].data());
    }
    for (const ValueId id : node.outputs) {
      call.outputs.push_back(values[static_cast<size_t>(id)].data());
    }
    call.weights = &weights_;
    const auto layer = static_cast<size_t>(node.attributes.layer);
    if (node.attributes.layer >= 0 && layer < k_pages_.size()) {
      const KvLayerShape& shape = model_.kv_layers[layer];
      const KvPageBytes page = ScalarPageBytes(shape);
      call.kv = {k_pages_[layer].data(), v_pages_[layer].data(), page.k,         page.v,
                 k_pages_[layer].size(), v_pages_[layer].size(), shape.k_format, shape.v_format};
    }
    MF_REQUIRE_OK(RunScalar(call));
  }
  NamedBytes outputs;
  for (size_t v = 0; v < values.size(); ++v) {
    if (graph.values[v].is_output) outputs[graph.values[v].name] = values[v];
  }
  return outputs;
}

NamedBytes MakeInputs(const Graph& graph, const StepRows& step) {
  Random random(step.seed);
  NamedBytes inputs;
  for (const Value& value : graph.values) {
    if (value.producer != kNoId) continue;
    if (value.type == DataType::kI32) {
      inputs[value.name] = BytesOf(RowValues(value.name, value, step, &random));
    } else {
      std::vector<float> values;
      for (int64_t i = 0; i < value.shape.elements(); ++i) {
        values.push_back(random.Uniform(-1.0f, 1.0f));
      }
      inputs[value.name] = BytesOf(values);
    }
    INFO(value.name);
    REQUIRE(inputs[value.name].size() == value.bytes());
  }
  return inputs;
}

std::vector<uint8_t> BytesOf(const std::vector<int32_t>& values) { return ToBytes(values); }
std::vector<uint8_t> BytesOf(const std::vector<float>& values) { return ToBytes(values); }

std::vector<float> FloatsOf(const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

double NormalisedError(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want) {
  const std::vector<float> a = FloatsOf(got);
  const std::vector<float> b = FloatsOf(want);
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0.0;
  double magnitude = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      return std::numeric_limits<double>::infinity();
    }
    difference = std::max(difference, std::fabs(static_cast<double>(a[i]) - b[i]));
    magnitude = std::max(magnitude, std::fabs(static_cast<double>(b[i])));
  }
  return difference == 0.0 ? 0.0 : difference / magnitude;
}

void Compare(const std::string& where, const StatusOr<NamedBytes>& got, const NamedBytes& want,
             double tolerance, Faults* faults) {
  if (!got.ok()) {
    faults->push_back(where + ": " + got.status().ToString());
    return;
  }
  for (const auto& [name, bytes] : want) {
    const auto found = got->find(name);
    if (found == got->end()) {
      faults->push_back(where + ": no output '" + name + "'");
      continue;
    }
    if (found->second == bytes) continue;
    const double error = NormalisedError(found->second, bytes);
    if (tolerance > 0.0 && error <= tolerance) continue;
    faults->push_back(where + ": output '" + name + "' differs, normalised error " +
                      std::to_string(error));
  }
}

void Expect(bool holds, const std::string& what, Faults* faults) {
  if (!holds) faults->push_back(what);
}

void ExpectOk(const Status& status, const std::string& what, Faults* faults) {
  if (!status.ok()) faults->push_back(what + ": " + status.ToString());
}

void ExpectCode(const Status& status, StatusCode code, const std::string& what, Faults* faults) {
  if (status.code() != code) {
    faults->push_back(what + ": wanted " + std::string(StatusCodeName(code)) + ", got " +
                      status.ToString());
  }
}

}  // namespace minfer::testing
