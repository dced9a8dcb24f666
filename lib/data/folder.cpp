// See folder.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/folder.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/error.h"

namespace xf {

std::vector<std::string> files_of(const std::string &path) {
    struct stat info;
    if (path.find('\0') != std::string::npos) return {path};  // which is refused
    if (::stat(path.c_str(), &info) != 0) fail_errno(errno, "open", path);
    if (!S_ISDIR(info.st_mode)) return {path};
    const std::unique_ptr<DIR, int (*)(DIR *)> folder(::opendir(path.c_str()),
                                                      [](DIR *open) { return ::closedir(open); });
    if (folder == nullptr) fail_errno(errno, "open", path);
    std::vector<std::string> files;
    for (;;) {
        errno = 0;
        const dirent *const entry = ::readdir(folder.get());
        if (entry == nullptr && errno != 0) fail_errno(errno, "read", path);
        if (entry == nullptr) break;
        const char *const name = entry->d_name;
        if (name[0] != '.' && name[0] != '_') files.push_back(path + (path.back() == '/' ? "" : "/") + name);
    }
    XF_CHECK(!files.empty(), XF_ERROR_DATA, "the folder '%s' has no files", path.c_str());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace xf
