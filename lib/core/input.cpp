// See input.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/input.h"

#include <cstring>

#include "core/error.h"

namespace xf {

void Input::read_at(uint64_t offset, void *dst, size_t bytes) const {
    XF_CHECK(offset <= size_ && bytes <= size_ - offset, XF_ERROR_CORRUPT,
             "'%s' has %llu bytes, expected %zu at byte %llu", name_.c_str(), static_cast<unsigned long long>(size_),
             bytes, static_cast<unsigned long long>(offset));
    if (bytes > 0) fetch(offset, dst, bytes);
}

void MemoryInput::fetch(uint64_t offset, void *dst, size_t bytes) const { std::memcpy(dst, data_ + offset, bytes); }

void CallbackInput::fetch(uint64_t offset, void *dst, size_t bytes) const {
    const int32_t result = read_(user_, offset, dst, bytes);
    if (result != 0)
        throw Error(XF_ERROR_IO,
                    format("the read callback returned %d for %zu bytes at byte %llu, expected 0", result, bytes,
                           static_cast<unsigned long long>(offset)),
                    result);
}

}  // namespace xf
