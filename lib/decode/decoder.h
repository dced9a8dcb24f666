// Decoding, scoring, and evaluation of batches: groups sentences by length, runs the network, and searches.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "data/batcher.h"
#include "decode/alignment.h"
#include "decode/attention_weights.h"
#include "decode/banned_phrases.h"
#include "decode/decode_models.h"
#include "decode/device_search.h"
#include "decode/host_search.h"
#include "decode/inference_model.h"
#include "decode/search.h"
#include "decode/speculation.h"
#include "xformer/data.h"

namespace xf {

struct DecodeConfig {
    BeamOptions beam;
    int64_t min_tokens, max_extra_tokens, batch_sentences, draft_tokens;
    float label_smoothing;   // for evaluate()
    bool divide_evaluation;  // among the ranks
    bool smooth_uniform;
    int32_t first_token;  // the first token of every hypothesis; -1: any
    LanguageTokens languages;
    SamplingOptions sampling;
    double repetition_penalty;
    int64_t no_repeat_ngram;  // 0: no limit
    bool alignment;
    std::shared_ptr<const BannedPhrases> banned;  // null: none

    // tokenizer: null if the model has none. Throws XF_ERROR_STATE if the options require a tokenizer and it is null.
    static DecodeConfig from(const Options &options, const ModelConfig &model, const Tokenizer *tokenizer);
    // Returns whether only the search on the host supports these options.
    bool needs_host() const { return beam.kind != SearchKind::kBeam || repetition_penalty != 1; }
    // Returns the constraint of a search: that of the caller, which may be empty, and that of these options.
    Constraint constrained(const Constraint &constraint) const;
};

// The arguments of one call of decode().
struct DecodeRequest {
    const Options *options = nullptr;  // values of "decode." and "text." that replace those of the decoder; may be null
    const int32_t *prefix_ids = nullptr;      // the beginnings of the hypotheses; null: none
    const int64_t *prefix_offsets = nullptr;  // [sentences + 1]
    Constraint constraint{};                  // may be empty
};

// A source sentence and how to decode it. Its pointers and spans must remain valid until its search has ended.
struct DecodeTask {
    int64_t sentence;  // in the batch, for the constraint
    const DecodeConfig *config;
    std::span<const int32_t> source;  // with the end symbol
    std::span<const int32_t> prefix;  // the beginning of the hypotheses
    const Constraint *constraint;     // null: none
    SentenceOutcome *outcome;         // receives the hypotheses
};

struct EvalStats {
    int64_t sentences = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;

    double loss() const { return loss_sum / tokens(); }
    double nll() const { return nll_sum / tokens(); }

private:
    double tokens() const { return tgt_tokens > 0 ? static_cast<double>(tgt_tokens) : 1.0; }
};

// Batches are validated. An error of a whole batch is thrown; decode() reports an error of a single sentence in its
// outcome.
class Decoder {
public:
    // tokenizer: of the models; must outlive the decoder. Null if they have none.
    Decoder(const DecodeModels &models, const Options &options, const Tokenizer *tokenizer = nullptr);
    Decoder(std::shared_ptr<const Model> model, const Options &options, const Tokenizer *tokenizer = nullptr)
        : Decoder(DecodeModels{std::move(model)}, options, tokenizer) {}

    // The first model.
    const Model &model() const { return *models_.model; }
    const DecodeModels &models() const { return models_; }
    // Null: no draft.
    const Speculation *speculation() const { return speculation_.get(); }
    // Resolves the options of one call. options: as in DecodeRequest.
    DecodeConfig config(const Options *options) const;

    // Returns the outcome of each source, in the order of the batch. Targets are ignored.
    std::vector<SentenceOutcome> decode(const xf_batch &batch, const DecodeRequest &request = {},
                                        const Call &call = {}) {
        return decode(batch, request, config(request.options), call, {});
    }
    // The same with resolved options; request.options is ignored. outcomes: one for each sentence, or empty. Sentences
    // whose outcome is already settled are skipped.
    std::vector<SentenceOutcome> decode(const xf_batch &batch, const DecodeRequest &request, const DecodeConfig &config,
                                        const Call &call, std::vector<SentenceOutcome> outcomes);

    // The functions from check() to clear() are the steps of decode(), for sentences that begin at different times.
    //
    // Throws the error of a sentence that cannot be decoded.
    void check(const DecodeTask &task) const;
    // Runs the encoder on valid tasks and starts their search. If the deadline of the call passes before the search
    // starts, the outcomes have the status XF_ERROR_DEADLINE.
    void begin(std::span<const DecodeTask> tasks, const Call &call);
    // The number of sentences that are not known to have ended.
    int64_t active() const;
    // Runs one step of the search, if a sentence is active. Writes the outcomes of sentences whose search has ended.
    void step(const Call &call);
    // Ends the search of the sentence with this outcome, or of all if it is null, with the best hypotheses so far.
    void stop(const SentenceOutcome *outcome);
    // Writes the alignments of the hypotheses of sentences whose search has ended, if their options request it. Must
    // follow step() and stop(), also before the memory of the tasks is reused.
    void align_ended(const Call &call);
    // The tokens with which every possible result of the active sentence with this outcome begins.
    Hypothesis common_prefix(const SentenceOutcome *outcome);
    // Ends the search of all sentences and discards their hypotheses. May be called after an error of another function.
    void clear();

    // Computes the log-probability of each target given its source. For an ensemble, it is the mean of the
    // log-probabilities from its models.
    void score(const xf_batch &batch, double *log_probabilities, const Call &call = {});

    // Sums over the target of a sentence.
    struct SentenceLoss {
        double loss = 0, nll = 0;
        int64_t tokens = 0;
    };
    // Adds the loss and the nll of a batch to the stats. For an ensemble, these are the means over its models.
    void evaluate(const xf_batch &batch, EvalStats *stats, const Call &call = {});
    // Evaluates all pairs of an epoch of the batcher, whose position is restored afterwards, also after an error. With
    // "decode.divide_evaluation", the ranks divide the batches, and the call is collective.
    EvalStats evaluate(Batcher *batcher, const Call &call = {});

    // The attention weights of the first model for the single pair in a batch (paper eq. 1). attention_shape() checks
    // the arguments. weights: shape.count() values, unchanged after an error. kind: an AttentionKind.
    AttentionShape attention_shape(const xf_batch &pair, int32_t kind, int64_t layer) const;
    void attention(const xf_batch &pair, int32_t kind, int64_t layer, float *weights, const Call &call = {});

private:
    int64_t limit(const DecodeTask &task) const;
    int64_t room(std::span<const DecodeTask> waiting) const;
    bool is_draftable(const DecodeTask &task) const;
    // Returns whether the search of a task runs on the device.
    bool on_device(const DecodeTask &task) const;
    void begin_together(std::span<const DecodeTask> tasks, const Call &call);
    void encode_together(std::span<const DecodeTask> tasks, const Call &call);
    // Runs the encoder of the draft on the sources of a batch. Returns the id of each task from Speculation::begin();
    // -1: no draft.
    std::span<const int32_t> begin_drafts(std::span<const DecodeTask> tasks, const xf_batch &batch, const Call &call);
    // Appends the tasks of all sentences whose outcome is not settled, the longest source first.
    void list_tasks(const xf_batch &batch, const DecodeRequest &request, const DecodeConfig &config,
                    std::vector<SentenceOutcome> *outcomes);
    void sort_longest_first(const int64_t *offsets);
    void check_pairs(const xf_batch &batch) const;
    InferenceModel &first() { return *members_[0]; }
    std::vector<SentenceLoss> losses_of(const xf_batch &batch, const Call &call);
    // Calls use(losses) for each of these batches of the epoch.
    template <class Use>
    void evaluate_batches(Batcher *batcher, Range batches, const Call &call, const Use &use);
    // Runs the decoder of a model on the targets. Calls use(b, losses, nlls, count) for each sentence b; losses and
    // nlls contain the loss and the nll of each of its `count` tokens.
    template <class Use>
    void run_targets(InferenceModel *member, const xf_batch &batch, float smoothing, const Call &call, Use use);

    const DecodeModels models_;
    const Tokenizer *const tokenizer_;
    Options options_;
    DecodeConfig config_;
    std::vector<std::unique_ptr<InferenceModel>> members_;  // the models except the draft
    std::unique_ptr<Speculation> speculation_;              // null: no draft
    std::unique_ptr<DeviceSearch> device_;                  // null: not supported by the device, or an ensemble
    HostSearch host_;                                       // of the sentences that device_ does not support
    // Of the current call; members so that their memory is reused.
    std::vector<int64_t> order_;
    std::vector<DecodeTask> tasks_, device_tasks_, host_tasks_;
    std::vector<DecodeTask> unaligned_;  // begun, with DecodeConfig::alignment
    std::vector<AlignmentTask> alignment_tasks_;
    std::vector<Num> memories_;
    Constraint constraint_;
    std::vector<int32_t> ids_;  // of the sources that begin
    std::vector<int64_t> offsets_;
    std::vector<int32_t> drafts_;
    std::vector<float> losses_, nlls_;
    Batch batch_;
};

}  // namespace xf
