// A tokenizer's JSON, then NUL, then a text: the JSON is read, written and read again; the text is encoded and decoded.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include "core/error.h"
#include "core/utf8.h"
#include "fuzz.hpp"
#include "text/words/tokenizer.h"

namespace {

// For any segmentation, ids are valid pieces and decode to the encoded text: the normalized text for our own
// tokenizers.
void round_trip(const xf::Tokenizer &tokenizer, std::string_view text, xf::Sampler *sampler) {
    std::vector<int32_t> ids{7};
    xf::EncodeScratch scratch;
    tokenizer.encode(text, &ids, &scratch, sampler);
    if (ids.empty() || ids[0] != 7) fuzz::defect("the prefix before the ids of the text is missing");
    ids.erase(ids.begin());
    const xf::Tokenizer &source = tokenizer.source();
    for (const int32_t id : ids)
        if (id < 0 || id >= source.size()) fuzz::defect("id %d of %d", id, source.size());
    const std::string decoded = source.decode(ids.data(), ids.size());
    const auto *const words = dynamic_cast<const xf::WordTokenizer *>(&source);
    if (words == nullptr) {
        if (xf::find_invalid_utf8(decoded) != std::string_view::npos) fuzz::defect("a decoded text that is no UTF-8");
        return;
    }
    std::string normalized;
    std::vector<int32_t> codes;
    xf::normalize(text, words->options().normalization, words->options().invalid_utf8, &normalized, &codes);
    if (decoded != normalized)
        fuzz::defect("%zu bytes of text came back as %zu others", normalized.size(), decoded.size());
}

void use(std::string_view json, std::string_view text) {
    const auto tokenizer = xf::Tokenizer::parse(json);
    const std::string written = tokenizer->serialize();
    const auto again = xf::Tokenizer::parse(written);
    if (again->serialize() != written || again->size() != tokenizer->size())
        fuzz::defect("a tokenizer that was written and read is another one");
    for (int32_t id = 0; id < tokenizer->size() && id < 2000; ++id)
        if (xf::find_invalid_utf8(tokenizer->piece(id)) != std::string_view::npos)
            fuzz::defect("piece %d is no UTF-8", id);
    const int32_t ids[] = {0, 1, 2, 3, 200, 255, tokenizer->size() - 1};
    for (size_t i = 0; i + 1 <= sizeof ids / sizeof *ids; ++i)
        if (ids[i] < tokenizer->size()) tokenizer->decode(ids + i, 1);
    round_trip(*tokenizer, text, nullptr);
    xf::Sampling sampling;
    sampling.value = 0.3;
    xf::Sampler sampler(sampling, 1, 2);
    round_trip(*tokenizer, text, &sampler);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    const size_t end = std::min(input.find('\0'), size);
    const fuzz::Shortage shortage(data, size);
    try {
        use(input.substr(0, end), end < size ? input.substr(end + 1) : "a b\xC3\xA9 12 ok");
    } catch (const xf::Error &error) {
        switch (error.status()) {
            case XF_ERROR_CORRUPT:
            case XF_ERROR_LIMIT:
            case XF_ERROR_VERSION:
            case XF_ERROR_DATA:
                break;
            default:
                fuzz::defect("%s: %s", xf_status_name(error.status()), error.what());
        }
    } catch (const std::bad_alloc &) {
        if (!fuzz::Shortage::happened()) throw;
    }
    return 0;
}
