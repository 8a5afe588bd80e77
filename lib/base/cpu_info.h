// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What this processor can run, and how much of the machine this process may use. Everything is
// read anew at each call and nothing is kept; no environment variable is looked at.
#pragma once

#include <cstdint>
#include <string>

namespace minfer {

namespace kernels {
enum class Isa : int32_t;  // kernels/cpu/cpu_kernels.h
}

// The registers that decide, as CPUID and XGETBV give them; made up in tests.
struct CpuidRegisters {
  uint32_t max_leaf = 0;
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;  // subleaf 1
  uint64_t xcr0 = 0;         // 0 where the system did not enable XGETBV
};

// A feature is true when the processor has it and the operating system saves its registers.
struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512vl = false;
  bool avx512vnni = false;
  bool avx512bf16 = false;
  bool amx_tile = false;  // AMX is reported, not used
  bool amx_int8 = false;
  bool amx_bf16 = false;
};

CpuFeatures FeaturesFrom(const CpuidRegisters& registers);

struct CpuInfo {
  CpuFeatures features;
  std::string brand;  // "AMD EPYC 9354"; "unknown" where the processor does not say
  // Bytes of the caches that CPU 0 uses; 0 where unknown.
  uint64_t l1d_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t l3_bytes = 0;

  // Whether the unit of an instruction set runs here.
  bool CanRun(kernels::Isa isa) const;
  // The highest set that runs: "generic", "avx2", "avx512", "avx512_vnni",
  // "avx512_bf16".
  const char* level() const;
};

CpuInfo DetectCpu();

// The CPUs that a cgroup quota leaves (v1 and v2, the tightest of the nested groups), or 0 where
// there is none. `root` is put before /proc and /sys, for tests.
double CgroupCpuQuota(const std::string& root = "");

// CPUs that this process may run on: its affinity mask, cut by the whole CPUs of the quota; at
// least 1.
int32_t AllowedCpuCount(const std::string& root = "");

// The threads to use when nobody says: one a physical core among the allowed CPUs, cut by the
// quota; at least 1.
int32_t DefaultThreadCount(const std::string& root = "");

}  // namespace minfer
