/*
 * xformer/decode.hpp - decode.h for C++: translation and scoring.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DECODE_HPP
#define XFORMER_DECODE_HPP

#include <functional>
#include <initializer_list>
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
    span<const float> token_log_probabilities; /**< of each token, the end symbol's last when finished */
    double log_probability;                    /**< their sum */
    double score;                              /**< log_probability divided by the length penalty */
    bool finished;                             /**< false when a limit cut it off */
    bool complete;                             /**< false when the deadline ended the search */
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
                {h.token_log_probabilities, static_cast<std::size_t>(h.length + h.finished)},
                h.log_probability,
                h.score,
                h.finished != 0,
                h.complete != 0};
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

/** @brief The answers to one sentence, best first: a range of Hypothesis. Of a sentence that has none the first is its
 *  Error; see Hypotheses::status(). */
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
    /** @brief Tells what became of a sentence. @param sentence [in] below size() @param error [out] why it has no
     * answer, or NULL @return XF_OK when it has */
    xf_status status(std::size_t sentence, xf_error *error = nullptr) const noexcept {
        return xf_hypotheses_status(get(), sentence, error);
    }

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

/** @brief What holds for one call of a decoder. Views: what they look at outlives the call. */
struct DecodeParams {
    ConfigView config;                       /**< options "decode." that were set in it */
    span<const std::string_view> prefixes;   /**< translate(): what each answer begins with; none: anything */
    span<const std::int32_t> prefix_ids;     /**< decode(): the same in ids, one sentence after the other */
    span<const std::int32_t> prefix_offsets; /**< [sentences + 1] where those of each begin */
    Constraint constraint;                   /**< empty: any token may follow */
};

/** @brief Beam search over a model it shares with others: for each thread one. */
class Decoder : public Owner<View<xf_decoder>, xf_decoder, xf_decoder_free> {
public:
    using Owner::Owner;
    /** @brief Makes a decoder. @param model [in] kept alive @param config [in] options "decode." */
    explicit Decoder(ModelView model, ConfigView config = {})
        : Decoder(detail::make<Decoder>(xf_decoder_create, model.get(), config.get())) {}

    /** @brief Ends the call that runs on this decoder in Cancelled. From any thread, or from a signal handler. */
    void cancel() const noexcept { xf_decoder_cancel(get()); }

    /** @brief Translates one text. @param text [in] UTF-8 @param params [in] for this call @return the best answer */
    std::string translate(std::string_view text, const DecodeParams &params = {}) {
        const Hypotheses answers = translate({text}, params);
        return std::string(answers[0].front().text);
    }
    /** @brief Translates texts. @param texts [in] UTF-8 @param params [in] for this call
     *  @return "decode.n_best" answers to each, in their order; a text that has none does not fail the others */
    Hypotheses translate(std::initializer_list<std::string_view> texts, const DecodeParams &params = {}) {
        return translate<>(texts, params);
    }
    /** @brief Translates texts.
     *  @param texts [in] a range of std::string, std::string_view or const char *
     *  @param params [in] for this call
     *  @return "decode.n_best" answers to each, in their order; a text that has none does not fail the others */
    template <class Texts, class Text = decltype(*std::begin(std::declval<const Texts &>())),
              std::enable_if_t<std::is_convertible_v<Text, std::string_view>, int> = 0>
    Hypotheses translate(const Texts &texts, const DecodeParams &params = {}) {
        static_assert(std::is_reference_v<Text> || std::is_pointer_v<Text> ||
                          std::is_same_v<std::remove_cv_t<Text>, std::string_view>,
                      "these texts are made while they are read: put them into a vector first");
        texts_.clear();
        for (const std::string_view text : texts) texts_.add(text);
        prefixes_.clear();
        for (const std::string_view prefix : params.prefixes) prefixes_.add(prefix);
        const std::size_t count = texts_.pointers.size();
        if (!params.prefixes.empty() && params.prefixes.size() != count)
            throw Error(XF_ERROR_INVALID_ARGUMENT, std::to_string(params.prefixes.size()) + " prefixes, expected " +
                                                       std::to_string(count) + " or none");
        xf_decode_params given = to_c(params);
        if (!params.prefixes.empty()) {
            given.prefixes = prefixes_.pointers.data();
            given.prefix_lengths = prefixes_.lengths.data();
        }
        return detail::make<Hypotheses>(xf_translate, get(), texts_.pointers.data(), texts_.lengths.data(), count,
                                        &given);
    }
    /** @brief Decodes sources given as ids. @param batch [in] targets are not looked at @param params [in] for this
     * call
     *  @return answers in its order; a sentence that has none does not fail the others */
    Hypotheses decode(const Batch &batch, const DecodeParams &params = {}) {
        if (!params.prefix_offsets.empty() && params.prefix_offsets.size() != batch.size() + 1)
            throw Error(XF_ERROR_INVALID_ARGUMENT, std::to_string(params.prefix_offsets.size()) +
                                                       " prefix_offsets, expected " + std::to_string(batch.size() + 1));
        xf_decode_params given = to_c(params);
        given.prefix_ids = params.prefix_ids.data();
        given.prefix_offsets = params.prefix_offsets.data();
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
    /** @brief Measures loss and perplexity. @param batcher [in,out] all its pairs, once; it then stands where it stood
     *  @return of all together */
    xf_eval_stats evaluate(Batcher &batcher) {
        return detail::fill(xf_eval_stats XF_EVAL_STATS_INIT, xf_evaluate_batcher, get(), batcher.get());
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
    struct Texts {  // kept for their memory
        std::vector<const char *> pointers;
        std::vector<std::size_t> lengths;

        void clear() { pointers.clear(), lengths.clear(); }
        void add(std::string_view text) {
            pointers.push_back(text.data() != nullptr ? text.data() : "");
            lengths.push_back(text.size());
        }
    };

    static std::int32_t ask(void *self, const xf_prefix *prefix, std::uint32_t *allowed) noexcept {
        const TokenSet tokens(allowed, static_cast<std::size_t>(prefix->vocab_size));
        return detail::Call::protect([&] { (*static_cast<const Constraint *>(self))(*prefix, tokens); }) ? 0 : 1;
    }
    static xf_decode_params to_c(const DecodeParams &params) {
        xf_decode_params given = XF_DECODE_PARAMS_INIT;
        given.config = params.config.get();
        if (params.constraint) {
            given.constraint = &Decoder::ask;
            given.constraint_user = const_cast<Constraint *>(&params.constraint);
        }
        return given;
    }

    Texts texts_, prefixes_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_DECODE_HPP */
