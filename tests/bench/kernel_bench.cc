// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Speed of the matrix product kernels on one thread, in processor time, so that a busy machine
// disturbs it little. Usage: kernel_bench [--isa NAME] [--type NAME] [--k K] [--rows ROWS]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_inputs.h"

namespace minfer::kernels {
namespace {

struct Options {
  std::string isa;
  std::string type;
  int64_t k = 1536;
  int64_t rows = 0;  // 0: as many as make 32 MiB of weights, more than the caches hold
};

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Shortest of several runs of at least a few milliseconds each.
double SecondsPerCall(const MatMulKernels& kernels, const MatMulArgs& args) {
  double best = 1e30;
  double spent = 0.0;
  for (int run = 0; run < 40 && spent < 0.4; ++run) {
    const double start = ThreadSeconds();
    kernels.matmul(args);
    const double seconds = ThreadSeconds() - start;
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

void Measure(const CpuKernels& unit, ElementType type, const Options& options) {
  const ElementTraits& traits = *FindElementTraits(type);
  const size_t row_bytes = static_cast<size_t>(options.k / traits.block_elements) *
                           static_cast<size_t>(traits.block_bytes);
  const int64_t rows =
      options.rows > 0 ? options.rows : static_cast<int64_t>((size_t{32} << 20) / row_bytes);
  const testing::WeightMatrix w = testing::RandomWeights(type, rows, options.k, 0, 1);
  for (int64_t m : {1, 2, 4, 8, 64}) {
    const std::vector<float> x = testing::Random(2).Values(static_cast<size_t>(m * options.k));
    const testing::ActivationRows a = testing::MakeActivations(*unit.matmul, type, x, m, options.k);
    std::vector<float> out;
    const double seconds = SecondsPerCall(*unit.matmul, testing::ArgsFor(w, a, m, out));
    const double bytes = static_cast<double>(rows) * static_cast<double>(row_bytes);
    const double operations = 2.0 * static_cast<double>(rows * options.k * m);
    std::printf("%-12s %-8s k=%-6lld rows=%-7lld m=%-3lld %8.3f ms  %7.2f GB/s  %8.1f GOP/s\n",
                unit.name, traits.name, static_cast<long long>(options.k),
                static_cast<long long>(rows), static_cast<long long>(m), seconds * 1e3,
                bytes / seconds * 1e-9, operations / seconds * 1e-9);
  }
}

}  // namespace
}  // namespace minfer::kernels

int main(int argc, char** argv) {
  minfer::kernels::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--isa") options.isa = argv[i + 1];
    if (name == "--type") options.type = argv[i + 1];
    if (name == "--k") options.k = std::atoll(argv[i + 1]);
    if (name == "--rows") options.rows = std::atoll(argv[i + 1]);
  }
  for (const minfer::kernels::CpuKernels* unit : minfer::kernels::testing::RunnableKernels()) {
    if (!options.isa.empty() && options.isa != unit->name) continue;
    for (minfer::ElementType type : minfer::kernels::testing::kDecodableTypes) {
      const minfer::ElementTraits& traits = *minfer::FindElementTraits(type);
      if (!options.type.empty() && options.type != traits.name) continue;
      if (options.k % traits.block_elements != 0) continue;
      minfer::kernels::Measure(*unit, type, options);
    }
  }
  return 0;
}
