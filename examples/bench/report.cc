// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <minfer/minfer.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace bench {
namespace {

using Cells = std::vector<std::string>;

std::string Number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

void PrintMarkdown(const Cells& head, const std::vector<Cells>& rows) {
  std::vector<size_t> widths;
  for (size_t c = 0; c < head.size(); ++c) {
    size_t width = std::max<size_t>(head[c].size(), 3);
    for (const Cells& row : rows) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  const auto print = [&](const Cells& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      std::printf("| %-*s ", static_cast<int>(widths[c]), cells[c].c_str());
    }
    std::printf("|\n");
  };
  print(head);
  for (const size_t width : widths) std::printf("| %s ", std::string(width, '-').c_str());
  std::printf("|\n");
  for (const Cells& row : rows) print(row);
}

void PrintCsv(const Cells& head, const std::vector<Cells>& rows) {
  const auto print = [](const Cells& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      std::string text = cells[c];
      for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
        text.insert(at, 1, '"');
      }
      std::printf("%s\"%s\"", c == 0 ? "" : ",", text.c_str());
    }
    std::printf("\n");
  };
  print(head);
  for (const Cells& row : rows) print(row);
}

Cells MarkdownCells(const Row& row) {
  const Spread spread = SpreadOf(row.samples);
  Cells cells = {row.model,
                 Number(static_cast<double>(row.model_bytes) / (1 << 20), 1) + " MiB",
                 Number(static_cast<double>(row.n_parameters) * 1e-6, 1) + " M",
                 row.kernels,
                 std::to_string(row.n_threads),
                 std::to_string(row.n_sessions),
                 row.kv,
                 row.tuning,
                 row.test,
                 Number(spread.median, 2),
                 Number(spread.low, 2) + " .. " + Number(spread.high, 2)};
  if (row.weight_bytes_second > 0) {
    cells.push_back(Number(row.weight_bytes_second * 1e-9, 2));
    const double share = row.weight_bytes_second / row.machine_bytes_second;
    cells.push_back(row.machine_bytes_second > 0 ? Number(100 * share, 0) + " %" : "");
  } else {
    cells.insert(cells.end(), {"", ""});
  }
  cells.push_back(TokenHash(row));
  return cells;
}

void PrintFirstDifference(const Row& a, const Row& b) {
  if (a.tokens.empty() || a.tokens.size() != b.tokens.size()) return;
  const auto at = std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin());
  if (at.first == a.tokens.end()) {
    std::printf("the same %zu tokens\n", a.tokens.size());
    return;
  }
  const size_t of_session = a.tokens.size() / a.n_sessions;
  const auto i = static_cast<size_t>(at.first - a.tokens.begin());
  std::printf("tokens differ from number %zu of session %zu on, ", i % of_session + 1,
              i / of_session + 1);
  if (b.greedy) {
    std::printf("where %d leads %d by %.4f\n", *at.first, *at.second, b.lead);
  } else {
    std::printf("where %d and %d were drawn (--greedy shows by how much one leads)\n", *at.first,
                *at.second);
  }
}

// Where several tunings were measured: each against the first of its test.
void PrintComparison(const std::vector<Row>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t first = 0; first < i; ++first) {
      const Row& a = rows[first];
      const Row& b = rows[i];
      if (a.tuning == b.tuning || a.path != b.path || a.test != b.test || a.kv != b.kv ||
          a.n_threads != b.n_threads || a.n_sessions != b.n_sessions) {
        continue;
      }
      std::printf("\n%s, %s: \"%s\" is %.3fx of \"%s\"\n", b.model.c_str(), b.test.c_str(),
                  b.tuning.c_str(), SpreadOf(b.samples).median / SpreadOf(a.samples).median,
                  a.tuning.c_str());
      PrintFirstDifference(a, b);
      break;
    }
  }
}

nlohmann::ordered_json ToJson(const Row& row) {
  const Spread spread = SpreadOf(row.samples);
  return {{"version", mf_version_string()},
          {"build", mf_build_info()},
          {"model", row.model},
          {"path", row.path},
          {"model_bytes", row.model_bytes},
          {"n_parameters", row.n_parameters},
          {"kernels", row.kernels},
          {"n_threads", row.n_threads},
          {"n_sessions", row.n_sessions},
          {"kv", row.kv},
          {"tuning", row.tuning},
          {"test", row.test},
          {"tokens_per_second", spread.median},
          {"quartile_1", spread.low},
          {"quartile_3", spread.high},
          {"samples", row.samples},
          {"weight_bytes_per_second", row.weight_bytes_second},
          {"machine_bytes_per_second", row.machine_bytes_second},
          {"token_hash", TokenHash(row)}};
}

Cells CsvCells(const Row& row) {
  Cells cells;
  const nlohmann::ordered_json json = ToJson(row);
  for (const auto& [key, value] : json.items()) {
    cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return cells;
}

}  // namespace

void WriteRows(const std::vector<Row>& rows, Format format) {
  if (rows.empty()) return;
  std::vector<Cells> cells;
  if (format == Format::kJson) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Row& row : rows) all.push_back(ToJson(row));
    std::printf("%s\n", all.dump(2).c_str());
  } else if (format == Format::kCsv) {
    Cells head;
    const nlohmann::ordered_json json = ToJson(rows[0]);
    for (const auto& [key, value] : json.items()) head.push_back(key);
    for (const Row& row : rows) cells.push_back(CsvCells(row));
    PrintCsv(head, cells);
  } else {
    for (const Row& row : rows) cells.push_back(MarkdownCells(row));
    PrintMarkdown({"model", "size", "params", "kernels", "threads", "sessions", "kv", "tuning",
                   "test", "t/s", "quartiles", "GB/s", "of machine", "tokens"},
                  cells);
    std::printf("\n%s", mf_build_info());
    if (rows[0].machine_bytes_second > 0) {
      std::printf("; reads %.1f GB/s with %u threads", rows[0].machine_bytes_second * 1e-9,
                  rows[0].n_threads);
    }
    std::printf("\n");
    PrintComparison(rows);
  }
}

void WriteCancelRows(const std::vector<CancelRow>& rows, Format format) {
  if (format == Format::kJson) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const CancelRow& row : rows) {
      all.push_back({{"model", row.model},
                     {"phase", row.phase},
                     {"n_threads", row.n_threads},
                     {"samples_ms", row.samples}});
    }
    std::printf("%s\n", all.dump(2).c_str());
    return;
  }
  std::vector<Cells> cells;
  for (const CancelRow& row : rows) {
    const double worst =
        row.samples.empty() ? 0.0 : *std::max_element(row.samples.begin(), row.samples.end());
    cells.push_back({row.model, row.phase, std::to_string(row.n_threads),
                     std::to_string(row.samples.size()), Number(SpreadOf(row.samples).median, 2),
                     Number(worst, 2)});
  }
  const Cells head = {"model", "cancel in", "threads", "times", "median ms", "worst ms"};
  format == Format::kCsv ? PrintCsv(head, cells) : PrintMarkdown(head, cells);
}

}  // namespace bench
