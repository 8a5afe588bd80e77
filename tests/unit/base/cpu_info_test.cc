// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_info.h"

#include <sched.h>

#include <filesystem>
#include <thread>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

using kernels::Isa;
namespace fs = std::filesystem;

// A processor that has everything, under a system that saves everything.
CpuidRegisters Everything() {
  CpuidRegisters r;
  r.max_leaf = 0x20;
  r.leaf1_ecx = ~0u;
  r.leaf7_ebx = ~0u;
  r.leaf7_ecx = ~0u;
  r.leaf7_edx = ~0u;
  r.leaf7_1_eax = ~0u;
  r.xcr0 = 0x600e7;
  return r;
}

bool Runs(const CpuidRegisters& registers, Isa isa) {
  CpuInfo info;
  info.features = FeaturesFrom(registers);
  return info.CanRun(isa);
}

TEST_CASE("CpuInfo: G10 a unit needs its instructions and the system's support", "[base][G10]") {
  CHECK(Runs(Everything(), Isa::kAvx512Vnni));
  CHECK(Runs(Everything(), Isa::kAvx512Bf16));
  CpuidRegisters r = Everything();
  r.xcr0 = 0x7;  // AVX state only
  CHECK(Runs(r, Isa::kAvx2));
  CHECK(!Runs(r, Isa::kAvx512));
  CHECK(!Runs(r, Isa::kAvx512Vnni));
  CHECK(!Runs(r, Isa::kAvx512Bf16));
  CHECK(!FeaturesFrom(r).amx_tile);
  r.xcr0 = 0x3;  // SSE state only
  CHECK(!Runs(r, Isa::kAvx2));
  r.xcr0 = 0;  // XGETBV is not enabled
  CHECK(!Runs(r, Isa::kAvx2));
  CHECK(Runs(r, Isa::kGeneric));
  r = Everything();
  r.leaf1_ecx &= ~(1u << 12);  // no fma
  CHECK(!Runs(r, Isa::kAvx2));
  r = Everything();
  r.leaf1_ecx &= ~(1u << 29);  // no f16c
  CHECK(!Runs(r, Isa::kAvx2));
  r = Everything();
  r.leaf7_ecx &= ~(1u << 11);  // no VNNI
  CHECK(Runs(r, Isa::kAvx512));
  CHECK(!Runs(r, Isa::kAvx512Vnni));
  CHECK(!Runs(r, Isa::kAvx512Bf16));
  r = Everything();
  r.leaf7_1_eax = 0;  // no BF16
  CHECK(Runs(r, Isa::kAvx512Vnni));
  CHECK(!Runs(r, Isa::kAvx512Bf16));
  r = Everything();
  r.leaf7_ebx &= ~(1u << 30);  // F without BW, as the first of its kind
  CHECK(!Runs(r, Isa::kAvx512));
  r = Everything();
  r.max_leaf = 6;
  CHECK(!Runs(r, Isa::kAvx2));
  r = Everything();
  r.xcr0 = 0xe7;  // AMX registers are not saved
  CHECK(!FeaturesFrom(r).amx_tile);
  CHECK(FeaturesFrom(Everything()).amx_int8);
}

TEST_CASE("CpuInfo: this processor, as the compiler's runtime sees it", "[base][G10]") {
  const CpuInfo info = DetectCpu();
  CHECK(!info.brand.empty());
  CHECK(info.CanRun(Isa::kGeneric));
#if defined(__x86_64__)
  CHECK(info.features.avx2 == (__builtin_cpu_supports("avx2") != 0));
  CHECK(info.features.fma == (__builtin_cpu_supports("fma") != 0));
  CHECK(info.features.avx512f == (__builtin_cpu_supports("avx512f") != 0));
  CHECK(info.features.avx512vl == (__builtin_cpu_supports("avx512vl") != 0));
  CHECK(info.features.avx512vnni == (__builtin_cpu_supports("avx512vnni") != 0));
  CHECK(info.features.avx512bf16 == (__builtin_cpu_supports("avx512bf16") != 0));
#endif
  CHECK(std::string(info.level()).size() > 3);
}

// A folder with made up /proc and /sys files.
class FakeRoot {
 public:
  FakeRoot() : root_(testing::MakeTempDir("cpu_info")) {}
  ~FakeRoot() { fs::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    testing::WriteFile(root_ + path, text);
  }
  const std::string& path() const { return root_; }

 private:
  std::string root_;
};

TEST_CASE("CpuInfo: G11 the quota of cgroup version 2, the tightest level", "[base][G11]") {
  FakeRoot root;
  CHECK(CgroupCpuQuota(root.path()) == 0.0);
  root.Put("/proc/self/cgroup", "0::/user.slice/job\n");
  CHECK(CgroupCpuQuota(root.path()) == 0.0);
  root.Put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 0.0);
  root.Put("/sys/fs/cgroup/user.slice/job/cpu.max", "350000 100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 3.5);
  root.Put("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 1.5);
  CHECK(AllowedCpuCount(root.path()) == 1);
}

TEST_CASE("CpuInfo: G11 a quota of half a CPU in a container gives one thread", "[base][G11]") {
  FakeRoot root;
  // The path is the host's and absent inside; the limit stands at the mount.
  root.Put("/proc/self/cgroup", "0::/docker/4242\n");
  root.Put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 0.5);
  CHECK(AllowedCpuCount(root.path()) == 1);
  CHECK(DefaultThreadCount(root.path()) == 1);
}

TEST_CASE("CpuInfo: G11 the quota of cgroup version 1", "[base][G11]") {
  FakeRoot root;
  root.Put("/proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a/b\n3:cpuset:/a\n");
  root.Put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
  root.Put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 0.0);
  root.Put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
  root.Put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 2.0);
}

TEST_CASE("CpuInfo: G11 broken cgroup files mean no quota", "[base][G11]") {
  FakeRoot root;
  root.Put("/proc/self/cgroup", "nonsense\n::\n0::\n0::/x\n");
  root.Put("/sys/fs/cgroup/x/cpu.max", "-5 0\n");
  root.Put("/sys/fs/cgroup/cpu.max", "99999999999999999999 100000\n");
  CHECK(CgroupCpuQuota(root.path()) == 0.0);
}

TEST_CASE("CpuInfo: G11 the affinity mask counts", "[base][G11]") {
  FakeRoot empty;
  const int32_t before = AllowedCpuCount(empty.path());
  CHECK(before >= 1);
  int32_t one = 0;
  std::thread([&] {  // a thread of its own, so that the mask of the test stays
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    bool kept = false;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &set)) continue;
      if (kept) CPU_CLR(cpu, &set);
      kept = true;
    }
    sched_setaffinity(0, sizeof(set), &set);
    one = AllowedCpuCount(empty.path());
  })
      .join();
  CHECK(one == 1);
}

TEST_CASE("CpuInfo: the default is one thread a physical core", "[base]") {
  FakeRoot root;
  const int32_t cpus = AllowedCpuCount(root.path());
  for (int32_t cpu = 0; cpu < 256; ++cpu) {  // all CPUs are threads of one core
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.Put(folder + "core_id", "0\n");
    root.Put(folder + "physical_package_id", "0\n");
  }
  CHECK(DefaultThreadCount(root.path()) == 1);
  FakeRoot silent;
  CHECK(DefaultThreadCount(silent.path()) == cpus);
}

}  // namespace
}  // namespace minfer
