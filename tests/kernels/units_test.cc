// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Each instruction set has kernels of its own, and they agree (D17).
#include "base/cpu_info.h"
#include "kernels/cpu/isa_tables.h"
#include "tests/kernels/ops_support.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

using kernels::CpuKernels;
using kernels::FindCpuKernels;
using kernels::Isa;

TEST_CASE("Units: each table names itself and carries its own kernels", "[kernels][D17]") {
  const CpuKernels* generic = FindCpuKernels(Isa::kGeneric);
  REQUIRE(generic != nullptr);
  CHECK(generic->isa == Isa::kGeneric);
  CHECK(generic->attention == &kernels::kAttentionGeneric);
  CHECK(generic->vector == &kernels::kVectorGeneric);
#if defined(__x86_64__)
  const CpuKernels* avx2 = FindCpuKernels(Isa::kAvx2);
  const CpuKernels* avx512 = FindCpuKernels(Isa::kAvx512);
  const CpuKernels* vnni = FindCpuKernels(Isa::kAvx512Vnni);
  const CpuKernels* bf16 = FindCpuKernels(Isa::kAvx512Bf16);
  REQUIRE((avx2 != nullptr && avx512 != nullptr && vnni != nullptr && bf16 != nullptr));
  CHECK(avx2->isa == Isa::kAvx2);
  CHECK(avx512->isa == Isa::kAvx512);
  CHECK(vnni->isa == Isa::kAvx512Vnni);
  CHECK(bf16->isa == Isa::kAvx512Bf16);
  CHECK(avx2->attention == &kernels::kAttentionAvx2);
  CHECK(avx2->vector == &kernels::kVectorAvx2);
  CHECK(avx512->attention == &kernels::kAttentionAvx512);
  CHECK(avx512->vector == &kernels::kVectorAvx512);
  CHECK(vnni->attention == avx512->attention);
  CHECK(vnni->vector == avx512->vector);
  CHECK(bf16->attention == avx512->attention);
  CHECK(bf16->vector == avx512->vector);
  CHECK(bf16->matmul->matmul != vnni->matmul->matmul);
  CHECK(avx2->attention->attention != generic->attention->attention);
  CHECK(avx512->attention->attention != avx2->attention->attention);
  CHECK(avx512->vector->rms_norm != avx2->vector->rms_norm);
#endif
}

TEST_CASE("Units: the levels that run here have a table each", "[kernels][G10]") {
  const CpuInfo cpu = DetectCpu();
  std::string highest;
  for (int32_t isa = 0; isa < kernels::kIsaCount; ++isa) {
    const CpuKernels* unit = FindCpuKernels(static_cast<Isa>(isa));
    if (cpu.CanRun(static_cast<Isa>(isa)) && unit != nullptr) highest = unit->name;
  }
  CHECK(highest == cpu.level());
}

TEST_CASE("Units: D17 all units agree within rounding on odd numbers of rows", "[kernels][D17]") {
  const std::vector<OpsUnit> units = RunnableOpsUnits();
  for (const int32_t n : {1, 7, 17}) {
    const KvShape shape = {kernels::KvFormat::kQ8_0, kernels::KvFormat::kF16, 2, 80, 80};
    std::vector<int32_t> sequences(static_cast<size_t>(n), 0);
    std::vector<int32_t> lengths;
    for (int32_t i = 0; i < n; ++i) lengths.push_back(100 + i);
    std::vector<float> first;
    for (const OpsUnit& unit : units) {
      KvStoreForTest store(*unit.attention, shape, {120}, 5);
      AttentionCase c(store, 10, sequences, lengths, 9);
      const std::vector<float> out = RunAttention(*unit.attention, &c);
      if (first.empty()) first = out;
      CAPTURE(unit.name, n);
      CHECK(NormalizedError(out, first) < 2e-6);
    }
  }
}

}  // namespace
}  // namespace minfer::testing
