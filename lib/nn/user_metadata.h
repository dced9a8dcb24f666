// Metadata that the user stores in a model, by key: its origin, its license, and so on.
//
// In a file each key has the prefix "user.", so that it cannot conflict with a key of the library. The limits are those
// of the public header. A file that exceeds them is rejected before its metadata is copied.
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
    static constexpr const char *kPrefix = "user.";        // of keys in files

    // Adds or replaces a value. Throws XF_ERROR_INVALID_ARGUMENT if a length is out of range, XF_ERROR_DATA if a text
    // is not UTF-8 or contains NUL, and XF_ERROR_LIMIT if there are too many keys or bytes. After an error nothing has
    // changed.
    void set(std::string_view key, std::string_view value);
    void remove(std::string_view key);

    // Returns the NUL-terminated value, valid until it is replaced or removed; null if the key does not exist.
    const char *find(std::string_view key) const noexcept;
    // Returns the key with this index in byte order; null if index is out of range.
    const char *key(size_t index) const noexcept;

    const std::map<std::string, std::string, std::less<>> &all() const { return texts_; }

private:
    std::map<std::string, std::string, std::less<>> texts_;
    size_t bytes_ = 0;
};

}  // namespace xf
