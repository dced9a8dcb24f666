// The CPU quota of this process's control groups, for example of a container.
//
// With a quota of 2 processors, 64 threads would be stopped for most of each period, and with them the threads that
// hold locks. Supports control groups version 2 (cpu.max) and version 1 (cpu.cfs_quota_us, cpu.cfs_period_us), for the
// group of the process and all visible parents.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace xf {

// Returns the smallest quota in processors, rounded up, at least 1; 0 if there is none or it is unknown. process: the
// folder with the files "cgroup" and "mountinfo". root: prefix of each mount point. Tests set both.
int cpu_quota(const std::string &process = "/proc/self", const std::string &root = "");

}  // namespace xf
