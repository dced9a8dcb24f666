// cpu_quota() with simulated folders: both versions, parent groups, containers, and invalid files.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/process.h"

#include "core/thread_pool.h"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

namespace fs = std::filesystem;

// A temporary folder with /proc/self and /sys/fs/cgroup.
class System {
public:
    void write(const std::string &path, const std::string &text) const { root_.write(path.substr(1), text); }
    void groups(const std::string &text) const { write("/proc/self/cgroup", text); }
    void mounts(const std::string &text) const { write("/proc/self/mountinfo", text); }
    int quota() const { return xf::cpu_quota(root_ / "proc/self", root_.path()); }

private:
    const xf_test::TempFolder root_;
};

constexpr const char *kUnified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char *kOne = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace

XF_TEST(without_groups_there_is_no_quota) {
    const System system;
    CHECK_EQ(system.quota(), 0);
    system.mounts(kUnified);
    CHECK_EQ(system.quota(), 0);
    system.groups("0::/\n");
    CHECK_EQ(system.quota(), 0);
    system.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK_EQ(system.quota(), 0);
}

XF_TEST(version_2_is_rounded_up) {
    const System system;
    system.mounts(kUnified);
    system.groups("0::/\n");
    for (const auto &[text, expected] : {std::pair<const char *, int>{"200000 100000\n", 2},
                                         {"150000 100000\n", 2},
                                         {"1000 100000\n", 1},
                                         {"6400000 100000", 64},
                                         {"9223372036854775807 1\n", 0}}) {  // larger than any machine
        system.write("/sys/fs/cgroup/cpu.max", text);
        CHECK_EQ(system.quota(), expected);
    }
    for (const char *text : {"", "\n", "100000\n", "0 100000\n", "-1 100000\n", "100000 0\n", "12x 100000\n", "a b c\n",
                             "99999999999999999999 100000\n"}) {
        system.write("/sys/fs/cgroup/cpu.max", text);
        CHECK_EQ(system.quota(), 0);
    }
}

XF_TEST(the_smallest_of_a_group_and_those_above_counts) {
    const System system;
    system.mounts(kUnified);
    system.groups("0::/user.slice/job/part\n");
    system.write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    system.write("/sys/fs/cgroup/user.slice/job/cpu.max", "350000 100000\n");
    system.write("/sys/fs/cgroup/user.slice/job/part/cpu.max", "800000 100000\n");
    CHECK_EQ(system.quota(), 4);
    system.write("/sys/fs/cgroup/user.slice/job/part/cpu.max", "50000 50000\n");
    CHECK_EQ(system.quota(), 1);
    system.write("/sys/fs/cgroup/other/cpu.max", "1 100000\n");
    system.groups("0::/user.slice\n");
    CHECK_EQ(system.quota(), 0);
}

XF_TEST(version_1_has_two_files) {
    const System system;
    system.mounts(std::string("25 30 0:23 / /sys rw - sysfs sysfs rw\n") + kOne);
    system.groups("12:memory:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/a\n");
    const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/a";
    system.write(folder + "/b/cpu.cfs_quota_us", "-1\n");
    system.write(folder + "/b/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(system.quota(), 0);
    system.write(folder + "/cpu.cfs_quota_us", "250000\n");
    CHECK_EQ(system.quota(), 0);  // no period
    system.write(folder + "/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(system.quota(), 3);
    system.groups("12:memory:/a/b\n3:cpuset:/a/b\n");  // "cpu" must match as a word
    CHECK_EQ(system.quota(), 0);
}

// A container sees its own group as the root of the mount; or, with a namespace, everything as "/".
XF_TEST(a_container_quota_limits_the_threads) {
    const System system;
    system.mounts("33 31 0:30 /docker/12\\04034 /sys/fs/cgroup/c\\040pu ro - cgroup cgroup rw,cpu\n");
    system.write("/sys/fs/cgroup/c pu/cpu.cfs_quota_us", "200000\n");
    system.write("/sys/fs/cgroup/c pu/cpu.cfs_period_us", "100000\n");
    system.write("/sys/fs/cgroup/c pu/sub/cpu.cfs_quota_us", "100000\n");
    system.write("/sys/fs/cgroup/c pu/sub/cpu.cfs_period_us", "100000\n");
    system.groups("2:cpu:/docker/12 34\n");
    CHECK_EQ(system.quota(), 2);
    system.groups("2:cpu:/docker/12 34/sub\n");
    CHECK_EQ(system.quota(), 1);
    for (const char *elsewhere : {"2:cpu:/other\n", "2:cpu:/docker/12 345\n", "2:cpu:/../..\n"}) {
        system.groups(elsewhere);
        CHECK_EQ(system.quota(), 2);
    }
}

XF_TEST(malformed_lines_are_skipped) {
    const System system;
    system.mounts("\n-\n- - - -\n1 2 3\n30 23 0:26 / /x rw -\n30 23 0:26 / /x rw - cgroup2\n" +
                  std::string(20000, 'x') + "\n" + kUnified);
    system.groups("\n:\n::\n7\n0::/\n");
    system.write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    CHECK_EQ(system.quota(), 3);
}

XF_TEST(a_pool_takes_the_smaller_of_quota_and_affinity) {
    CHECK_EQ(xf::allowed_processors(8, 0), 8);
    CHECK_EQ(xf::allowed_processors(8, 2), 2);
    CHECK_EQ(xf::allowed_processors(2, 8), 2);
    CHECK_EQ(xf::allowed_processors(0, 0), 1);
    const int quota = xf::cpu_quota();
    CHECK(quota == 0 || xf::ThreadPool(0).workers() <= quota);
}

XF_TEST(files_with_nul_bytes_have_no_quota) {
    const System system;
    system.mounts(kUnified);
    system.groups(std::string("\0\n0::/\n", 7));
    system.write("/sys/fs/cgroup/cpu.max", std::string("\0 200000 100000\n", 16));
    CHECK_EQ(system.quota(), 0);
}
