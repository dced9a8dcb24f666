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
        for (const char *key : {"decode.max_extra_tokens", "decode.batch_sentences"})
            JUDGED(xf_config_set, config, key, "2");
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
    xf_status keep(xf_status status, const char *call, T *const &given, Place (&places)[kPlaces]) {
        allowed(status, call);
        if ((given != nullptr) != (status == XF_OK))
            fuzz::defect("%s: %s and %p", call, xf_status_name(status), static_cast<void *>(given));
        if (given == nullptr) return status;
        Place mine;
        *mine.out() = given;
        if (alone_) *places[choices_.byte() % kPlaces].out() = std::exchange(*mine.raw(), nullptr);
        return status;
    }
    xf_status allowed(xf_status status, const char *call) {
        if (bad_ && status >= 0) fuzz::defect("%s takes a handle that is NULL or of another kind", call);
        if (alone_ && status == XF_ERROR_BUSY) fuzz::defect("%s is busy, and nothing runs", call);
        return status;
    }
    xf_status make(uint8_t what);
    xf_status use(uint8_t what);
    xf_status batch_call(uint8_t what);
    void release();

    World &w_;
    fuzz::Choices choices_;
    const bool alone_;
    bool bad_ = false;
};
// A call, and what holds for its status; KEEP ends the function with what the call gave in one of the places.
#define CALL(function, ...) allowed(JUDGED(function, __VA_ARGS__), #function)
#define KEEP(places, function, ...)                                             \
    do {                                                                        \
        std::remove_reference_t<decltype(w_.places[0])>::Object *out = nullptr; \
        const xf_status status = JUDGED(function, __VA_ARGS__, &out);           \
        return keep(status, #function, out, w_.places);                         \
    } while (0)

xf_status Call::make(uint8_t what) {
    switch (what) {
        case 0:
            KEEP(configs, xf_config_copy, pick<xf_config>(w_.configs));
        case 1: {
            auto *const config = pick<xf_config>(w_.configs);
            bad_ = bad_ && config != nullptr;
            if (config == nullptr) return XF_OK;  // all the threads and memory there are
            KEEP(contexts, xf_context_create, config, base().host.get());
        }
        case 2: {
            auto *const context = pick<xf_context>(w_.contexts);
            const auto *const config = config_or_null();
            std::string text(choices_.text());
            for (char &c : text)
                if (c == '|') c = '\t';
            KEEP(corpora, corpus_from_text, context, config, text.data(), text.size());
        }
        case 3: {
            const int64_t indices[] = {choices_.integer(), 0};
            const auto *const corpus = pick<xf_corpus>(w_.corpora);
            KEEP(corpora, xf_corpus_subset, corpus, indices, 1 + choices_.below(2));
        }
        case 4: {
            auto *const context = pick<xf_context>(w_.contexts);
            auto *const config = pick<xf_config>(w_.configs);
            auto *const corpus = pick<xf_corpus>(w_.corpora);
            if (config == nullptr) return XF_OK;  // a vocabulary of 37,000
            KEEP(tokenizers, xf_tokenizer_train, context, corpus, config, &fuzz::watched);
        }
        case 5: {
            auto *const corpus = pick<xf_corpus>(w_.corpora);
            auto *const tokenizer = pick_or_null<xf_tokenizer>(w_.tokenizers);
            KEEP(batchers, xf_batcher_create, corpus, tokenizer, config_or_null(), nullptr);
        }
        case 6: {
            auto *const context = pick<xf_context>(w_.contexts);
            auto *const config = pick<xf_config>(w_.configs);
            auto *const tokenizer = pick_or_null<xf_tokenizer>(w_.tokenizers);
            if (config == nullptr) return XF_OK;  // of base size
            KEEP(models, xf_model_create, context, tokenizer, config);
        }
        case 7: {
            const auto *const model = pick<xf_model>(w_.models);
            KEEP(models, xf_model_copy, model, pick_or_null<xf_context>(w_.contexts), nullptr, nullptr);
        }
        case 8: {
            const auto *const model = pick<xf_model>(w_.models);
            std::vector<char> bytes(60000);
            size_t size = 0;
            const xf_status saved = CALL(save_model_memory, model, nullptr, bytes.data(), bytes.size(), &size);
            if (saved != XF_OK) return saved;
            const xf_source source = source_memory(bytes.data(), size), sources[] = {source, source};
            KEEP(models, xf_model_average, pick<xf_context>(w_.contexts), sources, 2, &fuzz::watched);
        }
        case 9: {
            auto *const model = pick<xf_model>(w_.models);
            KEEP(trainers, xf_trainer_create, model, config_or_null());
        }
        case 10: {
            const auto *const model = pick<xf_model>(w_.models);
            KEEP(decoders, xf_decoder_create, model, nullptr, config_or_null());
        }
        default:
            KEEP(models, xf_trainer_copy_average, pick<xf_trainer>(w_.trainers), nullptr);
    }
}

// Calls with a batch of the caller's own: good, or with one number wrong.
xf_status Call::batch_call(uint8_t what) {
    int32_t ids[] = {2, 3, 1, 66, 1};
    int64_t offsets[] = {0, 3, 5};
    xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, nullptr, nullptr, 0};
    const int64_t number = choices_.integer();
    const uint8_t wrong = choices_.byte();
    if (wrong == 1) ids[choices_.below(5)] = static_cast<int32_t>(number);
    if (wrong == 2) offsets[choices_.below(2)] = number;
    if (wrong == 3) batch.sentences = std::min<int64_t>(number, 2);
    if (wrong == 4) batch.struct_size = static_cast<size_t>(std::min<int64_t>(number, sizeof batch));
    if (wrong == 5) batch.src_ids = nullptr;
    if (wrong == 6) batch.tgt_ids = nullptr, batch.tgt_offsets = choices_.flip() ? nullptr : offsets;
    switch (what) {
        case 0:
            return CALL(xf_train_step, pick<xf_trainer>(w_.trainers), &batch, 1, nullptr, nullptr);
        case 1:
            return CALL(xf_train_accumulate, pick<xf_trainer>(w_.trainers), &batch, nullptr, nullptr);
        case 2:
            KEEP(answers, xf_decode, pick<xf_decoder>(w_.decoders), &batch, nullptr, nullptr);
        case 3: {
            double log_probabilities[2];
            return CALL(xf_score, pick<xf_decoder>(w_.decoders), &batch, nullptr, log_probabilities);
        }
        case 4:
            KEEP(corpora, xf_corpus_from_ids, pick<xf_context>(w_.contexts), &batch, nullptr);
        default: {
            batch.sentences = std::min<int64_t>(batch.sentences, 1);
            std::vector<float> weights(choices_.byte());
            size_t count = 0;
            auto *const decoder = pick<xf_decoder>(w_.decoders);
            const auto kind = static_cast<int32_t>(choices_.integer()),
                       layer = static_cast<int32_t>(choices_.integer());
            return CALL(xf_attention_weights, decoder, &batch, kind, layer, weights.data(), weights.size(), &count);
        }
    }
}

xf_status Call::use(uint8_t what) {
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
            return CALL(xf_config_set, pick<xf_config>(w_.configs), key, value);
        }
        case 1:
            return CALL(xf_train_next, pick<xf_trainer>(w_.trainers), pick<xf_batcher>(w_.batchers), nullptr, nullptr);
        case 2:
            return CALL(xf_train_update, pick<xf_trainer>(w_.trainers), nullptr);
        case 3: {
            xf_batch batch = XF_BATCH_INIT;
            return CALL(xf_batcher_next, pick<xf_batcher>(w_.batchers), nullptr, &batch);
        }
        case 4: {
            auto *const batcher = pick<xf_batcher>(w_.batchers);
            const int64_t epoch = choices_.integer(), batch = choices_.integer();
            return CALL(xf_batcher_seek, batcher, epoch, batch, nullptr);
        }
        case 5: {
            xf_eval_stats stats = XF_EVAL_STATS_INIT;
            auto *const decoder = pick<xf_decoder>(w_.decoders);
            return CALL(xf_evaluate, decoder, pick<xf_batcher>(w_.batchers), nullptr, &stats);
        }
        case 6: {
            auto *const decoder = pick<xf_decoder>(w_.decoders);
            const std::string text(choices_.text());
            const char *const texts[] = {text.c_str(), nullptr};
            const size_t lengths[] = {text.size(), 0};
            KEEP(answers, xf_translate, decoder, texts, lengths, 2, nullptr, nullptr);
        }
        case 7: {
            auto *const answers = pick<xf_hypotheses>(w_.answers);
            xf_hypothesis hypothesis = XF_HYPOTHESIS_INIT;
            const auto sentence = static_cast<size_t>(choices_.integer()),
                       rank = static_cast<size_t>(choices_.integer());
            hypothesis_count(answers, sentence);
            return CALL(xf_hypotheses_get, answers, sentence, rank, &hypothesis);
        }
        case 8: {
            auto *const model = pick<xf_model>(w_.models);
            std::vector<float> values(choices_.below(2000));
            const auto index = static_cast<size_t>(choices_.integer());
            const bool write = choices_.flip();
            if (write) return CALL(xf_model_write_tensor, model, index, values.data(), values.size());
            return CALL(xf_model_read_tensor, model, index, values.data(), values.size());
        }
        case 9: {
            auto *const model = pick<xf_model>(w_.models);
            const std::string key(choices_.text().substr(0, 20)), value(choices_.text());
            return CALL(xf_model_set_metadata, model, key.c_str(), choices_.flip() ? nullptr : value.c_str());
        }
        case 10: {
            const auto *const tokenizer = pick<xf_tokenizer>(w_.tokenizers);
            const std::string_view text = choices_.text();
            std::vector<int32_t> ids(choices_.below(40));
            size_t count = 0;
            return CALL(xf_tokenizer_encode, tokenizer, text.data(), text.size(), ids.data(), ids.size(), &count);
        }
        case 11: {
            const auto *const trainer = pick<xf_trainer>(w_.trainers);
            return CALL(xf_batcher_resume, pick<xf_batcher>(w_.batchers), trainer, nullptr);
        }
        case 12: {
            const auto *const model = pick<xf_model>(w_.models);
            size_t size = 0;
            std::vector<char> bytes(choices_.flip() ? 20000 : 0);
            return CALL(save_model_memory, model, config_or_null(), bytes.data(), bytes.size(), &size);
        }
        case 13: {
            std::vector<float> values(choices_.below(2000));
            auto *const trainer = pick<xf_trainer>(w_.trainers);
            return CALL(xf_trainer_read_gradient, trainer, choices_.byte(), values.data(), values.size());
        }
        case 14: {
            static const int32_t cancelled = 1;
            xf_call call = XF_CALL_INIT;
            call.cancelled = &cancelled;
            auto *const trainer = pick<xf_trainer>(w_.trainers);
            const xf_status status = CALL(xf_train_next, trainer, pick<xf_batcher>(w_.batchers), &call, nullptr);
            xf_context_cancel(pick<xf_context>(w_.contexts));
            return status;
        }
        default: {
            char value[8];
            size_t length = 0;
            CALL(xf_model_get_metadata, pick<xf_model>(w_.models), "k", value, sizeof value, &length);
            // Functions without a status accept any argument.
            device_of(pick<xf_context>(w_.contexts));
            xf_model_tensor_count(pick<xf_model>(w_.models));
            vocab_size_of(pick<xf_tokenizer>(w_.tokenizers));
            xf_corpus_pair_count(pick<xf_corpus>(w_.corpora));
            xf_trainer_step_count(pick<xf_trainer>(w_.trainers));
            xf_hypotheses_sentence_count(pick<xf_hypotheses>(w_.answers));
            return XF_OK;
        }
    }
}

void Call::release() {
    const size_t place = choices_.byte() % kPlaces;
    const unsigned which = choices_.byte() % 8;
    const auto free_one = [&](auto &...places) {
        unsigned kind = 0;
        ((which == kind++ ? void(places[place].out()) : void()), ...);
    };
    free_one(w_.corpora, w_.tokenizers, w_.batchers, w_.models, w_.trainers, w_.decoders, w_.answers, w_.contexts);
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
    bool good = true;
    for (fuzz::Config &config : world->configs)
        good = good && JUDGED(xf_config_copy, base().config, config.out()) == XF_OK;
    const xf_config *const config = base().config;
    xf_model **const model = world->models[0].out();
    good =
        good && JUDGED(xf_model_create, base().context, base().tokenizer, config, model) == XF_OK &&
        JUDGED(xf_trainer_create, *model, config, world->trainers[0].out()) == XF_OK &&
        JUDGED(xf_decoder_create, *model, nullptr, config, world->decoders[0].out()) == XF_OK &&
        JUDGED(xf_batcher_create, base().corpus, base().tokenizer, config, nullptr, world->batchers[0].out()) == XF_OK;
    if (!good) fuzz::defect("no world: %s", fuzz::judge.message());
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
