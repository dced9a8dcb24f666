// Calls of the API in any order, with NULLs, with handles of the wrong kind, and from two threads at once.
//
// There are three places for handles of each kind. Each byte pair of the input makes a call with the handles of some
// places and puts what it gives into one. The model of what is legal is short: where a handle is NULL or of another
// kind the call must say XF_ERROR_INVALID_ARGUMENT, or what it says of its other arguments, and never XF_OK; whatever
// was refused leaves its outputs as they were; and at the end no memory is held. Freed handles are not used again: that
// is outside of the contract.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <thread>
#include <utility>

#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

constexpr size_t kPlaces = 3;

// Objects that are expensive to create are created once and are used wherever no other object exists.
struct Base : fuzz::TextWorld {
    Base() {
        fuzz::Judge judge;
        for (const char *key : {"decode.max_extra_tokens", "decode.batch_sentences"})
            judge.of(xf_config_set(config, key, "2", judge.fresh()), "xf_config_set");
    }
};
Base &base() {
    static Base it;
    return it;
}
template <class T>
T *standing() {
    if constexpr (std::is_same_v<T, xf_config>) return base().config;
    if constexpr (std::is_same_v<T, xf_context>) return base().context;
    if constexpr (std::is_same_v<T, xf_corpus>) return base().corpus;
    if constexpr (std::is_same_v<T, xf_tokenizer>) return base().tokenizer;
    return nullptr;
}

// The handles of one run.
struct World {
    fuzz::Config configs[kPlaces];
    fuzz::Context contexts[kPlaces];
    fuzz::Corpus corpora[kPlaces];
    fuzz::Tokenizer tokenizers[kPlaces];
    fuzz::Batcher batchers[kPlaces];
    fuzz::Model models[kPlaces];
    fuzz::Trainer trainers[kPlaces];
    fuzz::Decoder decoders[kPlaces];
    fuzz::Hypotheses answers[kPlaces];
};

// One call. Two may run at once on the same objects, each with its own choices and judge; then nothing is freed.
class Call {
public:
    Call(World *world, fuzz::Choices choices, bool alone) : w_(*world), choices_(choices), alone_(alone) {}
    fuzz::Choices run();

private:
    // A handle: of a place, now and then NULL or one of another kind.
    template <class T, class Place>
    T *pick(Place (&places)[kPlaces]) {
        const uint8_t how = choices_.byte();
        T *it = places[how % kPlaces];
        if (it == nullptr) it = standing<T>();
        if (how >= 250) it = nullptr;
        if (how >= 244 && how < 250) it = reinterpret_cast<T *>(other_kind<T>());
        bad_ |= it == nullptr || how >= 244;
        return it;
    }
    // The same where NULL has a meaning.
    template <class T, class Place>
    T *pick_or_null(Place (&places)[kPlaces]) {
        const bool before = bad_;
        T *const it = pick<T>(places);
        if (it == nullptr) bad_ = before;
        return it;
    }
    template <class T>
    void *other_kind() {
        xf_config *const config = base().config;
        xf_context *const context = base().context;
        if constexpr (std::is_same_v<T, xf_context>) return config;
        return context;
    }
    // May be NULL: all defaults.
    xf_config *config_or_null() {
        const uint8_t how = choices_.byte();
        if (how >= 244 && how < 250) return bad_ = true, reinterpret_cast<xf_config *>(other_kind<xf_config>());
        return how >= 250 ? nullptr : static_cast<xf_config *>(w_.configs[how % kPlaces]);
    }
    // Keeps the output of a call that succeeded (passed by reference, as it is set only then), or checks that it is
    // NULL.
    template <class T, class Place>
    void keep(xf_status status, const char *call, T *const &given, Place (&places)[kPlaces]) {
        judge(status, call);
        if ((given != nullptr) != (status == XF_OK))
            fuzz::defect("%s: %s and %p", call, xf_status_name(status), static_cast<void *>(given));
        if (given == nullptr) return;
        Place mine;
        *mine.out() = given;
        if (alone_) *places[choices_.byte() % kPlaces].out() = std::exchange(*mine.raw(), nullptr);
    }
    xf_status judge(xf_status status, const char *call) {
        judge_.of(status, call);
        if (bad_ && status >= 0) fuzz::defect("%s takes a handle that is NULL or of another kind", call);
        if (alone_ && status == XF_ERROR_BUSY) fuzz::defect("%s is busy, and nothing runs", call);
        return status;
    }
    void make(uint8_t what);
    void use(uint8_t what);
    void batch_call(uint8_t what);
    void release();

    World &w_;
    fuzz::Choices choices_;
    const bool alone_;
    bool bad_ = false;
    fuzz::Judge judge_;
};

void Call::make(uint8_t what) {
    xf_error *const err = judge_.fresh();
    switch (what) {
        case 0: {
            xf_config *out = nullptr;
            return keep(xf_config_copy(pick<xf_config>(w_.configs), &out, err), "xf_config_copy", out, w_.configs);
        }
        case 1: {
            xf_context *out = nullptr;
            auto *const config = pick<xf_config>(w_.configs);
            bad_ = bad_ && config != nullptr;
            if (config == nullptr) return;  // all the threads and memory there are
            return keep(xf_context_create(config, base().host.get(), &out, err), "xf_context_create", out, w_.contexts);
        }
        case 2: {
            xf_corpus *out = nullptr;
            auto *const context = pick<xf_context>(w_.contexts);
            const auto *const config = config_or_null();
            std::string text(choices_.text());
            for (char &c : text)
                if (c == '|') c = '\t';
            return keep(corpus_from_text(context, config, text.data(), text.size(), &out, err), "xf_corpus_from_pairs",
                        out, w_.corpora);
        }
        case 3: {
            xf_corpus *out = nullptr;
            const int64_t indices[] = {choices_.integer(), 0};
            return keep(xf_corpus_subset(pick<xf_corpus>(w_.corpora), indices, 1 + choices_.below(2), &out, err),
                        "xf_corpus_subset", out, w_.corpora);
        }
        case 4: {
            xf_tokenizer *out = nullptr;
            auto *const context = pick<xf_context>(w_.contexts);
            auto *const config = pick<xf_config>(w_.configs);
            auto *const corpus = pick<xf_corpus>(w_.corpora);
            if (config == nullptr) return;  // a vocabulary of 37,000
            return keep(xf_tokenizer_train(context, corpus, config, &fuzz::watched, &out, err), "xf_tokenizer_train",
                        out, w_.tokenizers);
        }
        case 5: {
            xf_batcher *out = nullptr;
            auto *const corpus = pick<xf_corpus>(w_.corpora);
            auto *const tokenizer = pick_or_null<xf_tokenizer>(w_.tokenizers);
            return keep(xf_batcher_create(corpus, tokenizer, config_or_null(), nullptr, &out, err), "xf_batcher_create",
                        out, w_.batchers);
        }
        case 6: {
            xf_model *out = nullptr;
            auto *const context = pick<xf_context>(w_.contexts);
            auto *const config = pick<xf_config>(w_.configs);
            auto *const tokenizer = pick_or_null<xf_tokenizer>(w_.tokenizers);
            if (config == nullptr) return;  // of base size
            return keep(xf_model_create(context, tokenizer, config, &out, err), "xf_model_create", out, w_.models);
        }
        case 7: {
            xf_model *out = nullptr;
            const auto *const model = pick<xf_model>(w_.models);
            auto *const context = pick_or_null<xf_context>(w_.contexts);
            return keep(xf_model_copy(model, context, nullptr, nullptr, &out, err), "xf_model_copy", out, w_.models);
        }
        case 8: {
            xf_model *out = nullptr;
            const auto *const model = pick<xf_model>(w_.models);
            std::vector<char> bytes(60000);
            size_t size = 0;
            const xf_status saved = save_model_memory(model, nullptr, bytes.data(), bytes.size(), &size, err);
            if (judge(saved, "xf_model_save") != XF_OK) return;
            const xf_source source = source_memory(bytes.data(), size), sources[] = {source, source};
            auto *const context = pick<xf_context>(w_.contexts);
            return keep(xf_model_average(context, sources, 2, &fuzz::watched, &out, judge_.fresh()), "xf_model_average",
                        out, w_.models);
        }
        case 9: {
            xf_trainer *out = nullptr;
            auto *const model = pick<xf_model>(w_.models);
            return keep(xf_trainer_create(model, config_or_null(), &out, err), "xf_trainer_create", out, w_.trainers);
        }
        case 10: {
            xf_decoder *out = nullptr;
            const auto *const model = pick<xf_model>(w_.models);
            return keep(xf_decoder_create(model, config_or_null(), &out, err), "xf_decoder_create", out, w_.decoders);
        }
        default: {
            xf_model *out = nullptr;
            return keep(xf_trainer_copy_average(pick<xf_trainer>(w_.trainers), nullptr, &out, err),
                        "xf_trainer_copy_average", out, w_.models);
        }
    }
}

// Calls with a batch of the caller's own: good, or with one number wrong.
void Call::batch_call(uint8_t what) {
    xf_error *const err = judge_.fresh();
    int32_t ids[] = {2, 3, 1, 66, 1};
    int64_t offsets[] = {0, 3, 5};
    xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, nullptr, nullptr, 0};
    const int64_t number = choices_.integer();
    switch (choices_.byte()) {
        case 1:
            ids[choices_.below(5)] = static_cast<int32_t>(number);
            break;
        case 2:
            offsets[choices_.below(2)] = number;
            break;
        case 3:
            batch.sentences = std::min<int64_t>(number, 2);
            break;
        case 4:
            batch.struct_size = static_cast<size_t>(std::min<int64_t>(number, sizeof batch));
            break;
        case 5:
            batch.src_ids = nullptr;
            break;
        case 6:
            batch.tgt_ids = nullptr, batch.tgt_offsets = choices_.flip() ? nullptr : offsets;
            break;
        default:
            break;
    }
    if (what == 0) {
        judge(xf_train_step(pick<xf_trainer>(w_.trainers), &batch, 1, nullptr, nullptr, err), "xf_train_step");
    } else if (what == 1) {
        judge(xf_train_accumulate(pick<xf_trainer>(w_.trainers), &batch, nullptr, nullptr, err), "xf_train_accumulate");
    } else if (what == 2) {
        xf_hypotheses *out = nullptr;
        keep(xf_decode(pick<xf_decoder>(w_.decoders), &batch, nullptr, nullptr, &out, err), "xf_decode", out,
             w_.answers);
    } else if (what == 3) {
        double log_probabilities[2];
        judge(xf_score(pick<xf_decoder>(w_.decoders), &batch, nullptr, log_probabilities, err), "xf_score");
    } else if (what == 4) {
        xf_corpus *out = nullptr;
        keep(xf_corpus_from_ids(pick<xf_context>(w_.contexts), &batch, nullptr, &out, err), "xf_corpus_from_ids", out,
             w_.corpora);
    } else {
        batch.sentences = std::min<int64_t>(batch.sentences, 1);
        std::vector<float> weights(choices_.byte());
        size_t count = 0;
        auto *const decoder = pick<xf_decoder>(w_.decoders);
        const auto kind = static_cast<int32_t>(choices_.integer()), layer = static_cast<int32_t>(choices_.integer());
        judge(xf_attention_weights(decoder, &batch, kind, layer, weights.data(), weights.size(), &count, err),
              "xf_attention_weights");
    }
}

void Call::use(uint8_t what) {
    xf_error *const err = judge_.fresh();
    switch (what) {
        case 0: {
            static const char *const kKeys[] = {
                "train.ema",    "train.dropout",  "decode.beam",        "decode.n_best",
                "model.tie",    "tokenizer.kind", "train.on_nonfinite", "model.weights",
                "model.norm",   "data.sampling",  "train.shards",       "data.batch_tokens",
                "model.window", "decode.alpha",   "model.max_length",   "nothing"};
            static const char *const kValues[] = {"0",    "0.5",  "2",   "3",         "none",     "unigram",
                                                  "skip", "int8", "pre", "wordpiece", "rollback", ""};
            const char *const key = kKeys[choices_.below(16)], *const value = kValues[choices_.below(12)];
            judge(xf_config_set(pick<xf_config>(w_.configs), key, value, err), "xf_config_set");
            return;
        }
        case 1:
            judge(xf_train_next(pick<xf_trainer>(w_.trainers), pick<xf_batcher>(w_.batchers), nullptr, nullptr, err),
                  "xf_train_next");
            return;
        case 2:
            judge(xf_train_update(pick<xf_trainer>(w_.trainers), nullptr, err), "xf_train_update");
            return;
        case 3: {
            xf_batch batch = XF_BATCH_INIT;
            judge(xf_batcher_next(pick<xf_batcher>(w_.batchers), nullptr, &batch, err), "xf_batcher_next");
            return;
        }
        case 4: {
            auto *const batcher = pick<xf_batcher>(w_.batchers);
            const int64_t epoch = choices_.integer(), batch = choices_.integer();
            judge(xf_batcher_seek(batcher, epoch, batch, nullptr, err), "xf_batcher_seek");
            return;
        }
        case 5: {
            xf_eval_stats stats = XF_EVAL_STATS_INIT;
            auto *const decoder = pick<xf_decoder>(w_.decoders);
            judge(xf_evaluate(decoder, pick<xf_batcher>(w_.batchers), nullptr, &stats, err), "xf_evaluate");
            return;
        }
        case 6: {
            xf_hypotheses *out = nullptr;
            auto *const decoder = pick<xf_decoder>(w_.decoders);
            const std::string text(choices_.text());
            const char *const texts[] = {text.c_str(), nullptr};
            const size_t lengths[] = {text.size(), 0};
            keep(xf_translate(decoder, texts, lengths, 2, nullptr, nullptr, &out, err), "xf_translate", out,
                 w_.answers);
            return;
        }
        case 7: {
            auto *const answers = pick<xf_hypotheses>(w_.answers);
            xf_hypothesis hypothesis = XF_HYPOTHESIS_INIT;
            const auto sentence = static_cast<size_t>(choices_.integer()),
                       rank = static_cast<size_t>(choices_.integer());
            judge(xf_hypotheses_get(answers, sentence, rank, &hypothesis, err), "xf_hypotheses_get");
            hypothesis_count(answers, sentence);
            return;
        }
        case 8: {
            auto *const model = pick<xf_model>(w_.models);
            std::vector<float> values(choices_.below(2000));
            const auto index = static_cast<size_t>(choices_.integer());
            const bool write = choices_.flip();
            judge(write ? xf_model_write_tensor(model, index, values.data(), values.size(), err)
                        : xf_model_read_tensor(model, index, values.data(), values.size(), err),
                  "xf_model_write_tensor");
            return;
        }
        case 9: {
            auto *const model = pick<xf_model>(w_.models);
            const std::string key(choices_.text().substr(0, 20)), value(choices_.text());
            judge(xf_model_set_metadata(model, key.c_str(), choices_.flip() ? nullptr : value.c_str(), err),
                  "xf_model_set_metadata");
            return;
        }
        case 10: {
            const auto *const tokenizer = pick<xf_tokenizer>(w_.tokenizers);
            const std::string_view text = choices_.text();
            std::vector<int32_t> ids(choices_.below(40));
            size_t count = 0;
            judge(xf_tokenizer_encode(tokenizer, text.data(), text.size(), ids.data(), ids.size(), &count, err),
                  "xf_tokenizer_encode");
            return;
        }
        case 11: {
            const auto *const trainer = pick<xf_trainer>(w_.trainers);
            judge(xf_batcher_resume(pick<xf_batcher>(w_.batchers), trainer, nullptr, err), "xf_batcher_resume");
            return;
        }
        case 12: {
            const auto *const model = pick<xf_model>(w_.models);
            size_t size = 0;
            std::vector<char> bytes(choices_.flip() ? 20000 : 0);
            judge(save_model_memory(model, config_or_null(), bytes.data(), bytes.size(), &size, err), "xf_model_save");
            return;
        }
        case 13: {
            std::vector<float> values(choices_.below(2000));
            auto *const trainer = pick<xf_trainer>(w_.trainers);
            judge(xf_trainer_read_gradient(trainer, choices_.byte(), values.data(), values.size(), err),
                  "xf_trainer_read_gradient");
            return;
        }
        case 14: {
            static const int32_t cancelled = 1;
            xf_call call = XF_CALL_INIT;
            call.cancelled = &cancelled;
            auto *const trainer = pick<xf_trainer>(w_.trainers);
            judge(xf_train_next(trainer, pick<xf_batcher>(w_.batchers), &call, nullptr, err), "xf_train_next");
            xf_context_cancel(pick<xf_context>(w_.contexts));
            return;
        }
        default: {
            char value[8];
            size_t length = 0;
            judge(xf_model_get_metadata(pick<xf_model>(w_.models), "k", value, sizeof value, &length, err),
                  "xf_model_get_metadata");
            // Functions without a status accept any argument.
            device_of(pick<xf_context>(w_.contexts));
            xf_model_tensor_count(pick<xf_model>(w_.models));
            vocab_size_of(pick<xf_tokenizer>(w_.tokenizers));
            xf_corpus_pair_count(pick<xf_corpus>(w_.corpora));
            xf_trainer_step_count(pick<xf_trainer>(w_.trainers));
            xf_hypotheses_sentence_count(pick<xf_hypotheses>(w_.answers));
        }
    }
}

void Call::release() {
    const size_t place = choices_.byte() % kPlaces;
    switch (choices_.byte() % 8) {
        case 0:
            w_.corpora[place].out();
            break;
        case 1:
            w_.tokenizers[place].out();
            break;
        case 2:
            w_.batchers[place].out();
            break;
        case 3:
            w_.models[place].out();
            break;
        case 4:
            w_.trainers[place].out();
            break;
        case 5:
            w_.decoders[place].out();
            break;
        case 6:
            w_.answers[place].out();
            break;
        default:
            w_.contexts[place].out();
    }
}

fuzz::Choices Call::run() {
    const uint8_t what = choices_.byte();
    if (what < 96)
        make(what % 12);
    else if (what < 144)
        batch_call(what % 6);
    else if (what < 240)
        use(what % 16);
    else if (alone_)
        release();
    return choices_;
}

// One of each, so that short inputs come far. The configs are the run's own, as calls change them.
void begin(World *world) {
    fuzz::Judge judge;
    bool good = true;
    for (fuzz::Config &config : world->configs)
        good = good && judge.of(xf_config_copy(base().config, config.out(), judge.fresh()), "xf_config_copy") == XF_OK;
    const xf_config *const config = base().config;
    xf_model **const model = world->models[0].out();
    good =
        good && judge.of(xf_model_create(base().context, base().tokenizer, config, model, judge.fresh()), "m") == XF_OK;
    good = good && judge.of(xf_trainer_create(*model, config, world->trainers[0].out(), judge.fresh()), "t") == XF_OK;
    good = good && judge.of(xf_decoder_create(*model, config, world->decoders[0].out(), judge.fresh()), "d") == XF_OK;
    good = good && judge.of(xf_batcher_create(base().corpus, base().tokenizer, config, nullptr,
                                              world->batchers[0].out(), judge.fresh()),
                            "b") == XF_OK;
    if (!good) fuzz::defect("no world: %s", judge.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t before = base().host.held();
    {
        World world;
        begin(&world);
        fuzz::Choices choices(data, size);
        for (int calls = 0; choices.any() && calls < 40; ++calls) {
            if (choices.byte() >= 224) {
                const fuzz::Choices other(data + size / 2, size - size / 2);
                std::thread thread([&world, other] { Call(&world, other, false).run(); });
                choices = Call(&world, choices, false).run();
                thread.join();
            } else {
                choices = Call(&world, choices, true).run();
            }
        }
    }
    if (base().host.held() != before) fuzz::defect("%zu bytes are held for nothing", base().host.held() - before);
    return 0;
}
