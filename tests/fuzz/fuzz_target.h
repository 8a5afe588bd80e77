// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What every fuzz target shares. A target is one function that takes one input; it is built twice:
// with libFuzzer (MINFER_FUZZ), and with fixed_main.cc as an ordinary test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Ends the program when a promise of the library is broken, so that the fuzzer keeps the input.
#define FUZZ_REQUIRE(condition)                                                            \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

namespace minfer::testing {

// Reads numbers off the front of an input; past its end all are 0.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  T Take() {
    T value{};
    const size_t n = sizeof(T) < size_ ? sizeof(T) : size_;
    if (n > 0) std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }
  // A number from 0 to n - 1.
  uint32_t Below(uint32_t n) { return Take<uint32_t>() % n; }
  bool empty() const { return size_ == 0; }
  // Up to `n` bytes.
  std::string_view Bytes(size_t n) {
    if (n > size_) n = size_;
    const std::string_view bytes(reinterpret_cast<const char*>(data_), n);
    data_ += n;
    size_ -= n;
    return bytes;
  }
  std::string_view Rest() { return Bytes(size_); }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace minfer::testing
