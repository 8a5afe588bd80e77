// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// CgroupCpuQuota of cpu_info.h. /proc/self/cgroup names this process's group in each hierarchy, a
// line "id:controllers:path"; version 2 has the id 0 and no controllers. A group's limit applies to
// all below it, so every level up to the mount is read. Inside a container the path may be that of
// the host and absent here; the levels that exist are read, the mount itself always.
#include <algorithm>

#include "base/cpu_info.h"
#include "base/small_file.h"

namespace minfer {
namespace {

// Quota over period in CPUs, 0 for "max", -1 and anything unreadable.
double Ratio(int64_t quota, int64_t period) {
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0.0;
}

double QuotaOfV2(const std::string& folder) {  // "50000 100000" or "max 100000"
  const std::string text = ReadSmallFile(folder + "/cpu.max");
  const auto [quota, rest] = ParseLeadingInteger(text);
  return Ratio(quota, ParseLeadingInteger(rest).first);
}

double QuotaOfV1(const std::string& folder) {
  const std::string quota = ReadSmallFile(folder + "/cpu.cfs_quota_us");
  const std::string period = ReadSmallFile(folder + "/cpu.cfs_period_us");
  return Ratio(ParseLeadingInteger(quota).first, ParseLeadingInteger(period).first);
}

void Tighten(double quota, double* tightest) {
  if (quota > 0.0 && (*tightest == 0.0 || quota < *tightest)) *tightest = quota;
}

// The group's folder and all above it, the mount included.
double TightestUpward(const std::string& mount, std::string path,
                      double (*quota_of)(const std::string&)) {
  double tightest = 0.0;
  while (!path.empty() && path != "/") {
    Tighten(quota_of(mount + path), &tightest);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  Tighten(quota_of(mount), &tightest);
  return tightest;
}

bool HasCpuController(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

double QuotaOfLine(const std::string& root, std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return 0.0;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string path(line.substr(second + 1));
  const std::string mount = root + "/sys/fs/cgroup";
  if (controllers.empty()) {
    double quota = TightestUpward(mount, path, QuotaOfV2);
    Tighten(TightestUpward(mount + "/unified", path, QuotaOfV2), &quota);
    return quota;
  }
  if (!HasCpuController(controllers)) return 0.0;
  double quota = TightestUpward(mount + "/cpu", path, QuotaOfV1);
  Tighten(TightestUpward(mount + "/" + std::string(controllers), path, QuotaOfV1), &quota);
  return quota;
}

}  // namespace

double CgroupCpuQuota(const std::string& root) {
  const std::string groups = ReadSmallFile(root + "/proc/self/cgroup");
  double tightest = 0.0;
  std::string_view left = groups;
  while (!left.empty()) {
    const size_t end = std::min(left.find('\n'), left.size());
    Tighten(QuotaOfLine(root, left.substr(0, end)), &tightest);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return tightest;
}

}  // namespace minfer
