// Finds backends, and opens those that are wanted.
//
// Searched, in this order: the folders of "context.backend_path", those of XF_BACKEND_PATH (not in set-user-ID
// programs), the folder "xformer" beside the file that holds this code, and that file's own folder. Never the current
// directory: not even when the library was loaded by a name relative to it.
//
// Looking opens nothing: a plugin's constructors, and those of what it stands on, run only when a device is wanted that
// it may have. It is opened RTLD_LOCAL and never closed: CUDA and others register work for process exit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "backend/plugin_abi.h"
#include "comm/plugin.h"
#include "xformer/backend.h"
#include "xformer/comm.h"

namespace xf {

struct BackendEntry {
    std::string name, version, path, kind, reason;  // reason: why it can't be used; empty when it can or was not asked
    int32_t device_count = 0;
    int32_t state = XF_BACKEND_ABSENT;
    const xf_backend_v1 *ops = nullptr;  // null while it is not opened
    std::exception_ptr failure;          // when it could not be opened, or none of its devices
};

class Registry {
public:
    // The built-in backend and the plugins that are known by name. path: folders to look in first.
    explicit Registry(const std::string &path);

    const std::deque<BackendEntry> &entries() const { return entries_; }

    // What a name like "auto", "cpu", "cpu:openblas", "cuda:1" may mean, the best first.
    struct Wanted {
        std::vector<BackendEntry *> entries;
        std::string kind;    // of the device; empty for any
        int32_t index = -1;  // of the device; negative for any
    };
    // Throws XF_ERROR_NOT_FOUND, with what is possible, when it means nothing.
    Wanted want(const std::string &device);

    // Opens what was only found. False, with the reason in the entry, when it can't serve devices of the kind.
    bool open(BackendEntry *entry, const std::string &kind);

    // The ranks of this job by the plugin of that name, such as "mpi", within timeout seconds; the caller closes them.
    // Throws what the plugin says, XF_ERROR_NOT_FOUND when there is none.
    xf_comm open_comm(const std::string &name, double timeout) const;

    // What moves device memory between ranks, by the plugin of that name, such as "nccl". Throws as open_comm() does.
    const xf_lane_plugin *open_lane(const std::string &name) const;

    // Nothing of what was wanted can be had: what was refused first, or XF_ERROR_NOT_FOUND with the reasons.
    [[noreturn]] void fail_unavailable(const std::string &device, const Wanted &wanted) const;

private:
    BackendEntry *find(const std::string &name, const std::string &kind);
    std::string possible() const;
    // The first file of a plugin; empty when there is none.
    std::string path_of(const std::string &name) const;
    std::vector<std::string> folders_;
    std::deque<BackendEntry> entries_;  // never moved: xf_backend_info points to their strings
};

}  // namespace xf
