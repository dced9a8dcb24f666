// Options from text: a line is KEY=VALUE or '@' and the name of a preset. A value must read back as it was set. Then a
// model, a trainer, and a decoder are created from the options, which may fail with an error.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

struct World {
    fuzz::Host host;
    fuzz::Config small;
    fuzz::Context context;
    World() {
        fuzz::Judge judge;
        judge.of(xf_config_create(small.out(), judge.fresh()), "xf_config_create");
        fuzz::set_small(small);
        // So small that a large model is refused rather than waited for.
        judge.of(xf_config_set(small, "context.memory_budget", "400000", judge.fresh()), "xf_config_set");
        judge.of(xf_config_set(small, "model.vocab_size", "20", judge.fresh()), "xf_config_set");
        if (judge.of(xf_context_create(small, host.get(), context.out(), judge.fresh()), "xf_context_create") != XF_OK)
            fuzz::defect("no context: %s", judge.error().message);
    }
};

std::string text_of(const xf_config *config, const char *key, fuzz::Judge *judge) {
    const char *text = nullptr;
    if (judge->of(xf_config_get(config, key, &text, judge->fresh()), "xf_config_get") != XF_OK)
        fuzz::defect("%s is set and can't be read: %s", key, judge->error().message);
    return text;
}

void set(xf_config *config, const std::string &key, const std::string &value, fuzz::Judge *judge) {
    const xf_status status =
        judge->of(xf_config_set(config, key.c_str(), value.c_str(), judge->fresh()), "xf_config_set");
    if (status != XF_OK) return;
    const std::string first = text_of(config, key.c_str(), judge);
    if (judge->of(xf_config_set(config, key.c_str(), first.c_str(), judge->fresh()), "xf_config_set") != XF_OK)
        fuzz::defect("%s was set to '%s' and reads '%s', which is refused", key.c_str(), value.c_str(), first.c_str());
    if (text_of(config, key.c_str(), judge) != first) fuzz::defect("%s reads otherwise each time", key.c_str());
    int64_t integer = 0;
    double number = 0;
    const bool is_integer =
        judge->of(get_integer(config, key.c_str(), &integer, judge->fresh()), "xf_config_get_number") == XF_OK;
    const bool is_number =
        judge->of(xf_config_get_number(config, key.c_str(), &number, judge->fresh()), "xf_config_get_number") == XF_OK;
    xf_status again = XF_OK;
    if (is_integer) again = xf_config_set_number(config, key.c_str(), integer, judge->fresh());
    if (is_number) again = xf_config_set_number(config, key.c_str(), number, judge->fresh());
    if (judge->of(again, "xf_config_set_number") != XF_OK || text_of(config, key.c_str(), judge) != first)
        fuzz::defect("%s is another value as a number than as '%s'", key.c_str(), first.c_str());
}

void make(const World &world, const xf_config *config, fuzz::Judge *judge) {
    fuzz::Model model;
    if (judge->of(xf_model_create(world.context, nullptr, config, model.out(), judge->fresh()), "xf_model_create"))
        return;
    fuzz::Trainer trainer;
    fuzz::Decoder decoder;
    judge->of(xf_trainer_create(model, config, trainer.out(), judge->fresh()), "xf_trainer_create");
    judge->of(xf_decoder_create(model, config, decoder.out(), judge->fresh()), "xf_decoder_create");
    size_t size = 0;
    judge->of(save_model_memory(model, config, nullptr, 0, &size, judge->fresh()), "xf_model_save_memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    const size_t before = world.host.held();
    {
        fuzz::Judge judge;
        fuzz::Config config;
        if (judge.of(xf_config_copy(world.small, config.out(), judge.fresh()), "xf_config_copy") != XF_OK) return 0;
        std::string_view text(reinterpret_cast<const char *>(data), size);
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            const size_t equals = line.find('=');
            if (line.starts_with('@'))
                judge.of(xf_config_preset(config, std::string(line.substr(1)).c_str(), judge.fresh()),
                         "xf_config_preset");
            else if (equals != std::string_view::npos)
                set(config, std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)), &judge);
        }
        make(world, config, &judge);
    }
    if (world.host.held() != before)
        fuzz::defect("%zu bytes are held for a model that is gone", world.host.held() - before);
    return 0;
}
