// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/mmq/mmq_copy.h"

#include <cstring>

#include "kernels/cuda/mmq/mmq_layout.h"
#include "kernels/quant/half.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kStoredQ6K = 210;
constexpr int kStoredQ4K = 144;

void PackQ6K(const uint8_t* from, uint8_t* to) {
  std::memset(to, 0, kMmqCopyQ6KBytes);
  for (int value = 0; value < kMmqUnit; ++value) {
    const int half = value / 128, group = value % 128 / 32, at = value % 32;
    const int low = from[64 * half + group % 2 * 32 + at] >> (group / 2 * 4) & 15;
    const int high = from[128 + 32 * half + at] >> (2 * group) & 3;
    to[value] = static_cast<uint8_t>(low + 16 * high - 32);
  }
  std::memcpy(to + 256, from + 192, 18);
}

void PackQ4K(const uint8_t* from, uint8_t* to) {
  std::memset(to, 0, kMmqCopyQ4KBytes);
  std::memcpy(to, from + 16, 128);
  uint16_t d = 0;
  std::memcpy(&d, from, 2);
  const uint8_t* packed = from + 4;
  for (int b = 0; b < 8; ++b) {
    const int i = b % 4;
    const int scale = b < 4 ? packed[i] & 63 : (packed[8 + i] & 15) | packed[i] >> 6 << 4;
    const int min = b < 4 ? packed[4 + i] & 63 : packed[8 + i] >> 4 | packed[4 + i] >> 6 << 4;
    const float scaled = HalfToFloat(d) * static_cast<float>(scale);
    std::memcpy(to + 128 + 4 * b, &scaled, 4);
    to[160 + b] = static_cast<uint8_t>(min);
  }
  std::memcpy(to + 168, from + 2, 2);
}

}  // namespace

int64_t MmqCopyRowBytes(ElementType type, int64_t k) {
  if (k <= 0 || k % kMmqUnit != 0) return 0;
  if (type == ElementType::kQ6_K) return k / kMmqUnit * kMmqCopyQ6KBytes;
  if (type == ElementType::kQ4_K) return k / kMmqUnit * kMmqCopyQ4KBytes;
  return 0;
}

KernelStatus PackMmqCopyRow(ElementType type, int64_t k, const uint8_t* from, uint8_t* to) {
  if (MmqCopyRowBytes(type, k) == 0) return KernelStatus::kUnsupportedType;
  const bool q6 = type == ElementType::kQ6_K;
  for (int64_t u = 0; u < k / kMmqUnit; ++u) {
    if (q6) {
      PackQ6K(from + u * kStoredQ6K, to + u * kMmqCopyQ6KBytes);
    } else {
      PackQ4K(from + u * kStoredQ4K, to + u * kMmqCopyQ4KBytes);
    }
  }
  return KernelStatus::kOk;
}

}  // namespace minfer::kernels::cuda
