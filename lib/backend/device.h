// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A processor that a model can run on. engine/backends.cc lists the kinds in order; each kind finds
// its devices. Thread-safe.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace minfer {

class HostMemory;
class Logger;
class ParallelRunner;

enum class DeviceKind : int32_t { kCpu = 0, kCuda = 1 };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;           // "AMD EPYC 9354"
  std::string level;          // CPU: instruction set in use; CUDA: "sm_90"
  uint64_t memory_total = 0;  // bytes
  uint64_t memory_free = 0;   // bytes at the time of the query
  int32_t processors = 0;     // CPUs this process may use, or multiprocessors
  int32_t capability = 0;     // CUDA: compute capability, 90 for 9.0
};

// What a context hands to its backend.
struct BackendOptions {
  ParallelRunner* runner = nullptr;    // CPU work; outlives the backend
  std::shared_ptr<HostMemory> memory;  // the one door for host memory, with its account
  const Logger* logger = nullptr;      // outlives the backend
  bool reference = false;              // scalar twins and float activations
  bool residual_activations = true;    // 15-bit activations where 8 cost the most
  bool attention_stripes = true;       // stripes of the cache as tasks, where rows are few
  bool deterministic = false;          // kernels never chosen by the number of rows
  bool cuda_graph = true;              // repeated splits recorded and replayed
  bool prefill_capture = true;         // those with rows of prompts too
  bool pinned_readback = true;         // results read back through pinned memory
  bool mmvq = true;                    // integer dots for few rows
  bool mmq = true;                     // integer tensor cores for 9 to 64 rows
  bool expert_mmq = true;              // integer tensor cores for products of experts
  bool fuse_experts = true;            // their gate, up and activation as one launch
  bool mmq_raw = true;                 // their bytes staged by cp.async
  bool small_m_gemm = true;            // tensor cores for few rows of F16 and BF16
  bool kq_mmvq = true;                 // the same for types of super-blocks
  bool mmvq_mma = true;                // the same on tensor cores
  int32_t decode_a_fuse = 2;           // few rows quantised where they are made: 0, 1, 2
  bool fuse_inputs = true;             // inputs, embeddings and RoPE table of a step as one launch
  bool fuse_add = true;                // a product and the addition after it as one launch
  bool fuse_norm = false;              // the norm of one short row by the product that reads it
  bool fuse_ffn = true;                // gate and up quantise their result for W_down
  bool fuse_rope = true;               // Q rotated by the launch that stores K
  bool fa_decode = true;               // tensor cores for attention of few rows
  bool fuse_combine = true;            // stripes of long rows added up by attention's launch
  bool fuse_tail = true;               // norms, rotation and store by attention's launch
  bool early_launch = true;            // kernels start while the one before them ends
  bool prefill_gemm = true;            // tensor cores for products of many rows
  bool decode_gemm = true;             // weights decoded to scratch before such products
  bool wgmma = true;                   // Hopper's own products of halves
  bool fa_prefill = true;              // tensor cores for attention of many rows
  int32_t cuda_tier = 0;               // kernels for this compute capability; 0: the device's own
  bool device_sampling = true;         // only said in the report: the context picks the way
  void* host_stream = nullptr;   // of the host, on this device: our work follows what it holds
  void* host_context = nullptr;  // of the host: has to be the device's primary one
  int32_t forced_isa = -1;       // kernels::Isa, -1: the best this processor runs
};

// Matrices that a store keeps in other layouts too, beside the stored one. Backends that have no
// use for a layout leave it out.
struct WeightCopies {
  struct HalfMember {
    std::string name;   // of the weight
    int64_t first = 0;  // its first row in the group's
  };
  // Matrices of the same k as halves, side by side, each rounded up to eight rows; or two, gate and
  // up, interleaved by eights.
  struct HalfGroup {
    std::vector<HalfMember> members;
    int64_t rows = 0;
    bool interleaved = false;
  };
  std::vector<HalfGroup> halves;
  bool expand_q6k = false;         // codes of Q6_K a byte each
  bool scale_q4k = false;          // scales of Q4_K multiplied out
  std::set<std::string> products;  // names that these two are for
};

struct WeightStoreOptions {
  std::shared_ptr<HostMemory> memory;
  const Logger* logger = nullptr;  // outlives the store
  WeightCopies copies;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  // The default KV format where the options name none.
  virtual KvFormat default_kv_format() const = 0;
  virtual StatusOr<std::shared_ptr<WeightStore>> CreateWeightStore(
      const WeightStoreOptions& options) const = 0;
  virtual StatusOr<std::unique_ptr<Backend>> CreateBackend(const BackendOptions& options) const = 0;
};

}  // namespace minfer
