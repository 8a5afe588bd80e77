// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "base/small_file.h"
#include "base/str_cat.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace minfer {
namespace {

constexpr uint64_t kXcr0Avx = 0x6;      // SSE and AVX state
constexpr uint64_t kXcr0Avx512 = 0xe6;  // and opmask, upper halves, upper registers
constexpr uint64_t kXcr0Amx = 0x60000;  // tile configuration and tile data
constexpr uint32_t kLeaf1Osxsave = 1u << 27;

bool Bit(uint32_t x, int bit) { return (x >> bit & 1u) != 0; }

#if defined(__x86_64__)
CpuidRegisters ReadRegisters() {
  CpuidRegisters r;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  r.max_leaf = __get_cpuid_max(0, nullptr);
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) r.leaf1_ecx = c;
  if (r.max_leaf >= 7 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    r.leaf7_ebx = b;
    r.leaf7_ecx = c;
    r.leaf7_edx = d;
    const uint32_t subleaves = a;
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) r.leaf7_1_eax = a;
  }
  if ((r.leaf1_ecx & kLeaf1Osxsave) != 0) {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    r.xcr0 = uint64_t{high} << 32 | low;
  }
  return r;
}

std::string ReadBrand() {
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t* w = words + 4 * i;
    if (__get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3]) == 0) return "unknown";
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  std::string brand = text;
  while (!brand.empty() && brand.back() == ' ') brand.pop_back();
  brand.erase(0, brand.find_first_not_of(' '));
  return brand.empty() ? "unknown" : brand;
}
#else
CpuidRegisters ReadRegisters() { return {}; }
std::string ReadBrand() { return "unknown"; }
#endif

constexpr char kCpuFolder[] = "/sys/devices/system/cpu/cpu";

// "32K" and "16M" in bytes.
uint64_t CacheBytes(const std::string& text) {
  const auto [value, rest] = ParseLeadingInteger(text);
  const char unit = rest.empty() ? ' ' : rest[0];
  const uint64_t scale = unit == 'K' ? 1u << 10 : unit == 'M' ? 1u << 20 : 1u;
  return value > 0 ? static_cast<uint64_t>(value) * scale : 0;
}

void ReadCaches(CpuInfo* info) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = kCpuFolder + std::string("0/cache/index") + std::to_string(index);
    const std::string level = ReadSmallFile(folder + "/level");
    if (level.empty()) return;
    const std::string type = ReadSmallFile(folder + "/type");
    const uint64_t bytes = CacheBytes(ReadSmallFile(folder + "/size"));
    if (type.starts_with("Instruction")) continue;
    if (level[0] == '1') info->l1d_bytes = bytes;
    if (level[0] == '2') info->l2_bytes = bytes;
    if (level[0] == '3') info->l3_bytes = bytes;
  }
}

// The CPUs of the affinity mask; empty where the system does not say.
std::vector<int> AffinityCpus() {
  for (int capacity = CPU_SETSIZE; capacity <= 1 << 16; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) return {};
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    CPU_ZERO_S(bytes, set);
    std::vector<int> cpus;
    const bool read = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; read && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (read) return cpus;
  }
  return {};
}

// Physical cores among the CPUs; each CPU of unknown place counts as one.
int32_t PhysicalCores(const std::vector<int>& cpus, const std::string& root) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string folder = StrCat(root, kCpuFolder, cpu, "/topology/");
    const std::string core = ReadSmallFile(StrCat(folder, "core_id"));
    cores.insert(core.empty()
                     ? StrCat("cpu", cpu)
                     : StrCat(ReadSmallFile(StrCat(folder, "physical_package_id")), "/", core));
  }
  return static_cast<int32_t>(cores.size());
}

int32_t CutByQuota(int32_t cpus, double quota) {
  if (quota > 0.0 && quota < cpus) cpus = static_cast<int32_t>(quota);
  return std::max(1, cpus);
}

}  // namespace

CpuFeatures FeaturesFrom(const CpuidRegisters& r) {
  CpuFeatures f;
  if (r.max_leaf < 7 || (r.xcr0 & kXcr0Avx) != kXcr0Avx || !Bit(r.leaf1_ecx, 28)) return f;
  f.fma = Bit(r.leaf1_ecx, 12);
  f.f16c = Bit(r.leaf1_ecx, 29);
  f.avx2 = Bit(r.leaf7_ebx, 5);
  if ((r.xcr0 & kXcr0Avx512) == kXcr0Avx512) {
    f.avx512f = Bit(r.leaf7_ebx, 16);
    f.avx512bw = Bit(r.leaf7_ebx, 30);
    f.avx512vl = Bit(r.leaf7_ebx, 31);
    f.avx512vnni = Bit(r.leaf7_ecx, 11);
    f.avx512bf16 = Bit(r.leaf7_1_eax, 5);
  }
  if ((r.xcr0 & kXcr0Amx) == kXcr0Amx) {
    f.amx_bf16 = Bit(r.leaf7_edx, 22);
    f.amx_tile = Bit(r.leaf7_edx, 24);
    f.amx_int8 = Bit(r.leaf7_edx, 25);
  }
  return f;
}

bool CpuInfo::CanRun(kernels::Isa isa) const {
  const bool avx2 = features.avx2 && features.fma && features.f16c;
  const bool avx512 = avx2 && features.avx512f && features.avx512bw && features.avx512vl;
  switch (static_cast<int32_t>(isa)) {  // the numbers of kernels::Isa
    case 0:
      return true;
    case 1:
      return avx2;
    case 2:
      return avx512;
    case 3:
      return avx512 && features.avx512vnni;
    case 4:
      return avx512 && features.avx512vnni && features.avx512bf16;
    default:
      return false;
  }
}

const char* CpuInfo::level() const {
  if (CanRun(static_cast<kernels::Isa>(4))) return "avx512_bf16";
  if (CanRun(static_cast<kernels::Isa>(3))) return "avx512_vnni";
  if (CanRun(static_cast<kernels::Isa>(2))) return "avx512";
  return CanRun(static_cast<kernels::Isa>(1)) ? "avx2" : "generic";
}

CpuInfo DetectCpu() {
  CpuInfo info;
  info.features = FeaturesFrom(ReadRegisters());
  info.brand = ReadBrand();
  ReadCaches(&info);
  return info;
}

int32_t AllowedCpuCount(const std::string& root) {
  return CutByQuota(static_cast<int32_t>(AffinityCpus().size()), CgroupCpuQuota(root));
}

int32_t DefaultThreadCount(const std::string& root) {
  return CutByQuota(PhysicalCores(AffinityCpus(), root), CgroupCpuQuota(root));
}

}  // namespace minfer
