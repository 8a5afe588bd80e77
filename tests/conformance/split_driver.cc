// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/split_driver.h"

#include "graph/builder.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_data.h"

namespace minfer::testing {

std::unique_ptr<SmallModel> MakeSmallModel(uint64_t graph_uid) {
  auto model = std::make_unique<SmallModel>();
  WeightInfo weight;
  weight.name = "w";
  weight.ne0 = 4;
  weight.ne1 = 3;
  weight.bytes = 48;
  model->weights = {weight};
  model->data = MakeModelData(model->weights, 5);
  GraphBuilder b({}, &model->weights);
  const ValueId x = b.Input("x", DataType::kF32, {2, 4});
  b.MarkOutput(b.MatMul("y", b.Softcap("capped", b.Scale("scaled", x, 1.5f), 2.0f), 0));
  b.MarkOutput(b.MatMul("z", x, 0));
  StatusOr<Graph> graph = b.Finish();
  MF_REQUIRE_OK(graph);
  model->graph = *std::move(graph);
  model->graph.uid = graph_uid;
  return model;
}

SplitDriver::SplitDriver(const Factory& factory, const SmallModel& model)
    : model_(model),
      graph_(model.graph),
      memory_(HostMemory::CreateDefault(std::make_shared<MemoryAccount>())),
      backend_(factory.make_backend(memory_)),
      store_(factory.make_store(memory_)),
      ranges_(model.graph.values.size()) {
  MF_REQUIRE_OK(store_->Register(0, model.weights[0], model.data.bytes[0].data(), true));
  MF_REQUIRE_OK(store_->Finish());
  MF_REQUIRE_OK(backend_->ReserveScratch(backend_->ScratchBytes(graph_)));
  for (const Value& value : graph_.values) MF_REQUIRE_OK(Rebind(value.name, false));
}

Status SplitDriver::Rebind(const std::string& name, bool recycle) {
  const ValueId value = graph_.FindValue(name);
  BufferRange& range = ranges_[static_cast<size_t>(value)];
  if (recycle) backend_->Recycle(range.buffer);
  const uint64_t bytes = graph_.value(value).bytes();
  MF_ASSIGN_OR_RETURN(const BufferId buffer, backend_->Allocate(bytes, MemoryClass::kActivations));
  range = {buffer, 0, bytes};
  return OkStatus();
}

Status SplitDriver::WriteInput(const std::vector<float>& x) {
  return backend_->Write(range("x"), x.data());
}

Status SplitDriver::ExecuteNode(NodeId id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const std::vector<BufferRange> inputs = {range(node.inputs[0])};
  const std::vector<BufferRange> outputs = {range(node.outputs[0])};
  NodeCall call;
  call.graph = &graph_;
  call.node = &node;
  call.inputs = inputs;
  call.outputs = outputs;
  call.weights = store_.get();
  return backend_->Execute(call);
}

StatusOr<SplitAction> SplitDriver::RunSplit() {
  const auto end = static_cast<NodeId>(graph_.nodes.size());
  MF_ASSIGN_OR_RETURN(const SplitAction action, backend_->BeginSplit(graph_, 0, end));
  if (action == SplitAction::kReplayed) return action;
  Status status;
  for (NodeId id = 0; id < end && status.ok(); ++id) status = ExecuteNode(id);
  if (status.ok()) status = backend_->EndSplit();
  if (status.ok()) return action;
  backend_->AbortSplit(status);
  return status;
}

StatusOr<std::vector<float>> SplitDriver::ReadValue(const std::string& name) {
  std::vector<float> values(range(name).bytes / 4);
  MF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event,
                      backend_->Read(range(name), values.data()));
  MF_RETURN_IF_ERROR(event->Wait());
  return values;
}

NamedBytes SplitDriver::Wanted(const std::vector<float>& x) const {
  return ScalarModel(model_.data).Run(graph_, {{"x", BytesOf(x)}});
}

void SplitDriver::CheckRun(const std::string& where, uint64_t seed, double tolerance,
                           Faults* faults) {
  Random random(seed);
  std::vector<float> x;
  for (int i = 0; i < 8; ++i) x.push_back(random.Uniform(-2.0f, 2.0f));
  ExpectOk(WriteInput(x), where + ": write", faults);
  ExpectOk(RunSplit().status(), where + ": run", faults);
  NamedBytes got;
  for (const char* name : {"y", "z"}) {
    const StatusOr<std::vector<float>> values = ReadValue(name);
    ExpectOk(values.status(), where + ": read", faults);
    if (values.ok()) got[name] = BytesOf(*values);
  }
  Compare(where, got, Wanted(x), tolerance, faults);
}

}  // namespace minfer::testing
