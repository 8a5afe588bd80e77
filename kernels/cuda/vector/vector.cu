// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/vector/vector.h"

#include <algorithm>

#include "kernels/cuda/arch/griddepcontrol.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/math.cuh"
#include "kernels/cuda/mmvq/quantized_row.cuh"
#include "kernels/cuda/vector/norm.cuh"
#include "kernels/cuda/vector/rope_pair.cuh"

namespace minfer::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <Elementwise op>
__device__ __forceinline__ float Element(float a, float b, float factor) {
  switch (op) {
    case Elementwise::kAdd:
    case Elementwise::kAddBias:
      return a + b;
    case Elementwise::kMul:
      return a * b;
    case Elementwise::kScale:
      return a * factor;
    case Elementwise::kSoftcap:
      return factor * tanhf(a / factor);
    case Elementwise::kSilu:
      return Silu(a);
    case Elementwise::kGelu:
      return GeluTanh(a);
    case Elementwise::kSiluMul:
      return Silu(a) * b;
    case Elementwise::kGeluMul:
      return GeluTanh(a) * b;
  }
  return a;
}

template <Elementwise op>
inline constexpr bool kIsBinary = op != Elementwise::kScale&& op != Elementwise::kSoftcap&& op !=
                                  Elementwise::kSilu&& op != Elementwise::kGelu;

template <Elementwise op>
__global__ void __launch_bounds__(kThreads) ElementwiseKernel(ElementwiseArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < args.count;
       i += step) {
    float b = 0.0f;
    if constexpr (kIsBinary<op>) b = args.b[op == Elementwise::kAddBias ? i % args.cols : i];
    args.out[i] = Element<op>(args.a[i], b, args.factor);
  }
}

template <Elementwise op>
KernelStatus LaunchElementwise(const ElementwiseArgs& args, KernelStream stream) {
  // Each thread takes a few values where there are many.
  const int64_t grid = std::min<int64_t>(CeilDiv(args.count, kThreads), 1 << 16);
  return Launch(ElementwiseKernel<op>, {dim3(static_cast<unsigned>(grid)), dim3(kThreads)}, stream,
                args);
}

constexpr int kNormThreads = 1024;
constexpr int kNormVectors = 4;  // of four values that a thread keeps in registers
static_assert(kMaxPlaneNorm == 4 * kNormThreads * kNormVectors);

__device__ float BlockSum(float x) {
  __shared__ float parts[kNormThreads / kWarp];
  const float sum = WarpSum(x);
  __syncthreads();  // the sum before may still be read
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = sum;
  __syncthreads();
  float total = 0.0f;
  for (int i = 0; i < static_cast<int>(blockDim.x) / kWarp; ++i) total += parts[i];
  return total;
}

// A block a row, read once, all loads in flight together. Rows of one vector a thread have a kernel
// with little code, which is read from far in every step. With planes the row is quantised too;
// rows past the last are zeros there.
template <bool kPlanes, int kVectors>
__global__ void __launch_bounds__(kNormThreads)
    RmsNormVectorKernel(const float4* x, const float4* weight, float4* out, int rows, int vectors,
                        float eps, PlaneTarget planes) {
  GridDependencyLaunch();
  float4 weights[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = threadIdx.x + v * blockDim.x;
    weights[v] = i < vectors ? weight[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  GridDependencyWait();
  const int row = static_cast<int>(blockIdx.x);
  const bool present = row < rows;
  const float4* from = x + static_cast<int64_t>(row) * vectors;
  float4 kept[kVectors];
  float sum = 0.0f;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = threadIdx.x + v * blockDim.x;
    kept[v] = present && i < vectors ? from[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) sum = AddSquares(sum, kept[v]);
  const float squares = BlockSum(sum);
  const float inverse = present ? NormFactor(squares, 4 * vectors, eps) : 0.0f;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    // The same for all threads: none is missing where lanes exchange values.
    if (v * static_cast<int>(blockDim.x) >= vectors) break;
    const int i = threadIdx.x + v * blockDim.x;
    const float4 value = Normed(kept[v], inverse, weights[v]);
    const bool inside = i < vectors;
    if (out != nullptr && present && inside) {
      out[static_cast<int64_t>(row) * vectors + i] = value;
    }
    if constexpr (kPlanes) {
      const int64_t width = 4 * static_cast<int64_t>(vectors);
      const float4 rest =
          QuantizeFour(value, i % 8, FindPlane(planes, width, row, 0, i / 8), inside);
      if (planes.residual) {
        QuantizeFour(rest, i % 8, FindPlane(planes, width, row, 1, i / 8), inside);
      }
    }
  }
}

// The same for rows of any length and place. A thread reads and writes the same values, so the
// output may be the input.
__global__ void __launch_bounds__(kThreads)
    RmsNormKernel(const float* x, const float* weight, float* out, int64_t width, float eps) {
  GridDependencyLaunch();
  GridDependencyWait();
  const float* row = x + static_cast<int64_t>(blockIdx.x) * width;
  float* to = out + static_cast<int64_t>(blockIdx.x) * width;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sum = fmaf(row[i], row[i], sum);
  const float mean = BlockSum(sum) / static_cast<float>(width);
  const float inverse = 1.0f / sqrtf(mean + eps);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    to[i] = row[i] * inverse * weight[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    LayerNormKernel(const float* x, const float* weight, const float* bias, float* out,
                    int64_t width, float eps) {
  GridDependencyLaunch();
  GridDependencyWait();
  const float* row = x + static_cast<int64_t>(blockIdx.x) * width;
  float* to = out + static_cast<int64_t>(blockIdx.x) * width;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sum += row[i];
  const float mean = BlockSum(sum) / static_cast<float>(width);
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    squares = fmaf(row[i] - mean, row[i] - mean, squares);
  }
  const float inverse = 1.0f / sqrtf(BlockSum(squares) / static_cast<float>(width) + eps);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float value = (row[i] - mean) * inverse * weight[i];
    to[i] = bias == nullptr ? value : value + bias[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    RopeTableKernel(const __grid_constant__ RopeAngles angles, const int32_t* positions,
                    int64_t count, float* out) {
  GridDependencyLaunch();
  GridDependencyWait();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  RopePair(angles, positions, i, out);
}

// A block a head. All values are read before the first is written, so the output may be the input.
__global__ void __launch_bounds__(kThreads) RopeKernel(RopeArgs args) {
  GridDependencyLaunch();
  GridDependencyWait();
  extern __shared__ float head[];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * args.head_dim;
  const float* cos_sin = args.cos_sin + blockIdx.x / args.n_heads * args.rope_dim;
  for (int d = threadIdx.x; d < args.head_dim; d += blockDim.x) head[d] = args.x[at + d];
  __syncthreads();
  for (int d = threadIdx.x; d < args.head_dim; d += blockDim.x) {
    args.out[at + d] = Rotated(head, cos_sin, d, args.rope_dim, args.neox);
  }
}

unsigned ThreadsFor(int64_t width) {
  return static_cast<unsigned>(std::clamp<int64_t>(CeilDiv(width, kWarp) * kWarp, kWarp, kThreads));
}

}  // namespace

KernelStatus RunElementwise(Elementwise op, const ElementwiseArgs& args, KernelStream stream) {
  if (args.count < 0 || (op == Elementwise::kAddBias && args.cols <= 0)) {
    return KernelStatus::kBadShape;
  }
  if (args.count == 0) return KernelStatus::kOk;
  switch (op) {
    case Elementwise::kAdd:
      return LaunchElementwise<Elementwise::kAdd>(args, stream);
    case Elementwise::kMul:
      return LaunchElementwise<Elementwise::kMul>(args, stream);
    case Elementwise::kAddBias:
      return LaunchElementwise<Elementwise::kAddBias>(args, stream);
    case Elementwise::kScale:
      return LaunchElementwise<Elementwise::kScale>(args, stream);
    case Elementwise::kSoftcap:
      return LaunchElementwise<Elementwise::kSoftcap>(args, stream);
    case Elementwise::kSilu:
      return LaunchElementwise<Elementwise::kSilu>(args, stream);
    case Elementwise::kGelu:
      return LaunchElementwise<Elementwise::kGelu>(args, stream);
    case Elementwise::kSiluMul:
      return LaunchElementwise<Elementwise::kSiluMul>(args, stream);
    case Elementwise::kGeluMul:
      return LaunchElementwise<Elementwise::kGeluMul>(args, stream);
  }
  return KernelStatus::kUnsupportedType;
}

KernelStatus RmsNorm(const float* x, const float* weight, float* out, int64_t rows, int64_t width,
                     float eps, KernelStream stream, const PlaneTarget& planes) {
  const bool quantises = planes.out != nullptr;
  if (rows < 0 || width <= 0 || rows > kMaxGridX || (quantises && width % 32 != 0)) {
    return KernelStatus::kBadShape;
  }
  if (rows == 0) return KernelStatus::kOk;
  const bool aligned = (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(weight) |
                        reinterpret_cast<uintptr_t>(out)) %
                           16 ==
                       0;
  if (aligned && width % 4 == 0 && width <= kMaxPlaneNorm) {
    const int64_t vectors = width / 4;
    const auto threads = static_cast<unsigned>(
        std::clamp<int64_t>(CeilDiv(vectors, kWarp) * kWarp, kWarp, kNormThreads));
    const int64_t blocks = quantises ? PlaneRows(planes, rows) : rows;
    const bool one = vectors <= kNormThreads;
    const auto planes_kernel =
        one ? RmsNormVectorKernel<true, 1> : RmsNormVectorKernel<true, kNormVectors>;
    const auto rows_kernel =
        one ? RmsNormVectorKernel<false, 1> : RmsNormVectorKernel<false, kNormVectors>;
    return Launch(quantises ? planes_kernel : rows_kernel,
                  {dim3(static_cast<unsigned>(blocks)), dim3(threads)}, stream,
                  reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(weight),
                  reinterpret_cast<float4*>(out), static_cast<int>(rows), static_cast<int>(vectors),
                  eps, planes);
  }
  if (out == nullptr) return KernelStatus::kBadShape;
  const KernelStatus status =
      Launch(RmsNormKernel, {dim3(static_cast<unsigned>(rows)), dim3(ThreadsFor(width))}, stream, x,
             weight, out, width, eps);
  if (status != KernelStatus::kOk || !quantises) return status;
  return QuantizeRows(out, rows, width, planes, stream);
}

KernelStatus LayerNorm(const float* x, const float* weight, const float* bias, float* out,
                       int64_t rows, int64_t width, float eps, KernelStream stream) {
  if (rows < 0 || width <= 0 || rows > kMaxGridX) return KernelStatus::kBadShape;
  if (rows == 0) return KernelStatus::kOk;
  return Launch(LayerNormKernel, {dim3(static_cast<unsigned>(rows)), dim3(ThreadsFor(width))},
                stream, x, weight, bias, out, width, eps);
}

KernelStatus RopeTable(const RopeAngles& angles, const int32_t* positions, int64_t rows, float* out,
                       KernelStream stream) {
  if (rows < 0 || angles.pairs <= 0 || angles.pairs > kMaxRopePairs) return KernelStatus::kBadShape;
  if (rows == 0) return KernelStatus::kOk;
  const int64_t count = rows * angles.pairs;
  const int64_t grid = CeilDiv(count, kThreads);
  if (grid > kMaxGridX) return KernelStatus::kBadShape;
  return Launch(RopeTableKernel, {dim3(static_cast<unsigned>(grid)), dim3(kThreads)}, stream,
                angles, positions, count, out);
}

KernelStatus Rope(const RopeArgs& args, KernelStream stream) {
  const int64_t heads = args.rows * args.n_heads;
  if (args.rows < 0 || args.n_heads <= 0 || args.head_dim <= 0 || args.head_dim > 8192 ||
      args.rope_dim % 2 != 0 || args.rope_dim > args.head_dim || heads > kMaxGridX) {
    return KernelStatus::kBadShape;
  }
  if (heads == 0) return KernelStatus::kOk;
  LaunchShape shape{dim3(static_cast<unsigned>(heads)), dim3(ThreadsFor(args.head_dim))};
  shape.shared_bytes = static_cast<size_t>(args.head_dim) * sizeof(float);
  return Launch(RopeKernel, shape, stream, args);
}

}  // namespace minfer::kernels::cuda
