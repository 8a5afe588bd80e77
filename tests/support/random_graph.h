// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Random graphs of every operation, for property tests. The same seed gives the same graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace minfer::testing {

// SplitMix64: small, seeded, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  int32_t Below(int32_t bound) {
    return static_cast<int32_t>(Next() % static_cast<uint64_t>(bound));
  }
  float Uniform(float low, float high);  // of 24 bits

 private:
  uint64_t state_;
};

struct RandomGraph {
  std::vector<WeightInfo> weights;
  Graph graph;  // points at `weights`
  int32_t n_layers = 0;
  std::vector<KvLayerShape> kv_layers;  // by layer
  std::vector<RopeConfig> rope_configs;
};

// About `n_nodes` nodes. rows: tokens of the step; all lie in one sequence of `rows` cells.
// experts: with mixtures of experts and attention sinks.
std::unique_ptr<RandomGraph> MakeRandomGraph(uint64_t seed, int32_t n_nodes, int32_t rows,
                                             bool experts = true);

// A backend for each node, changing every few nodes, with each layer's store and attention
// together.
std::vector<int32_t> RandomPlacement(const Graph& graph, int32_t n_backends, uint64_t seed);

}  // namespace minfer::testing
