// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The suite that every backend passes, alone and beside others.
#include "tests/conformance/checks.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

void RequireNone(const Faults& faults) {
  for (const std::string& fault : faults) UNSCOPED_INFO(fault);
  CHECK(faults.empty());
}

TEST_CASE("Conformance: pools recycle, keep buffers apart and count generations", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckPool(factory)); }
  }
}

TEST_CASE("Conformance: writes, copies and reads happen in order", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckTransfers(factory)); }
  }
}

TEST_CASE("Conformance: a pending buffer is never shown to the host", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckPending(factory)); }
  }
}

TEST_CASE("Conformance: calls out of order are INTERNAL", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    if (!factory.checks_protocol) continue;
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckSplitProtocol(factory)); }
  }
}

TEST_CASE("Conformance: nothing is carried from one split to the next", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckRepeatedSplits(factory)); }
  }
}

TEST_CASE("Conformance: capture follows data, generation and errors", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    if (!factory.captures) continue;
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckCapture(factory)); }
  }
}

TEST_CASE("Conformance: every operation agrees with the scalar one", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckOps(factory)); }
  }
}

TEST_CASE("Conformance: store and attention agree with the scalar ones", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckAttention(factory)); }
  }
}

TEST_CASE("Conformance: experts agree with the scalar ones, rows alone and together",
          "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckExperts(factory)); }
  }
}

TEST_CASE("Conformance: the best entries of rows are those of a sort", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckTopEntries(factory)); }
  }
}

TEST_CASE("Conformance: fused and unfused graphs give the same bits", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckFusion(factory)); }
  }
}

TEST_CASE("Conformance: in place and apart give the same bits", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckInPlace(factory)); }
  }
}

TEST_CASE("Conformance: captured steps give the bits of direct ones", "[conformance]") {
  for (const Factory& factory : AllFactories()) {
    DYNAMIC_SECTION(factory.name) { RequireNone(CheckCapturedSteps(factory)); }
  }
}

// Backends of one kind agree bit for bit; where arithmetic differs, within a tolerance.
struct Mix {
  std::vector<std::string> factories;
  double tolerance;
};

std::vector<Factory> FactoriesOf(const Mix& mix) {
  std::vector<Factory> factories;
  for (const std::string& name : mix.factories) factories.push_back(FactoryNamed(name));
  return factories;
}

std::vector<Mix>* MakeMixes() {
  auto* mixes = new std::vector<Mix>{
      {{"deferred"}, 0.0},
      {{"cpu"}, 1e-4},
      {{"deferred", "deferred"}, 0.0},
      {{"cpu", "deferred"}, 1e-4},
      {{"deferred", "cpu"}, 1e-4},
      {{"deferred", "cpu", "deferred"}, 1e-4},
  };
  if (HasCudaDevice()) {
    mixes->push_back({{"cuda"}, 1e-4});
    mixes->push_back({{"cuda", "cpu"}, 1e-4});
    mixes->push_back({{"cpu", "cuda", "deferred"}, 1e-4});
  }
  return mixes;
}

const std::vector<Mix>& Mixes() {
  static const std::vector<Mix>* const mixes = MakeMixes();
  return *mixes;
}

TEST_CASE("Conformance: a CUDA device takes part", "[conformance][cuda]") {
  if (!HasCudaDevice()) {
    ReportSkip("no CUDA device, or a build without CUDA");
    return;
  }
  CHECK(FactoryNamed("cuda").captures);
}

TEST_CASE("Conformance: layers placed by turns give the scalar answer", "[conformance]") {
  for (const Mix& mix : Mixes()) {
    std::string name;
    for (const std::string& factory : mix.factories) name += " " + factory;
    DYNAMIC_SECTION(name) { RequireNone(CheckPlacements(FactoriesOf(mix), mix.tolerance)); }
  }
}

TEST_CASE("Conformance: random graphs, nodes placed at random, give the scalar answer",
          "[conformance]") {
  for (const Mix& mix : Mixes()) {
    std::string name;
    for (const std::string& factory : mix.factories) name += " " + factory;
    DYNAMIC_SECTION(name) { RequireNone(CheckRandomGraphs(FactoriesOf(mix), mix.tolerance)); }
  }
}

}  // namespace
}  // namespace minfer::testing
