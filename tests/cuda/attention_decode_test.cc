// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The launch that norms and rotates Q and K, stores K and V, attends, adds up its stripes and
// quantises the result has the bits of a launch for each of these.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/cuda/vector/vector.h"
#include "kernels/quant/half.h"
#include "tests/cuda/device_data.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::testing {
namespace {

using kernels::KernelStatus;
using kernels::cuda::AttentionDecodeArgs;
using kernels::testing::Random;

struct Shape {
  int32_t dim;
  int32_t n_heads;
  int32_t n_kv_heads;
  std::vector<int32_t> lengths;  // of the rows, each of its own sequence; 0: a padding row
  bool norms = true;
  bool neox = true;
  int32_t rope_dim = 0;  // 0: dim
  int32_t window = 0;
  float softcap = 0.0f;
  bool sinks = false;
  bool residual = false;
};

// Whether a kernel can start before the one ahead of it is complete.
bool StartsEarly() {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major >= 9;
}

size_t Count(int64_t n) { return static_cast<size_t>(n); }

// Inputs of a step and one run of it.
class DecodeStep {
 public:
  explicit DecodeStep(const Shape& shape)
      : shape_(shape), rows_(static_cast<int64_t>(shape.lengths.size())), random_(7) {
    rope_dim_ = shape.rope_dim == 0 ? shape.dim : shape.rope_dim;
    for (const int32_t length : shape.lengths) {
      columns_ = std::max<int64_t>(columns_, (length + kKvPageCells - 1) / kKvPageCells);
    }
    n_pages_ = rows_ * columns_ + 1;
    page_bytes_ = kernels::cuda::KvPageBytes(KvFormat::kF16, shape.n_kv_heads, shape.dim);
    q_ = random_.Values(Count(rows_ * shape.n_heads * shape.dim));
    k_ = random_.Values(Count(rows_ * shape.n_kv_heads * shape.dim));
    v_ = random_.Values(Count(rows_ * shape.n_kv_heads * shape.dim));
    q_norm_ = random_.Values(Count(shape.dim));
    k_norm_ = random_.Values(Count(shape.dim));
    table_ = random_.Values(Count(rows_ * rope_dim_));
    sinks_ = random_.Values(Count(shape.n_heads));
    for (const float value : random_.Values(Count(n_pages_ * page_bytes_ / 2))) {
      pages_.push_back(kernels::FloatToHalf(value));
    }
    for (int64_t i = 0; i < rows_ * columns_; ++i) {
      page_table_.push_back(static_cast<int32_t>(rows_ * columns_ - 1 - i));
    }
    for (int64_t r = 0; r < rows_; ++r) {
      const int32_t length = shape.lengths[Count(r)];
      sequence_.push_back(length == 0 ? -1 : static_cast<int32_t>(r));
      const int32_t last = length - 1;
      const int32_t page = length == 0 ? static_cast<int32_t>(n_pages_ - 1)
                                       : page_table_[Count(r * columns_ + last / kKvPageCells)];
      cells_.push_back(page * kKvPageCells +
                       (length == 0 ? static_cast<int32_t>(r) : last) % kKvPageCells);
    }
  }

  struct Result {
    std::vector<uint8_t> out, planes, k_pages, v_pages, counters;
    bool guards = false;
    friend bool operator==(const Result& a, const Result& b) {
      return a.out == b.out && a.planes == b.planes && a.k_pages == b.k_pages &&
             a.v_pages == b.v_pages;
    }
  };

  // `together`: one launch for all; `combined`: only the stripes are added up by it; `settled`: one
  // that starts to read before those ahead of it are complete.
  Result Run(bool together, bool combined, bool settled = false) {
    const TestStream stream;
    const DeviceBytes q = ToDevice(q_), k = ToDevice(k_), v = ToDevice(v_),
                      table = ToDevice(table_);
    const DeviceBytes q_norm = ToDevice(q_norm_), k_norm = ToDevice(k_norm_),
                      sinks = ToDevice(sinks_);
    const DeviceBytes k_pages = ToDevice(pages_), v_pages = ToDevice(pages_);
    const DeviceBytes page_table = ToDevice(page_table_), sequence = ToDevice(sequence_),
                      length = ToDevice(shape_.lengths), cells = ToDevice(cells_);
    const int64_t width = int64_t{shape_.n_heads} * shape_.dim;
    const DeviceBytes out(Count(rows_ * width) * 4);
    const bool quantises = shape_.dim % 32 == 0 && rows_ <= kernels::cuda::kMmvqMaxRows;
    const size_t plane_bytes =
        quantises ? Count(kernels::cuda::QuantizedBytes(rows_, width, shape_.residual, true)) : 16;
    const DeviceBytes planes = ToDevice(std::vector<uint8_t>(plane_bytes, 0));
    const DeviceBytes partials(
        Count(kernels::cuda::AttentionPartialFloats(rows_, shape_.n_heads, shape_.dim)) * 4);
    const DeviceBytes counters = ToDevice(std::vector<uint32_t>(
        Count(kernels::cuda::AttentionDecodeCounters(rows_, shape_.n_heads, shape_.n_kv_heads)),
        0));
    AttentionDecodeArgs args;
    auto& a = args.attention;
    a.k = {k_pages.as<uint8_t>(), page_bytes_, n_pages_, KvFormat::kF16, shape_.dim};
    a.v = {v_pages.as<uint8_t>(), page_bytes_, n_pages_, KvFormat::kF16, shape_.dim};
    a.q = q.as<float>();
    a.out = out.as<float>();
    a.rows = rows_;
    a.n_heads = shape_.n_heads;
    a.n_kv_heads = shape_.n_kv_heads;
    a.scale = 1.0f / std::sqrt(static_cast<float>(shape_.dim));
    a.softcap = shape_.softcap;
    a.window = shape_.window;
    a.sinks = shape_.sinks ? sinks.as<float>() : nullptr;
    a.page_table = page_table.as<int32_t>();
    a.page_table_columns = columns_;
    a.page_table_rows = rows_;
    a.row_sequence = sequence.as<int32_t>();
    a.row_length = length.as<int32_t>();
    a.partials = partials.as<float>();
    if (quantises) {
      a.planes =
          kernels::cuda::MakePlaneTarget(planes.as<void>(), rows_, width, shape_.residual, true);
    }
    if (combined) args.counters = counters.as<uint32_t>();
    if (together) {
      args.tail.k = k.as<float>();
      args.tail.v = v.as<float>();
      args.tail.cells = cells.as<int32_t>();
      if (shape_.norms) {
        args.tail.q_norm = q_norm.as<float>();
        args.tail.k_norm = k_norm.as<float>();
        args.tail.q_eps = 1e-6f;
        args.tail.k_eps = 1e-5f;
      }
      args.tail.cos_sin = table.as<float>();
      args.tail.rope_dim = rope_dim_;
      args.tail.neox = shape_.neox;
    } else {
      RunTail(a, q.as<float>(), k.as<float>(), v.as<float>(), q_norm.as<float>(),
              k_norm.as<float>(), table.as<float>(), cells.as<int32_t>(), stream);
    }
    args.settled = settled;
    const kernels::cuda::KernelStream queue(stream.get(), settled && StartsEarly());
    // Twice, so that a counter that is not 0 again shows.
    REQUIRE(kernels::cuda::AttentionDecode(args, queue) == KernelStatus::kOk);
    REQUIRE(kernels::cuda::AttentionDecode(args, queue) == KernelStatus::kOk);
    REQUIRE(stream.Wait());
    Result result{out.Read(), planes.Read(), k_pages.Read(), v_pages.Read(), counters.Read()};
    result.guards = out.GuardsHold() && planes.GuardsHold() && k_pages.GuardsHold() &&
                    v_pages.GuardsHold() && partials.GuardsHold() && counters.GuardsHold();
    return result;
  }

 private:
  void RunTail(const kernels::cuda::AttentionArgs& a, float* q, float* k, float* v,
               const float* q_norm, const float* k_norm, const float* table, const int32_t* cells,
               const TestStream& stream) const {
    if (shape_.norms) {
      REQUIRE(kernels::cuda::RmsNorm(q, q_norm, q, rows_ * shape_.n_heads, shape_.dim, 1e-6f,
                                     stream.get()) == KernelStatus::kOk);
      REQUIRE(kernels::cuda::RmsNorm(k, k_norm, k, rows_ * shape_.n_kv_heads, shape_.dim, 1e-5f,
                                     stream.get()) == KernelStatus::kOk);
    }
    kernels::cuda::RopeArgs rope;
    rope.x = rope.out = q;
    rope.cos_sin = table;
    rope.rows = rows_;
    rope.n_heads = shape_.n_heads;
    rope.head_dim = shape_.dim;
    rope.rope_dim = rope_dim_;
    rope.neox = shape_.neox;
    REQUIRE(kernels::cuda::Rope(rope, stream.get()) == KernelStatus::kOk);
    kernels::cuda::KvStoreArgs store;
    store.k_side = a.k;
    store.v_side = a.v;
    store.n_kv_heads = shape_.n_kv_heads;
    store.k = k;
    store.v = v;
    store.cells = cells;
    store.rows = rows_;
    store.cos_sin = table;
    store.rope_dim = rope_dim_;
    store.neox = shape_.neox;
    REQUIRE(kernels::cuda::KvStore(store, stream.get()) == KernelStatus::kOk);
  }

  Shape shape_;
  int64_t rows_;
  Random random_;
  int32_t rope_dim_ = 0;
  int64_t columns_ = 1;
  int64_t n_pages_ = 0;
  int64_t page_bytes_ = 0;
  std::vector<float> q_, k_, v_, q_norm_, k_norm_, table_, sinks_;
  std::vector<uint16_t> pages_;
  std::vector<int32_t> page_table_, sequence_, cells_;
};

void CheckShape(const Shape& shape) {
  INFO("dim " << shape.dim << " heads " << shape.n_heads << " of " << shape.n_kv_heads << " rows "
              << shape.lengths.size() << " first length " << shape.lengths[0] << " norms "
              << shape.norms << " neox " << shape.neox << " window " << shape.window);
  DecodeStep step(shape);
  const DecodeStep::Result apart = step.Run(false, false);
  const DecodeStep::Result combined = step.Run(false, true);
  const DecodeStep::Result together = step.Run(true, true);
  const DecodeStep::Result settled = step.Run(true, true, true);
  CHECK(settled == together);
  CHECK(settled.guards);
  for (const uint8_t byte : settled.counters) CHECK(byte == 0);
  CHECK(apart.out == combined.out);
  CHECK(apart.planes == combined.planes);
  CHECK(apart.out == together.out);
  CHECK(apart.planes == together.planes);
  CHECK(apart.k_pages == together.k_pages);
  CHECK(apart.v_pages == together.v_pages);
  for (const uint8_t byte : together.counters) CHECK(byte == 0);
  CHECK(apart.guards);
  CHECK(together.guards);
}

TEST_CASE("CUDA fusion: attention with all around it has the bits of the chain", "[cuda]") {
  if (!CudaIsHere()) return;
  for (const int32_t dim : {16, 32, 64, 80, 96, 112, 128, 256}) {
    CheckShape({dim, 7, 1, {100}});
    CheckShape({dim, 14, 2, {1, 1500, 700}, false});
    CheckShape({dim, 6, 3, {64, 0, 65, 513, 640}, true, false, dim / 32 * 16 + 8});
    CheckShape({dim, 12, 1, {900, 33}, true, true, 0, 600, 0.0f, true, true});
    CheckShape({dim, 4, 4, {257, 2000, 130, 5, 7, 8, 900, 3}, true, true, 0, 100, 30.0f});
  }
}

// More rows than blocks are wanted for: each takes several stripes.
TEST_CASE("CUDA fusion: attention of many rows with all around it", "[cuda]") {
  if (!CudaIsHere()) return;
  std::vector<int32_t> lengths;
  for (int32_t r = 0; r < 64; ++r) lengths.push_back(r % 5 == 4 ? 0 : 37 * r + 1);
  CheckShape({64, 14, 2, lengths});
  CheckShape({128, 16, 4, lengths});
}

}  // namespace
}  // namespace minfer::testing
