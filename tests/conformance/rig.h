// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the conformance suite is run on: backends made by factories, a model's weights and pages on
// each of them, and the scalar answer to compare with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/host_memory.h"
#include "base/parallel_runner.h"
#include "plan/executor.h"
#include "tests/support/scalar_ops.h"

namespace minfer::testing {

// Violations found; a check that finds none returns an empty list. Checks return them instead of
// asserting, so that planted violations can be run through the same checks.
using Faults = std::vector<std::string>;

struct Factory {
  std::string name;
  std::function<std::unique_ptr<Backend>(std::shared_ptr<HostMemory>)> make_backend;
  std::function<std::shared_ptr<WeightStore>(std::shared_ptr<HostMemory>)> make_store;
  bool host_visible = false;         // HostPointer gives an address
  bool defers = false;               // work waits until somebody waits for it
  bool captures = false;             // the third run of a split is recorded
  bool checks_protocol = false;      // answers calls out of order with INTERNAL
  bool experts = true;               // runs mixtures of experts and attention sinks
  double tolerance = 0.0;            // normalised error with f32 and f16 weights
  double bf16_tolerance = 0.0;       // with BF16 weights, whose activations may be rounded too
  double quantised_tolerance = 0.0;  // with quantised weights

  double ToleranceFor(ElementType type) const {
    if (type == ElementType::kBF16) return bf16_tolerance;
    return FindElementTraits(type)->quantized ? quantised_tolerance : tolerance;
  }
};

// Every backend there is; a new one is one line in factories.cc.
const std::vector<Factory>& AllFactories();
const Factory& FactoryNamed(const std::string& name);
// Whether the factories "cuda" and "cuda reference" are among them.
bool HasCudaDevice();
// A factory of deferred backends, for variants.
Factory DeferredFactory(
    const std::string& name,
    std::function<std::unique_ptr<Backend>(std::shared_ptr<HostMemory>)> make_backend);

using NamedBytes = std::map<std::string, std::vector<uint8_t>>;  // by value name

// A model to run: weights with their bytes, KV layers, RoPE settings.
struct ModelData {
  const std::vector<WeightInfo>* weights = nullptr;
  std::vector<std::vector<uint8_t>> bytes;  // by weight
  std::vector<KvLayerShape> kv_layers;
  std::vector<RopeConfig> rope_configs;
  int32_t n_pages = 4;
};

// Random weights; vectors (norms) lie around 1.
ModelData MakeModelData(const std::vector<WeightInfo>& weights, uint64_t seed);

class Rig {
 public:
  Rig(const std::vector<Factory>& factories, const ModelData& model);
  ~Rig();

  Backend& backend(size_t i) { return *backends_[i]; }
  ExecutorBindings bindings() const;
  MemoryAccount& account() { return *account_; }
  HostMemory& memory() { return *memory_; }
  // Fails the test when the executor cannot be made.
  std::unique_ptr<Executor> MakeExecutor(const Graph& largest,
                                         const std::vector<int32_t>& wanted) const;

 private:
  const ModelData& model_;
  std::shared_ptr<MemoryAccount> account_;
  std::shared_ptr<HostMemory> memory_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<std::shared_ptr<WeightStore>> stores_;
  std::vector<std::vector<KvLayerBinding>> kv_layers_;
};

// Runs one step; outputs by name.
StatusOr<NamedBytes> RunStep(Executor* executor, const Graph& graph, const NamedBytes& inputs);

// The same in scalar code, every value in memory of its own. Pages persist from step to step.
class ScalarModel {
 public:
  explicit ScalarModel(const ModelData& model);
  NamedBytes Run(const Graph& graph, const NamedBytes& inputs);

 private:
  const ModelData& model_;
  ScalarWeights weights_;
  std::vector<std::vector<uint8_t>> k_pages_;
  std::vector<std::vector<uint8_t>> v_pages_;
};

// Rows [first, first + rows) of one sequence whose logical pages lie in `pages`.
struct StepRows {
  int32_t first = 0;
  std::vector<int32_t> pages = {2, 0, 3, 1};
  uint64_t seed = 1;
};
// Inputs of a TinyTransformer or RandomGraph graph: ids, positions, cells, page_table, ...
NamedBytes MakeInputs(const Graph& graph, const StepRows& step);

std::vector<uint8_t> BytesOf(const std::vector<int32_t>& values);
std::vector<uint8_t> BytesOf(const std::vector<float>& values);
std::vector<float> FloatsOf(const std::vector<uint8_t>& bytes);

// The largest difference divided by the largest wanted magnitude; infinity where either is no
// number or sizes differ.
double NormalisedError(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want);

// Adds a fault for each output that is not the same within `tolerance` (0: not the same bits).
void Compare(const std::string& where, const StatusOr<NamedBytes>& got, const NamedBytes& want,
             double tolerance, Faults* faults);
void Expect(bool holds, const std::string& what, Faults* faults);
void ExpectOk(const Status& status, const std::string& what, Faults* faults);
void ExpectCode(const Status& status, StatusCode code, const std::string& what, Faults* faults);

}  // namespace minfer::testing
