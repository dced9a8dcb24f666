// The hypotheses of a search on the device. See device_search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/device_search.h"

namespace xf {

void DeviceSearch::collect_results(int64_t steps, std::vector<SentenceOutcome> *outcomes) {
    const int64_t slots = sentences_ * options_.beam;
    const auto length = fetch(stream_, beam_step_.length, sentences_),
               done = fetch(stream_, beam_step_.done, sentences_),
               count = fetch(stream_, beam_step_.finished_count, sentences_);
    const auto token = fetch(stream_, beam_step_.history_token, steps * slots);
    const auto parent = fetch(stream_, beam_step_.history_parent, steps * slots);
    const auto token_logp = fetch(stream_, beam_step_.history_logp, steps * slots);
    const auto logp = fetch(stream_, beam_step_.live_logp, slots);
    const auto finished = fetch(stream_, beam_step_.finished, sentences_ * options_.n_best);
    // Hypothesis i of sentence s before the step with this index.
    const auto path = [&](int64_t s, int64_t step, int64_t i) {
        Hypothesis h;
        h.ids.resize(step);
        h.token_log_probabilities.resize(step);
        h.complete = done[s] != 0;
        while (step > 0) {
            const int64_t at = --step * slots + s * options_.beam + i;
            h.ids[step] = token[at];
            h.token_log_probabilities[step] = token_logp[at];
            i = parent[at];
        }
        return h;
    };
    for (int64_t s = 0; s < std::ssize(tasks_); ++s) {
        std::vector<Hypothesis> &hypotheses = (*outcomes)[tasks_[s].sentence].hypotheses;
        for (int64_t i = 0; i < count[s]; ++i) {
            const xf_beam_finished &f = finished[s * options_.n_best + i];
            Hypothesis &h = hypotheses.emplace_back(path(s, f.step, f.parent));
            h.token_log_probabilities.push_back(f.end_logp);
            h.log_probability = f.logp;
            h.score = f.score;
            h.finished = true;
        }
        if (!hypotheses.empty()) continue;
        Hypothesis &h = hypotheses.emplace_back(path(s, length[s], 0));
        h.log_probability = logp[s * options_.beam];
        h.score = h.log_probability / length_penalty(std::max(length[s], 1), options_.alpha);
    }
}

}  // namespace xf
