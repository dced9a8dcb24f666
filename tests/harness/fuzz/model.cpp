// A whole model file: loaded from memory, decoded with, saved and loaded again. The mutator (mutator.cpp) keeps lengths
// and checksums right, or nothing would get past them.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

struct World : fuzz::World {
    fuzz::Config weights[3], wide;
    World() {
        JUDGED(xf_config_set, config, "decode.beam", "2");
        JUDGED(xf_config_set, config, "decode.max_extra_tokens", "5");
        const std::pair<fuzz::Config *, const char *> kept[] = {
            {&weights[0], "int8"}, {&weights[1], "fp16"}, {&weights[2], "bf16"}, {&wide, "fp32"}};
        for (const auto &[made, name] : kept) {
            JUDGED(xf_config_copy, config, made->out());
            JUDGED(xf_config_set, *made, "model.weights", name);
        }
    }
};

// config: "model.weights".
xf_status load(const World &world, const xf_config *config, std::string_view bytes, fuzz::Model *model) {
    const xf_source source = source_memory(bytes.data(), bytes.size());
    return JUDGED(xf_model_load, world.context, &source, config, &fuzz::watched, model->out());
}

// Every answer's ids, scores and text are there and mean something.
void check_answers(const xf_hypotheses *hypotheses, int64_t vocab_size) {
    for (size_t s = 0; s < xf_hypotheses_sentence_count(hypotheses); ++s) {
        for (size_t a = 0; a < hypothesis_count(hypotheses, s); ++a) {
            xf_hypothesis answer = XF_HYPOTHESIS_INIT;
            if (JUDGED(xf_hypotheses_get, hypotheses, s, a, &answer) != XF_OK)
                fuzz::defect("answer %zu of sentence %zu is counted and not there", a, s);
            for (size_t i = 0; i < answer.id_count; ++i)
                if (answer.ids[i] < 0 || answer.ids[i] >= vocab_size) fuzz::defect("token %d", answer.ids[i]);
            if (std::isnan(answer.log_probability) || std::isnan(answer.score)) fuzz::defect("a score that is NaN");
            if (answer.text != nullptr && std::strlen(answer.text) > answer.text_length)
                fuzz::defect("a text longer than its length");
        }
    }
}

void decode(const World &world, const xf_model *model) {
    int64_t vocab_size = 0;
    if (JUDGED(get_integer, xf_model_config(model), "model.vocab_size", &vocab_size)) return;
    fuzz::Decoder decoder;
    if (JUDGED(xf_decoder_create, model, nullptr, world.config, decoder.out())) return;
    xf_batch batch = fuzz::kBatch;
    batch.tgt_ids = nullptr, batch.tgt_offsets = nullptr;
    fuzz::Hypotheses answers;
    if (JUDGED(xf_decode, decoder, &batch, nullptr, nullptr, answers.out()) == XF_OK)
        check_answers(answers, vocab_size);
    const char *const texts[] = {"a b", "\xff", ""};
    if (JUDGED(xf_translate, decoder, texts, nullptr, 3, nullptr, nullptr, answers.out()) == XF_OK)
        check_answers(answers, vocab_size);
}

// Saves the loaded model, loads the result, and saves it again, which must give the same bytes.
void save(const World &world, const xf_model *model, const xf_config *config) {
    size_t size = 0, again_size = 0;
    const xf_status asked = JUDGED(save_model_memory, model, config, nullptr, 0, &size);
    if (asked != XF_ERROR_BUFFER_TOO_SMALL) return;
    std::string bytes(size, '\0'), again(size, '\0');
    xf_status status = JUDGED(save_model_memory, model, config, bytes.data(), size, &size);
    if (status != XF_OK) return;
    fuzz::Model second;
    status = load(world, nullptr, bytes, &second);
    if (status != XF_OK) {
        if (status == XF_ERROR_NO_MEMORY) return;
        fuzz::defect("a model that was saved does not load: %s", fuzz::judge.message());
    }
    status = JUDGED(save_model_memory, second, config, again.data(), size, &again_size);
    if (status == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK || again_size != size || again != bytes)
        fuzz::defect("a model that was saved and loaded is saved to other bytes");
    status = load(world, world.wide, bytes, &second);
    if (status != XF_OK && status != XF_ERROR_NO_MEMORY)
        fuzz::defect("a model that was saved does not become fp32: %s", fuzz::judge.message());
}

// A text that is kept with a model, set twice, read, listed and taken away.
void describe(xf_model *model, std::string_view text) {
    const std::string value(text.substr(0, text.find('\0')));
    for (const char *each : {"first", value.c_str()}) {
        const xf_status status = JUDGED(xf_model_set_metadata, model, "a key", each);
        std::string kept(std::strlen(each) + 1, ' ');
        size_t length = 0;
        const xf_status got = JUDGED(xf_model_get_metadata, model, "a key", kept.data(), kept.size(), &length);
        if (status == XF_OK && !fuzz::Shortage::happened() &&
            (got != XF_OK || length + 1 != kept.size() || std::strcmp(kept.c_str(), each) != 0))
            fuzz::defect("another text is kept");
    }
    const auto has_key = [&](size_t index) {
        size_t length = 0;
        return xf_model_get_metadata_key(model, index, nullptr, 0, &length, fuzz::judge.fresh()) != XF_DONE;
    };
    size_t keys = 0;
    while (has_key(keys)) ++keys;
    JUDGED(xf_model_set_metadata, model, "a key", nullptr);
    if (!fuzz::Shortage::happened() && (keys == 0 || has_key(keys - 1)))
        fuzz::defect("a text that can't be taken away");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    fuzz::run(world.host, data, size, [&] {
        fuzz::Model model;
        const xf_status status = load(world, nullptr, bytes, &model);
        if (status != XF_OK) {
            if (model != nullptr) fuzz::defect("a model and %s", xf_status_name(status));
            return;
        }
        decode(world, model);
        save(world, model, world.config);
        save(world, model, world.weights[0]);
        save(world, model, world.weights[1 + size % 2]);
        describe(model, bytes.substr(size / 2));
    });
    return 0;
}
