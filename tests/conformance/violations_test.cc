// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Backends that break one rule each. A check that does not find its violation is no check.
#include <algorithm>
#include <cstring>

#include "tests/conformance/checks.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

template <typename T>
Factory Planted() {
  return DeferredFactory("planted", [](std::shared_ptr<HostMemory>) {
    return std::unique_ptr<Backend>(std::make_unique<T>());
  });
}

void RequireFound(const Faults& faults) { CHECK_FALSE(faults.empty()); }

class StaleReplay final : public DeferredBackend {
 protected:
  bool IsCurrent(const CapturedStep&) const override { return true; }
};

TEST_CASE("Violations: a replay of a step captured before the pool moved is found",
          "[conformance]") {
  RequireFound(CheckCapture(Planted<StaleReplay>()));
}

class KeepsMemos final : public DeferredBackend {
 protected:
  void ClearMemos() override {}
};

TEST_CASE("Violations: memos kept across a split boundary are found", "[conformance]") {
  RequireFound(CheckRepeatedSplits(Planted<KeepsMemos>()));
}

class DoneAtOnce final : public Event {
 public:
  bool IsDone() const override { return true; }
  Status Wait() override { return OkStatus(); }
};

class ReadsPending final : public DeferredBackend {
 public:
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) override {
    const std::vector<uint8_t> bytes = Peek(from);
    std::memcpy(host, bytes.data(), bytes.size());
    return std::shared_ptr<Event>(std::make_shared<DoneAtOnce>());
  }
};

TEST_CASE("Violations: a read of a pending buffer is found", "[conformance]") {
  RequireFound(CheckTransfers(Planted<ReadsPending>()));
  RequireFound(CheckPending(Planted<ReadsPending>()));
  RequireFound(CheckRepeatedSplits(Planted<ReadsPending>()));
  const Factory planted = Planted<ReadsPending>();
  RequireFound(CheckPlacements({planted, FactoryNamed("deferred")}, 0.0));
  RequireFound(CheckRandomGraphs({planted}, 0.0));
}

class ShowsPending final : public DeferredBackend {
 public:
  StatusOr<void*> HostPointer(const BufferRange&) override { return static_cast<void*>(nullptr); }
};

TEST_CASE("Violations: a pointer to a pending buffer is found", "[conformance]") {
  RequireFound(CheckPending(Planted<ShowsPending>()));
}

// One copy for all writes, so that a later write changes an earlier one that has not run.
class KeepsSource final : public DeferredBackend {
 public:
  Status Write(const BufferRange& to, const void* data) override {
    MF_RETURN_IF_ERROR(DeferredBackend::Write(to, data));
    const auto* bytes = static_cast<const uint8_t*>(data);
    kept_.assign(bytes, bytes + to.bytes);
    DeferredWork work;
    work.writes = {to.buffer};
    work.fills = {to};
    work.run = [this, to]() -> Status {
      std::memcpy(Device(to), kept_.data(), std::min<uint64_t>(to.bytes, kept_.size()));
      return OkStatus();
    };
    Enqueue(work);
    return OkStatus();
  }

 private:
  std::vector<uint8_t> kept_;
};

TEST_CASE("Violations: a write that does not keep its own copy is found", "[conformance]") {
  RequireFound(CheckTransfers(Planted<KeepsSource>()));
}

class SilentPool final : public DeferredBackend {
 public:
  uint64_t pool_generation() const override { return 1; }
};

TEST_CASE("Violations: a pool that moves without a new generation is found", "[conformance]") {
  RequireFound(CheckPool(Planted<SilentPool>()));
}

class OneBuffer final : public DeferredBackend {
 public:
  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) override {
    if (bytes == only_bytes_) return only_;
    MF_ASSIGN_OR_RETURN(only_, DeferredBackend::Allocate(bytes, memory_class));
    only_bytes_ = bytes;
    return only_;
  }

 private:
  BufferId only_;
  uint64_t only_bytes_ = 0;
};

TEST_CASE("Violations: a buffer handed out twice is found", "[conformance]") {
  RequireFound(CheckPool(Planted<OneBuffer>()));
}

class LosesFree final : public DeferredBackend {
 public:
  void Recycle(BufferId) override {}
};

TEST_CASE("Violations: a pool that never recycles is found", "[conformance]") {
  RequireFound(CheckPool(Planted<LosesFree>()));
}

// As a kernel would that works in place although somebody else still reads its input.
class WritesItsInput final : public DeferredBackend {
 public:
  Status Execute(const NodeCall& call) override {
    const BufferRange input = call.inputs[0];
    MF_RETURN_IF_ERROR(DeferredBackend::Execute(call));
    const bool apart =
        call.outputs[0].buffer != input.buffer || call.outputs[0].offset != input.offset;
    if (call.node->op != OpKind::kScale || !apart) return OkStatus();
    DeferredWork work;
    work.writes = {input.buffer};
    work.fills = {input};
    work.run = [this, input]() -> Status {
      std::fill_n(Device(input), input.bytes, uint8_t{0});
      return OkStatus();
    };
    Enqueue(work);
    return OkStatus();
  }
};

TEST_CASE("Violations: a node that overwrites an input with two readers is found",
          "[conformance]") {
  RequireFound(CheckInPlace(Planted<WritesItsInput>()));
  RequireFound(CheckRandomGraphs({Planted<WritesItsInput>()}, 0.0));
}

// The fused operation is one bit off.
class FusedOtherwise final : public DeferredBackend {
 public:
  Status Execute(const NodeCall& call) override {
    const BufferRange output = call.outputs[0];
    MF_RETURN_IF_ERROR(DeferredBackend::Execute(call));
    if (call.node->op != OpKind::kGatedMatMul) return OkStatus();
    DeferredWork work;
    work.writes = {output.buffer};
    work.run = [this, output]() -> Status {
      Device(output)[1] ^= 0x80;
      return OkStatus();
    };
    Enqueue(work);
    return OkStatus();
  }
};

TEST_CASE("Violations: a fusion that changes a bit is found", "[conformance]") {
  RequireFound(CheckFusion(Planted<FusedOtherwise>()));
  RequireFound(CheckOps(Planted<FusedOtherwise>()));
}

// Takes the row itself for the last one it may see.
class ForgetsOwnCell final : public DeferredBackend {
 public:
  Status Execute(const NodeCall& call) override {
    if (call.node->op == OpKind::kAttention) {
      const BufferRange lengths = call.inputs[4];
      DeferredWork work;
      work.writes = {lengths.buffer};
      work.run = [this, lengths]() -> Status {
        auto* length = reinterpret_cast<int32_t*>(Device(lengths));
        for (uint64_t i = 0; i < lengths.bytes / 4; ++i) length[i] = std::max(0, length[i] - 1);
        return OkStatus();
      };
      Enqueue(work);
    }
    return DeferredBackend::Execute(call);
  }
};

TEST_CASE("Violations: attention that is off by one cell is found", "[conformance]") {
  RequireFound(CheckAttention(Planted<ForgetsOwnCell>()));
}

// Lets nodes run in any order and splits end anywhere.
class NoProtocol final : public DeferredBackend {
 public:
  Status EndSplit() override {
    const Status status = DeferredBackend::EndSplit();
    if (!status.ok()) AbortSplit(status);
    return OkStatus();
  }
};

TEST_CASE("Violations: a backend that hides an unfinished split is found", "[conformance]") {
  RequireFound(CheckSplitProtocol(Planted<NoProtocol>()));
}

}  // namespace
}  // namespace minfer::testing
