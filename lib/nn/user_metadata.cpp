// SPDX-License-Identifier: Apache-2.0
#include "nn/user_metadata.h"

#include <iterator>

#include "core/error.h"
#include "core/utf8.h"

namespace xf {
namespace {

void check_text(std::string_view text, const char *what) {
    const size_t invalid = find_invalid_utf8(text);
    XF_CHECK(invalid == std::string_view::npos, XF_ERROR_DATA, "the %s is not valid UTF-8 at byte %zu", what, invalid);
    XF_CHECK(text.find('\0') == std::string_view::npos, XF_ERROR_DATA, "the %s contains a NUL byte, expected none",
             what);
}

}  // namespace

void UserMetadata::set(std::string_view key, std::string_view value) {
    XF_CHECK(!key.empty() && key.size() <= kMaxKeyBytes, XF_ERROR_INVALID_ARGUMENT,
             "the key has %zu bytes, expected 1 to %zu", key.size(), kMaxKeyBytes);
    XF_CHECK(value.size() <= kMaxValueBytes, XF_ERROR_INVALID_ARGUMENT, "the value has %zu bytes, expected at most %zu",
             value.size(), kMaxValueBytes);
    check_text(key, "key");
    check_text(value, "value");
    const auto found = texts_.find(key);
    const size_t old = found != texts_.end() ? key.size() + found->second.size() : 0;
    XF_CHECK(old > 0 || texts_.size() < kMaxKeys, XF_ERROR_LIMIT,
             "the model has %zu metadata keys, which is the maximum: remove one", texts_.size());
    const size_t now = bytes_ - old + key.size() + value.size();
    XF_CHECK(now <= kMaxBytes, XF_ERROR_LIMIT, "the metadata would have %zu bytes, expected at most %zu", now,
             kMaxBytes);
    if (found != texts_.end())
        found->second = std::string(value);
    else
        texts_.emplace(key, value);
    bytes_ = now;
}

void UserMetadata::remove(std::string_view key) {
    const auto found = texts_.find(key);
    if (found == texts_.end()) return;
    bytes_ -= found->first.size() + found->second.size();
    texts_.erase(found);
}

const char *UserMetadata::find(std::string_view key) const noexcept {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : found->second.c_str();
}

const char *UserMetadata::key(size_t index) const noexcept {
    return index < texts_.size() ? std::next(texts_.begin(), index)->first.c_str() : nullptr;
}

}  // namespace xf
