// Applying the normalization rules; see sentencepiece/normalizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece/normalizer.h"

#include "core/error.h"
#include "core/utf8.h"
#include "text/normalize.h"

namespace xf {

size_t SentencePieceNormalizer::step(std::string_view text, std::string_view *result) const {
    size_t taken = user_defined_ == nullptr || user_defined_->empty() ? 0 : user_defined_->longest(text);
    if (taken == 0) {
        if (map_.is_plain(text[0]) && (text.size() == 1 || (text[1] & 0x80) == 0)) {
            *result = text.substr(0, 1);
            return 1;
        }
        taken = map_.match(text, result);
        if (taken > 0) return taken;
        const CodePoint c = decode_utf8(text, 0);
        if (!c.valid) {
            *result = "\xEF\xBF\xBD";
            return 1;
        }
        taken = c.size;
    }
    *result = text.substr(0, taken);
    return taken;
}

void SentencePieceNormalizer::normalize(std::string_view text, std::string *out) const {
    const auto check_size = [](size_t size) {
        XF_CHECK(size <= kMaxTextBytes, XF_ERROR_LIMIT, "the text has %zu bytes, expected at most %zu", size,
                 kMaxTextBytes);
    };
    check_size(text.size());
    out->clear();
    std::string_view result;
    if (rules_.remove_extra_whitespaces) {
        while (!text.empty()) {
            const size_t taken = step(text, &result);
            if (result != " ") break;
            text.remove_prefix(taken);
        }
    }
    if (text.empty()) return;

    const std::string_view space = rules_.escape_whitespaces ? kSpaceSymbol : " ";
    if (rules_.add_dummy_prefix && !rules_.whitespace_as_suffix) out->append(space);
    bool after_space = rules_.remove_extra_whitespaces;
    while (!text.empty()) {
        text.remove_prefix(step(text, &result));
        while (after_space && result.starts_with(' ')) result.remove_prefix(1);
        if (result.empty()) continue;  // after_space stays as it is
        for (const char c : result) {
            if (c == ' ')
                out->append(space);
            else
                out->push_back(c);
        }
        after_space = rules_.remove_extra_whitespaces && result.ends_with(' ');
        check_size(out->size());
    }
    if (rules_.remove_extra_whitespaces) {
        while (out->ends_with(space)) out->erase(out->size() - space.size());
    }
    if (rules_.add_dummy_prefix && rules_.whitespace_as_suffix) out->append(space);
}

}  // namespace xf
