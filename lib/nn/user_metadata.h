// The texts that a host keeps with a model, by key: where it came from, its languages, a licence.
//
// In a file each stands as "user.KEY", so that no key of a host meets one of the library, of today or later. The limits
// are those of the public header; a file that breaks them is refused before anything is copied.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace xf {

class UserMetadata {
public:
    static constexpr size_t kMaxKeys = 1000;
    static constexpr size_t kMaxKeyBytes = 256;
    static constexpr size_t kMaxValueBytes = size_t{1} << 20;
    static constexpr size_t kMaxBytes = size_t{16} << 20;  // of all keys and values
    static constexpr const char *kPrefix = "user.";        // of the keys in a file

    // Adds or replaces. XF_ERROR_INVALID_ARGUMENT for a key or value out of its range, XF_ERROR_DATA for what is
    // not UTF-8 or has a NUL inside, XF_ERROR_LIMIT for too many. On an error nothing has changed.
    void set(std::string_view key, std::string_view value);
    void remove(std::string_view key);

    // NUL-terminated, at rest until it is set again or removed; null when there is none.
    const char *find(std::string_view key) const noexcept;
    // The key at a place in the order of bytes; null beyond the last.
    const char *key(size_t index) const noexcept;

    const std::map<std::string, std::string, std::less<>> &all() const { return texts_; }

private:
    std::map<std::string, std::string, std::less<>> texts_;
    size_t bytes_ = 0;
};

}  // namespace xf
