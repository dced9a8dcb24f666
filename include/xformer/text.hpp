/*
 * xformer/text.hpp - text.h for C++: text to ids and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TEXT_HPP
#define XFORMER_TEXT_HPP

#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/text.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Turns text into ids and back: a Tokenizer, or what a model has. */
class TokenizerView : public View<const xf_tokenizer> {
public:
    /** @brief None. */
    constexpr TokenizerView() noexcept = default;
    /** @brief Looks at a handle. @param handle [in] stays the caller's */
    constexpr explicit TokenizerView(const xf_tokenizer *handle) noexcept : View(handle) {}
    /** @brief Counts the ids. @return V */
    std::size_t size() const noexcept { return static_cast<std::size_t>(xf_tokenizer_vocab_size(get())); }
    /** @brief Tells the start symbol. @return its id, -1: it has none */
    std::int32_t start_token() const noexcept { return xf_tokenizer_start_token(get()); }
    /** @brief Tells the end symbol. @return its id, -1: it has none */
    std::int32_t end_token() const noexcept { return xf_tokenizer_end_token(get()); }
    /** @brief Encodes. @param text [in] UTF-8 @return ids, without start and end symbols */
    std::vector<std::int32_t> encode(std::string_view text) const {
        std::vector<std::int32_t> ids;
        encode(text, ids);
        return ids;
    }
    /** @brief Encodes into a vector that is there. @param text [in] UTF-8 @param ids [out] the ids and nothing else;
     *  whatever after an error */
    void encode(std::string_view text, std::vector<std::int32_t> &ids) const {
        ids.resize(text.size());  // enough, unless normalisation makes the text longer
        detail::fit(ids, [&](std::vector<std::int32_t> &room, std::size_t *count, xf_error *error) {
            return xf_tokenizer_encode(get(), text.data(), text.size(), room.data(), room.size(), count, error);
        });
    }
    /** @brief Decodes; start and end symbols give nothing. @param ids [in] below size() @return UTF-8 */
    std::string decode(span<const std::int32_t> ids) const {
        std::string text(8 * ids.size(), '\0');
        detail::fit(text, [&](std::string &room, std::size_t *length, xf_error *error) {
            return xf_tokenizer_decode(get(), ids.data(), ids.size(), room.data(), room.size() + 1, length, error);
        });
        return text;
    }
    /** @brief Names an id for people. @param id [in] below size() @return such as "</s>" or "<0xC3>", or its piece */
    std::string piece(std::int32_t id) const {
        std::string text(32, '\0');
        detail::fit(text, [&](std::string &room, std::size_t *length, xf_error *error) {
            return xf_tokenizer_get_piece(get(), id, room.data(), room.size() + 1, length, error);
        });
        return text;
    }
    /** @brief Saves it as JSON. @param path [in] file name */
    void save(CString path) const { detail::call(xf_tokenizer_save, get(), path.c_str()); }
};

/** @brief A tokenizer that this object owns. */
class Tokenizer : public Owner<TokenizerView, xf_tokenizer, xf_tokenizer_free> {
public:
    using Owner::Owner;
    /** @brief Learns a vocabulary.
     *  @param context [in] the context
     *  @param corpus [in] a Corpus
     *  @param config [in] options "tokenizer."
     *  @return the tokenizer */
    static Tokenizer train(const Context &context, const View<xf_corpus> &corpus, ConfigView config = {}) {
        return detail::make<Tokenizer>(xf_tokenizer_train, context.get(), config.get(), corpus.get());
    }
    /** @brief Loads what save() wrote. @param context [in] the context @param path [in] file name
     *  @return the tokenizer */
    static Tokenizer load(const Context &context, CString path) {
        return detail::make<Tokenizer>(xf_tokenizer_load, context.get(), path.c_str());
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_TEXT_HPP */
