// Finds backends and opens the requested ones.
//
// The search order is: the folders of "context.backend_path", those of XF_BACKEND_PATH (not in set-user-ID programs),
// the folder "xformer" next to the file that contains this code, and the folder of that file. The current directory is
// never searched, even if the library was loaded by a relative name.
//
// Finding a plugin does not load it. Its constructors, and those of its dependencies, run only if a device is requested
// that it may have. A plugin is loaded with RTLD_LOCAL and never unloaded, because CUDA and others register exit
// handlers.
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
#include "xformer/experimental.h"

namespace xf {

struct BackendEntry {
    std::string name, version, path, kind, reason;  // reason: why it is unusable, or empty
    int32_t device_count = 0;
    int32_t state = XF_BACKEND_ABSENT;
    const xf_backend_v1 *ops = nullptr;  // null until it is loaded
    std::exception_ptr failure;          // if it or its devices could not be opened
};

class Registry {
public:
    // Lists the built-in backend and the plugins that are known by name. path: the folders to search first; given_only:
    // no other folder is searched.
    explicit Registry(const std::string &path, bool given_only = false);

    const std::deque<BackendEntry> &entries() const { return entries_; }

    // The backends that match a device name such as "auto", "cpu", "cpu:openblas", or "cuda:1", best first.
    struct Wanted {
        std::vector<BackendEntry *> entries;
        std::string kind;    // of the device; empty for any
        int32_t index = -1;  // of the device; negative for any
    };
    // Throws XF_ERROR_NOT_FOUND, with the available names, if the name matches nothing.
    Wanted want(const std::string &device);

    // Loads the backend if necessary. Returns false, with the reason in the entry, if it has no devices of the kind.
    bool open(BackendEntry *entry, const std::string &kind);

    // Connects the ranks of this job with the plugin of that name, such as "mpi", within the limits. The caller
    // closes the result. Throws the plugin's error, or XF_ERROR_NOT_FOUND if there is no such plugin.
    xf_comm open_comm(const std::string &name, const xf_comm_limits &limits) const;

    // What moves device memory between ranks, by the plugin of that name, such as "nccl". Throws as open_comm() does.
    const xf_transport_plugin *open_transport(const std::string &name) const;

    // Throws the first failure of a wanted backend, or XF_ERROR_NOT_FOUND with all reasons.
    [[noreturn]] void fail_unavailable(const std::string &device, const Wanted &wanted) const;

private:
    BackendEntry *find(const std::string &name, const std::string &kind);
    std::string possible() const;
    // The path of a plugin; empty if it is not found.
    std::string path_of(const std::string &name) const;
    std::string path_of_comm(const std::string &name) const;  // throws if it is not found
    std::vector<std::string> folders_;
    std::deque<BackendEntry> entries_;  // a deque, because xf_backend_info points to the strings
};

}  // namespace xf
