/*
 * xformer/text.hpp - text.h for C++: tokenizers and sentences.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TEXT_HPP
#define XFORMER_TEXT_HPP

#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/io.hpp"
#include "xformer/text.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Converts text to ids and back: a Tokenizer, or the tokenizer of a model. */
class TokenizerView : public View<const xf_tokenizer> {
public:
    /** @brief Refers to no tokenizer. */
    constexpr TokenizerView() noexcept = default;
    /** @brief Refers to a handle. @param handle [in] must outlive the view */
    constexpr explicit TokenizerView(const xf_tokenizer *handle) noexcept : View(handle) {}
    /** @brief Reports kind, vocabulary size, and symbols. @return the properties */
    xf_tokenizer_info info() const {
        return detail::fill(xf_tokenizer_info XF_TOKENIZER_INFO_INIT, xf_tokenizer_get_info, get());
    }
    /** @brief Returns the number of ids. @return V; 0 for a pair of tokenizers */
    std::size_t size() const { return static_cast<std::size_t>(info().vocab_size); }
    /** @brief Returns the tokenizer of one side. @param side [in] XF_SIDE_SOURCE or XF_SIDE_TARGET
     *  @return owned by this tokenizer, or this tokenizer if it is not a pair */
    TokenizerView side(std::int32_t side) const noexcept { return TokenizerView(xf_tokenizer_side(get(), side)); }
    /** @brief Encodes text. @param text [in] UTF-8 @return ids without start and end symbols */
    std::vector<std::int32_t> encode(std::string_view text) const {
        std::vector<std::int32_t> ids;
        encode(text, ids);
        return ids;
    }
    /** @brief Encodes text into an existing vector. @param text [in] UTF-8 @param ids [out] replaced by the ids;
     *  unspecified after an error */
    void encode(std::string_view text, std::vector<std::int32_t> &ids) const {
        ids.resize(text.size());  // sufficient unless normalization makes the text longer
        detail::fit(ids, [&](std::vector<std::int32_t> &room, std::size_t *count, xf_error *error) {
            return xf_tokenizer_encode(get(), text.data(), text.size(), room.data(), room.size(), count, error);
        });
    }
    /** @brief Decodes ids. Start and end symbols produce no text. @param ids [in] less than size() @return UTF-8 */
    std::string decode(span<const std::int32_t> ids) const {
        std::string text(8 * ids.size(), '\0');
        detail::fit(text, [&](std::string &room, std::size_t *length, xf_error *error) {
            return xf_tokenizer_decode(get(), ids.data(), ids.size(), room.data(), room.size() + 1, length, error);
        });
        return text;
    }
    /** @brief Returns a readable name of an id. @param id [in] less than size() @return such as "</s>" or "<0xC3>" */
    std::string piece(std::int32_t id) const {
        std::string text(32, '\0');
        detail::fit(text, [&](std::string &room, std::size_t *length, xf_error *error) {
            return xf_tokenizer_get_piece(get(), id, room.data(), room.size() + 1, length, error);
        });
        return text;
    }
    /** @brief Saves the tokenizer as JSON. @param sink [in] the destination @param call [in] parameters of the call */
    void save(const Sink &sink, const Call &call = {}) const {
        const xf_sink to = sink.get();
        detail::call(xf_tokenizer_save, get(), detail::CallStruct(call).get(), &to);
    }
};

/** @brief Owns a tokenizer. */
class Tokenizer : public Owner<TokenizerView, xf_tokenizer, xf_tokenizer_free> {
public:
    using Owner::Owner;
    /** @brief Trains a tokenizer.
     *  @param context [in] the context
     *  @param corpus [in] a Corpus
     *  @param config [in] "tokenizer." options
     *  @param call [in] parameters of the call
     *  @return the tokenizer */
    static Tokenizer train(const Context &context, const View<xf_corpus> &corpus, ConfigView config = {},
                           const Call &call = {}) {
        return detail::make<Tokenizer>(xf_tokenizer_train, context.get(), corpus.get(), config.get(),
                                       detail::CallStruct(call).get());
    }
    /** @brief Loads a tokenizer. @param context [in] the context @param source [in] written by save() or the converter
     *  @param call [in] parameters of the call @return the tokenizer */
    static Tokenizer load(const Context &context, const Source &source, const Call &call = {}) {
        const xf_source from = source.get();
        return detail::make<Tokenizer>(xf_tokenizer_load, context.get(), &from, detail::CallStruct(call).get());
    }
};

/** @brief Finds the sentences of a text, without the white space around them; see xf_split_sentences().
 *  @param text [in] UTF-8
 *  @param language [in] ISO 639-1 code; nullptr: the abbreviations of all languages
 *  @param max_characters [in] longer sentences are divided; 0: no limit
 *  @return parts of text, valid as long as it */
inline std::vector<std::string_view> split_sentences(std::string_view text, const char *language = nullptr,
                                                     std::size_t max_characters = 0) {
    std::vector<xf_span> spans(text.size() / 32 + 8);
    detail::fit(spans, [&](std::vector<xf_span> &room, std::size_t *count, xf_error *error) {
        return xf_split_sentences(text.data(), text.size(), language, max_characters, room.data(), room.size(), count,
                                  error);
    });
    std::vector<std::string_view> sentences;
    sentences.reserve(spans.size());
    for (const xf_span &span : spans) sentences.push_back(text.substr(span.begin, span.end - span.begin));
    return sentences;
}

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_TEXT_HPP */
