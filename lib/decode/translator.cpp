// See translator.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/translator.h"

#include "core/utf8.h"

namespace xf {
namespace {

// White_Space of Unicode 15, and three characters without width.
bool is_blank(uint32_t c) {
    if (c <= ' ') return c == ' ' || (c >= '\t' && c <= '\r');
    switch (c) {
        case 0x85:
        case 0xA0:
        case 0x1680:
        case 0x2028:
        case 0x2029:
        case 0x202F:
        case 0x205F:
        case 0x2060:
        case 0x3000:
        case 0xFEFF:
            return true;
        default:
            return c >= 0x2000 && c <= 0x200B;
    }
}

// Where the character begins that ends at end, which is above 0.
size_t character_before(std::string_view text, size_t end) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    return begin;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    size_t begin = 0, end = text.size();
    while (begin < end) {
        const CodePoint c = decode_utf8(text, begin);
        if (!c.valid || !is_blank(c.value)) break;
        begin += c.size;
    }
    while (end > begin) {
        const size_t at = character_before(text, end);
        const CodePoint c = decode_utf8(text, at);
        if (!c.valid || at + c.size != end || !is_blank(c.value)) break;
        end = at;
    }
    return text.substr(begin, end - begin);
}

void write_texts(const Tokenizer &tokenizer, std::vector<SentenceOutcome> *outcomes) {
    for (SentenceOutcome &outcome : *outcomes)
        for (Hypothesis &h : outcome.answers) h.text = tokenizer.decode(h.ids.data(), h.ids.size());
}

// Appends text i and its prefix to the batch, or nothing and says what became of it.
void Translator::encode(const Texts &texts, const Texts &prefixes, size_t i, const Frame &frame,
                        SentenceOutcome *outcome) {
    const size_t begin = ids_.size(), prefix_begin = prefix_ids_.size();
    bool text_done = false;
    try {
        if (texts.missing(i)) fail(XF_ERROR_INVALID_ARGUMENT, "the text is NULL");
        if (!frame.append(&ids_, [&] { tokenizer_.source().encode(trimmed(texts[i]), &ids_, &scratch_); })) {
            Hypothesis &nothing = outcome->answers.emplace_back();
            nothing.finished = true;
            nothing.token_log_probabilities.assign(1, 0.0f);
            return;
        }
        text_done = true;
        if (!prefixes.missing(i)) tokenizer_.target().encode(trimmed(prefixes[i]), &prefix_ids_, &scratch_);
    } catch (const Error &error) {
        ids_.resize(begin);
        prefix_ids_.resize(prefix_begin);
        outcome->message = text_done ? format("prefix: %s", error.what()) : error.what();
        outcome->status = error.status();
    }
}

std::vector<SentenceOutcome> Translator::translate(const Texts &texts, const Texts &prefixes, DecodeRequest request,
                                                   const Call &call) {
    const LanguageTokens told = decoder_.config(request.options).languages;
    const ModelConfig &model = decoder_.model().config();
    model.languages.check_told(told, "decode.");
    const Frame frame = Frames(model.tokens, model.languages, told).source;
    std::vector<SentenceOutcome> outcomes(texts.count);
    ids_.clear();
    ids_.reserve(1);  // for a batch without any is still one
    prefix_ids_.clear();
    offsets_.assign(1, 0);
    prefix_offsets_.assign(1, 0);
    for (size_t i = 0; i < texts.count; ++i) {
        call.check();
        encode(texts, prefixes, i, frame, &outcomes[i]);
        XF_CHECK(ids_.size() < (size_t{1} << 31) && prefix_ids_.size() < (size_t{1} << 31), XF_ERROR_LIMIT,
                 "the texts have more than 2^31 tokens");
        offsets_.push_back(static_cast<int32_t>(ids_.size()));
        prefix_offsets_.push_back(static_cast<int32_t>(prefix_ids_.size()));
    }
    xf_batch batch{};
    batch.struct_size = sizeof batch;
    batch.sentences = static_cast<int64_t>(texts.count);
    batch.src_ids = ids_.data();
    batch.src_offsets = offsets_.data();
    const bool any = !prefix_ids_.empty();
    request.prefix_ids = any ? prefix_ids_.data() : nullptr;
    request.prefix_offsets = any ? prefix_offsets_.data() : nullptr;
    outcomes = decoder_.decode(batch, request, call, std::move(outcomes));
    write_texts(tokenizer_, &outcomes);
    return outcomes;
}

}  // namespace xf
