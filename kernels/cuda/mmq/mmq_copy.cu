// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// MMQ from the copies of mmq_copy.h.
#include "kernels/cuda/mmq/mmq_kernel.cuh"

namespace minfer::kernels::cuda {
template <>
struct MmqType<ElementType::kQ6_K, true> {
  static constexpr int kPitch = 304;
  static constexpr bool kHasMin = false;
  static constexpr bool kHalfScales = true;
  using Stager = MmqUnitStager<kMmqCopyQ6KBytes, kPitch>;

  struct Unit {
    const uint8_t* rows[2];
    int word;
    int first;
    float scale[2];

    __device__ void Load(const uint8_t* at, int lane, int half) {
      rows[0] = at + lane / 4 * kPitch;
      rows[1] = rows[0] + 8 * kPitch;
      word = lane % 4;
      first = 2 * half;
      scale[0] = HalfAt(rows[0] + 272);
      scale[1] = HalfAt(rows[1] + 272);
    }

    __device__ void Pair(int i, MmqCodes* codes) const {
      const int j = first + i;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const uint32_t scales = MmqWordAt(rows[r] + 256 + 4 * j);
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          codes->a[b][r] = MmqWordAt(rows[r] + 32 * (2 * j + b) + 4 * word);
          codes->a[b][2 + r] = MmqWordAt(rows[r] + 32 * (2 * j + b) + 16 + 4 * word);
          codes->scales[b][r] = scale[r];
          codes->half_scales[b][2 * r] = static_cast<int8_t>(scales >> (16 * b));
          codes->half_scales[b][2 * r + 1] = static_cast<int8_t>(scales >> (16 * b + 8));
        }
      }
    }
  };
};

template <>
struct MmqType<ElementType::kQ4_K, true> {
  static constexpr int kPitch = 176;
  static constexpr bool kHasMin = true;
  static constexpr bool kHalfScales = false;
  using Stager = MmqUnitStager<kMmqCopyQ4KBytes, kPitch>;

  struct Unit {
    const uint8_t* rows[2];
    int word;
    int first;
    float min[2];
    uint32_t mins[2];

    __device__ void Load(const uint8_t* at, int lane, int half) {
      rows[0] = at + lane / 4 * kPitch;
      rows[1] = rows[0] + 8 * kPitch;
      word = lane % 4;
      first = 2 * half;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        mins[r] = MmqWordAt(rows[r] + 160 + 4 * half);
        min[r] = -HalfAt(rows[r] + 168);
      }
    }

    __device__ void Pair(int i, MmqCodes* codes) const {
      const int j = first + i;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint32_t bytes = MmqWordAt(rows[r] + 32 * j + 16 * half + 4 * word);
          codes->a[0][2 * half + r] = bytes & 0x0f0f0f0fu;
          codes->a[1][2 * half + r] = (bytes >> 4) & 0x0f0f0f0fu;
        }
        const float2 scales = *reinterpret_cast<const float2*>(rows[r] + 128 + 8 * j);
        codes->scales[0][r] = scales.x;
        codes->scales[1][r] = scales.y;
      }
    }

    __device__ void Mins(int lane, float* out, float* factors) const {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        out[r] = static_cast<float>((mins[r] >> (8 * (lane % 4))) & 255u);
        factors[r] = min[r];
      }
    }
  };
};

KernelStatus MmqFromCopy(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                         KernelStream stream);

KernelStatus MmqFromCopy(ElementType type, const MmqKernelArgs& args, const MmqScratch& scratch,
                         KernelStream stream) {
  if (!scratch.raw) return KernelStatus::kUnsupportedType;
  return type == ElementType::kQ6_K
             ? RunStaged<ElementType::kQ6_K, true, true>(args, scratch.shared_opt_in_bytes, stream)
             : RunStaged<ElementType::kQ4_K, true, true>(args, scratch.shared_opt_in_bytes, stream);
}

}  // namespace minfer::kernels::cuda
