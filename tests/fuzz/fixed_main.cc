// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Runs a fuzz target without a fuzzer: NAME_fixed CORPUS ITERATIONS. Every file of the corpus once,
// then so many changed ones, the same at every run. It finds little that is new; it keeps the
// targets working, and what they promise true of the inputs that are known.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

using Input = std::vector<uint8_t>;

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }

 private:
  uint64_t state_;
};

std::vector<Input> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const std::filesystem::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// One change of the kinds that a fuzzer makes.
void Change(Input& input, const std::vector<Input>& corpus, Random& random) {
  static constexpr uint8_t kOdd[] = {0x00, 0xFF, 0x7F, 0x80, '{', '%', 0xF0, 1};
  if (input.empty()) input.push_back(0);
  const size_t at = random.Below(input.size());
  switch (random.Below(6)) {
    case 0:
      input[at] ^= static_cast<uint8_t>(1u << random.Below(8));
      break;
    case 1:
      input[at] = kOdd[random.Below(sizeof(kOdd))];
      break;
    case 2:  // a number of 8 bytes
      for (size_t i = at; i < std::min(at + 8, input.size()); ++i) input[i] = i == at ? 0xFE : 0xFF;
      break;
    case 3:
      input.resize(at);
      break;
    case 4:  // a piece of another input
    {
      const Input& other = corpus[random.Below(corpus.size())];
      if (other.empty()) break;
      const size_t from = random.Below(other.size());
      const size_t n = std::min<size_t>(other.size() - from, 1 + random.Below(64));
      const Input piece(other.begin() + static_cast<ptrdiff_t>(from),
                        other.begin() + static_cast<ptrdiff_t>(from + n));
      input.insert(input.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
      break;
    }
    default:  // take a piece away
      input.erase(input.begin() + static_cast<ptrdiff_t>(at),
                  input.begin() +
                      static_cast<ptrdiff_t>(std::min(input.size(), at + 1 + random.Below(16))));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS ITERATIONS\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = ReadCorpus(argv[1]);
  const size_t iterations = std::strtoul(argv[2], nullptr, 10);
  if (corpus.empty() || iterations == 0) {
    std::fprintf(stderr, "no input in %s\n", argv[1]);
    return 1;
  }
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  Random random(20260102);
  for (size_t i = 0; i < iterations; ++i) {
    Input input = corpus[random.Below(corpus.size())];
    for (size_t changes = 1 + random.Below(4); changes > 0; --changes) {
      Change(input, corpus, random);
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs of the corpus and %zu changed ones\n", corpus.size(), iterations);
  return 0;
}
