// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A backend that hands every call on to another: the base of variants that change one answer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace minfer::testing {

class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  Support Supports(const Graph& graph, const Node& node) const override {
    return inner_->Supports(graph, node);
  }
  bool CanRunInPlace(const Graph& graph, const Node& node, int input) const override {
    return inner_->CanRunInPlace(graph, node, input);
  }
  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) override {
    return inner_->Allocate(bytes, memory_class);
  }
  void Recycle(BufferId buffer) override { inner_->Recycle(buffer); }
  uint64_t pool_generation() const override { return inner_->pool_generation(); }
  uint64_t AllocationBytes(uint64_t bytes) const override { return inner_->AllocationBytes(bytes); }
  bool IsPending(BufferId buffer) const override { return inner_->IsPending(buffer); }
  StatusOr<void*> HostPointer(const BufferRange& range) override {
    return inner_->HostPointer(range);
  }
  Status Write(const BufferRange& to, const void* data) override { return inner_->Write(to, data); }
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) override {
    return inner_->Read(from, host);
  }
  Status Copy(const BufferRange& from, const BufferRange& to) override {
    return inner_->Copy(from, to);
  }
  Status TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) override {
    return inner_->TopEntries(rows, work, host);
  }
  bool RecordsTail() const override { return inner_->RecordsTail(); }
  uint64_t TopBytes(int64_t rows, int64_t count) const override {
    return inner_->TopBytes(rows, count);
  }
  uint64_t ScratchBytes(const Graph& graph) const override { return inner_->ScratchBytes(graph); }
  StatusOr<KvPageBytes> PageBytes(const KvLayerShape& shape) const override {
    return inner_->PageBytes(shape);
  }
  Status ReserveScratch(uint64_t bytes) override { return inner_->ReserveScratch(bytes); }
  StatusOr<SplitAction> BeginSplit(const Graph& graph, NodeId begin, NodeId end) override {
    return inner_->BeginSplit(graph, begin, end);
  }
  Status Execute(const NodeCall& call) override { return inner_->Execute(call); }
  Status EndSplit() override { return inner_->EndSplit(); }
  void AbortSplit(const Status& why) override { inner_->AbortSplit(why); }
  void ForgetGraph(uint64_t graph_uid) override { inner_->ForgetGraph(graph_uid); }
  Status Synchronize() override { return inner_->Synchronize(); }
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) override {
    inner_->SetCancelFlags(flags);
  }
  BackendStatistics statistics() const override { return inner_->statistics(); }
  std::vector<KernelReport> kernel_report() const override { return inner_->kernel_report(); }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace minfer::testing
