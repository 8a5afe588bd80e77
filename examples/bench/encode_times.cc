// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "encode_times.h"

#include <chrono>
#include <cstdio>

namespace bench {
namespace {

struct Unit {
  const char* name;
  const char* text;
};
constexpr Unit kUnits[] = {
    {"letter", "a"}, {"space", " "}, {"digit", "7"}, {"emoji", "\U0001F642"}, {"words", "the cat "},
};

mf::Result<EncodeRow> MeasureText(const mf::Model& model, size_t n_bytes, const Unit& unit) {
  std::string text;
  text.reserve(n_bytes + 8);
  while (text.size() < n_bytes) text += unit.text;
  EncodeRow row;
  row.text = unit.name;
  row.n_bytes = text.size();
  mf::Error error;
  const auto start = std::chrono::steady_clock::now();
  if (mf_tokenizer_count(model.get(), text.data(), text.size(), 0, &row.n_tokens, error.out()) !=
      MF_STATUS_OK) {
    return error;
  }
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return row;
}

}  // namespace

mf::Result<void> MeasureEncoding(const std::string& path, size_t n_bytes,
                                 std::vector<EncodeRow>* rows) {
  mf::Result<mf::Model> model = mf::Model::load(path);
  if (!model) return model.error();
  for (const Unit& unit : kUnits) {
    mf::Result<EncodeRow> row = MeasureText(*model, n_bytes, unit);
    if (!row) return row.error();
    row->model = path.substr(path.rfind('/') + 1);
    rows->push_back(*std::move(row));
  }
  return {};
}

void WriteEncodeRows(const std::vector<EncodeRow>& rows, Format format) {
  if (format == Format::kMarkdown) {
    std::printf("| model | text | bytes | tokens | seconds | ns a byte |\n");
    std::printf("| --- | --- | --: | --: | --: | --: |\n");
  } else if (format == Format::kCsv) {
    std::printf("model,text,bytes,tokens,seconds\n");
  } else {
    std::printf("[");
  }
  const char* separator = "\n";
  for (const EncodeRow& row : rows) {
    if (format == Format::kMarkdown) {
      std::printf("| %s | %s | %zu | %zu | %.3f | %.1f |\n", row.model.c_str(), row.text.c_str(),
                  row.n_bytes, row.n_tokens, row.seconds,
                  row.seconds * 1e9 / static_cast<double>(row.n_bytes));
    } else if (format == Format::kCsv) {
      std::printf("%s,%s,%zu,%zu,%.6f\n", row.model.c_str(), row.text.c_str(), row.n_bytes,
                  row.n_tokens, row.seconds);
    } else {
      std::printf(
          "%s{\"model\": \"%s\", \"text\": \"%s\", \"bytes\": %zu, \"tokens\": %zu, "
          "\"seconds\": %.6f}",
          separator, row.model.c_str(), row.text.c_str(), row.n_bytes, row.n_tokens, row.seconds);
      separator = ",\n";
    }
  }
  if (format == Format::kJson) std::printf("\n]\n");
}

}  // namespace bench
