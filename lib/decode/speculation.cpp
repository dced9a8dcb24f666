// SPDX-License-Identifier: Apache-2.0
#include "decode/speculation.h"

#include <algorithm>
#include <utility>

namespace xf {
namespace {

// The best two tokens, because the best one may be an end symbol that is not allowed yet.
constexpr int64_t kBest = 2;

// The initial number of cells.
constexpr int64_t kCells = 64;

// The bytes of the weights that a layer and the output read, and a constant for each operation: starting it costs as
// much as reading kOperation bytes.
constexpr double kOperation = 64 << 10, kOperations = 12;

double bytes_per_weight(const Model &model) {
    const uint32_t type = model.weights_type();
    if (type == XF_WEIGHTS_INT8) return 1;
    return type != XF_WEIGHTS_NUM || model.dtype() == XF_BF16 ? 2 : 4;
}

double layer_cost(const Model &model, bool cross) {
    const ModelConfig &c = model.config();
    const int64_t attention = c.D * (c.qkv_columns() + c.v_columns());
    // Keys and values of cross-attention are computed once.
    const int64_t queries = cross ? c.D * (c.q_columns() + c.v_columns()) : 0;
    const int64_t weights = attention + queries + c.D * (c.inner_columns() + c.F);
    return static_cast<double>(weights) * bytes_per_weight(model) + kOperations * kOperation;
}

double step_cost(const Model &model) {
    const ModelConfig &c = model.config();
    return static_cast<double>(c.decoder_layers) * layer_cost(model, true) +
           static_cast<double>(c.V * c.D) * bytes_per_weight(model) + 2 * kOperation;
}

// The cost of each row of a step after the first one (draft_policy.h). With fewer bytes per weight, a step of one row
// reads less, but a further row computes as much.
double row_cost(const Model &model) { return bytes_per_weight(model) < 4 ? 0.25 : 0.125; }

double encoder_cost(const Model &model) {
    return static_cast<double>(model.config().encoder_layers) * layer_cost(model, false);
}

std::shared_ptr<const Model> checked(const Model &model, std::shared_ptr<const Model> draft) {
    XF_CHECK(&draft->context() == &model.context(), XF_ERROR_INVALID_ARGUMENT,
             "the draft belongs to another context than the model");
    const ModelConfig &a = model.config(), &b = draft->config();
    XF_CHECK(a.V == b.V && a.source_V == b.source_V, XF_ERROR_INVALID_ARGUMENT,
             "the draft has %" PRId64 " target and %" PRId64 " source tokens, expected %" PRId64 " and %" PRId64
             " as in the model",
             b.V, b.source_V, a.V, a.source_V);
    XF_CHECK(a.tokens.start == b.tokens.start && a.tokens.end == b.tokens.end, XF_ERROR_INVALID_ARGUMENT,
             "the draft has start token %d and end token %d, expected %d and %d as in the model", b.tokens.start,
             b.tokens.end, a.tokens.start, a.tokens.end);
    return draft;
}

}  // namespace

Speculation::Speculation(const Model &model, std::shared_ptr<const Model> draft, const DraftPolicy *policy)
    : draft_(checked(model, std::move(draft))),
      step_(*draft_.model, draft_.stream),
      policy_(policy != nullptr ? *policy
                                : DraftPolicy(step_cost(this->draft()) / step_cost(model),
                                              encoder_cost(this->draft()) / step_cost(model), row_cost(model))) {}

void Speculation::clear() {
    active_.clear();
    vacant_.clear();
    for (size_t i = sentences_.size(); i-- > 0;) vacant_.push_back(static_cast<int32_t>(i));
    pool_.clear();
    step_.clear();
    proposed_ = accepted_ = step_proposed_ = step_accepted_ = 0;
}

std::span<const int32_t> Speculation::begin(const xf_batch &batch, std::span<const int64_t> indices, int64_t active,
                                            const Call &call) {
    begun_.assign(indices.size(), -1);
    if (indices.empty() || !policy_.begins(active)) return begun_;
    const Num memory = draft_.encode(batch, indices, call);
    const PackedSide &source = draft_.packed.src;
    const int64_t row = step_.add_sources(source, memory, call);
    policy_.add_encoder(source.rows);
    for (size_t i = 0; i < indices.size(); ++i) {
        if (vacant_.empty()) {
            vacant_.reserve(sentences_.size() + 1);  // so that clear() cannot fail
            sentences_.emplace_back();
            vacant_.push_back(static_cast<int32_t>(sentences_.size()) - 1);
        }
        begun_[i] = vacant_.back();
        active_.push_back(begun_[i]);
        vacant_.pop_back();
        sentences_[begun_[i]].source = DecoderStep::Source::of(source, static_cast<int64_t>(i), row);
    }
    return begun_;
}

void Speculation::start(int32_t id, const SearchTask &task) {
    Sentence &sentence = sentences_[id];
    sentence.task = task;
    sentence.tokens.assign(1, task.beam.start_token);
    sentence.proposals.clear();
    sentence.cells.clear();
    sentence.cached = sentence.forced = 0;
}

void Speculation::end(int32_t id) {
    Sentence &sentence = sentences_[id];
    if (!sentence.cells.empty()) pool_.release(sentence.cells.back());
    step_.remove(sentence.source);
    std::erase(active_, id);
    vacant_.push_back(id);
}

// Adds the tokens and proposals that are not in the cache.
void Speculation::add_rows(Sentence *sentence) {
    const int64_t count = std::ssize(sentence->tokens) + std::ssize(sentence->proposals);
    while (std::ssize(sentence->cells) < count)
        sentence->cells.push_back(pool_.take(sentence->cells.empty() ? -1 : sentence->cells.back()));
    rows_.sources.push_back(sentence->source);
    rows_.sentence_begin.push_back(static_cast<int32_t>(rows_.tokens.size()));
    rows_.sentence_length.push_back(static_cast<int32_t>(count - sentence->cached));
    for (; sentence->cached < count; ++sentence->cached)
        rows_.add(sentence->input(sentence->cached), sentence->cached, sentence->cells);
}

void Speculation::propose(int64_t active, const Call &call) {
    int64_t most = 0;
    for (const int32_t i : active_) most = std::max(most, sentences_[i].task.draft_tokens);
    const int64_t k = policy_.tokens(active, most);
    for (const int32_t i : active_) {
        Sentence &s = sentences_[i];
        s.proposals.clear();
        // The model's own token follows the last proposal.
        s.wanted = std::min({k, s.task.draft_tokens, s.task.limit - s.length() - 1,
                             draft().config().max_length - std::ssize(s.tokens)});
        for (int64_t t = s.length(); t < s.task.prefix.size() && std::ssize(s.proposals) < s.wanted; ++t)
            s.proposals.push_back(s.task.prefix.token(t));
        s.forced = std::ssize(s.proposals);
    }
    for (;;) {
        running_.clear();
        int64_t longest = 0;
        for (const int32_t i : active_) {
            const Sentence &s = sentences_[i];
            if (std::ssize(s.proposals) >= s.wanted) continue;
            running_.push_back(i);
            longest = std::max(longest, s.length() + std::ssize(s.proposals));
        }
        if (running_.empty()) break;
        rows_.clear();
        rows_.ld_cells = longest + 1;
        for (const int32_t i : running_) add_rows(&sentences_[i]);
        rows_.multi_step = rows_.tokens.size() > running_.size();
        if (pool_.size() > step_.cells())
            step_.reserve_cells(std::max({pool_.size(), step_.cells() * 3 / 2, kCells}), true);
        const int64_t best = std::min(kBest, draft().config().V - 1);
        values_.resize(rows_.tokens.size() * best);
        ids_.resize(values_.size());
        step_.run(rows_, best, values_.data(), ids_.data(), call);
        policy_.add_draft_step(std::ssize(rows_.tokens));
        for (size_t a = 0; a < running_.size(); ++a) {
            Sentence &s = sentences_[running_[a]];
            const int64_t at = (rows_.sentence_begin[a] + rows_.sentence_length[a] - 1) * best;
            const bool too_short = s.length() + std::ssize(s.proposals) < s.task.min_tokens;
            const int32_t token = ids_[at + (ids_[at] == s.task.beam.end_token && too_short ? best - 1 : 0)];
            // A proposal is an input of the model, and the end symbol is not.
            if (token < 0 || token == s.task.beam.end_token)
                s.wanted = 0;
            else
                s.proposals.push_back(token);
        }
    }
}

void Speculation::settle(int32_t id, const BeamSearch &search, int64_t accepted) {
    Sentence &s = sentences_[id];
    s.tokens.insert(s.tokens.end(), s.proposals.begin(), s.proposals.begin() + accepted);
    if (!search.done()) s.tokens.push_back(search.live()[0].token);
    for (int64_t i = s.forced; i < accepted; ++i) policy_.add_trial(true);
    if (accepted >= s.forced && accepted < std::ssize(s.proposals)) policy_.add_trial(false);
    // Cells after the accepted tokens contain others.
    s.cached = std::min<int64_t>(s.cached, std::ssize(s.tokens) - 1);
    step_proposed_ += std::ssize(s.proposals);
    step_accepted_ += accepted;
}

void Speculation::end_step(int64_t active) {
    policy_.add_step(active, step_proposed_, step_accepted_);
    proposed_ += std::exchange(step_proposed_, 0);
    accepted_ += std::exchange(step_accepted_, 0);
}

}  // namespace xf
