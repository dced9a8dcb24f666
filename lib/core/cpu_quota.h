// How many processors the control groups of this process allow it: a container's share of a large machine.
//
// Under a quota of 2 processors 64 threads are stopped for most of each period, and those that hold what the others
// wait for with them. Both versions of control groups are read: cpu.max of version 2, cpu.cfs_quota_us and
// cpu.cfs_period_us of version 1, of the process's own group and of all above it that can be seen.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace xf {

// The smallest quota, rounded up and at least 1; 0 when there is none or it can't be told. process: the folder with the
// files "cgroup" and "mountinfo". root stands before each mount point. Both are others than the defaults in tests.
int cpu_quota(const std::string &process = "/proc/self", const std::string &root = "");

}  // namespace xf
