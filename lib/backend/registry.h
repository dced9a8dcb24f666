// Finds and loads backends.
//
// Searched, in this order: the folder "xformer" beside the file that holds this code, that file's own folder, and the
// folders of XF_BACKEND_PATH (not in set-user-ID programs). Never the current directory. A plugin is opened RTLD_LOCAL
// and never closed: CUDA and others register work for process exit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>

#include "backend/plugin_abi.h"

namespace xf {

struct BackendEntry {
    std::string name, version, path, kind, reason;  // reason: why it can't be used, empty when it can
    int32_t device_count = 0;
    const xf_backend_v1 *ops = nullptr;  // null when it could not be loaded
};

class Registry {
public:
    Registry();  // the built-in backend and the plugins that are found; never fails for a bad plugin

    const std::deque<BackendEntry> &entries() const { return entries_; }

    // Loads one file and lists it; throws when it is no usable plugin.
    const BackendEntry &load(const std::string &path);

    // The entry and device index of a name like "cpu", "cpu:openblas", "cuda:1"; throws with the reason when it
    // can't be had.
    const BackendEntry &select(const std::string &device, int32_t *index) const;

private:
    void try_load(const std::string &path);
    std::deque<BackendEntry> entries_;  // never moved: xf_backend_info points to their strings
};

}  // namespace xf
