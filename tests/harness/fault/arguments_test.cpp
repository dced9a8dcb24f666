// Hostile numbers through the API: each integer that a call takes, and each two of one call, at every edge of its type;
// and each integer option, and each two of them, with everything that is made of options.
//
// A call says XF_OK or an error in a sentence, in less than 10 ms of the processor (all that is made of options: 250
// ms) and with no more memory than the context's budget. The numbers are those that a library can look at: sizes of a
// caller's memory it has to believe.
//
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "handles.hpp"
#include "support/counted_memory.hpp"
#include "support/processor_time.hpp"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

constexpr int64_t kValues[] = {
    0, 1, -1, 1 << 15, (1 << 16) - 1, INT32_MAX, 1ll << 31, (1ll << 32) - 1, 1ll << 62, INT64_MAX, INT64_MIN};
constexpr int64_t kBudget = 8 << 20;
constexpr double kMaking = 0.25;

xf_call short_call() {
    xf_call call = XF_CALL_INIT;
    call.deadline_ms = 20;
    return call;
}

// Everything that is made of options, each used once.
xf_status make_all(xf_hostile::Handles &made, const xf_config *config, const xf_host &host, xf_error *error) {
    const char *texts[] = {"one", "two"};
    const char pairs[] = "one two\teins zwei\ntwo\tzwei\nthree\tdrei\n";
    xf_status status = xf_context_create(config, &host, &made.context, error);
    const auto next = [&](auto make) {
        if (status >= 0) status = make();
    };
    next([&] { return corpus_from_text(made.context, config, pairs, sizeof pairs - 1, &made.corpus, error); });
    next([&] { return xf_tokenizer_train(made.context, made.corpus, config, nullptr, &made.tokenizer, error); });
    next([&] { return xf_batcher_create(made.corpus, made.tokenizer, config, nullptr, &made.batcher, error); });
    next([&] { return xf_model_create(made.context, made.tokenizer, config, &made.model, error); });
    next([&] { return xf_trainer_create(made.model, config, &made.trainer, error); });
    next([&] { return xf_decoder_create(made.model, nullptr, config, &made.decoder, error); });
    next([&] { return xf_train_next(made.trainer, made.batcher, nullptr, nullptr, error); });
    const xf_call call = short_call();
    next([&] { return xf_translate(made.decoder, texts, nullptr, 2, nullptr, &call, &made.hypotheses, error); });
    return status;
}

struct World : xf_hostile::Handles {
    xf_host host = xf_test::counting_host();
    double slowest = 0;
    long calls = 0, refused = 0;

    World() {
        configure({{"context.memory_budget", "8388608"},
                   {"model.max_length", "16"},
                   {"tokenizer.vocab_size", "260"},
                   {"data.batch_tokens", "64"},
                   {"decode.max_extra_tokens", "4"}});
        need(make_all(*this, config, host, &error));
    }

    // Runs a call and checks its status, its time, and that it leaks nothing.
    void judge(const std::string &what, double most_seconds, const std::function<xf_status()> &call) {
        error = {};
        const xf_test::PeakOfMemory memory;
        const double before = xf_test::processor_seconds();
        const xf_status status = call();
        const double seconds = xf_test::processor_seconds() - before;
        slowest = std::max(slowest, seconds);
        ++calls;
        refused += status < 0;
        if (status < 0 && !sentence(status))
            xf_test::record(__FILE__, __LINE__, what + " gave " + xf_status_name(status));
        if (seconds > most_seconds * XF_TEST_SLOWNESS)
            xf_test::record(__FILE__, __LINE__, xf::format("%s: %.1f ms", what.c_str(), seconds * 1e3));
        if (memory.bytes() > kBudget + (1 << 20))
            xf_test::record(__FILE__, __LINE__,
                            xf::format("%s: %ld bytes", what.c_str(), static_cast<long>(memory.bytes())));
    }
    void say(const char *what) const {
        std::printf("%s: %ld calls, %ld refused; at most %.2f ms\n", what, calls, refused, slowest * 1e3);
    }
};

using Call = std::function<xf_status(int64_t a, int64_t b)>;

XF_TEST(few_arguments) {
    World w;
    float values[64] = {};
    double scores[2] = {};
    char text[64];
    const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    const int32_t good_ids[] = {5, 6, 1};
    const int64_t good_offsets[] = {0, 3};
    const xf_call limited = short_call();
    const auto batch_of = [&](const int32_t *ids, const int64_t *offsets) {
        return xf_batch{sizeof(xf_batch), 1, ids, offsets, good_ids, good_offsets, nullptr, nullptr, 0};
    };
    const auto use = [&](xf_batch batch) -> xf_status {
        OWNED(hypotheses) *found = nullptr;
        OWNED(corpus) *made = nullptr;
        xf_status status = xf_score(w.decoder, &batch, nullptr, scores, &w.error);
        if (status == XF_OK) status = xf_train_step(w.trainer, &batch, 1, nullptr, nullptr, &w.error);
        const xf_status second = xf_corpus_from_ids(w.context, &batch, nullptr, &made, &w.error);
        batch.tgt_ids = nullptr, batch.tgt_offsets = nullptr;
        const xf_status third = xf_decode(w.decoder, &batch, nullptr, &limited, &found, &w.error);
        return third != XF_OK                       ? third
               : status == XF_OK && second == XF_OK ? XF_OK
                                                    : static_cast<xf_status>(w.error.status);
    };
    const std::pair<const char *, Call> list[] = {
        {"ids",
         [&](int64_t a, int64_t b) {
             const int32_t ids[] = {narrow(a), narrow(b), 1};
             return use(batch_of(ids, good_offsets));
         }},
        {"offsets",
         [&](int64_t a, int64_t b) {
             const int64_t offsets[] = {a, std::min<int64_t>(b, 3)};  // only 3 ids exist
             return use(batch_of(good_ids, offsets));
         }},
        {"prefix",
         [&](int64_t a, int64_t b) {
             const int32_t ids[] = {narrow(a), 5, 6};
             const int64_t offsets[] = {0, std::min<int64_t>(b, 3)};
             xf_decode_params params = XF_DECODE_PARAMS_INIT;
             params.prefix_ids = ids;
             params.prefix_offsets = offsets;
             xf_batch batch = batch_of(good_ids, good_offsets);
             batch.tgt_ids = nullptr, batch.tgt_offsets = nullptr;
             OWNED(hypotheses) *found = nullptr;
             return xf_decode(w.decoder, &batch, &params, &limited, &found, &w.error);
         }},
        {"xf_hypotheses_get",
         [&](int64_t a, int64_t b) {
             xf_hypothesis answer = XF_HYPOTHESIS_INIT;
             (void)hypothesis_count(w.hypotheses, size(a));
             return xf_hypotheses_get(w.hypotheses, size(a), size(b), &answer, &w.error);
         }},
        {"xf_hypotheses_get_sentence",
         [&](int64_t a, int64_t) { return sentence_status(w.hypotheses, size(a), &w.error); }},
        {"xf_attention_weights",
         [&](int64_t a, int64_t b) {
             size_t count = 0;
             const xf_batch batch = batch_of(good_ids, good_offsets);
             return xf_attention_weights(w.decoder, &batch, narrow(a), narrow(b), values, 64, &count, &w.error);
         }},
        {"xf_model_get_tensor",
         [&](int64_t a, int64_t) {
             xf_tensor_info info = XF_TENSOR_INFO_INIT;
             return xf_model_get_tensor(w.model, size(a), &info, &w.error);
         }},
        // More than 64 is refused, as no tensor here has that many.
        {"xf_model_read_tensor",
         [&](int64_t a, int64_t b) { return xf_model_read_tensor(w.model, size(a) + 5, values, size(b), &w.error); }},
        {"xf_model_write_tensor",
         [&](int64_t a, int64_t b) { return xf_model_write_tensor(w.model, size(a) + 5, values, size(b), &w.error); }},
        {"xf_trainer_read_gradient",
         [&](int64_t a, int64_t b) {
             return xf_trainer_read_gradient(w.trainer, size(a) + 5, values, size(b), &w.error);
         }},
        {"xf_model_get_metadata_key",
         [&](int64_t a, int64_t) {
             size_t length = 0;
             return xf_model_get_metadata_key(w.model, size(a), text, sizeof text, &length, &w.error);
         }},
        {"xf_corpus_get_pair",
         [&](int64_t a, int64_t) {
             const char *source, *target;
             size_t sources, targets;
             return xf_corpus_get_pair(w.corpus, a, &source, &sources, &target, &targets, &w.error);
         }},
        {"xf_corpus_subset",
         [&](int64_t a, int64_t b) {
             const int64_t indices[] = {a, b};
             OWNED(corpus) *made = nullptr;
             return xf_corpus_subset(w.corpus, indices, 2, &made, &w.error);
         }},
        {"xf_corpus_split",
         [&](int64_t a, int64_t b) {
             OWNED(corpus) *rest = nullptr;
             OWNED(corpus) *out = nullptr;
             return xf_corpus_split(w.corpus, a, b, &rest, &out, &w.error);
         }},
        {"xf_batcher_seek",
         [&](int64_t a, int64_t b) {
             xf_batch batch = XF_BATCH_INIT;
             const xf_status status = xf_batcher_seek(w.batcher, a, b, nullptr, &w.error);
             for (int i = 0; i < 3 && status == XF_OK; ++i) {
                 const xf_status next = xf_batcher_next(w.batcher, nullptr, &batch, &w.error);
                 if (next < 0) return next;
             }
             return status;
         }},
        {"xf_tokenizer_decode",
         [&](int64_t a, int64_t b) {
             const int32_t ids[] = {narrow(a), narrow(b)};
             size_t length = 0;
             return xf_tokenizer_decode(w.tokenizer, ids, 2, text, sizeof text, &length, &w.error);
         }},
        {"xf_tokenizer_get_piece",
         [&](int64_t a, int64_t) {
             size_t length = 0;
             return xf_tokenizer_get_piece(w.tokenizer, narrow(a), text, sizeof text, &length, &w.error);
         }},
        {"xf_option_get",
         [&](int64_t a, int64_t) {
             xf_option_info info = XF_OPTION_INFO_INIT;
             return xf_option_get(size(a) + 1000, &info, &w.error);
         }},
        {"struct_size",
         [&](int64_t a, int64_t) {
             if (a == 1 << 15 || a == (1 << 16) - 1) a = 0;  // a later version's struct may be that large
             xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
             stats.struct_size = a > 1 << 16 ? 0 : std::min(size(a), sizeof stats - 1);
             return xf_batcher_get_stats(w.batcher, &stats, &w.error);
         }},
    };
    for (const auto &[name, call] : list)
        for (const int64_t a : kValues)
            for (const int64_t b : kValues)
                w.judge(xf::format("%s(%lld, %lld)", name, static_cast<long long>(a), static_cast<long long>(b)), 0.01,
                        [&, &call = call] { return call(a, b); });
    w.say("arguments");
    CHECK(w.refused > w.calls / 2);
}

// Every stride-th pair.
void pairs_of_options(size_t stride) {
    World w;
    std::vector<std::string> keys;
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        w.need(xf_option_get(i, &info, &w.error));
        const std::string key = info.key;
        // These two are the test's own. A thousand threads cost what threads cost.
        if (info.type == XF_OPTION_INTEGER && key != "context.memory_budget" && key != "context.threads")
            keys.push_back(key);
    }
    CHECK(keys.size() > 25);
    const auto make = [&](const xf_config *config) {
        xf_hostile::Handles made;
        return make_all(made, config, w.host, &w.error);
    };
    const std::string before = "as it is";
    w.judge(before, kMaking, [&] { return make(w.config); });
    CHECK_EQ(w.refused, 0);
    size_t turn = 0;
    for (size_t first = 0; first < keys.size(); ++first) {
        for (size_t second = first; second < keys.size(); ++second) {
            for (const int64_t a : kValues) {
                OWNED(config) *one = nullptr;
                w.need(xf_config_copy(w.config, &one, &w.error));
                const bool takes = xf_config_set_number(one, keys[first].c_str(), a, &w.error) == XF_OK;
                for (const int64_t b : kValues) {
                    if (!takes || (first == second && a != b) || ++turn % stride != 0) continue;
                    OWNED(config) *two = nullptr;
                    w.need(xf_config_copy(one, &two, &w.error));
                    if (xf_config_set_number(two, keys[second].c_str(), b, &w.error) == XF_OK)
                        w.judge(xf::format("%s %lld, %s %lld", keys[first].c_str(), static_cast<long long>(a),
                                           keys[second].c_str(), static_cast<long long>(b)),
                                kMaking, [&] { return make(two); });
                }
            }
        }
    }
    w.say("options");
}

XF_TEST(few_options) { pairs_of_options(XF_TEST_SANITIZED ? 97 : 31); }
XF_TEST(all_options) { pairs_of_options(1); }

}  // namespace
