// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/executor_impl.h"

#include <chrono>
#include <utility>

#include "base/str_cat.h"

namespace minfer {
namespace {

Status Internal(std::string_view name, std::string message) {
  return Status(StatusCode::kInternal, Subsystem::kPlan, std::move(message)).WithName(name);
}

}  // namespace

ExecutorImpl::ExecutorImpl(ExecutorBindings bindings, Graph largest, ExecutionPlan plan)
    : bindings_(std::move(bindings)),
      largest_(std::move(largest)),
      plan_(std::move(plan)),
      used_(bindings_.backends.size(), 0),
      arenas_(bindings_.backends.size()),
      crossing_states_(plan_.crossings.crossings.size()) {
  for (const Split& split : plan_.schedule.splits) used_[static_cast<size_t>(split.backend)] = 1;
}

ExecutorImpl::~ExecutorImpl() {
  for (size_t b = 0; b < arenas_.size(); ++b) {
    // Captured steps hold addresses in the arena that goes back now.
    for (const uint64_t uid : served_) bindings_.backends[b]->ForgetGraph(uid);
    if (arenas_[b].valid()) bindings_.backends[b]->Recycle(arenas_[b]);
  }
}

Status ExecutorImpl::AllocateAll() {
  for (size_t b = 0; b < arenas_.size(); ++b) {
    Backend& device = *bindings_.backends[b];
    const uint64_t scratch = plan_.sizes.scratch_bytes[b];
    if (used_[b] && scratch > 0) MF_RETURN_IF_ERROR(device.ReserveScratch(scratch));
    const uint64_t bytes = plan_.memory.arena_bytes[b];
    if (bytes == 0) continue;
    MF_ASSIGN_OR_RETURN(arenas_[b], device.Allocate(bytes, MemoryClass::kActivations));
  }
  const uint64_t staging_bytes = plan_.crossings.staging_bytes;
  if (staging_bytes == 0) return OkStatus();
  if (bindings_.host_memory == nullptr) {
    return Internal("", StrCat("no host memory given for ", staging_bytes, " bytes of staging"));
  }
  MF_ASSIGN_OR_RETURN(
      staging_, bindings_.host_memory->Allocate(MemoryClass::kStaging,
                                                static_cast<size_t>(staging_bytes), "staging"));
  return OkStatus();
}

Status ExecutorImpl::Run(const Graph& graph, absl::Span<const HostInput> inputs,
                         absl::Span<const HostOutput> outputs, const StepTail* tail) {
  MF_RETURN_IF_ERROR(CheckServed(graph));
  MF_RETURN_IF_ERROR(CheckHostValues(graph, inputs, outputs));
  for (CrossingState& state : crossing_states_) state = CrossingState();
  Status status = RunStep(graph, inputs, outputs, tail);
  // Drained also after an error: reads may still write to the caller's memory.
  Status drained = Drain();
  if (status.ok()) status = std::move(drained);
  if (status.ok()) ++statistics_.graphs_run;
  return status;
}

void ExecutorImpl::ForgetGraph(uint64_t graph_uid) {
  for (Backend* device : bindings_.backends) device->ForgetGraph(graph_uid);
  served_.erase(graph_uid);
}

Status ExecutorImpl::CheckServed(const Graph& graph) {
  if (served_.contains(graph.uid)) return OkStatus();
  if (!PlanServes(largest_, graph)) {
    return Internal(
        "", StrCat("a graph of ", graph.nodes.size(), " nodes and ", graph.params.rows(),
                   " rows is not served by the plan of ", largest_.nodes.size(), " nodes and ",
                   largest_.params.rows(), " rows"));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Backend& device = backend(plan_.schedule.node_backend[i]);
    const Support support = device.Supports(graph, graph.nodes[i]);
    if (support.supported) continue;
    return Status(StatusCode::kFailedPrecondition, Subsystem::kPlan,
                  StrCat("backend '", device.name(),
                         "' runs the largest graph but not this one: ", support.reason))
        .WithName(graph.nodes[i].name);
  }
  for (size_t b = 0; b < used_.size(); ++b) {
    if (!used_[b]) continue;
    const uint64_t wanted = bindings_.backends[b]->ScratchBytes(graph);
    if (wanted <= plan_.sizes.scratch_bytes[b]) continue;
    return Internal(bindings_.backends[b]->name(), "the graph wants more scratch than the largest")
        .WithBytes(wanted, plan_.sizes.scratch_bytes[b]);
  }
  // Graphs without a uid cannot be told apart and are checked each time.
  if (graph.uid != 0) served_.insert(graph.uid);
  return OkStatus();
}

Status ExecutorImpl::CheckHostValues(const Graph& graph, absl::Span<const HostInput> inputs,
                                     absl::Span<const HostOutput> outputs) const {
  const auto value_count = static_cast<ValueId>(graph.values.size());
  std::vector<char> filled(graph.values.size(), 0);
  for (const HostInput& input : inputs) {
    if (input.value < 0 || input.value >= value_count ||
        graph.value(input.value).producer != kNoId) {
      return Internal("", StrCat("value ", input.value, " is no input of the graph"));
    }
    if (input.data == nullptr && graph.value(input.value).bytes() > 0) {
      return Internal(graph.value(input.value).name, "no data given for the input");
    }
    filled[static_cast<size_t>(input.value)] = 1;
  }
  for (size_t v = 0; v < filled.size(); ++v) {
    const bool wanted = graph.values[v].producer == kNoId && !plan_.memory.places[v].empty();
    if (wanted && !filled[v]) return Internal(graph.values[v].name, "the input is not given");
  }
  for (const HostOutput& output : outputs) {
    if (output.value < 0 || output.value >= value_count || !graph.value(output.value).is_output) {
      return Internal("", StrCat("value ", output.value, " is no output of the graph"));
    }
    if (output.data == nullptr && graph.value(output.value).bytes() > 0) {
      return Internal(graph.value(output.value).name, "no memory given for the output");
    }
  }
  return OkStatus();
}

Status ExecutorImpl::RunStep(const Graph& graph, absl::Span<const HostInput> inputs,
                             absl::Span<const HostOutput> outputs, const StepTail* tail) {
  MF_RETURN_IF_ERROR(FillInputs(graph, inputs));
  bool recorded = false;
  for (size_t split = 0; split < plan_.schedule.splits.size(); ++split) {
    const bool last = tail != nullptr && EndsWith(graph, split, *tail);
    MF_RETURN_IF_ERROR(WriteCrossings(graph, split));
    MF_RETURN_IF_ERROR(RunSplit(graph, split, last ? tail : nullptr, &recorded));
    MF_RETURN_IF_ERROR(ReadCrossings(graph, split));
  }
  if (tail != nullptr) {
    if (!recorded) MF_RETURN_IF_ERROR(RunTail(graph, *tail, tail->run));
    MF_RETURN_IF_ERROR(RunTail(graph, *tail, tail->after));
  }
  return ReadOutputs(graph, outputs);
}

Status ExecutorImpl::FillInputs(const Graph& graph, absl::Span<const HostInput> inputs) {
  input_writes_.resize(arenas_.size());
  for (std::vector<HostWrite>& writes : input_writes_) writes.clear();
  for (const HostInput& input : inputs) {
    const Value& value = graph.value(input.value);
    if (value.bytes() == 0) continue;
    for (const ValuePlace& place : plan_.memory.places[static_cast<size_t>(input.value)]) {
      MF_ASSIGN_OR_RETURN(const BufferRange range,
                          RangeOn(graph, input.value, place.backend, value.name));
      input_writes_[static_cast<size_t>(place.backend)].push_back({range, input.data});
    }
  }
  for (size_t b = 0; b < input_writes_.size(); ++b) {
    if (input_writes_[b].empty()) continue;
    MF_RETURN_IF_ERROR(bindings_.backends[b]->WriteAll(input_writes_[b]));
  }
  return OkStatus();
}

Status ExecutorImpl::WriteCrossings(const Graph& graph, size_t split) {
  const int32_t to = plan_.schedule.splits[split].backend;
  for (const int32_t index : plan_.crossings.writes_before[split]) {
    const Crossing& crossing = plan_.crossings.crossings[static_cast<size_t>(index)];
    const Value& value = graph.value(crossing.value);
    if (value.bytes() == 0) continue;
    CrossingState& state = crossing_states_[static_cast<size_t>(index)];
    if (state.read == nullptr) return Internal(value.name, "crosses before it was read");
    if (!state.waited) {
      MF_RETURN_IF_ERROR(state.read->Wait());
      state.waited = true;
      ++statistics_.boundary_waits;
    }
    MF_ASSIGN_OR_RETURN(const BufferRange range, RangeOn(graph, crossing.value, to, value.name));
    MF_RETURN_IF_ERROR(backend(to).Write(range, staging_.data() + crossing.staging_offset));
    ++statistics_.cross_copies;
  }
  return OkStatus();
}

bool ExecutorImpl::EndsWith(const Graph& graph, size_t split, const StepTail& tail) const {
  const NodeId producer = graph.value(tail.value).producer;
  return split + 1 == plan_.schedule.splits.size() &&
         producer >= plan_.schedule.splits[split].begin;
}

Status ExecutorImpl::RunSplit(const Graph& graph, size_t index, const StepTail* tail,
                              bool* recorded) {
  const Split& split = plan_.schedule.splits[index];
  Backend& device = backend(split.backend);
  MF_ASSIGN_OR_RETURN(const SplitAction action, device.BeginSplit(graph, split.begin, split.end));
  if (action == SplitAction::kExecute) {
    Status status = ExecuteNodes(graph, split);
    *recorded = status.ok() && tail != nullptr && device.RecordsTail();
    if (*recorded) status = RunTail(graph, *tail, tail->run);
    if (status.ok()) status = device.EndSplit();
    if (!status.ok()) {
      device.AbortSplit(status);
      return status;
    }
  }
  if (observer_ != nullptr) observer_->OnSplitEnd();
  ++statistics_.splits_run;
  return OkStatus();
}

Status ExecutorImpl::ExecuteNodes(const Graph& graph, const Split& split) {
  for (NodeId id = split.begin; id < split.end; ++id) {
    MF_RETURN_IF_ERROR(ExecuteNode(graph, graph.nodes[static_cast<size_t>(id)], split.backend));
  }
  return OkStatus();
}

Status ExecutorImpl::ExecuteNode(const Graph& graph, const Node& node, int32_t on) {
  MF_RETURN_IF_ERROR(FindRanges(graph, node.inputs, on, node.name, &input_ranges_));
  MF_RETURN_IF_ERROR(FindRanges(graph, node.outputs, on, node.name, &output_ranges_));
  NodeCall call;
  call.graph = &graph;
  call.node = &node;
  call.inputs = input_ranges_;
  call.outputs = output_ranges_;
  call.weights = bindings_.weight_stores[static_cast<size_t>(on)];
  call.rope_configs = bindings_.rope_configs;
  MF_RETURN_IF_ERROR(FindKvLayer(node, on, &call.kv));
  return observer_ == nullptr ? backend(on).Execute(call) : Observe(call, on);
}

void ExecutorImpl::SetObserver(NodeObserver* observer) {
  observer_ = observer;
  for (Backend* device : bindings_.backends) device->SetDirect(observer != nullptr);
}

// The node alone, from an idle device to an idle device.
Status ExecutorImpl::Observe(const NodeCall& call, int32_t on) {
  using Clock = std::chrono::steady_clock;
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
  };
  Backend& device = backend(on);
  MF_RETURN_IF_ERROR(device.Synchronize());
  ObservedNode seen;
  seen.graph = call.graph;
  seen.node = call.node;
  seen.backend = on;
  seen.backend_name = device.name();
  seen.start_ns = now();
  MF_RETURN_IF_ERROR(device.Execute(call));
  MF_RETURN_IF_ERROR(device.Synchronize());
  seen.end_ns = now();
  std::vector<std::vector<uint8_t>> copies;
  std::vector<ObservedValue> outputs;
  for (size_t i = 0; observer_->WantsValues() && i < call.outputs.size(); ++i) {
    const Value& value = call.graph->value(call.node->outputs[i]);
    if (value.type == DataType::kOrder) continue;
    copies.emplace_back(value.bytes());
    outputs.push_back({&value, copies.back().data()});
    if (value.bytes() == 0) continue;
    MF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event,
                        device.Read(call.outputs[i], copies.back().data()));
    MF_RETURN_IF_ERROR(event->Wait());
  }
  seen.outputs = outputs;
  observer_->OnNode(seen);
  return OkStatus();
}

Status ExecutorImpl::ReadCrossings(const Graph& graph, size_t split) {
  const int32_t from = plan_.schedule.splits[split].backend;
  for (const int32_t index : plan_.crossings.reads_after[split]) {
    const Crossing& crossing = plan_.crossings.crossings[static_cast<size_t>(index)];
    const Value& value = graph.value(crossing.value);
    if (value.bytes() == 0) continue;
    MF_ASSIGN_OR_RETURN(const BufferRange range, RangeOn(graph, crossing.value, from, value.name));
    MF_ASSIGN_OR_RETURN(crossing_states_[static_cast<size_t>(index)].read,
                        backend(from).Read(range, staging_.data() + crossing.staging_offset));
  }
  return OkStatus();
}

Status ExecutorImpl::ReadOutputs(const Graph& graph, absl::Span<const HostOutput> outputs) {
  std::vector<std::shared_ptr<Event>> events;
  for (const HostOutput& output : outputs) {
    const Value& value = graph.value(output.value);
    if (value.bytes() == 0) continue;
    const int32_t from = plan_.schedule.node_backend[static_cast<size_t>(value.producer)];
    MF_ASSIGN_OR_RETURN(const BufferRange range, RangeOn(graph, output.value, from, value.name));
    MF_ASSIGN_OR_RETURN(std::shared_ptr<Event> event, backend(from).Read(range, output.data));
    events.push_back(std::move(event));
  }
  for (const std::shared_ptr<Event>& event : events) MF_RETURN_IF_ERROR(event->Wait());
  return OkStatus();
}

Status ExecutorImpl::RunTail(const Graph& graph, const StepTail& tail, TailCall run) {
  const Value& value = graph.value(tail.value);
  if (!value.is_output) return Internal(value.name, "is no output of the graph");
  const int32_t from = plan_.schedule.node_backend[static_cast<size_t>(value.producer)];
  MF_ASSIGN_OR_RETURN(const BufferRange range, RangeOn(graph, tail.value, from, value.name));
  return run(&backend(from), range);
}

Status ExecutorImpl::Drain() {
  Status first;
  for (size_t b = 0; b < used_.size(); ++b) {
    if (!used_[b]) continue;
    Status status = bindings_.backends[b]->Synchronize();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

StatusOr<BufferRange> ExecutorImpl::RangeOn(const Graph& graph, ValueId value, int32_t on,
                                            std::string_view node) const {
  const std::vector<ValuePlace>& places = plan_.memory.places[static_cast<size_t>(value)];
  for (const ValuePlace& place : places) {
    if (place.backend != on) continue;
    return BufferRange{arenas_[static_cast<size_t>(on)], place.offset, graph.value(value).bytes()};
  }
  return Internal(
      node,
      StrCat("runs on '", backend(on).name(), "' but value '", graph.value(value).name, "' lies ",
             places.empty() ? "nowhere" : StrCat("on '", backend(places[0].backend).name(), "'")));
}

Status ExecutorImpl::FindRanges(const Graph& graph, const std::vector<ValueId>& values, int32_t on,
                                std::string_view node, std::vector<BufferRange>* ranges) const {
  ranges->clear();
  for (const ValueId value : values) {
    if (graph.value(value).type == DataType::kOrder) {
      ranges->push_back(BufferRange());
      continue;
    }
    MF_ASSIGN_OR_RETURN(const BufferRange range, RangeOn(graph, value, on, node));
    ranges->push_back(range);
  }
  return OkStatus();
}

Status ExecutorImpl::FindKvLayer(const Node& node, int32_t on,
                                 const KvLayerBinding** binding) const {
  *binding = nullptr;
  const bool has_layer = node.op == OpKind::kKvStore || node.op == OpKind::kRopeKvStore ||
                         node.op == OpKind::kAttention;
  if (!has_layer) return OkStatus();
  const std::vector<KvLayerBinding>& layers = bindings_.kv_layers[static_cast<size_t>(on)];
  const auto layer = static_cast<size_t>(node.attributes.layer);
  if (layer >= layers.size() || !layers[layer].k.buffer.valid() ||
      !layers[layer].v.buffer.valid()) {
    return Internal(node.name, StrCat("layer ", node.attributes.layer, " has no KV pages on '",
                                      backend(on).name(), "'"));
  }
  *binding = &layers[layer];
  return OkStatus();
}

}  // namespace minfer
