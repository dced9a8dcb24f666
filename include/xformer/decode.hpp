/*
 * xformer/decode.hpp - decode.h for C++: translation and scoring.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DECODE_HPP
#define XFORMER_DECODE_HPP

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/config.hpp"
#include "xformer/data.hpp"
#include "xformer/decode.h"
#include "xformer/model.hpp"
#include "xformer/range.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief One answer, owned by its Hypotheses. */
struct Hypothesis {
    std::string_view text;        /**< UTF-8 with a NUL behind it; its data() is NULL when the model has no tokenizer */
    span<const std::int32_t> ids; /**< the target, without start and end symbol */
    double log_probability;       /**< natural logarithm, the end symbol's included when finished */
    double score;                 /**< log_probability divided by the length penalty */
    bool finished;                /**< false when the length limit cut it off */
};

/** @cond INTERNAL */
namespace detail {

struct HypothesisAt {
    const xf_hypotheses *hypotheses = nullptr;
    std::size_t sentence = 0;
    Hypothesis operator()(std::size_t rank) const {
        const auto h = fill(xf_hypothesis XF_HYPOTHESIS_INIT, xf_hypotheses_get, hypotheses, sentence, rank);
        return {{h.text, h.text_length},
                {h.ids, static_cast<std::size_t>(h.length)},
                h.log_probability,
                h.score,
                h.finished != 0};
    }
};

struct AnswersAt {
    const xf_hypotheses *hypotheses = nullptr;
    Range<HypothesisAt> operator()(std::size_t sentence) const {
        return {xf_hypotheses_answer_count(hypotheses, sentence), {hypotheses, sentence}};
    }
};

}  // namespace detail
/** @endcond */

/** @brief The answers to one sentence, best first: a range of Hypothesis. */
using Answers = Range<detail::HypothesisAt>;

/** @brief The answers of a call: a range of Answers in the order of the sentences, which owns what they show.
 *
 *     for (const xformer::Answers &answers : hypotheses) std::cout << answers.front().text << '\n';
 */
class Hypotheses : public Owner<View<xf_hypotheses>, xf_hypotheses, xf_hypotheses_free> {
public:
    using Owner::Owner;
    std::size_t size() const noexcept {
        return xf_hypotheses_sentence_count(get());
    }                                            /**< @brief Counts. @return sentences */
    auto begin() const { return all().begin(); } /**< @brief The first sentence. @return its place */
    auto end() const { return all().end(); }     /**< @brief Behind the last. @return that place */
    /** @brief The answers to a sentence. @param sentence [in] from size() on there are none @return best first */
    Answers operator[](std::size_t sentence) const & { return all()[sentence]; }
    Answers operator[](std::size_t sentence) && = delete;

private:
    Range<detail::AnswersAt> all() const { return {size(), {get()}}; }
};

/** @brief Which tokens may follow a hypothesis: at first all. */
class TokenSet {
public:
    /** @brief Looks at the bits of the C API. @param words [in,out] of xf_constraint_fn @param size [in] V */
    TokenSet(std::uint32_t *words, std::size_t size) noexcept : words_(words), size_(size) {}
    /** @brief Counts the ids there are. @return V */
    std::size_t size() const noexcept { return size_; }
    /** @brief Asks. @param id [in] below size() @return true when it may follow */
    bool contains(std::int32_t id) const { return (word(id) & bit(id)) != 0; }
    /** @brief Allows a token. @param id [in] below size() */
    void insert(std::int32_t id) const { word(id) |= bit(id); }
    /** @brief Forbids a token. @param id [in] below size() */
    void erase(std::int32_t id) const { word(id) &= ~bit(id); }
    /** @brief Forbids all. */
    void clear() const noexcept {
        for (std::size_t i = 0; i < (size_ + 31) / 32; ++i) words_[i] = 0;
    }

private:
    static std::uint32_t bit(std::int32_t id) noexcept { return std::uint32_t{1} << (id % 32); }
    std::uint32_t &word(std::int32_t id) const {
        if (id < 0 || static_cast<std::size_t>(id) >= size_)
            throw Error(XF_ERROR_OUT_OF_RANGE,
                        "token " + std::to_string(id) + ", expected 0 to " + std::to_string(size_ - 1));
        return words_[id / 32];
    }
    std::uint32_t *words_;
    std::size_t size_;
};

/** @brief Takes out of the set the tokens that may not follow a hypothesis; see xf_constraint_fn.
 *
 *  It may throw: the call stops and throws that. */
using Constraint = std::function<void(const xf_prefix &, TokenSet)>;

/** @brief Beam search over a model it shares with others: for each thread one. */
class Decoder : public Owner<View<xf_decoder>, xf_decoder, xf_decoder_free> {
public:
    using Owner::Owner;
    /** @brief Makes a decoder. @param model [in] kept alive @param config [in] options "decode." */
    explicit Decoder(ModelView model, ConfigView config = {})
        : Decoder(detail::make<Decoder>(xf_decoder_create, model.get(), config.get())) {}

    /** @brief Holds translate() and decode() to what a function allows. @param constraint [in] empty: none any more */
    void set_constraint(Constraint constraint) { constraint_ = std::move(constraint); }

    /** @brief Translates one text. @param text [in] UTF-8 @return the best answer */
    std::string translate(std::string_view text) {
        const Hypotheses answers = translate({text});
        return std::string(answers[0].front().text);
    }
    /** @brief Translates texts. @param texts [in] UTF-8 @return "decode.n_best" answers to each, in their order */
    Hypotheses translate(std::initializer_list<std::string_view> texts) { return translate<>(texts); }
    /** @brief Translates texts.
     *  @param texts [in] a range of std::string, std::string_view or const char *
     *  @return "decode.n_best" answers to each, in their order */
    template <class Texts, class Text = decltype(*std::begin(std::declval<const Texts &>())),
              std::enable_if_t<std::is_convertible_v<Text, std::string_view>, int> = 0>
    Hypotheses translate(const Texts &texts) {
        static_assert(std::is_reference_v<Text> || std::is_pointer_v<Text> ||
                          std::is_same_v<std::remove_cv_t<Text>, std::string_view>,
                      "these texts are made while they are read: put them into a vector first");
        texts_.clear();
        lengths_.clear();
        for (const std::string_view text : texts) {
            texts_.push_back(text.data() != nullptr ? text.data() : "");
            lengths_.push_back(text.size());
        }
        const xf_decode_params given = params();
        return detail::make<Hypotheses>(xf_translate, get(), texts_.data(), lengths_.data(), texts_.size(), &given);
    }
    /** @brief Decodes sources given as ids. @param batch [in] targets are not looked at @return answers in its order */
    Hypotheses decode(const Batch &batch) {
        const xf_decode_params given = params();
        return detail::make<Hypotheses>(xf_decode, get(), &batch, &given);
    }

    /** @brief Scores targets. @param batch [in] pairs @return natural logarithms of their probabilities */
    std::vector<double> score(const Batch &batch) {
        std::vector<double> log_probabilities(batch.size());
        score(batch, log_probabilities);
        return log_probabilities;
    }
    /** @brief Scores targets. @param batch [in] pairs @param log_probabilities [out] a number for each */
    void score(const Batch &batch, span<double> log_probabilities) {
        if (log_probabilities.size() != batch.size())
            throw Error(XF_ERROR_INVALID_ARGUMENT, "room for " + std::to_string(log_probabilities.size()) +
                                                       " numbers, expected " + std::to_string(batch.size()));
        detail::call(xf_score, get(), &batch, log_probabilities.data());
    }
    /** @brief Measures loss and perplexity. @param batch [in] pairs @return of the batch */
    xf_eval_stats evaluate(const Batch &batch) { return evaluate(span<const Batch>(&batch, 1)); }
    /** @brief Measures loss and perplexity. @param batches [in] pairs @return of all together */
    xf_eval_stats evaluate(span<const Batch> batches) {
        return detail::fill(xf_eval_stats XF_EVAL_STATS_INIT, xf_evaluate, get(), batches.data(), batches.size());
    }
    /** @brief Gives attention weights. @param pair [in] a batch of one @param kind [in] whose @param layer [in] from 0
     *  @return [heads, queries, keys] */
    std::vector<float> attention_weights(const Batch &pair, xf_attention_kind kind, std::int32_t layer) {
        std::vector<float> weights;
        detail::fit(weights, [&](std::vector<float> &room, std::size_t *count, xf_error *error) {
            return xf_attention_weights(get(), &pair, kind, layer, room.data(), room.size(), count, error);
        });
        return weights;
    }

private:
    static std::int32_t ask(void *self, const xf_prefix *prefix, std::uint32_t *allowed) noexcept {
        const TokenSet tokens(allowed, static_cast<std::size_t>(prefix->vocab_size));
        return detail::Call::protect([&] { (*static_cast<Constraint *>(self))(*prefix, tokens); }) ? 0 : 1;
    }

    xf_decode_params params() {
        xf_decode_params given XF_DECODE_PARAMS_INIT;
        if (constraint_) {
            given.constraint = &Decoder::ask;
            given.constraint_user = &constraint_;
        }
        return given;
    }

    Constraint constraint_;
    std::vector<const char *> texts_;  // kept for their memory
    std::vector<std::size_t> lengths_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_DECODE_HPP */
