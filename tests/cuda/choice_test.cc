// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The ladder of products without a device: the table of kernels/cuda/README.md is what the choice
// says, and levers lead from rung to rung.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "backend/cuda/product_choice.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

constexpr char kBegin[] = "<!-- made by tests/cuda/choice_test.cc -->\n";
constexpr char kEnd[] = "<!-- end -->\n";

std::string NameOf(const BackendOptions& options, const CudaTier& tier, const ProductShape& shape) {
  switch (ChooseProduct(options, tier, shape)) {
    case ProductKernel::kMmvq:
      return tier.async_copy ? "`mmvq` streamed" : "`mmvq` dp4a";
    case ProductKernel::kInteger:
      return tier.async_copy ? "`mmq`" : "`mmq` by registers";
    case ProductKernel::kHalves:
      return tier.hopper ? "`half_gemm`, `hopper_gemm`" : "`half_gemm`";
    case ProductKernel::kDecoding:
      return "`tensor_gemm`";
    case ProductKernel::kSmall:
      return "`small_gemm`";
    case ProductKernel::kFloat:
      return TakesFewRows(options, shape.rows) ? "`matvec`" : "`gemm`";
  }
  return "?";
}

// A row class: of a large matrix, and of others where they go elsewhere.
std::string CellOf(const BackendOptions& options, const CudaTier& tier, ElementType type,
                   int64_t rows) {
  const std::string large = NameOf(options, tier, {type, 8192, 4608, rows, false});
  const std::string others = NameOf(options, tier, {type, 2048, 4608, rows, false});
  return large == others ? large : large + "; below 4,096 rows of weights " + others;
}

std::string Ladder() {
  std::ostringstream table;
  table << "| from | weights | 1 to 8 rows | 9 to 31 | 32 to 64 | 65 to 128 | more | "
           "`deterministic` |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const int32_t capability : {70, 75, 80, 90}) {
    const CudaTier& tier = *FindCudaTier(capability);
    // Types that go the same ways share a row.
    std::vector<std::pair<std::string, std::string>> rows;
    for (const ElementType type : kernels::testing::kFastTypes) {
      std::string cells;
      for (const int64_t count : {8, 31, 64, 128, 129}) {
        cells += " " + CellOf({}, tier, type, count) + " |";
      }
      BackendOptions deterministic;
      deterministic.deterministic = true;
      cells += " " + CellOf(deterministic, tier, type, 8) + " |";
      auto same = rows.begin();
      while (same != rows.end() && same->second != cells) ++same;
      if (same == rows.end()) same = rows.insert(same, {"", cells});
      same->first += std::string(same->first.empty() ? "" : " ") + FindElementTraits(type)->name;
    }
    for (const auto& [types, cells] : rows) {
      table << "| " << capability / 10 << "." << capability % 10 << " | " << types << " |" << cells
            << "\n";
    }
  }
  return table.str();
}

TEST_CASE("CUDA choice: the table of kernels/cuda/README.md is what the choice says", "[cuda]") {
  std::ifstream file(std::string(MINFER_TEST_DATA) + "/../../kernels/cuda/README.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str();
  const size_t begin = readme.find(kBegin);
  REQUIRE(begin != std::string::npos);
  const size_t from = begin + sizeof(kBegin) - 1;
  const size_t end = readme.find(kEnd, from);
  REQUIRE(end != std::string::npos);
  CHECK(readme.substr(from, end - from) == "\n" + Ladder() + "\n");
}

TEST_CASE("CUDA choice: each lever leads to the next rung", "[cuda]") {
  const CudaTier& tier = *FindCudaTier(90);
  BackendOptions options;
  const auto at = [&](ElementType type, int64_t rows, bool residual = false) {
    return ChooseProduct(options, tier, {type, 8192, 4608, rows, residual});
  };
  CHECK(at(ElementType::kQ4_K, 65) == ProductKernel::kInteger);
  CHECK(at(ElementType::kQ4_K, 65, true) == ProductKernel::kHalves);
  options.kq_mmvq = false;
  CHECK(at(ElementType::kQ4_K, 1) == ProductKernel::kFloat);
  CHECK(at(ElementType::kQ4_0, 1) == ProductKernel::kMmvq);
  options.mmvq = false;
  CHECK(at(ElementType::kQ4_0, 1) == ProductKernel::kFloat);
  options.mmq = false;
  CHECK(at(ElementType::kQ4_K, 64) == ProductKernel::kDecoding);
  CHECK(at(ElementType::kQ4_K, 65) == ProductKernel::kHalves);
  options.decode_gemm = false;
  CHECK(at(ElementType::kQ4_K, 65) == ProductKernel::kDecoding);
  CHECK(at(ElementType::kF16, 31) == ProductKernel::kSmall);
  options.small_m_gemm = false;
  CHECK(at(ElementType::kF16, 31) == ProductKernel::kFloat);
  options.prefill_gemm = false;
  CHECK(at(ElementType::kQ4_K, 300) == ProductKernel::kFloat);
}

}  // namespace
}  // namespace minfer::testing
