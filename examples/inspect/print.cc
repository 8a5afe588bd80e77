// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "print.h"

#include <cinttypes>
#include <cstdio>

#include "../common/console.h"

namespace inspect {
namespace {

constexpr size_t kLongestText = 120;  // of a string value; the template stands at the end

std::string TextOf(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() <= kLongestText) return console::Quoted(text);
  return console::Quoted(text.substr(0, kLongestText)) + "... (" + std::to_string(text.size()) +
         " bytes)";
}

void PrintFile(const Json& facts) {
  std::printf("File\n");
  for (const auto& [name, value] : facts["file"].items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (name == "tensor_bytes") text += "  (" + console::Bytes(value.get<uint64_t>()) + ")";
    std::printf("  %-14s %s\n", name.c_str(), text.c_str());
  }
  const Json& runs = facts["runs"];
  const bool ok = runs["status"] == "OK";
  std::printf(
      "  %-14s %s\n", "runs",
      ok ? "yes"
         : ("no: " + runs["status"].get<std::string>() + ": " + runs["message"].get<std::string>())
               .c_str());
}

void PrintMetadata(const Json& list) {
  std::printf("\nMetadata\n");
  for (const Json& one : list) {
    std::string type = one["type"];
    std::string text;
    if (one.contains("n_elements")) {
      const auto count = one["n_elements"].get<uint64_t>();
      type = one["element_type"].get<std::string>() + "[" + std::to_string(count) + "]";
      for (const Json& element : one["value"]) text += (text.empty() ? "" : ", ") + TextOf(element);
      if (one["value"].size() < count) text += text.empty() ? "..." : ", ...";
    } else {
      text = TextOf(one["value"]);
    }
    std::printf("  %-44s %-14s %s\n", one["key"].get<std::string>().c_str(), type.c_str(),
                text.c_str());
  }
}

void PrintTypes(const Json& facts) {
  std::printf("\nTensors by type\n  %-8s %8s %15s %15s %10s\n", "type", "tensors", "values",
              "bytes", "bits/value");
  for (const Json& one : facts["tensor_types"]) {
    const auto values = one["n_elements"].get<uint64_t>();
    const auto bytes = one["bytes"].get<uint64_t>();
    const double bits =
        values == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(values);
    std::printf("  %-8s %8" PRIu64 " %15" PRIu64 " %15" PRIu64 " %10.2f\n",
                one["type"].get<std::string>().c_str(), one["n_tensors"].get<uint64_t>(), values,
                bytes, bits);
  }
}

void PrintTensors(const Json& list) {
  std::printf("\nTensors\n");
  for (const Json& one : list) {
    std::string shape;
    for (const Json& dim : one["shape"]) shape += (shape.empty() ? "" : " x ") + dim.dump();
    std::printf("  %-40s %-8s %-22s %15" PRIu64 "\n", one["name"].get<std::string>().c_str(),
                one["type"].get<std::string>().c_str(), shape.c_str(),
                one["bytes"].get<uint64_t>());
  }
}

void PrintUse(const char* title, const Json& use) {
  const auto total = use["total"].get<uint64_t>();
  std::printf("  %-14s %15" PRIu64 "  (%s)\n", title, total, console::Bytes(total).c_str());
  for (const auto& [name, value] : use["classes"].items()) {
    std::printf("    %-12s %15" PRIu64 "\n", name.c_str(), value.get<uint64_t>());
  }
}

}  // namespace

void Print(const Json& facts) {
  PrintFile(facts);
  PrintMetadata(facts["metadata"]);
  PrintTypes(facts);
  if (facts.contains("tensors")) PrintTensors(facts["tensors"]);
  if (facts.contains("plan")) {
    const Json& plan = facts["plan"];
    std::printf("\nPlan: bytes on the CPU for %s session(s) of %s tokens\n",
                plan["n_sessions"].dump().c_str(), plan["n_ctx"].dump().c_str());
    PrintUse("model", plan["model"]);
    PrintUse("context", plan["context"]);
  }
  if (facts.contains("chat_template")) {
    std::printf("\nChat template\n%s\n", facts["chat_template"].get<std::string>().c_str());
  }
}

}  // namespace inspect
