// Unicode normalisation of text before it is split: NFC or NFKC by utf8proc's tables (UAX #15), or none.
//
// Nothing else is changed: no case folding, no trimming, no control character removed, so that a translation keeps
// its line breaks and tabs. The trap: utf8proc_map() sorts combining marks by bubble sort, quadratic in the length of
// a run of marks, which a hostile text can make megabytes long. So this file sorts for itself and takes only the
// tables and the composition from utf8proc.
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
    kError,   // XF_ERROR_DATA with the byte offset
    kReplace  // U+FFFD for each maximal invalid subpart
};

// A text larger than this is refused (XF_ERROR_LIMIT), so that offsets and counts fit in 32 bits.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

// Appends the normalised text to *out. With kNone the bytes are copied whatever they are and `invalid` is not used.
// *codes is room for the work.
void normalize(std::string_view text, Normalization form, InvalidUtf8 invalid, std::string *out,
               std::vector<int32_t> *codes);

// True for characters that both forms leave alone and that never combine with what precedes them: text may be cut
// before each, and a text of nothing else is already normalised. Not complete, but it covers nearly all plain text.
bool is_inert(uint32_t code_point);

}  // namespace xf
