// Unicode normalization before tokenization: NFC, NFKC (UAX #15, with utf8proc's tables), or none.
//
// Nothing else changes: case, surrounding white space, and control characters are kept, so that a translation keeps its
// line breaks and tabs. utf8proc_map() sorts combining marks with a bubble sort, which is quadratic in the length of a
// run of marks, and a hostile text can contain a run of megabytes. Therefore this file sorts marks itself and uses only
// the tables and the composition of utf8proc.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf {

enum class Normalization { kNone, kNfc, kNfkc };
enum class InvalidUtf8 {
    kError,   // fail with XF_ERROR_DATA, naming the byte offset
    kReplace  // replace each maximal invalid subpart with U+FFFD
};

// Larger texts are rejected with XF_ERROR_LIMIT, so that offsets and counts fit in 32 bits.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

// Appends the normalized text to *out. With kNone all bytes are copied unchanged and `invalid` is ignored. *codes is a
// scratch buffer.
void normalize(std::string_view text, Normalization form, InvalidUtf8 invalid, std::string *out,
               std::vector<int32_t> *codes);

// Returns true for characters that neither form changes and that never combine with the preceding character. Text can
// be split before each of them, and text that consists only of them is normalized. The set is incomplete but covers
// nearly all plain text.
bool is_inert(uint32_t code_point);

}  // namespace xf
