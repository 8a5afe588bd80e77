// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/vector/rows.h"

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/for_type.h"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/row_layout.h"
#include "kernels/cuda/vector/get_row.cuh"

namespace minfer::kernels::cuda {
namespace {

template <ElementType type>
__global__ void __launch_bounds__(kRowThreads)
    GetRowsKernel(const RowTable table, const int32_t* ids, float* out) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int64_t i = (static_cast<int64_t>(blockIdx.y) * kRowThreads + threadIdx.x) * kRowValues;
  GetRowValues<type>(table, ids[blockIdx.x], i, out + static_cast<int64_t>(blockIdx.x) * table.k);
}

}  // namespace

KernelStatus GetRows(ElementType type, const void* table, int64_t table_rows, int64_t k,
                     const int32_t* ids, int64_t rows, float* out, KernelStream stream) {
  const int64_t row_bytes = WeightRowBytes(type, k);
  const int64_t grid_y = CeilDiv(k, kRowThreads * kRowValues);
  if (rows < 0 || row_bytes == 0 || rows > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (rows == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y)),
                          dim3(kRowThreads)};
  return ForType(type, [&](auto tag) {
    return Launch(GetRowsKernel<decltype(tag)::kType>, shape, stream,
                  RowTable{static_cast<const uint8_t*>(table), table_rows, row_bytes, k}, ids, out);
  });
}

KernelStatus SelectRows(const float* x, int64_t x_rows, int64_t cols, const int32_t* ids,
                        int64_t rows, float* out, KernelStream stream) {
  const int64_t grid_y = CeilDiv(cols, kRowThreads * kRowValues);
  if (rows < 0 || cols <= 0 || rows > kMaxGridX || grid_y > kMaxGridYz) {
    return KernelStatus::kBadShape;
  }
  if (rows == 0) return KernelStatus::kOk;
  const LaunchShape shape{dim3(static_cast<unsigned>(rows), static_cast<unsigned>(grid_y)),
                          dim3(kRowThreads)};
  return Launch(GetRowsKernel<ElementType::kF32>, shape, stream,
                RowTable{reinterpret_cast<const uint8_t*>(x), x_rows,
                         cols * static_cast<int64_t>(sizeof(float)), cols},
                ids, out);
}

}  // namespace minfer::kernels::cuda
