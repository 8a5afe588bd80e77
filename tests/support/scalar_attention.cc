// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The KV pages of the scalar operations, and attention over them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/str_cat.h"
#include "kernels/quant/half.h"
#include "tests/support/scalar_ops.h"

namespace minfer::testing {
namespace {

constexpr int32_t kBlock = 32;
constexpr uint64_t kBlockBytes = 2 + kBlock;

uint64_t HeadBytes(KvFormat format, int32_t dim) {
  switch (format) {
    case KvFormat::kF32:
      return static_cast<uint64_t>(dim) * 4;
    case KvFormat::kF16:
      return static_cast<uint64_t>(dim) * 2;
    case KvFormat::kQ8_0:
      return static_cast<uint64_t>((dim + kBlock - 1) / kBlock) * kBlockBytes;
  }
  return 0;
}

void StoreHalf(uint8_t* to, float value) {
  const uint16_t half = kernels::FloatToHalf(value);
  std::memcpy(to, &half, 2);
}

float LoadHalf(const uint8_t* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, 2);
  return kernels::HalfToFloat(half);
}

// One block: the largest magnitude becomes 127. The values are divided by the scale before it is
// rounded to f16, as the format's published encoder does.
void StoreBlock(uint8_t* to, const float* x, int32_t count) {
  float largest = 0.0f;
  for (int32_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float scale = largest / 127.0f;
  StoreHalf(to, scale);
  for (int32_t i = 0; i < count; ++i) {
    to[2 + i] =
        static_cast<uint8_t>(static_cast<int8_t>(scale > 0.0f ? std::lround(x[i] / scale) : 0));
  }
}

void StoreHead(KvFormat format, uint8_t* to, const float* x, int32_t dim) {
  if (format == KvFormat::kF32) {
    std::memcpy(to, x, static_cast<size_t>(dim) * 4);
  } else if (format == KvFormat::kF16) {
    for (int32_t i = 0; i < dim; ++i) StoreHalf(to + 2 * i, x[i]);
  } else {
    for (int32_t i = 0; i < dim; i += kBlock) {
      StoreBlock(to + static_cast<uint64_t>(i / kBlock) * kBlockBytes, x + i,
                 std::min(kBlock, dim - i));
    }
  }
}

float LoadElement(KvFormat format, const uint8_t* head, int32_t i) {
  if (format == KvFormat::kF32) {
    float value = 0.0f;
    std::memcpy(&value, head + 4 * i, 4);
    return value;
  }
  if (format == KvFormat::kF16) return LoadHalf(head + 2 * i);
  const uint8_t* block = head + static_cast<uint64_t>(i / kBlock) * kBlockBytes;
  return LoadHalf(block) * static_cast<float>(static_cast<int8_t>(block[2 + i % kBlock]));
}

// A head's values of one physical cell.
uint8_t* HeadAt(uint8_t* pages, uint64_t page_bytes, KvFormat format, int32_t n_heads, int32_t dim,
                int64_t cell, int32_t head) {
  const uint64_t head_bytes = HeadBytes(format, dim);
  return pages + static_cast<uint64_t>(cell / kKvPageCells) * page_bytes +
         (static_cast<uint64_t>(cell % kKvPageCells) * static_cast<uint64_t>(n_heads) +
          static_cast<uint64_t>(head)) *
             head_bytes;
}

Status CheckCell(const ScalarCall& call, int64_t cell) {
  const uint64_t pages =
      std::min(call.kv.k_bytes / call.kv.k_page_bytes, call.kv.v_bytes / call.kv.v_page_bytes);
  if (cell >= 0 && static_cast<uint64_t>(cell / kKvPageCells) < pages) return OkStatus();
  return ScalarError(call, StrCat("cell ", cell, " with ", pages, " pages"));
}

// The cells that a row sees, oldest first.
StatusOr<std::vector<int64_t>> VisibleCells(const ScalarCall& call, int64_t row) {
  std::vector<int64_t> cells;
  const int32_t sequence = static_cast<const int32_t*>(call.inputs[3])[row];
  const int32_t length = static_cast<const int32_t*>(call.inputs[4])[row];
  if (sequence < 0) return cells;
  const ValueShape& table = call.input_shapes[2];
  if (sequence >= table.rows || length > table.cols * kKvPageCells) {
    return ScalarError(call, StrCat("row ", row, " sees ", length, " cells of sequence ", sequence,
                                    ", the page table is ", table.rows, " x ", table.cols));
  }
  const int32_t window = call.node.attributes.window;
  const int32_t first = window > 0 ? std::max(0, length - window) : 0;
  const int32_t* pages = static_cast<const int32_t*>(call.inputs[2]) + sequence * table.cols;
  for (int32_t c = first; c < length; ++c) {
    cells.push_back(static_cast<int64_t>(pages[c / kKvPageCells]) * kKvPageCells +
                    c % kKvPageCells);
    MF_RETURN_IF_ERROR(CheckCell(call, cells.back()));
  }
  return cells;
}

// Adds the output of one head of one row.
void AttendHead(const ScalarCall& call, const float* q, int32_t kv_head,
                const std::vector<int64_t>& cells, const float* sink, std::vector<float>* out) {
  const OpAttributes& a = call.node.attributes;
  const ScalarKv& kv = call.kv;
  std::vector<double> scores;
  for (const int64_t cell : cells) {
    const uint8_t* k =
        HeadAt(kv.k, kv.k_page_bytes, kv.k_format, a.n_kv_heads, a.head_dim, cell, kv_head);
    double score = 0.0;
    for (int32_t i = 0; i < a.head_dim; ++i) {
      score += static_cast<double>(q[i]) * static_cast<double>(LoadElement(kv.k_format, k, i));
    }
    score *= a.scale;
    if (a.softcap > 0.0f) score = a.softcap * std::tanh(score / a.softcap);
    scores.push_back(score);
  }
  double largest = scores.empty() ? 0.0 : *std::max_element(scores.begin(), scores.end());
  if (sink != nullptr) largest = std::max<double>(largest, *sink);
  double total = sink == nullptr ? 0.0 : std::exp(*sink - largest);
  for (double& score : scores) total += score = std::exp(score - largest);
  for (int32_t i = 0; i < a.head_dim_v; ++i) {
    double sum = 0.0;
    for (size_t c = 0; c < cells.size(); ++c) {
      const uint8_t* v =
          HeadAt(kv.v, kv.v_page_bytes, kv.v_format, a.n_kv_heads, a.head_dim_v, cells[c], kv_head);
      sum += scores[c] * static_cast<double>(LoadElement(kv.v_format, v, i));
    }
    out->push_back(cells.empty() ? 0.0f : static_cast<float>(sum / total));
  }
}

}  // namespace

KvPageBytes ScalarPageBytes(const KvLayerShape& shape) {
  const auto rows = static_cast<uint64_t>(kKvPageCells) * static_cast<uint64_t>(shape.n_kv_heads);
  return {rows * HeadBytes(shape.k_format, shape.head_dim_k),
          rows * HeadBytes(shape.v_format, shape.head_dim_v)};
}

Status ScalarKvStore(const ScalarCall& call, const float* k, const float* v, const int32_t* cells) {
  const OpAttributes& a = call.node.attributes;
  const ScalarKv& kv = call.kv;
  for (int64_t r = 0; r < call.input_shapes[0].rows; ++r) {
    MF_RETURN_IF_ERROR(CheckCell(call, cells[r]));
    for (int32_t head = 0; head < a.n_kv_heads; ++head) {
      const int64_t at = r * a.n_kv_heads + head;
      StoreHead(
          kv.k_format,
          HeadAt(kv.k, kv.k_page_bytes, kv.k_format, a.n_kv_heads, a.head_dim, cells[r], head),
          k + at * a.head_dim, a.head_dim);
      StoreHead(
          kv.v_format,
          HeadAt(kv.v, kv.v_page_bytes, kv.v_format, a.n_kv_heads, a.head_dim_v, cells[r], head),
          v + at * a.head_dim_v, a.head_dim_v);
    }
  }
  return OkStatus();
}

Status ScalarAttention(const ScalarCall& call, const float* sinks, std::vector<float>* out) {
  const OpAttributes& a = call.node.attributes;
  const auto* q = static_cast<const float*>(call.inputs[0]);
  for (int64_t r = 0; r < call.input_shapes[0].rows; ++r) {
    MF_ASSIGN_OR_RETURN(const std::vector<int64_t> cells, VisibleCells(call, r));
    for (int32_t head = 0; head < a.n_heads; ++head) {
      AttendHead(call, q + (r * a.n_heads + head) * a.head_dim, head / (a.n_heads / a.n_kv_heads),
                 cells, sinks == nullptr ? nullptr : sinks + head, out);
    }
  }
  return OkStatus();
}

}  // namespace minfer::testing
