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
    fuzz::Config narrow, half, other_half, wide;
    World() {
        fuzz::Judge judge;
        judge.of(xf_config_set(config, "decode.beam", "2", judge.fresh()), "xf_config_set");
        judge.of(xf_config_set(config, "decode.max_extra_tokens", "5", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, narrow.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(narrow, "model.weights", "int8", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, half.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(half, "model.weights", "fp16", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, other_half.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(other_half, "model.weights", "bf16", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, wide.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(wide, "model.weights", "fp32", judge.fresh()), "xf_config_set");
    }
};

// config: "model.weights".
xf_status load(const World &world, const xf_config *config, std::string_view bytes, fuzz::Model *model,
               fuzz::Judge *judge) {
    const xf_source source = source_memory(bytes.data(), bytes.size());
    return judge->of(xf_model_load(world.context, &source, config, &fuzz::watched, model->out(), judge->fresh()),
                     "xf_model_load");
}

// Every answer's ids, scores and text are there and mean something.
void check_answers(const xf_hypotheses *hypotheses, int64_t vocab_size, fuzz::Judge *judge) {
    for (size_t s = 0; s < xf_hypotheses_sentence_count(hypotheses); ++s) {
        for (size_t a = 0; a < hypothesis_count(hypotheses, s); ++a) {
            xf_hypothesis answer = XF_HYPOTHESIS_INIT;
            if (judge->of(xf_hypotheses_get(hypotheses, s, a, &answer, judge->fresh()), "xf_hypotheses_get") != XF_OK)
                fuzz::defect("answer %zu of sentence %zu is counted and not there", a, s);
            for (size_t i = 0; i < answer.id_count; ++i)
                if (answer.ids[i] < 0 || answer.ids[i] >= vocab_size) fuzz::defect("token %d", answer.ids[i]);
            if (std::isnan(answer.log_probability) || std::isnan(answer.score)) fuzz::defect("a score that is NaN");
            if (answer.text != nullptr && std::strlen(answer.text) > answer.text_length)
                fuzz::defect("a text longer than its length");
        }
    }
}

void decode(const World &world, const xf_model *model, fuzz::Judge *judge) {
    int64_t vocab_size = 0;
    if (judge->of(get_integer(xf_model_config(model), "model.vocab_size", &vocab_size, judge->fresh()), "get")) return;
    fuzz::Decoder decoder;
    if (judge->of(xf_decoder_create(model, world.config, decoder.out(), judge->fresh()), "xf_decoder_create")) return;
    const int32_t ids[] = {2, 3, 1, 66, 1};
    const int64_t offsets[] = {0, 3, 5};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, nullptr, nullptr, nullptr, nullptr, 0};
    fuzz::Hypotheses answers;
    if (judge->of(xf_decode(decoder, &batch, nullptr, nullptr, answers.out(), judge->fresh()), "xf_decode") == XF_OK)
        check_answers(answers, vocab_size, judge);
    const char *const texts[] = {"a b", "\xff", ""};
    if (judge->of(xf_translate(decoder, texts, nullptr, 3, nullptr, nullptr, answers.out(), judge->fresh()),
                  "xf_translate") == XF_OK)
        check_answers(answers, vocab_size, judge);
}

// Saves the loaded model, loads the result, and saves it again, which must give the same bytes.
void save(const World &world, const xf_model *model, const xf_config *config, fuzz::Judge *judge) {
    size_t size = 0, again_size = 0;
    const xf_status asked = save_model_memory(model, config, nullptr, 0, &size, judge->fresh());
    if (judge->of(asked, "xf_model_save") != XF_ERROR_BUFFER_TOO_SMALL) return;
    std::string bytes(size, '\0'), again(size, '\0');
    xf_status status = save_model_memory(model, config, bytes.data(), size, &size, judge->fresh());
    if (judge->of(status, "xf_model_save") != XF_OK) return;
    fuzz::Model second;
    status = load(world, nullptr, bytes, &second, judge);
    if (status != XF_OK) {
        if (status == XF_ERROR_NO_MEMORY) return;
        fuzz::defect("a model that was saved does not load: %s", judge->error().message);
    }
    status = save_model_memory(second, config, again.data(), size, &again_size, judge->fresh());
    if (judge->of(status, "xf_model_save") == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK || again_size != size || again != bytes)
        fuzz::defect("a model that was saved and loaded is saved to other bytes");
    status = load(world, world.wide, bytes, &second, judge);
    if (status != XF_OK && status != XF_ERROR_NO_MEMORY)
        fuzz::defect("a model that was saved does not become fp32: %s", judge->error().message);
}

// A text that is kept with a model, set twice, read, listed and taken away.
void describe(xf_model *model, std::string_view text, fuzz::Judge *judge) {
    const std::string value(text.substr(0, text.find('\0')));
    for (const char *each : {"first", value.c_str()}) {
        const xf_status status = judge->of(xf_model_set_metadata(model, "a key", each, judge->fresh()), "metadata");
        std::string kept(std::strlen(each) + 1, ' ');
        size_t length = 0;
        const xf_status got = judge->of(
            xf_model_get_metadata(model, "a key", kept.data(), kept.size(), &length, judge->fresh()), "metadata");
        if (status == XF_OK && !fuzz::Shortage::happened() &&
            (got != XF_OK || length + 1 != kept.size() || std::strcmp(kept.c_str(), each) != 0))
            fuzz::defect("another text is kept");
    }
    const auto has_key = [&](size_t index) {
        size_t length = 0;
        return xf_model_get_metadata_key(model, index, nullptr, 0, &length, judge->fresh()) != XF_DONE;
    };
    size_t keys = 0;
    while (has_key(keys)) ++keys;
    judge->of(xf_model_set_metadata(model, "a key", nullptr, judge->fresh()), "metadata");
    if (!fuzz::Shortage::happened() && (keys == 0 || has_key(keys - 1)))
        fuzz::defect("a text that can't be taken away");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    fuzz::Judge judge;
    const size_t before = world.host.held();
    {
        const fuzz::Shortage shortage(data, size);
        try {
            fuzz::Model model;
            const xf_status status = load(world, nullptr, {reinterpret_cast<const char *>(data), size}, &model, &judge);
            if (status == XF_OK) {
                decode(world, model, &judge);
                save(world, model, world.config, &judge);
                save(world, model, world.narrow, &judge);
                save(world, model, size % 2 == 0 ? world.half : world.other_half, &judge);
                describe(model, {reinterpret_cast<const char *>(data) + size / 2, size - size / 2}, &judge);
            } else if (model != nullptr) {
                fuzz::defect("a model and %s", xf_status_name(status));
            }
        } catch (const std::bad_alloc &) {
            // this file's own memory; the library's would be a status
            if (!fuzz::Shortage::happened()) throw;
        }
    }
    if (world.host.held() != before)
        fuzz::defect("%zu bytes are held for a model that is gone", world.host.held() - before);
    return 0;
}
