// See report() in guard.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/guard.h"
#include "core/utf8.h"

namespace xf {

xf_status report(xf_error *err, xf_status status, int native_code, const char *message) noexcept {
    if (err == nullptr) return status;
    err->status = status;
    err->native_code = native_code;
    const std::string_view text = message;
    size_t length = 0;
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        const bool shown = c.valid && c.value >= 0x20 && (c.value < 0x7F || c.value >= 0xA0);  // no control character
        const size_t bytes = shown ? c.size : 1;
        if (length + bytes >= sizeof err->message) break;  // cut, not in the middle of a character
        if (shown)
            std::memcpy(err->message + length, text.data() + i, bytes);
        else
            err->message[length] = '?';
        length += bytes;
        i += c.size;
    }
    std::memset(err->message + length, 0, sizeof err->message - length);
    return status;
}

}  // namespace xf
