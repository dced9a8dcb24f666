// Finds and loads backends.
//
// Searched, in this order: the folder "xformer" beside the file that holds this code, that file's own folder, and the
// folders of XF_BACKEND_PATH (not in set-user-ID programs). Never the current directory: not even when
// the library was loaded by a name relative to it. A plugin is opened RTLD_LOCAL
// and never closed: CUDA and others register work for process exit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

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

    // The usable backends that a name like "auto", "cpu", "cpu:openblas", "cuda:1" may mean, the highest score first;
    // at least one, and only one when the name has a number. *index is that number, or -1 for any device. Throws with
    // what is possible, and with the reason when what is named can't be had.
    std::vector<BackendEntry *> select(const std::string &device, int32_t *index);

private:
    void try_load(const std::string &path);
    std::string possible() const;
    std::deque<BackendEntry> entries_;  // never moved: xf_backend_info points to their strings
};

}  // namespace xf
