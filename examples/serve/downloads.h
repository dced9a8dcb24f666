// Translated files that wait for their download, in memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace serve {

// Keeps files for half an hour. When they exceed the limit, the oldest are removed first.
class Downloads {
public:
    explicit Downloads(std::size_t limit) : limit_(limit) {}
    // Returns the name of the download: 128 random bits and the name of the file, so that it cannot be guessed.
    std::string add(std::string_view file_name, std::string content);
    // The content of a file; NULL if there is none.
    std::shared_ptr<const std::string> find(std::string_view name);

private:
    struct File {
        std::string name;
        std::shared_ptr<const std::string> content;
        std::chrono::steady_clock::time_point until;
    };
    void remove_old();

    std::size_t limit_, size_ = 0;
    std::mutex mutex_;
    std::deque<File> files_;
};

}  // namespace serve
