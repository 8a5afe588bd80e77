// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The best entries of rows of logits against a plain sort: ties, infinities, NaN, rows shorter than
// what is wanted of them, columns beyond the last token.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/conformance/checks.h"
#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

struct TopCase {
  int64_t rows;
  int64_t stride;
  int64_t count;
  int32_t k;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Few different values, so that most have equals; a row in three has a NaN, one is all -infinity.
std::vector<float> Rows(const TopCase& c, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(c.rows * c.stride));
  for (float& value : x) {
    value = static_cast<float>(static_cast<int32_t>(random() % 401) - 200) * 0.125f;
    if (random() % 50 == 0) value = random() % 2 == 0 ? -kInfinity : -0.0f;
    if (random() % 5000 == 0) value = kInfinity;
  }
  for (int64_t r = 0; r < c.rows; ++r) {
    float* row = x.data() + r * c.stride;
    if (r % 3 == 1) {
      row[static_cast<int64_t>(random()) % c.count] = NAN;
      row[c.count - 1] = -NAN;
    }
    if (r % 3 == 2) std::fill(row, row + c.count, -kInfinity);
    // Never looked at.
    std::fill(row + c.count, row + c.stride, kInfinity);
  }
  return x;
}

std::vector<TopEntry> Wanted(const TopCase& c, const std::vector<float>& x) {
  std::vector<TopEntry> wanted;
  for (int64_t r = 0; r < c.rows; ++r) {
    std::vector<TopEntry> row;
    for (int64_t i = 0; i < c.count; ++i) {
      row.push_back({static_cast<int32_t>(i), x[static_cast<size_t>(r * c.stride + i)]});
    }
    std::stable_sort(row.begin(), row.end(), [](const TopEntry& a, const TopEntry& b) {
      if (std::isnan(a.value) || std::isnan(b.value)) {
        return std::isnan(a.value) && !std::isnan(b.value);
      }
      return a.value > b.value;
    });
    row.resize(static_cast<size_t>(c.k), {-1, -kInfinity});
    wanted.insert(wanted.end(), row.begin(), row.end());
  }
  return wanted;
}

bool SameEntry(const TopEntry& a, const TopEntry& b) {
  return a.index == b.index && (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
}

Status FindTop(Backend* backend, const TopCase& c, const std::vector<float>& x,
               std::vector<TopEntry>* out) {
  const uint64_t bytes = x.size() * sizeof(float);
  MF_ASSIGN_OR_RETURN(const BufferId rows, backend->Allocate(bytes, MemoryClass::kActivations));
  const uint64_t top_bytes = backend->TopBytes(c.rows, c.count);
  MF_ASSIGN_OR_RETURN(const BufferId top, backend->Allocate(top_bytes, MemoryClass::kScratch));
  MF_RETURN_IF_ERROR(backend->Write({rows, 0, bytes}, x.data()));
  out->resize(static_cast<size_t>(c.rows * c.k));
  MF_RETURN_IF_ERROR(backend->TopEntries({{rows, 0, bytes}, c.rows, c.stride, c.count, c.k},
                                         {top, 0, top_bytes}, out->data()));
  MF_RETURN_IF_ERROR(backend->Synchronize());
  backend->Recycle(rows);
  backend->Recycle(top);
  return OkStatus();
}

}  // namespace

Faults CheckTopEntries(const Factory& factory) {
  Faults faults;
  const std::unique_ptr<Backend> backend =
      factory.make_backend(HostMemory::CreateDefault(std::make_shared<MemoryAccount>()));
  if (backend->TopBytes(1, 1) == 0) return faults;
  const TopCase cases[] = {{1, 1, 1, 1},           {3, 7, 5, 64},           {4, 64, 64, 64},
                           {5, 4096, 4096, 1},     {5, 4100, 4097, 41},     {3, 8192, 8191, 64},
                           {2, 152064, 151936, 1}, {2, 152064, 151936, 41}, {65, 300, 300, 2}};
  for (const TopCase& c : cases) {
    const std::vector<float> x = Rows(c, static_cast<uint32_t>(c.count + c.k));
    const std::vector<TopEntry> wanted = Wanted(c, x);
    std::vector<TopEntry> got;
    const std::string where = factory.name + ": best " + std::to_string(c.k) + " of " +
                              std::to_string(c.count) + " entries, " + std::to_string(c.rows) +
                              " rows";
    ExpectOk(FindTop(backend.get(), c, x, &got), where, &faults);
    Expect(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(), SameEntry), where,
           &faults);
  }
  std::vector<TopEntry> none;
  ExpectCode(FindTop(backend.get(), {1, 9, 9, kMaxTopEntries + 1}, std::vector<float>(9), &none),
             StatusCode::kInternal, factory.name + ": more entries than can be found", &faults);
  return faults;
}

}  // namespace minfer::testing
