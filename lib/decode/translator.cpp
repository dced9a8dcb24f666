// SPDX-License-Identifier: Apache-2.0
#include "decode/translator.h"

#include <limits>

#include "core/utf8.h"
#include "text/token_ends.h"

namespace xf {
namespace {

// White_Space of Unicode 15, and three zero-width characters.
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

// Returns the beginning of the character that ends at `end` > 0.
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

void write_texts(const Tokenizer &tokenizer, SentenceOutcome *outcome) {
    for (Hypothesis &h : outcome->hypotheses) {
        h.text = tokenizer.decode(h.ids.data(), h.ids.size());
        if (!h.alignment.empty()) h.text_ends = token_ends(tokenizer.target(), h.ids, h.text);
    }
}

void write_source_ends(const Tokenizer &tokenizer, const TokenTemplate &source, std::string_view text,
                       std::span<const int32_t> ids, SentenceOutcome *outcome) {
    if (outcome->status != XF_OK || ids.empty()) return;
    const size_t before = source.prefix >= 0 ? 1 : 0, after = source.suffix >= 0 ? 2 : 1;
    const std::string_view inner = trimmed(text);
    const size_t blanks = inner.data() - text.data();
    std::vector<size_t> ends(before, 0);
    for (const size_t end : token_ends(tokenizer.source(), ids.subspan(before, ids.size() - before - after), inner))
        ends.push_back(end > 0 ? blanks + end : 0);
    ends.resize(ids.size(), ends.back());
    outcome->source_ends = std::move(ends);
}

void encode_text(const Tokenizer &tokenizer, const TokenTemplate &source, std::optional<std::string_view> text,
                 std::optional<std::string_view> prefix, std::vector<int32_t> *ids, std::vector<int32_t> *prefix_ids,
                 EncodeScratch *scratch, SentenceOutcome *outcome) {
    const size_t begin = ids->size(), prefix_begin = prefix_ids->size();
    bool in_prefix = false;
    try {
        if (!text) fail(XF_ERROR_INVALID_ARGUMENT, "the text is NULL");
        if (!source.append(ids, [&] { tokenizer.source().encode(trimmed(*text), ids, scratch); })) {
            Hypothesis &empty = outcome->hypotheses.emplace_back();
            empty.finished = true;
            empty.token_log_probabilities.assign(1, 0.0f);
            return;
        }
        in_prefix = true;
        if (prefix) tokenizer.target().encode(trimmed(*prefix), prefix_ids, scratch);
    } catch (const Error &error) {
        ids->resize(begin);
        prefix_ids->resize(prefix_begin);
        outcome->message = in_prefix ? format("prefix: %s", error.what()) : error.what();
        outcome->status = error.status();
    }
}

std::vector<SentenceOutcome> Translator::translate(const Texts &texts, const Texts &prefixes, DecodeRequest request,
                                                   const Call &call) {
    const DecodeConfig config = decoder_.config(request.options);
    const ModelConfig &model = decoder_.model().config();
    model.languages.check_set(config.languages);
    const TokenTemplate source = TokenTemplates(model.tokens, model.languages, config.languages).source;
    std::vector<SentenceOutcome> outcomes(texts.count);
    ids_.clear();
    ids_.reserve(1);  // a batch without ids needs a non-null pointer
    prefix_ids_.clear();
    offsets_.assign(1, 0);
    prefix_offsets_.assign(1, 0);
    for (size_t i = 0; i < texts.count; ++i) {
        call.check();
        encode_text(tokenizer_, source, texts.get(i), prefixes.get(i), &ids_, &prefix_ids_, &scratch_, &outcomes[i]);
        offsets_.push_back(std::ssize(ids_));
        prefix_offsets_.push_back(std::ssize(prefix_ids_));
    }
    xf_batch batch{};
    batch.struct_size = sizeof batch;
    batch.sentences = texts.count;
    batch.src_ids = ids_.data();
    batch.src_offsets = offsets_.data();
    const bool has_prefixes = !prefix_ids_.empty();
    request.prefix_ids = has_prefixes ? prefix_ids_.data() : nullptr;
    request.prefix_offsets = has_prefixes ? prefix_offsets_.data() : nullptr;
    outcomes = decoder_.decode(batch, request, config, call, std::move(outcomes));
    for (size_t i = 0; i < texts.count; ++i) {
        write_texts(tokenizer_, &outcomes[i]);
        if (!config.alignment || outcomes[i].status != XF_OK) continue;
        write_source_ends(tokenizer_, source, *texts.get(i),
                          std::span(ids_.data() + offsets_[i], ids_.data() + offsets_[i + 1]), &outcomes[i]);
    }
    return outcomes;
}

ScoredTexts Translator::score(const Texts &sources, const Texts &targets, const Call &call) {
    const LanguageTokens languages = decoder_.config(nullptr).languages;
    const ModelConfig &model = decoder_.model().config();
    model.languages.check_set(languages);
    const TokenTemplates templates(model.tokens, model.languages, languages);
    ScoredTexts scored{std::vector<double>(sources.count, std::numeric_limits<double>::quiet_NaN()),
                       std::vector<SentenceOutcome>(sources.count)};
    std::vector<int32_t> ids[2];
    std::vector<int64_t> offsets[2] = {{0}, {0}};
    std::vector<size_t> which;
    const auto append = [&](const Texts &texts, size_t i, const Tokenizer &tokenizer, const TokenTemplate &form,
                            size_t side) {
        const char *const name = side == 0 ? "source" : "target";
        const std::optional<std::string_view> text = texts.get(i);
        if (!text) fail(XF_ERROR_INVALID_ARGUMENT, "the %s is NULL", name);
        std::vector<int32_t> &to = ids[side];
        const auto begin = static_cast<int64_t>(to.size());
        if (!form.append(&to, [&] { tokenizer.encode(trimmed(*text), &to, &scratch_); }))
            to.push_back(form.end);  // an empty text: only the end symbol
        const auto length = static_cast<int64_t>(to.size()) - begin;
        XF_CHECK(length <= model.max_length, XF_ERROR_OUT_OF_RANGE,
                 "the %s has %lld tokens; the maximum is %lld (model.max_length)", name, static_cast<long long>(length),
                 static_cast<long long>(model.max_length));
    };
    for (size_t i = 0; i < sources.count; ++i) {
        call.check();
        const size_t before[2] = {ids[0].size(), ids[1].size()};
        try {
            append(sources, i, tokenizer_.source(), templates.source, 0);
            append(targets, i, tokenizer_.target(), templates.target, 1);
        } catch (const Error &error) {
            for (size_t side = 0; side < 2; ++side) ids[side].resize(before[side]);
            scored.errors[i].status = error.status();
            scored.errors[i].message = error.what();
            continue;
        }
        which.push_back(i);
        for (size_t side = 0; side < 2; ++side) offsets[side].push_back(static_cast<int64_t>(ids[side].size()));
    }
    if (which.empty()) return scored;
    xf_batch batch XF_BATCH_INIT;
    batch.sentences = static_cast<int64_t>(which.size());
    batch.src_ids = ids[0].data();
    batch.src_offsets = offsets[0].data();
    batch.tgt_ids = ids[1].data();
    batch.tgt_offsets = offsets[1].data();
    std::vector<double> values(which.size());
    decoder_.score(batch, values.data(), call);
    for (size_t k = 0; k < which.size(); ++k) scored.log_probabilities[which[k]] = values[k];
    return scored;
}

}  // namespace xf
