// Listing a folder; see folder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/folder.h"

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "core/os/file.h"

namespace xf {

std::vector<std::string> list_files(const std::string &path) {
    FileStatus status;
    if (path.find('\0') != std::string::npos) return {path};  // rejected by open_file_source()
    if (stat_file(path.c_str(), &status) != 0) fail_errno(errno, "open", path);
    if (status.kind != FileKind::kFolder) return {path};
    std::vector<std::string> names, files;
    if (list_folder(path.c_str(), "", &names) != 0) fail_errno(errno, "open", path);
    for (const std::string &name : names)
        if (name[0] != '.' && name[0] != '_') files.push_back(path + (path.back() == '/' ? "" : "/") + name);
    XF_CHECK(!files.empty(), XF_ERROR_DATA, "the folder '%s' has no files", path.c_str());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace xf
