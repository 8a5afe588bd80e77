// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What the micro-benchmarks of kernel families share: launches recorded in a graph, each over other
// memory than the one before it, and one line a case: us a launch, GB/s, TFLOP/s and the share of
// what the device allows. Launches follow one another as in a step, so a small kernel shows the
// time that a step gives it, its start and end included.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/common/kernel_status.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "tests/bench/cuda_limits.h"

namespace minfer::bench {

// What one launch has to move and to add up.
struct Cost {
  double bytes = 0;
  double flops = 0;
};

class CudaBench {
 public:
  // filter: only families whose name holds it.
  explicit CudaBench(std::string filter);

  // `launch(i)` enqueues launch i of many in stream().
  void Run(const std::string& family, const std::string& what, const Cost& cost,
           const std::function<kernels::KernelStatus(int64_t)>& launch);
  bool Wants(const std::string& family) const;

  kernels::cuda::KernelStream stream() const { return {stream_, true}; }
  cudaStream_t plain() const { return stream_; }

  // Piece `i` of large memory in turn, filled with numbers below 1; pieces of one size do not
  // overlap until all memory has been handed out. Not in the L2 when it holds several hundred MB.
  template <typename T>
  T* Piece(int64_t i, int64_t bytes) const {
    const int64_t step = (bytes + 255) / 256 * 256;
    return reinterpret_cast<T*>(arena_ + i % (kArenaBytes / step) * step);
  }
  // Memory of its own, which lives as long as the program.
  uint8_t* Allocate(int64_t bytes) const;
  int32_t* Upload(const std::vector<int32_t>& values) const;
  uint8_t* Pinned(int64_t bytes) const;

 private:
  static constexpr int64_t kArenaBytes = int64_t{4} << 30;

  std::string filter_;
  cudaStream_t stream_ = nullptr;
  uint8_t* arena_ = nullptr;
};

// The families, each in its file.
void RunVectorFamilies(CudaBench* bench);
void RunAttentionFamilies(CudaBench* bench);
void RunExpertFamily(CudaBench* bench);
void RunTransferFamilies(CudaBench* bench);

}  // namespace minfer::bench
