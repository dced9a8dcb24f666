// A whole model file: loaded from memory, decoded with, saved and loaded again. The mutator (mutator.cpp) keeps lengths
// and checksums right, or nothing would get past them.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "fuzz.hpp"

namespace {

struct World : fuzz::World {
    fuzz::Config narrow, half, other_half;
    fuzz::Context wide;  // keeps what it loads in fp32
    World() {
        fuzz::Judge judge;
        judge.of(xf_config_set(config, "decode.beam", "2", judge.fresh()), "xf_config_set");
        judge.of(xf_config_set(config, "decode.max_extra_tokens", "5", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, narrow.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(narrow, "file.precision", "int8", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, half.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(half, "file.precision", "fp16", judge.fresh()), "xf_config_set");
        judge.of(xf_config_copy(config, other_half.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(other_half, "file.precision", "bf16", judge.fresh()), "xf_config_set");
        fuzz::Config keeps;
        judge.of(xf_config_copy(config, keeps.out(), judge.fresh()), "xf_config_copy");
        judge.of(xf_config_set(keeps, "context.weights", "fp32", judge.fresh()), "xf_config_set");
        judge.of(xf_context_create(keeps, host.get(), wide.out(), judge.fresh()), "xf_context_create");
    }
};

xf_status load(xf_context *context, std::string_view bytes, fuzz::Model *model, fuzz::Judge *judge) {
    xf_source source = XF_SOURCE_INIT;
    source.data = bytes.data();
    source.size = bytes.size();
    return judge->of(xf_model_load_from(context, &source, model->out(), judge->fresh()), "xf_model_load_from");
}

// Every answer's ids, scores and text are there and mean something.
void check_answers(const xf_hypotheses *hypotheses, int64_t vocab_size, fuzz::Judge *judge) {
    for (size_t s = 0; s < xf_hypotheses_sentence_count(hypotheses); ++s) {
        for (size_t a = 0; a < xf_hypotheses_answer_count(hypotheses, s); ++a) {
            xf_hypothesis answer = XF_HYPOTHESIS_INIT;
            if (judge->of(xf_hypotheses_get(hypotheses, s, a, &answer, judge->fresh()), "xf_hypotheses_get") != XF_OK)
                fuzz::defect("answer %zu of sentence %zu is counted and not there", a, s);
            for (int64_t i = 0; i < answer.length; ++i)
                if (answer.ids[i] < 0 || answer.ids[i] >= vocab_size) fuzz::defect("token %d", answer.ids[i]);
            if (std::isnan(answer.log_probability) || std::isnan(answer.score)) fuzz::defect("a score that is NaN");
            if (answer.text != nullptr && std::strlen(answer.text) > answer.text_length)
                fuzz::defect("a text longer than its length");
        }
    }
}

void decode(const World &world, const xf_model *model, fuzz::Judge *judge) {
    int64_t vocab_size = 0;
    if (judge->of(xf_config_get_i64(xf_model_config(model), "model.vocab_size", &vocab_size, judge->fresh()), "get"))
        return;
    fuzz::Decoder decoder;
    if (judge->of(xf_decoder_create(model, world.config, decoder.out(), judge->fresh()), "xf_decoder_create")) return;
    const int32_t ids[] = {2, 3, 1, 66, 1}, offsets[] = {0, 3, 5};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, nullptr, nullptr, nullptr};
    fuzz::Hypotheses answers;
    if (judge->of(xf_decode(decoder, &batch, nullptr, answers.out(), judge->fresh()), "xf_decode") == XF_OK)
        check_answers(answers, vocab_size, judge);
    const char *const texts[] = {"a b", "\xff", ""};
    if (judge->of(xf_translate(decoder, texts, nullptr, 3, nullptr, answers.out(), judge->fresh()), "xf_translate") ==
        XF_OK)
        check_answers(answers, vocab_size, judge);
}

// What was loaded is saved, and that is loaded and saved to the same bytes.
void save(const World &world, const xf_model *model, const xf_config *config, fuzz::Judge *judge) {
    size_t size = 0, again_size = 0;
    const xf_status asked = xf_model_save_memory(model, config, nullptr, 0, &size, judge->fresh());
    if (judge->of(asked, "xf_model_save_memory") != XF_ERROR_BUFFER_TOO_SMALL) return;
    std::string bytes(size, '\0'), again(size, '\0');
    xf_status status = xf_model_save_memory(model, config, bytes.data(), size, &size, judge->fresh());
    if (judge->of(status, "xf_model_save_memory") != XF_OK) return;
    fuzz::Model second;
    status = load(world.context, bytes, &second, judge);
    if (status != XF_OK) {
        if (status == XF_ERROR_NO_MEMORY) return;
        fuzz::defect("a model that was saved does not load: %s", judge->error().message);
    }
    status = xf_model_save_memory(second, config, again.data(), size, &again_size, judge->fresh());
    if (judge->of(status, "xf_model_save_memory") == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK || again_size != size || again != bytes)
        fuzz::defect("a model that was saved and loaded is saved to other bytes");
    status = load(world.wide, bytes, &second, judge);
    if (status != XF_OK && status != XF_ERROR_NO_MEMORY)
        fuzz::defect("a model that was saved does not become fp32: %s", judge->error().message);
}

// A text that is kept with a model, set twice, read, listed and taken away.
void describe(xf_model *model, std::string_view text, fuzz::Judge *judge) {
    const std::string value(text.substr(0, text.find('\0')));
    for (const char *each : {"first", value.c_str()}) {
        const xf_status status = judge->of(xf_model_set_metadata(model, "a key", each, judge->fresh()), "metadata");
        const char *const kept = xf_model_metadata(model, "a key");
        if (status == XF_OK && (kept == nullptr || std::strcmp(kept, each) != 0)) fuzz::defect("another text is kept");
    }
    size_t keys = 0;
    while (xf_model_metadata_key(model, keys) != nullptr) ++keys;
    judge->of(xf_model_set_metadata(model, "a key", nullptr, judge->fresh()), "metadata");
    if (!fuzz::Shortage::happened() && (keys == 0 || xf_model_metadata_key(model, keys - 1) != nullptr))
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
            const xf_status status = load(world.context, {reinterpret_cast<const char *>(data), size}, &model, &judge);
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
