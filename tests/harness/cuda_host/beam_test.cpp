// The device's beam search step against lib/decode/beam.cpp, step by step and to the bit, on made-up lists of the best
// continuations: random ones, ones full of ties, rows where nothing is possible, and sentences with separate options
// that come and go.
//
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "cuda_host/device_fixture.hpp"
#include "decode/beam.h"

namespace {

constexpr int32_t kEnd = xf::BeamOptions().end_token;

using namespace xf_test;
using xf::BeamSearch;
using xf::Hypothesis;
using Random = std::mt19937_64;

int64_t below(Random &random, int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); }

struct Setup {
    int64_t sentences, beam, k;
    bool ties, minimum;  // minimum: hypotheses have a minimum length
    uint64_t seed;
};

// A row's list: values fall, equal ones by rising id; some lists end early in minus infinity.
void make_list(Random &random, const Setup &setup, float *values, int32_t *ids) {
    const int64_t vocabulary = setup.k + 4;
    std::vector<int32_t> all;
    for (int32_t id = 1; id <= vocabulary; ++id) all.push_back(id);
    std::shuffle(all.begin(), all.end(), random);
    if (below(random, 2) == 0) std::swap(*std::find(all.begin(), all.end(), kEnd), all[0]);
    const int64_t possible = below(random, 12) == 0 ? below(random, setup.k + 1) : setup.k;
    std::vector<std::pair<float, int32_t>> list;
    for (int64_t j = 0; j < setup.k; ++j) {
        const float tied = -static_cast<float>(below(random, 4)) / 4;
        const float free = -static_cast<float>(below(random, 1 << 24)) / (1 << 21);
        list.emplace_back(j >= possible ? -INFINITY : setup.ties ? tied : free, all[static_cast<size_t>(j)]);
    }
    std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto &[value, id] : list) *values++ = value, *ids++ = id;
}

// Moves the end symbol out of a list.
void remove_end(float *values, int32_t *ids, int64_t k) {
    const int64_t at = std::find(ids, ids + k, kEnd) - ids;
    if (at == k) return;
    std::copy(values + at + 1, values + k, values + at);
    std::copy(ids + at + 1, ids + k, ids + at);
    values[k - 1] = -INFINITY;
}

class Comparison {
public:
    Comparison(Session &session, const Setup &setup)
        : session_(session), s_(setup), random_(setup.seed), slots_(setup.sentences * setup.beam) {
        int32_t total = 7;
        for (int64_t s = 0; s < s_.sentences; ++s) {
            const xf::BeamOptions options{s_.beam, 1 + below(random_, s_.beam),
                                          static_cast<double>(below(random_, 4)) / 2};
            const auto limit = static_cast<int32_t>(1 + below(random_, kSteps));
            const int64_t least = s_.minimum ? below(random_, kSteps) : 0;
            sentences_.host[static_cast<size_t>(s)] = {
                limit, static_cast<int32_t>(least), static_cast<int32_t>(options.n_best), total, 0, 1, 0, 0};
            searches_.emplace_back(options, limit);
            for (int64_t i = 0; i <= kSteps; ++i)
                penalty_.host[static_cast<size_t>(s * (kSteps + 1) + i)] = xf::length_penalty(i, options.alpha);
            for (int64_t i = 0; i < s_.beam; ++i)
                cells_.host[static_cast<size_t>((s * s_.beam + i) * kSteps)] = total + static_cast<int32_t>(i);
            lines_.push_back({{total}});
            total += limit * static_cast<int32_t>(s_.beam);
        }
        sentences_.upload();
        penalty_.upload();
        cells_.upload();
    }

    void run() {
        for (int step = 0; step < 4 * kSteps; ++step) {
            std::vector<int32_t> active;
            for (int32_t s = 0; s < s_.sentences; ++s)
                if (below(random_, 4) != 0) active.push_back(s);  // some rest, and some are done
            for (int64_t i = below(random_, 3); i > 0; --i) active.push_back(-1);
            std::shuffle(active.begin(), active.end(), random_);
            advance(active);
            if (std::all_of(searches_.begin(), searches_.end(), [](const BeamSearch &b) { return b.done(); })) return;
        }
    }

private:
    static constexpr int64_t kSteps = 14;

    void step(const xf_beam_step &args) {
        xf_error err{};
        CHECK_EQ(table().beam_step(session_.stream, &args, &err) == XF_OK ? "" : std::string(err.message), "");
    }

    void advance(const std::vector<int32_t> &active) {
        const auto rows = static_cast<size_t>(s_.beam) * active.size(), k = static_cast<size_t>(s_.k);
        Array<int32_t> which(session_, active.size()), ids(session_, rows * k, -7), tokens(session_, rows, -7);
        Array<int32_t> steps(session_, rows, -7);
        Array<float> values(session_, rows * k, std::numeric_limits<float>::quiet_NaN());
        which.host = active;
        which.upload();
        for (size_t a = 0; a < active.size(); ++a) {
            if (active[a] < 0) continue;
            BeamSearch &search = searches_[static_cast<size_t>(active[a])];
            const size_t begin = a * static_cast<size_t>(s_.beam) * k;
            if (search.done()) continue;
            const xf_beam_sentence &state = sentences_[active[a]];
            std::vector<float> own_values(search.live().size() * k);
            std::vector<int32_t> own_ids(own_values.size());
            for (size_t i = 0; i < search.live().size(); ++i) {
                float *const of_row = values.host.data() + begin + i * k;
                int32_t *const ids_of_row = ids.host.data() + begin + i * k;
                make_list(random_, s_, of_row, ids_of_row);
                std::copy(of_row, of_row + k, own_values.data() + i * k);
                std::copy(ids_of_row, ids_of_row + k, own_ids.data() + i * k);
                if (state.length < state.min_length)
                    remove_end(own_values.data() + i * k, own_ids.data() + i * k, s_.k);
            }
            search.advance(own_values.data(), own_ids.data(), s_.k, s_.k);
            if (!search.done()) inherit(active[a]);
        }
        values.upload();
        ids.upload();
        step({static_cast<int64_t>(active.size()), s_.beam, s_.k, kEnd, kSteps, which.ptr, values.ptr, ids.ptr,
              penalty_.ptr, sentences_.ptr, live_.ptr, finished_.ptr, history_.ptr, cells_.ptr, tokens.ptr, steps.ptr});
        for (Array<int32_t> *array : {&cells_, &tokens, &steps}) array->read();
        sentences_.read();
        live_.read();
        history_.read();
        finished_.read();
        for (int64_t s = 0; s < s_.sentences; ++s) compare(s);
        for (size_t a = 0; a < active.size(); ++a)
            compare_rows(active[a], tokens.host.data() + a * static_cast<size_t>(s_.beam),
                         steps.host.data() + a * static_cast<size_t>(s_.beam));
    }

    // As the core does it: a list of cells for each live hypothesis.
    void inherit(int32_t s) {
        auto &mine = lines_[static_cast<size_t>(s)];
        std::vector<std::vector<int32_t>> next;
        for (const BeamSearch::Live &live : searches_[static_cast<size_t>(s)].live()) {
            next.push_back(mine[static_cast<size_t>(live.parent)]);
            next.back().push_back(sentences_[s].first_cell +
                                  static_cast<int32_t>(std::ssize(next.back()) * s_.beam + std::ssize(next) - 1));
        }
        mine = std::move(next);
    }

    // Hypothesis `beam` of sentence s after `length` tokens.
    Hypothesis path(int64_t s, int64_t length, int32_t beam) const {
        Hypothesis h;
        h.ids.resize(static_cast<size_t>(length));
        h.token_log_probabilities.resize(h.ids.size());
        for (int64_t u = length - 1; u >= 0; --u) {
            const xf_beam_token &node = history_[(s * kSteps + u) * s_.beam + beam];
            h.ids[static_cast<size_t>(u)] = node.token;
            h.token_log_probabilities[static_cast<size_t>(u)] = node.value;
            beam = node.parent;
        }
        return h;
    }

    void compare(int64_t s) {
        const BeamSearch &search = searches_[static_cast<size_t>(s)];
        const xf_beam_sentence &state = sentences_[s];
        CHECK_EQ(state.done != 0, search.done());
        CHECK_EQ(static_cast<size_t>(state.live), search.live().size());
        if (static_cast<size_t>(state.live) != search.live().size()) return;
        for (int64_t i = 0; i < state.live; ++i) {
            const BeamSearch::Live &expected = search.live()[static_cast<size_t>(i)];
            const xf_beam_live &live = live_[s * s_.beam + i];
            if (state.length > 0 || (state.done != 0 && state.finished == 0))
                CHECK_EQ(live.logp, expected.log_probability);
            if (state.length == 0) continue;
            const xf_beam_token &last = history_[(s * kSteps + state.length - 1) * s_.beam + i];
            for (const xf_beam_token &token : {last, live.last})
                CHECK(token.token == expected.token && token.parent == expected.parent);
            CHECK_EQ(live.last.value, last.value);
        }
        const std::vector<Hypothesis> answers = search.result();
        CHECK_EQ(static_cast<size_t>(std::max(state.finished, 1)), answers.size());
        CHECK_EQ(state.finished > 0, answers[0].finished);
        if (!answers[0].finished) {
            const Hypothesis found = path(s, state.length, 0);
            CHECK(found.ids == answers[0].ids);
            CHECK(found.token_log_probabilities == answers[0].token_log_probabilities);
            if (state.length > 0 || state.done != 0) CHECK_EQ(live_[s * s_.beam].logp, answers[0].log_probability);
        }
        for (int64_t i = 0; i < state.finished && answers[0].finished; ++i) {
            const xf_beam_finished &f = finished_[s * s_.beam + i];
            const Hypothesis &answer = answers[static_cast<size_t>(i)];
            Hypothesis found = path(s, f.step, f.parent);
            found.token_log_probabilities.push_back(f.end_logp);
            CHECK(found.ids == answer.ids);
            CHECK(found.token_log_probabilities == answer.token_log_probabilities);
            CHECK_EQ(f.logp, answer.log_probability);
            CHECK_EQ(f.score, answer.score);
        }
        ends_ += state.finished > 0;
    }

    void compare_rows(int32_t s, const int32_t *tokens, const int32_t *steps) const {
        const xf_beam_sentence state = s >= 0 ? sentences_[s] : xf_beam_sentence{};
        const bool searched = s >= 0 && state.done == 0;
        for (int64_t i = 0; i < s_.beam; ++i) {
            const bool lives = searched && i < state.live;
            CHECK_EQ(tokens[i], lives ? searches_[static_cast<size_t>(s)].live()[static_cast<size_t>(i)].token : 0);
            CHECK_EQ(steps[i], searched ? state.length : 0);
            for (int64_t u = 0; searched && u <= state.length; ++u) {
                const int32_t cell = cells_[(s * s_.beam + i) * kSteps + u], first = state.first_cell;
                CHECK(cell >= first && cell < first + state.limit * s_.beam);    // of idle rows too: they are computed
                if (u == state.length) CHECK_EQ(cell, first + u * s_.beam + i);  // no two rows write to the same cell
                if (lives)
                    CHECK_EQ(cell, lines_[static_cast<size_t>(s)][static_cast<size_t>(i)][static_cast<size_t>(u)]);
            }
        }
    }

    Session &session_;
    Setup s_;
    Random random_;
    int64_t slots_;
    std::vector<BeamSearch> searches_;
    std::vector<std::vector<std::vector<int32_t>>> lines_;  // [sentence][live][step]
    size_t n_ = static_cast<size_t>(s_.sentences), m_ = static_cast<size_t>(slots_);
    Array<xf_beam_sentence> sentences_{session_, n_};
    Array<double> penalty_{session_, n_ *(kSteps + 1)};
    Array<int32_t> cells_{session_, m_ *kSteps, -1};
    Array<xf_beam_live> live_{session_, m_, {std::numeric_limits<double>::quiet_NaN(), {}, 0}};
    Array<xf_beam_token> history_{session_, m_ *kSteps, {-1, -1, 1}};
    Array<xf_beam_finished> finished_{session_, m_};

public:
    int ends_ = 0;
};

void compare(const std::vector<int64_t> &beams, int seeds) {
    const Control order("seed", 20240607, 1);  // threads and blocks in no order
    Host host;
    Session session(host);
    int ends = 0;
    for (const int64_t beam : beams)
        for (const bool ties : {false, true})
            for (uint64_t seed = 0; seed < static_cast<uint64_t>(seeds); ++seed) {
                Random random(seed + 1000 * static_cast<uint64_t>(beam));
                const int64_t wide = beam == 1 ? 1 : 2 * beam, k = seed % 3 == 2 ? 1 + below(random, wide) : wide;
                const bool minimum = seed % 2 == 1;
                Comparison comparison(session, {seed % 4 == 0 ? 1 : 5, beam, k + minimum, ties, minimum, random()});
                comparison.run();
                ends += comparison.ends_;
            }
    CHECK(ends > 0);
}

XF_TEST(small_beams_match_the_core) { compare({1, 2, 4, 5}, 24); }
XF_TEST(wide_beams_match_the_core) { compare({16, 21}, 6); }
XF_TEST(beams_that_exceed_shared_memory_match_the_core) { compare({70}, 2); }

// Shared memory grows with the beam, past what a kernel has without asking, where its static arrays count too.
XF_TEST(every_beam_can_be_launched) {
    Host host;
    Session session(host);
    constexpr int64_t kMost = 1024;  // of the option decode.beam
    Array<int32_t> nobody(session, 1, -1), tokens(session, kMost, -7), steps(session, kMost, -7);
    for (int64_t beam = 1; beam <= kMost; ++beam) {
        xf_beam_step args{};
        args.active_count = args.k = args.ld_cells = 1;
        args.beam = beam;
        args.active = nobody.ptr;
        args.tokens = tokens.ptr, args.steps = steps.ptr;
        xf_error err{};
        if (table().beam_step(session.stream, &args, &err) != XF_OK)
            CHECK_EQ("beam " + std::to_string(beam) + ": " + err.message, "");
    }
    for (Array<int32_t> *array : {&tokens, &steps}) array->read();
    CHECK(tokens.host == std::vector<int32_t>(kMost, 0) && steps.host == tokens.host);
}

}  // namespace
