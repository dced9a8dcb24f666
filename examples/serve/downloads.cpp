// SPDX-License-Identifier: Apache-2.0
#include "downloads.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace serve {

std::string Downloads::add(std::string_view file_name, std::string content) {
    std::array<std::uint64_t, 2> random{};
    if (getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random))
        throw std::runtime_error("the system has no random numbers");
    char id[33];
    std::snprintf(id, sizeof id, "%016llx%016llx", static_cast<unsigned long long>(random[0]),
                  static_cast<unsigned long long>(random[1]));
    // Only characters that need no escape in a URL or a header.
    std::string name = std::string(id) + ".";
    for (const char c : file_name.substr(0, 100)) {
        const bool plain =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
        name += plain ? c : '_';
    }
    const std::lock_guard lock(mutex_);
    size_ += content.size();
    files_.push_back({name, std::make_shared<const std::string>(std::move(content)),
                      std::chrono::steady_clock::now() + std::chrono::minutes(30)});
    remove_old();
    return name;
}

std::shared_ptr<const std::string> Downloads::find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    remove_old();
    for (const File &file : files_)
        if (file.name == name) return file.content;
    return nullptr;
}

void Downloads::remove_old() {
    const auto now = std::chrono::steady_clock::now();
    while (!files_.empty() && (files_.front().until < now || (size_ > limit_ && files_.size() > 1))) {
        size_ -= files_.front().content->size();
        files_.pop_front();
    }
}

}  // namespace serve
