// A temporary folder for a test, removed with its content.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>  // mkdtemp() on macOS

#include <filesystem>
#include <fstream>
#include <string>

namespace xf_test {

class TempFolder {
public:
    TempFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "xf_test_XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    TempFolder(const TempFolder &) = delete;
    TempFolder &operator=(const TempFolder &) = delete;
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string &path() const { return path_; }
    std::string operator/(const std::string &name) const { return path_ + "/" + name; }
    // Creates the folders of the file, too. Returns its path.
    std::string write(const std::string &name, const std::string &bytes) const {
        std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
        std::ofstream(*this / name, std::ios::binary) << bytes;
        return *this / name;
    }
    std::string folder(const std::string &name) const {
        std::filesystem::create_directory(*this / name);
        return *this / name;
    }

private:
    std::string path_;
};

}  // namespace xf_test
