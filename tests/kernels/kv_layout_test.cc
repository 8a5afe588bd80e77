// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/kv_layout.h"

#include <cmath>

#include "kernels/reference/attention_reference.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::KvFormat;
using kernels::KvLayerView;

constexpr KvFormat kFormats[] = {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0};

TEST_CASE("KvLayout: bytes of a page", "[kernels][kv]") {
  CHECK(kernels::KPageBytes(KvFormat::kF32, 3, 64) == 3 * 64 * 64 * 4);
  CHECK(kernels::KPageBytes(KvFormat::kF16, 3, 64) == 3 * 64 * 64 * 2);
  // Int8 plane, then one f16 scale for each 32 values.
  CHECK(kernels::KPageBytes(KvFormat::kQ8_0, 3, 64) == 3 * (64 * 64 + 2 * 64 * 2));
  CHECK(kernels::VPageBytes(KvFormat::kQ8_0, 3, 64) == 3 * (64 * 64 + 2 * 64 * 2));
  // V rows are padded to 16 values; the last block of 40 values holds 8.
  CHECK(kernels::VPageBytes(KvFormat::kF16, 2, 40) == 2 * 64 * 48 * 2);
  CHECK(kernels::VPageBytes(KvFormat::kQ8_0, 2, 40) == 2 * (64 * 48 + 2 * 64 * 2));
  for (const KvFormat format : kFormats) {
    for (int32_t dim = 1; dim < 300; dim += 7) {
      CHECK(kernels::KPageBytes(format, 1, dim) % 64 == 0);
      CHECK(kernels::VPageBytes(format, 1, dim) % 64 == 0);
    }
  }
}

TEST_CASE("KvLayout: a stored row reads back within its format, the same in every unit",
          "[kernels][kv]") {
  for (const KvFormat format : kFormats) {
    for (const int32_t dim : {1, 31, 40, 64, 96}) {
      const KvShape shape = {format, format, 2, dim, dim};
      const auto n = static_cast<size_t>(2 * dim);
      const kernels::AttentionKernels twin = {.scratch_bytes = nullptr,
                                              .attention = nullptr,
                                              .attention_stripes = nullptr,
                                              .attention_combine = nullptr,
                                              .partial_floats = nullptr,
                                              .kv_store = kernels::reference::KvStore};
      for (const OpsUnit& unit : RunnableOpsUnits()) {
        KvStoreForTest want(twin, shape, {130}, 3);
        KvStoreForTest got(*unit.attention, shape, {130}, 3);
        CAPTURE(unit.name, static_cast<int>(format), dim);
        CHECK(want.k_bytes() == got.k_bytes());
        std::vector<float> k(n);
        std::vector<float> v(n);
        for (const int32_t cell : {0, 63, 64, 129}) {
          kernels::ReadKvRow(got.view(), got.PhysicalCell(0, cell), k.data(), v.data());
          Random row(3 * 1000003 + static_cast<uint64_t>(cell));
          const double tolerance = format == KvFormat::kF32   ? 0.0
                                   : format == KvFormat::kF16 ? 3e-4
                                                              : 4.5e-3;
          for (size_t i = 0; i < n; ++i) CHECK(std::fabs(k[i] - row.Next()) <= tolerance);
          for (size_t i = 0; i < n; ++i) CHECK(std::fabs(v[i] - row.Next()) <= tolerance);
        }
      }
    }
  }
}

TEST_CASE("KvLayout: storing what was read changes nothing", "[kernels][kv]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat format : kFormats) {
      KvStoreForTest store(*unit.attention, {format, format, 2, 72, 40}, {70}, 3);
      const std::vector<uint8_t> k_before = store.k_bytes();
      const std::vector<uint8_t> v_before = store.v_bytes();
      std::vector<float> k(144);
      std::vector<float> v(80);
      for (int32_t cell = 0; cell < 70; ++cell) {
        kernels::ReadKvRow(store.view(), store.PhysicalCell(0, cell), k.data(), v.data());
        unit.attention->kv_store(store.view(), k.data(), v.data(), store.PhysicalCell(0, cell));
      }
      CAPTURE(unit.name, static_cast<int>(format));
      CHECK(k_before == store.k_bytes());
      CHECK(v_before == store.v_bytes());
    }
  }
}

TEST_CASE("KvLayout: a copied cell reads the same and disturbs no other", "[kernels][kv]") {
  for (const KvFormat format : kFormats) {
    const kernels::AttentionKernels& unit = *RunnableOpsUnits().front().attention;
    KvStoreForTest store(unit, {format, format, 2, 40, 40}, {128}, 3);
    std::vector<float> from(160);
    std::vector<float> to(160);
    std::vector<float> beside_before(160);
    std::vector<float> beside(160);
    const int64_t target = store.PhysicalCell(0, 70);
    kernels::ReadKvRow(store.view(), target + 1, beside_before.data(), beside_before.data() + 80);
    kernels::CopyKvCell(store.view(), store.PhysicalCell(0, 5), target);
    kernels::ReadKvRow(store.view(), store.PhysicalCell(0, 5), from.data(), from.data() + 80);
    kernels::ReadKvRow(store.view(), target, to.data(), to.data() + 80);
    kernels::ReadKvRow(store.view(), target + 1, beside.data(), beside.data() + 80);
    CHECK(from == to);
    CHECK(beside == beside_before);
  }
}

TEST_CASE("KvLayout: numbers beyond a format stay finite, NaN stays NaN", "[kernels][kv][D02]") {
  for (const OpsUnit& unit : RunnableOpsUnits()) {
    for (const KvFormat format : {KvFormat::kF16, KvFormat::kQ8_0}) {
      KvStoreForTest store(*unit.attention, {format, format, 1, 4, 4}, {2}, 3);
      const std::vector<float> large = {1e5f, -1e5f, 3e38f, 0.0f};
      const std::vector<float> broken = {1.0f, NAN, 2.0f, 3.0f};
      std::vector<float> k(4);
      std::vector<float> v(4);
      unit.attention->kv_store(store.view(), large.data(), broken.data(), 0);
      kernels::ReadKvRow(store.view(), 0, k.data(), v.data());
      CAPTURE(unit.name, static_cast<int>(format));
      for (const float x : k) CHECK(std::isfinite(x));
      CHECK(std::isnan(v[1]));
    }
  }
}

}  // namespace
}  // namespace minfer::testing
