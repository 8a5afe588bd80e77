// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/vector/rows.h"

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/decode.cuh"
#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kValues = 8;  // a thread decodes

template <ElementType type>
__global__ void __launch_bounds__(kThreads)
    GetRowsKernel(const uint8_t* table, int64_t table_rows, int64_t row_bytes, int64_t k,
                  const int32_t* ids, float* out) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int64_t i = (static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kValues;
  if (i >= k) return;
  const int64_t id = ids[blockIdx.x];
  float* to = out + static_cast<int64_t>(blockIdx.x) * k + i;
  float values[kValues];
  if (id >= 0 && id < table_rows) {
    DecodeEight<type>(table + id * row_bytes, k, i, values);
  } else {
#pragma unroll
    for (int v = 0; v < kValues; ++v) values[v] = __int_as_float(0x7fc00000);
  }
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
    if (i + v < k) to[v] = values[v];
  }
}

}  // namespace

KernelStatus GetRows(ElementType type, const void* table, int64_t table_rows, int64_t k,
                     const int32_t* ids, int64_t rows, float* out, KernelStream stream) {
  const int64_t row_bytes = WeightRowBytes(type, k);
  const int64_t grid_y = CeilDiv(k, kThreads * kValues);
  if (rows < 0 || row_bytes == 0 || rows > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (rows == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y)),
                          dim3(kThreads)};
  return ForType(type, [&](auto tag) {
    return Launch(GetRowsKernel<decltype(tag)::kType>, shape, stream,
                  static_cast<const uint8_t*>(table), table_rows, row_bytes, k, ids, out);
  });
}

KernelStatus SelectRows(const float* x, int64_t x_rows, int64_t cols, const int32_t* ids,
                        int64_t rows, float* out, KernelStream stream) {
  const int64_t grid_y = CeilDiv(cols, kThreads * kValues);
  if (rows < 0 || cols <= 0 || rows > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (rows == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y)),
                          dim3(kThreads)};
  return Launch(GetRowsKernel<ElementType::kF32>, shape, stream,
                reinterpret_cast<const uint8_t*>(x), x_rows,
                cols * static_cast<int64_t>(sizeof(float)), cols, ids, out);
}

}  // namespace minfer::kernels::cuda
