// What a search on the device leaves behind, as answers. See device_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/device_search.h"

namespace xf {

void DeviceSearch::results(const SearchRequest &request, int64_t steps, std::vector<SentenceOutcome> *outcomes) {
    const int64_t slots = sentences_ * options_.beam;
    const auto length = fetch(stream_, state_.length, sentences_), done = fetch(stream_, state_.done, sentences_),
               count = fetch(stream_, state_.finished_count, sentences_);
    const auto token = fetch(stream_, state_.history_token, steps * slots);
    const auto parent = fetch(stream_, state_.history_parent, steps * slots);
    const auto token_logp = fetch(stream_, state_.history_logp, steps * slots);
    const auto logp = fetch(stream_, state_.live_logp, slots);
    const auto finished = fetch(stream_, state_.finished, sentences_ * options_.n_best);
    // The hypothesis that stood at place i of sentence s when step tokens were chosen.
    const auto path = [&](int64_t s, int64_t step, int64_t i) {
        Hypothesis h;
        h.ids.resize(static_cast<size_t>(step));
        h.token_log_probabilities.resize(h.ids.size());
        h.complete = done[static_cast<size_t>(s)] != 0;
        while (step > 0) {
            const auto at = static_cast<size_t>(--step * slots + s * options_.beam + i);
            h.ids[static_cast<size_t>(step)] = token[at];
            h.token_log_probabilities[static_cast<size_t>(step)] = token_logp[at];
            i = parent[at];
        }
        return h;
    };
    for (size_t s = 0; s < request.limits.size(); ++s) {
        const auto sentence = static_cast<int64_t>(s);
        std::vector<Hypothesis> &answers = (*outcomes)[static_cast<size_t>(request.sentences[s])].answers;
        for (int64_t i = 0; i < count[s]; ++i) {
            const xf_beam_finished &f = finished[static_cast<size_t>(sentence * options_.n_best + i)];
            answers.push_back(path(sentence, f.step, f.parent));
            answers.back().token_log_probabilities.push_back(f.end_logp);
            answers.back().log_probability = f.logp;
            answers.back().score = f.score;
            answers.back().finished = true;
        }
        if (!answers.empty()) continue;
        const double best = logp[static_cast<size_t>(sentence * options_.beam)];
        answers.push_back(path(sentence, length[s], 0));
        answers.back().log_probability = best;
        answers.back().score = best / length_penalty(std::max<int64_t>(length[s], 1), options_.alpha);
    }
}

}  // namespace xf
