// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/trace.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/str_cat.h"

namespace minfer {
namespace {

std::string Quoted(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double Microseconds(int64_t ns) { return static_cast<double>(ns) * 1e-3; }

// JSON has no NaN and no infinity.
std::string Number(double value) {
  return std::isfinite(value) ? StrCat(value)
                              : Quoted(value > 0   ? "inf"
                                       : value < 0 ? "-inf"
                                                   : "nan");
}

// Of the numbers among the values.
std::string Statistics(const Value& value, const void* data) {
  const int64_t n = value.shape.elements();
  double least = INFINITY;
  double largest = -INFINITY;
  double sum = 0.0;
  double squares = 0.0;
  int64_t n_nan = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = value.type == DataType::kF32
                         ? static_cast<double>(static_cast<const float*>(data)[i])
                         : static_cast<double>(static_cast<const int32_t*>(data)[i]);
    if (std::isnan(x)) {
      ++n_nan;
      continue;
    }
    least = std::min(least, x);
    largest = std::max(largest, x);
    sum += x;
    squares += x * x;
  }
  const auto numbers = static_cast<double>(std::max<int64_t>(1, n - n_nan));
  return StrCat("{\"min\":", Number(least), ",\"max\":", Number(largest),
                ",\"mean\":", Number(sum / numbers),
                ",\"rms\":", Number(std::sqrt(squares / numbers)), ",\"nan\":", n_nan, "}");
}

}  // namespace

void WriteText(TextSinkFn write, void* user_data, std::string_view text) {
  try {
    write(user_data, text.data(), text.size());
  } catch (...) {
  }
}

Trace::Trace(const TraceOptions& options) : options_(options) {
  WriteText(options_.write, options_.user_data, "{\"traceEvents\":[");
}

void Trace::OnNode(const ObservedNode& seen) {
  if (began_ns_ < 0) began_ns_ = seen.start_ns;
  OpTime& op = ops_[static_cast<size_t>(seen.node->op)];
  ++op.calls;
  op.ns += seen.end_ns - seen.start_ns;
  const ValueShape& shape = seen.graph->value(seen.node->outputs[0]).shape;
  text_ += StrCat(
      first_ ? "\n" : ",\n", "{\"name\":", Quoted(seen.node->name), ",\"cat\":\"",
      OpName(seen.node->op), "\",\"ph\":\"X\",\"ts\":", Microseconds(seen.start_ns - began_ns_),
      ",\"dur\":", Microseconds(seen.end_ns - seen.start_ns), ",\"pid\":1,\"tid\":", seen.backend,
      ",\"args\":{\"device\":", Quoted(seen.backend_name), ",\"rows\":", shape.rows,
      ",\"cols\":", shape.cols);
  for (const ObservedValue& output : seen.outputs) {
    text_ += StrCat(",", Quoted(output.value->name), ":", Statistics(*output.value, output.data));
  }
  text_ += "}}";
  first_ = false;
}

void Trace::OnSplitEnd() {
  if (text_.empty()) return;
  WriteText(options_.write, options_.user_data, text_);
  text_.clear();
}

void Trace::Finish() {
  OnSplitEnd();
  std::string rest = "\n],\"ops\":{";
  bool first = true;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].calls == 0) continue;
    rest += StrCat(first ? "\n" : ",\n", "\"", OpName(static_cast<OpKind>(i)),
                   "\":{\"calls\":", ops_[i].calls, ",\"us\":", Microseconds(ops_[i].ns), "}");
    first = false;
  }
  WriteText(options_.write, options_.user_data, rest + "\n}}\n");
}

}  // namespace minfer
