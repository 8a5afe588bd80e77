// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A backend that answers what a planner asks and runs nothing.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "backend/backend.h"

namespace minfer::testing {

class PlanningBackend final : public Backend {
 public:
  explicit PlanningBackend(std::string name, bool in_place = true)
      : name_(std::move(name)), in_place_(in_place) {}

  void Refuse(OpKind op) { refused_.insert(op); }

  std::string_view name() const override { return name_; }
  Support Supports(const Graph&, const Node& node) const override {
    if (refused_.count(node.op) == 0) return Support();
    return Support{false, "no kernel for it"};
  }
  bool CanRunInPlace(const Graph&, const Node& node, int) const override {
    switch (node.op) {
      case OpKind::kAdd:
      case OpKind::kMul:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kAddBias:
      case OpKind::kAct:
      case OpKind::kRmsNorm:
      case OpKind::kLayerNorm:
      case OpKind::kGatedAct:
        return in_place_;
      default:
        return false;
    }
  }
  StatusOr<BufferId> Allocate(uint64_t, MemoryClass) override { return Nothing(); }
  void Recycle(BufferId) override {}
  uint64_t pool_generation() const override { return 0; }
  uint64_t AllocationBytes(uint64_t bytes) const override { return (bytes + 255) / 256 * 256; }
  bool IsPending(BufferId) const override { return false; }
  StatusOr<void*> HostPointer(const BufferRange&) override { return Nothing(); }
  Status Write(const BufferRange&, const void*) override { return Nothing(); }
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange&, void*) override { return Nothing(); }
  Status Copy(const BufferRange&, const BufferRange&) override { return Nothing(); }
  uint64_t ScratchBytes(const Graph& graph) const override { return graph.nodes.size() * 8; }
  StatusOr<KvPageBytes> PageBytes(const KvLayerShape&) const override { return Nothing(); }
  Status ReserveScratch(uint64_t) override { return Nothing(); }
  StatusOr<SplitAction> BeginSplit(const Graph&, NodeId, NodeId) override { return Nothing(); }
  Status Execute(const NodeCall&) override { return Nothing(); }
  Status EndSplit() override { return Nothing(); }
  void AbortSplit(const Status&) override {}
  void ForgetGraph(uint64_t) override {}
  Status Synchronize() override { return OkStatus(); }
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const>) override {}
  BackendStatistics statistics() const override { return {}; }
  std::vector<KernelReport> kernel_report() const override { return {}; }

 private:
  Status Nothing() const {
    return Status(StatusCode::kUnimplemented, Subsystem::kBackend, "this backend only plans");
  }

  const std::string name_;
  const bool in_place_;
  std::set<OpKind> refused_;
};

}  // namespace minfer::testing
