// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>

#include "tests/capi/capi_test.h"

namespace capi_test {
namespace {

void Append(void* text, const char* piece, size_t length) {
  static_cast<std::string*>(text)->append(piece, length);
}

mf_trace_options TraceInto(std::string* text, bool values) {
  mf_trace_options options = MF_TRACE_OPTIONS_INIT;
  options.values = values ? 1 : 0;
  options.write = &Append;
  options.write_user_data = text;
  return options;
}

std::vector<uint32_t> Devices() {
  std::vector<uint32_t> devices;
  for (size_t i = 0; i < mf_device_count(); ++i) devices.push_back(static_cast<uint32_t>(i));
  return devices;
}

Model LoadOn(uint32_t index) {
  mf_model_device device = MF_MODEL_DEVICE_INIT;
  device.device = index;
  mf_model_options options = MF_MODEL_OPTIONS_INIT;
  options.devices = &device;
  options.n_devices = 1;
  return LoadModel("qwen3", &options);
}

TEST_CASE("Trace: an event a node, and the same tokens as without it", "[capi]") {
  for (const uint32_t device : Devices()) {
    const Model model = LoadOn(device);
    std::vector<std::vector<mf_token>> tokens;
    std::string text;
    mf_context_statistics statistics = MF_CONTEXT_STATISTICS_INIT;
    for (const bool traced : {false, true}) {
      const Context context = MakeContext(model.get());
      const Session session = MakeSession(context.get());
      mf_error error = {};
      const mf_trace_options options = TraceInto(&text, true);
      Feed(session.get(), Prompt());
      if (traced) CAPI_REQUIRE_OK(mf_context_trace_start(context.get(), &options, &error));
      tokens.push_back(Generate(session.get(), 8));
      CAPI_REQUIRE_OK(mf_context_get_statistics(context.get(), &statistics, &error));
      if (traced) CAPI_REQUIRE_OK(mf_context_trace_stop(context.get(), &error));
      const size_t length = text.size();
      Generate(session.get(), 2);
      CHECK(text.size() == length);
    }
    CHECK(tokens[0] == tokens[1]);
    const nlohmann::json trace = nlohmann::json::parse(text);
    const nlohmann::json& events = trace["traceEvents"];
    REQUIRE(events.size() > 0);
    // Every step has the same nodes.
    CHECK(events.size() % statistics.n_steps == 0);
    std::set<std::string> names;
    double end = 0.0;
    uint64_t calls = 0;
    for (const auto& event : events) {
      CHECK(event["ph"] == "X");
      CHECK(event["dur"].get<double>() >= 0.0);
      CHECK(event["ts"].get<double>() >= end);
      end = event["ts"].get<double>();
      names.insert(event["name"].get<std::string>());
      CHECK(trace["ops"].contains(event["cat"].get<std::string>()));
    }
    CHECK(names.size() == events.size() / statistics.n_steps);
    for (const auto& op : trace["ops"]) calls += op["calls"].get<uint64_t>();
    CHECK(calls == events.size());
    const nlohmann::json& last = events.back()["args"];
    REQUIRE(last.contains("logits"));
    CHECK(last["logits"]["min"].get<double>() < last["logits"]["max"].get<double>());
    CHECK(last["logits"]["rms"].get<double>() > 0.0);
    CHECK(last["logits"]["nan"] == 0);
  }
}

TEST_CASE("Trace: without values, started twice, never started, thrown at", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  const Session session = MakeSession(context.get());
  mf_error error = {};
  std::string text;
  mf_trace_options options = TraceInto(&text, false);
  CHECK(mf_context_trace_stop(context.get(), &error) == MF_STATUS_FAILED_PRECONDITION);
  CAPI_REQUIRE_OK(mf_context_trace_start(context.get(), &options, &error));
  CHECK(mf_context_trace_start(context.get(), &options, &error) == MF_STATUS_FAILED_PRECONDITION);
  Feed(session.get(), Prompt());
  Generate(session.get(), 1);
  CAPI_REQUIRE_OK(mf_context_trace_stop(context.get(), &error));
  CHECK(text.find("\"rms\"") == std::string::npos);
  CHECK(nlohmann::json::parse(text)["traceEvents"].size() > 0);
  options.write = nullptr;
  CHECK(mf_context_trace_start(context.get(), &options, &error) == MF_STATUS_INVALID_ARGUMENT);
  options.write = [](void*, const char*, size_t) { throw 1; };
  CAPI_REQUIRE_OK(mf_context_trace_start(context.get(), &options, &error));
  Generate(session.get(), 1);
  // A context may go with its trace on.
}

TEST_CASE("Trace: the graph as DOT and as JSON", "[capi]") {
  const Model model = LoadModel();
  const Context context = MakeContext(model.get());
  mf_error error = {};
  std::string dot;
  std::string json;
  CAPI_REQUIRE_OK(mf_context_dump_graph(context.get(), MF_GRAPH_DOT, &Append, &dot, &error));
  CAPI_REQUIRE_OK(mf_context_dump_graph(context.get(), MF_GRAPH_JSON, &Append, &json, &error));
  CHECK(dot.rfind("digraph", 0) == 0);
  CHECK(nlohmann::json::parse(json)["nodes"].size() > 0);
  CHECK(mf_context_dump_graph(context.get(), 7, &Append, &dot, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
  CHECK(mf_context_dump_graph(context.get(), MF_GRAPH_DOT, nullptr, &dot, &error) ==
        MF_STATUS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace capi_test
