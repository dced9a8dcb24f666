// The reads of a search on the device: the state of all sentences, their histories, and their results. See
// device_lane.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/device_lane.h"

namespace xf {

void DeviceLane::read() {
    if (known_ || active_.empty()) return;
    state_.resize((state_bytes_ + sizeof(double) - 1) / sizeof(double));
    shared_.stream.download(state_.data(), beam_step_.sentences, state_bytes_);
    known_ = true;
    unread_ = 0;
    for (const int32_t s : active_) {
        Sentence &sentence = sentences_[s];
        if (!sentence.followed || std::ssize(sentence.history) != (state(s).length - 1) * beam_) continue;
        const xf_beam_live *const live = host(beam_step_.live) + s * beam_;
        for (int64_t i = 0; i < beam_; ++i) sentence.history.push_back(live[i].last);
    }
}

// Reads what is missing of the histories of sentences, with one download.
void DeviceLane::read_history(std::span<const int32_t> slots) {
    const auto missing = [&](int32_t s) { return state(s).length * beam_ - std::ssize(sentences_[s].history); };
    int64_t total = 0, pieces = 0;
    for (const int32_t s : slots) {
        total += missing(s);
        pieces += missing(s) > 0 ? 1 : 0;
    }
    if (total == 0) return;
    if (pieces > 1) gathered_.reserve(shared_.stream.device(), total * sizeof(xf_beam_token));
    const xf_beam_token *from = gathered_.as<xf_beam_token>();
    for (int64_t at = 0; const int32_t s : slots) {
        const int64_t count = missing(s);
        if (count == 0) continue;
        const xf_beam_token *const begin = beam_step_.history + s * ld_ * beam_ + std::ssize(sentences_[s].history);
        if (pieces == 1) {
            from = begin;
            break;
        }
        shared_.stream.copy(gathered_.as<xf_beam_token>() + at, begin, count * sizeof(xf_beam_token));
        at += count;
    }
    std::vector<xf_beam_token> tokens(total);
    shared_.stream.download(tokens.data(), from, tokens.size() * sizeof(xf_beam_token));
    for (auto next = tokens.begin(); const int32_t s : slots) {
        const auto end = next + missing(s);
        sentences_[s].history.insert(sentences_[s].history.end(), next, end);
        next = end;
    }
}

DeviceLane::Node DeviceLane::parent(const Sentence &sentence, Node node) const {
    const int32_t length = node.length - 1;
    return {length, sentence.history[length * beam_ + node.index].parent};
}

// The tokens of a hypothesis of a sentence whose history has been read.
Hypothesis DeviceLane::path(int32_t slot, Node node) const {
    const Sentence &sentence = sentences_[slot];
    Hypothesis h;
    h.ids.resize(node.length);
    h.token_log_probabilities.resize(node.length);
    h.complete = state(slot).done != 0;
    for (; node.length > 0; node = parent(sentence, node)) {
        const xf_beam_token &last = sentence.history[(node.length - 1) * beam_ + node.index];
        h.ids[node.length - 1] = last.token;
        h.token_log_probabilities[node.length - 1] = last.value;
    }
    return h;
}

// Writes the hypotheses of a sentence whose history has been read.
void DeviceLane::write_result(int32_t slot) const {
    const SearchTask &task = sentences_[slot].task;
    std::vector<Hypothesis> &hypotheses = task.outcome->hypotheses;
    for (int32_t i = 0; i < state(slot).finished; ++i) {
        const xf_beam_finished &f = host(beam_step_.finished)[slot * beam_ + i];
        Hypothesis &h = hypotheses.emplace_back(path(slot, {f.step, f.parent}));
        h.token_log_probabilities.push_back(f.end_logp);
        h.log_probability = f.logp;
        h.score = f.score;
        h.finished = true;
    }
    if (!hypotheses.empty()) return;
    const int32_t length = state(slot).length;
    Hypothesis &h = hypotheses.emplace_back(path(slot, {length, 0}));
    h.log_probability = host(beam_step_.live)[slot * beam_].logp;
    h.score = h.log_probability / length_penalty(std::max(length, 1), task.beam.alpha);
}

// Ends the search of active sentences. The state has been read.
void DeviceLane::end(std::span<const int32_t> slots) {
    if (slots.empty()) return;
    read_history(slots);
    for (const int32_t slot : slots) {
        write_result(slot);
        SearchTask &task = sentences_[slot].task;
        shared_.cells.release(sentences_[slot].first_cell, task.limit * beam_);
        --shared_.sentences;
        shared_.step.remove(task.source);
        source_tokens_ -= task.source.length;
        task.outcome = nullptr;
    }
    std::erase_if(active_, [&](int32_t slot) { return !sentences_[slot].used(); });
    changed_ = true;
}

// Ends those whose search has ended.
void DeviceLane::end_done() {
    std::vector<int32_t> done;
    for (const int32_t slot : active_)
        if (state(slot).done != 0) done.push_back(slot);
    end(done);
}

void DeviceLane::stop(const SentenceOutcome *outcome) {
    const auto stops = [&](const SearchTask &task) { return outcome == nullptr || task.outcome == outcome; };
    std::erase_if(added_, [&](const SearchTask &task) {
        if (!stops(task)) return false;
        task.outcome->hypotheses.assign(1, Hypothesis{.complete = false});
        shared_.step.remove(task.source);
        source_tokens_ -= task.source.length;
        return true;
    });
    std::vector<int32_t> slots;
    for (const int32_t slot : active_)
        if (stops(sentences_[slot].task)) slots.push_back(slot);
    if (slots.empty()) return;
    read();
    end(slots);
}

bool DeviceLane::contains(const SentenceOutcome *outcome) const {
    const auto has = [&](const SearchTask &task) { return task.outcome == outcome; };
    return std::any_of(added_.begin(), added_.end(), has) ||
           std::any_of(active_.begin(), active_.end(), [&](int32_t slot) { return has(sentences_[slot].task); });
}

Hypothesis DeviceLane::common_prefix(const SentenceOutcome *outcome) {
    const auto found = std::find_if(active_.begin(), active_.end(),
                                    [&](int32_t slot) { return sentences_[slot].task.outcome == outcome; });
    if (found == active_.end()) return {.complete = false};
    const int32_t slot = *found;
    Sentence &sentence = sentences_[slot];
    sentence.followed = true;
    read();
    read_history({&slot, 1});
    Node common{state(slot).length, 0};
    const auto join = [&](Node node) {
        while (node.length != common.length || node.index != common.index) {
            const int32_t length = std::max(node.length, common.length);
            for (Node *each : {&node, &common})
                if (each->length == length) *each = parent(sentence, *each);
        }
    };
    for (int32_t i = 0; i < state(slot).live; ++i) join({state(slot).length, i});
    for (int32_t i = 0; i < state(slot).finished; ++i) {
        const xf_beam_finished &f = host(beam_step_.finished)[slot * beam_ + i];
        join({f.step, f.parent});
    }
    Hypothesis h = path(slot, common);
    for (const float one : h.token_log_probabilities) h.log_probability += one;
    h.score = h.log_probability / length_penalty(std::max<int64_t>(std::ssize(h.ids), 1), sentence.task.beam.alpha);
    return h;
}

}  // namespace xf
