// See report() in guard.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string_view>

#include "api/guard.h"
#include "core/utf8.h"

namespace xf {
namespace {

// A character of a message, or the '?' for a byte that is none and for a control character.
struct Shown {
    std::string_view bytes;
    size_t read;
};

Shown shown_at(std::string_view text, size_t i) {
    const CodePoint c = decode_utf8(text, i);
    const bool shown = c.valid && c.value >= 0x20 && (c.value < 0x7F || c.value >= 0xA0);
    return {shown ? text.substr(i, c.size) : "?", c.size};
}

}  // namespace

xf_status report(xf_error *err, xf_status status, int native_code, const char *message) noexcept {
    if (err == nullptr) return status;
    err->status = status;
    err->native_code = native_code;
    const std::string_view text = message;
    size_t length = 0;
    for (size_t i = 0; i < text.size(); i += shown_at(text, i).read) length += shown_at(text, i).bytes.size();
    // What is too long loses its middle: a sentence begins with what happened and ends with why, a path is between.
    constexpr std::string_view kCut = "\xE2\x80\xA6";
    constexpr size_t kRoom = sizeof err->message - 1, kHalf = (kRoom - kCut.size()) / 2;
    size_t written = 0, at = 0;
    const auto put = [&](std::string_view bytes) {
        std::memcpy(err->message + written, bytes.data(), bytes.size());
        written += bytes.size();
    };
    bool cut = false;
    for (size_t i = 0; i < text.size();) {
        const Shown next = shown_at(text, i);
        if (length <= kRoom || at + next.bytes.size() <= kHalf || at >= length - kHalf)
            put(next.bytes);
        else if (!cut)
            put(kCut), cut = true;
        at += next.bytes.size();
        i += next.read;
    }
    std::memset(err->message + written, 0, sizeof err->message - written);
    return status;
}

}  // namespace xf
