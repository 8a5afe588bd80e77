// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Drives one backend by hand through splits of a small graph, each value in a buffer of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/rig.h"

namespace minfer::testing {

// x [2, 4] -> scale -> softcap -> product with a 4 x 3 weight: the output "y". The same product of
// x itself is the output "z".
struct SmallModel {
  std::vector<WeightInfo> weights;
  ModelData data;
  Graph graph;
};
std::unique_ptr<SmallModel> MakeSmallModel(uint64_t graph_uid);

class SplitDriver {
 public:
  SplitDriver(const Factory& factory, const SmallModel& model);

  Backend& backend() { return *backend_; }
  const Graph& graph() const { return graph_; }
  BufferRange range(ValueId value) const { return ranges_[static_cast<size_t>(value)]; }
  BufferRange range(const std::string& name) const { return range(graph_.FindValue(name)); }

  // A new buffer for the value, the old one recycled first when `recycle`.
  Status Rebind(const std::string& name, bool recycle);
  Status WriteInput(const std::vector<float>& x);
  // The call of one node.
  Status ExecuteNode(NodeId id);
  // BeginSplit, the nodes unless replayed, EndSplit; AbortSplit on an error.
  StatusOr<SplitAction> RunSplit();
  // Waits for the value.
  StatusOr<std::vector<float>> ReadValue(const std::string& name);
  // The outputs for x.
  NamedBytes Wanted(const std::vector<float>& x) const;
  // RunSplit with a fresh input and a comparison of the outputs.
  void CheckRun(const std::string& where, uint64_t seed, double tolerance, Faults* faults);

 private:
  const SmallModel& model_;
  Graph graph_;
  std::shared_ptr<HostMemory> memory_;
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<WeightStore> store_;
  std::vector<BufferRange> ranges_;
};

}  // namespace minfer::testing
