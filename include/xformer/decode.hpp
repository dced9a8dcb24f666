/*
 * xformer/decode.hpp - decode.h for C++: translation, scoring, and evaluation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DECODE_HPP
#define XFORMER_DECODE_HPP

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/config.hpp"
#include "xformer/data.hpp"
#include "xformer/decode.h"
#include "xformer/model.hpp"
#include "xformer/range.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief One hypothesis, owned by its Hypotheses. */
struct Hypothesis {
    std::string_view text;        /**< UTF-8, NUL-terminated; data() is NULL if the model has no tokenizer */
    span<const std::int32_t> ids; /**< target ids without start and end symbols */
    span<const float> token_log_probabilities; /**< if finished, the last is that of the end symbol */
    span<const std::int32_t> alignment; /**< source token of each id, -1: none; empty without "decode.alignment" */
    span<const std::size_t> text_ends;  /**< size of the text of the first i + 1 ids; empty: as alignment */
    double log_probability;             /**< sum of token_log_probabilities */
    double score;                       /**< log_probability divided by the length penalty */
    bool finished;                      /**< false if a limit cut it off or no token could follow */
    bool complete;                      /**< false if the deadline ended the search */
};

/** @cond INTERNAL */
namespace detail {

struct HypothesisAt {
    const xf_hypotheses *hypotheses = nullptr;
    std::size_t sentence = 0;
    Hypothesis operator()(std::size_t index) const {
        const auto h = fill(xf_hypothesis XF_HYPOTHESIS_INIT, xf_hypotheses_get, hypotheses, sentence, index);
        return {{h.text, h.text_length},
                {h.ids, h.id_count},
                {h.token_log_probabilities, h.id_count + (h.finished != 0 ? 1 : 0)},
                {h.alignment, h.alignment != nullptr ? h.id_count : 0},
                {h.text_ends, h.text_ends != nullptr ? h.id_count : 0},
                h.log_probability,
                h.score,
                h.finished != 0,
                h.complete != 0};
    }
};

struct SentenceAt {
    const xf_hypotheses *hypotheses = nullptr;
    Range<HypothesisAt> operator()(std::size_t sentence) const {
        xf_sentence_info info = XF_SENTENCE_INFO_INIT;
        if (xf_hypotheses_get_sentence(hypotheses, sentence, &info, nullptr) != XF_OK) info.hypothesis_count = 0;
        return {info.hypothesis_count, {hypotheses, sentence}};
    }
};

}  // namespace detail
/** @endcond */

/** @brief The hypotheses of one sentence, best first: a range of Hypothesis. If the sentence failed, the range is empty
 *  and front() throws its Error; see Hypotheses::status(). */
using Sentence = Range<detail::HypothesisAt>;

/** @brief The results of a call: a range of Sentence, in the order of the input. Owns the data of the sentences.
 *
 *     for (const xformer::Sentence &sentence : hypotheses) std::cout << sentence.front().text << '\n';
 */
class Hypotheses : public Owner<View<xf_hypotheses>, xf_hypotheses, xf_hypotheses_free> {
public:
    using Owner::Owner;
    /** @brief Returns the number of sentences. @return the number */
    std::size_t size() const noexcept { return xf_hypotheses_sentence_count(get()); }
    auto begin() const { return all().begin(); } /**< @brief Returns the beginning. @return an iterator */
    auto end() const { return all().end(); }     /**< @brief Returns the end. @return an iterator */
    /** @brief Returns the hypotheses of a sentence. @param sentence [in] less than size(); otherwise the range is empty
     *  @return the range, best first */
    Sentence operator[](std::size_t sentence) const & { return all()[sentence]; }
    Sentence operator[](std::size_t sentence) && = delete;
    /** @brief Returns the status of a sentence. @param sentence [in] less than size(); otherwise throws Error
     *  @return status, message, and number of hypotheses; the message is owned by this object */
    xf_sentence_info status(std::size_t sentence) const {
        return detail::fill(xf_sentence_info XF_SENTENCE_INFO_INIT, xf_hypotheses_get_sentence, get(), sentence);
    }
    /** @brief Returns where each source token ends in the text; see xf_sentence_info. @param sentence [in] less than
     *  size(); otherwise throws Error @return the offsets in bytes; empty without "decode.alignment" or a text */
    span<const std::size_t> source_ends(std::size_t sentence) const {
        const xf_sentence_info info = status(sentence);
        return {info.source_ends, info.source_token_count};
    }

private:
    Range<detail::SentenceAt> all() const { return {size(), {get()}}; }
};

/** @brief Parameters of one call of a decoder. Objects that the members refer to must outlive the call. */
struct DecodeParams {
    ConfigView config;                         /**< its "decode." and "text." options override those of the decoder */
    span<const std::string_view> prefixes;     /**< translate(): texts with which the translations begin; empty: none */
    span<const std::int32_t> prefix_ids;       /**< decode(): concatenated ids with which the hypotheses begin */
    span<const std::int64_t> prefix_offsets;   /**< [sentences + 1] offsets in prefix_ids */
    const xf_constraint *constraint = nullptr; /**< see Constraint in experimental.hpp; NULL: none */
};

/** @brief Models that decode together with the first model; see xf_decode_models. The objects that the members refer to
 *  must exist during the call. */
struct DecodeModels {
    span<const ModelView> ensemble; /**< the other models of an ensemble */
    ModelView draft;                /**< proposes tokens for greedy search; empty: none */
};

/** @cond INTERNAL */
namespace detail {
// An xf_decode_models and the array to which it points.
class ModelsStruct {
public:
    explicit ModelsStruct(const DecodeModels &more) {
        for (const ModelView &model : more.ensemble) ensemble_.push_back(model.get());
        given_.ensemble = ensemble_.data();
        given_.ensemble_count = ensemble_.size();
        given_.draft = more.draft.get();
    }
    const xf_decode_models *get() const { return &given_; }

private:
    std::vector<const xf_model *> ensemble_;
    xf_decode_models given_ = XF_DECODE_MODELS_INIT;
};
}  // namespace detail
/** @endcond */

/** @brief Decodes with a model. Each thread needs its own decoder; several decoders can share a model. */
class Decoder : public Owner<View<xf_decoder>, xf_decoder, xf_decoder_free> {
public:
    using Owner::Owner;
    /** @brief Creates a decoder. @param model [in] kept alive @param config [in] "decode." and "text." options
     *  @param more [in] an ensemble or a draft, kept alive */
    explicit Decoder(ModelView model, ConfigView config = {}, const DecodeModels &more = {})
        : Decoder(
              detail::make<Decoder>(xf_decoder_create, model.get(), detail::ModelsStruct(more).get(), config.get())) {}

    /** @brief Translates one text. @param text [in] UTF-8 @param params [in] options, prefixes, and constraint
     *  @param call [in] parameters of the call @return the best translation */
    std::string translate(std::string_view text, const DecodeParams &params = {}, const Call &call = {}) {
        const Hypotheses found = translate({text}, params, call);
        return std::string(found[0].front().text);
    }
    /** @brief Translates texts. @param texts [in] UTF-8 @param params [in] options, prefixes, and constraint
     *  @param call [in] parameters of the call @return at most "decode.n_best" hypotheses for each text, in the same
     *  order. If a text fails, the others still succeed */
    Hypotheses translate(std::initializer_list<std::string_view> texts, const DecodeParams &params = {},
                         const Call &call = {}) {
        return translate<>(texts, params, call);
    }
    /** @brief Translates texts.
     *  @param texts [in] a range of std::string, std::string_view, or const char *
     *  @param params [in] options, prefixes, and constraint
     *  @param call [in] parameters of the call
     *  @return at most "decode.n_best" hypotheses for each text, in the same order. If a text fails, the others still
     * succeed */
    template <class Texts, class Text = decltype(*std::begin(std::declval<const Texts &>())),
              std::enable_if_t<std::is_convertible_v<Text, std::string_view>, int> = 0>
    Hypotheses translate(const Texts &texts, const DecodeParams &params = {}, const Call &call = {}) {
        static_assert(std::is_reference_v<Text> || std::is_pointer_v<Text> ||
                          std::is_same_v<std::remove_cv_t<Text>, std::string_view>,
                      "the range creates its strings while it is read: copy them to a vector first");
        texts_.clear();
        for (const std::string_view text : texts) texts_.add(text);
        prefixes_.clear();
        for (const std::string_view prefix : params.prefixes) prefixes_.add(prefix);
        if (!params.prefixes.empty() && params.prefixes.size() != texts_.size())
            throw Error(XF_ERROR_INVALID_ARGUMENT, "found " + std::to_string(params.prefixes.size()) +
                                                       " prefixes, expected " + std::to_string(texts_.size()) +
                                                       " or none");
        xf_decode_params given = to_c(params);
        if (!params.prefixes.empty()) {
            given.prefixes = prefixes_.pointers.data();
            given.prefix_lengths = prefixes_.lengths.data();
        }
        return detail::make<Hypotheses>(xf_translate, get(), texts_.pointers.data(), texts_.lengths.data(),
                                        texts_.size(), &given, detail::CallStruct(call).get());
    }
    /** @brief Decodes sources that are given as ids. @param batch [in] targets are ignored @param params [in] options,
     *  prefixes, and constraint @param call [in] parameters of the call @return hypotheses in the order of the batch.
     *  If a sentence fails, the others still succeed */
    Hypotheses decode(const Batch &batch, const DecodeParams &params = {}, const Call &call = {}) {
        if (!params.prefix_offsets.empty() && params.prefix_offsets.size() != batch.size() + 1)
            throw Error(XF_ERROR_INVALID_ARGUMENT, "found " + std::to_string(params.prefix_offsets.size()) +
                                                       " prefix_offsets, expected " + std::to_string(batch.size() + 1));
        xf_decode_params given = to_c(params);
        given.prefix_ids = params.prefix_ids.data();
        given.prefix_offsets = params.prefix_offsets.data();
        return detail::make<Hypotheses>(xf_decode, get(), &batch, &given, detail::CallStruct(call).get());
    }

    /** @brief Scores targets. @param batch [in] pairs @param call [in] parameters of the call @return the natural
     *  log-probability of each target */
    std::vector<double> score(const Batch &batch, const Call &call = {}) {
        std::vector<double> log_probabilities(batch.size());
        score(batch, log_probabilities, call);
        return log_probabilities;
    }
    /** @brief Scores targets. @param batch [in] pairs @param log_probabilities [out] one value for each pair
     *  @param call [in] parameters of the call */
    void score(const Batch &batch, span<double> log_probabilities, const Call &call = {}) {
        if (log_probabilities.size() != batch.size())
            throw Error(XF_ERROR_INVALID_ARGUMENT, "found room for " + std::to_string(log_probabilities.size()) +
                                                       " numbers, expected " + std::to_string(batch.size()));
        detail::call(xf_score, get(), &batch, detail::CallStruct(call).get(), log_probabilities.data());
    }
    /** @brief Scores given translations.
     *  @param sources [in] a range of UTF-8 strings
     *  @param targets [in] the same number of UTF-8 strings
     *  @param statuses [out] status of each pair; NULL: throws the Error of the first pair that failed
     *  @param call [in] parameters of the call
     *  @return the natural log-probability of each target; NaN for a pair that failed */
    template <class Sources, class Targets>
    std::vector<double> score_texts(const Sources &sources, const Targets &targets,
                                    std::vector<xf_status> *statuses = nullptr, const Call &call = {}) {
        const detail::Texts from(sources), to(targets);
        if (from.size() != to.size())
            throw Error(XF_ERROR_INVALID_ARGUMENT, "found " + std::to_string(from.size()) + " sources and " +
                                                       std::to_string(to.size()) + " targets, expected equal numbers");
        std::vector<double> log_probabilities(from.size());
        if (statuses != nullptr) statuses->assign(from.size(), XF_OK);
        detail::call(xf_score_texts, get(), from.pointers.data(), from.lengths.data(), to.pointers.data(),
                     to.lengths.data(), from.size(), detail::CallStruct(call).get(), log_probabilities.data(),
                     statuses != nullptr ? statuses->data() : nullptr);
        return log_probabilities;
    }
    /** @brief Measures loss and perplexity. @param batcher [in,out] all its pairs are read; its position is unchanged
     *  afterwards @param call [in] parameters of the call @return statistics of all pairs */
    xf_eval_stats evaluate(Batcher &batcher, const Call &call = {}) {
        return detail::fill(xf_eval_stats XF_EVAL_STATS_INIT, xf_evaluate, get(), batcher.get(),
                            detail::CallStruct(call).get());
    }

private:
    static xf_decode_params to_c(const DecodeParams &params) {
        xf_decode_params given = XF_DECODE_PARAMS_INIT;
        given.config = params.config.get();
        given.constraint = params.constraint;
        return given;
    }

    detail::Texts texts_, prefixes_;  // members, so that their memory is reused
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_DECODE_HPP */
