// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/checks.h"
#include "tests/conformance/split_driver.h"

namespace minfer::testing {
namespace {

constexpr NodeId kNodes = 4;  // of the small model
const std::vector<float> kInput = {0.5f, -1.0f, 2.0f, 0.1f, 1.0f, 0.25f, -0.5f, 3.0f};

void ExpectAction(SplitDriver* driver, SplitAction wanted, const std::string& what,
                  Faults* faults) {
  const StatusOr<SplitAction> action = driver->RunSplit();
  ExpectOk(action.status(), what, faults);
  if (action.ok()) Expect(*action == wanted, what + ": replay and execution confused", faults);
}

void ExpectExecuted(SplitDriver* driver, int times, const std::string& what, Faults* faults) {
  for (int i = 0; i < times; ++i) {
    ExpectAction(driver, SplitAction::kExecute, what + " " + std::to_string(i), faults);
  }
}

void CheckReplayFollowsData(const Factory& factory, Faults* faults) {
  const auto model = MakeSmallModel(7);
  SplitDriver driver(factory, *model);
  ExpectOk(driver.WriteInput(kInput), "write", faults);
  ExpectExecuted(&driver, 3, "before the replay", faults);
  ExpectAction(&driver, SplitAction::kReplayed, "fourth run", faults);
  Expect(driver.backend().statistics().steps_captured == 1, "captured steps", faults);
  Expect(driver.backend().statistics().steps_replayed == 1, "replayed steps", faults);
  Expect(driver.backend().statistics().nodes_executed == 4 * kNodes, "a replay counts its nodes",
         faults);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    driver.CheckRun("replay " + std::to_string(seed), seed, factory.tolerance, faults);
  }
}

void CheckGeneration(const Factory& factory, Faults* faults) {
  const auto model = MakeSmallModel(8);
  SplitDriver driver(factory, *model);
  ExpectOk(driver.WriteInput(kInput), "write", faults);
  ExpectExecuted(&driver, 3, "first life", faults);
  for (const char* value : {"x", "y"}) ExpectOk(driver.Rebind(value, true), "rebind", faults);
  ExpectOk(driver.Rebind("y", false), "rebind", faults);
  driver.CheckRun("after the pool moved", 11, factory.tolerance, faults);
  ExpectExecuted(&driver, 2, "second life", faults);
  ExpectAction(&driver, SplitAction::kReplayed, "second life", faults);
  driver.CheckRun("replay of the second life", 12, factory.tolerance, faults);
}

void CheckWindowAborts(const Factory& factory, Faults* faults) {
  const auto model = MakeSmallModel(9);
  SplitDriver driver(factory, *model);
  Backend& backend = driver.backend();
  ExpectOk(driver.WriteInput(kInput), "write", faults);
  const auto third_run = [&](const std::string& what, const auto& misuse) {
    ExpectExecuted(&driver, 2, what, faults);
    const StatusOr<SplitAction> action = backend.BeginSplit(driver.graph(), 0, kNodes);
    ExpectOk(action.status(), what, faults);
    ExpectOk(driver.ExecuteNode(0), what, faults);
    ExpectCode(misuse(), StatusCode::kInternal, what + " inside a window", faults);
    ExpectCode(driver.ExecuteNode(1), StatusCode::kInternal, what + ": the split goes on", faults);
    backend.AbortSplit(Status(StatusCode::kInternal, Subsystem::kBackend, "test"));
    Expect(backend.statistics().steps_captured == 0, what + ": half a step was kept", faults);
  };
  third_run("a wait", [&] { return backend.Synchronize(); });
  third_run("a write", [&] { return driver.WriteInput(kInput); });
  third_run("an allocation", [&] { return backend.Allocate(64, MemoryClass::kScratch).status(); });
  third_run("a read", [&] { return driver.ReadValue("x").status(); });
  third_run("a node of no split", [&] { return driver.ExecuteNode(2); });
  ExpectOk(backend.Synchronize(), "synchronize", faults);
  driver.CheckRun("after the aborts", 3, factory.tolerance, faults);
}

void CheckForget(const Factory& factory, Faults* faults) {
  const auto model = MakeSmallModel(10);
  SplitDriver driver(factory, *model);
  ExpectOk(driver.WriteInput(kInput), "write", faults);
  ExpectExecuted(&driver, 3, "before", faults);
  driver.backend().ForgetGraph(10);
  ExpectExecuted(&driver, 3, "after a forgotten graph", faults);
  const auto nameless = MakeSmallModel(0);
  SplitDriver other(factory, *nameless);
  ExpectOk(other.WriteInput(kInput), "write", faults);
  ExpectExecuted(&other, 6, "a graph without a uid", faults);
}

}  // namespace

Faults CheckSplitProtocol(const Factory& factory) {
  Faults faults;
  const auto model = MakeSmallModel(1);
  SplitDriver driver(factory, *model);
  Backend& backend = driver.backend();
  const Graph& graph = driver.graph();
  const Status abort(StatusCode::kInternal, Subsystem::kBackend, "test");
  const auto refused = [&](const Status& status, const std::string& what) {
    ExpectCode(status, StatusCode::kInternal, what, &faults);
  };
  ExpectOk(driver.WriteInput(kInput), "write", &faults);
  refused(driver.ExecuteNode(0), "a node outside a split");
  refused(backend.EndSplit(), "an end without a beginning");
  refused(backend.BeginSplit(graph, 0, 9).status(), "a split beyond the graph");
  ExpectOk(backend.BeginSplit(graph, 0, kNodes).status(), "begin", &faults);
  refused(backend.BeginSplit(graph, 0, kNodes).status(), "a split inside a split");
  refused(driver.ExecuteNode(1), "a node out of order");
  backend.AbortSplit(abort);
  ExpectOk(backend.BeginSplit(graph, 0, kNodes).status(), "begin after an abort", &faults);
  ExpectOk(driver.ExecuteNode(0), "node", &faults);
  refused(backend.EndSplit(), "an end before the last node");
  backend.AbortSplit(abort);
  driver.CheckRun("after the refusals", 2, factory.tolerance, &faults);
  return faults;
}

Faults CheckRepeatedSplits(const Factory& factory) {
  Faults faults;
  const auto model = MakeSmallModel(3);
  SplitDriver driver(factory, *model);
  // Same addresses, new data: whatever is kept from one split to the next must not show.
  for (uint64_t seed = 0; seed < 6; ++seed) {
    driver.CheckRun("run " + std::to_string(seed), seed, factory.tolerance, &faults);
  }
  // Without a wait in between.
  ExpectOk(driver.WriteInput(std::vector<float>(8, 0.75f)), "write", &faults);
  ExpectOk(driver.RunSplit().status(), "run", &faults);
  driver.CheckRun("run after an unread one", 21, factory.tolerance, &faults);
  // A recycled id: the same number, other bytes.
  ExpectOk(driver.Rebind("capped", true), "rebind", &faults);
  ExpectOk(driver.Rebind("x", true), "rebind", &faults);
  driver.CheckRun("run with recycled ids", 22, factory.tolerance, &faults);
  return faults;
}

Faults CheckCapture(const Factory& factory) {
  Faults faults;
  CheckReplayFollowsData(factory, &faults);
  CheckGeneration(factory, &faults);
  CheckWindowAborts(factory, &faults);
  CheckForget(factory, &faults);
  return faults;
}

}  // namespace minfer::testing
