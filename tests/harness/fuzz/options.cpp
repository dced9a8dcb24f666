// Options from text: a line is KEY=VALUE or '@' and the name of a preset. A value must read back as it was set. Then a
// model, a trainer, and a decoder are created from the options, which may fail with an error.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

struct World : fuzz::World {
    World() : fuzz::World("400000") {  // bytes: a large model is refused rather than waited for
        JUDGED(xf_config_set, config, "model.vocab_size", "20");
    }
};

std::string text_of(const xf_config *config, const char *key) {
    const char *text = nullptr;
    if (JUDGED(xf_config_get, config, key, &text) != XF_OK)
        fuzz::defect("%s is set and can't be read: %s", key, fuzz::judge.message());
    return text;
}

void set(xf_config *config, const std::string &key, const std::string &value) {
    const xf_status status = JUDGED(xf_config_set, config, key.c_str(), value.c_str());
    if (status != XF_OK) return;
    const std::string first = text_of(config, key.c_str());
    if (JUDGED(xf_config_set, config, key.c_str(), first.c_str()) != XF_OK)
        fuzz::defect("%s was set to '%s' and reads '%s', which is refused", key.c_str(), value.c_str(), first.c_str());
    if (text_of(config, key.c_str()) != first) fuzz::defect("%s reads otherwise each time", key.c_str());
    int64_t integer = 0;
    double number = 0;
    const bool is_integer = JUDGED(get_integer, config, key.c_str(), &integer) == XF_OK;
    const bool is_number = JUDGED(xf_config_get_number, config, key.c_str(), &number) == XF_OK;
    xf_status again = XF_OK;
    if (is_integer) again = JUDGED(xf_config_set_number, config, key.c_str(), integer);
    if (is_number) again = JUDGED(xf_config_set_number, config, key.c_str(), number);
    if (again != XF_OK || text_of(config, key.c_str()) != first)
        fuzz::defect("%s is another value as a number than as '%s'", key.c_str(), first.c_str());
}

void make(const World &world, const xf_config *config) {
    fuzz::Model model;
    if (JUDGED(xf_model_create, world.context, nullptr, config, model.out())) return;
    fuzz::Trainer trainer;
    fuzz::Decoder decoder;
    JUDGED(xf_trainer_create, model, config, trainer.out());
    JUDGED(xf_decoder_create, model, nullptr, config, decoder.out());
    size_t size = 0;
    JUDGED(save_model_memory, model, config, nullptr, 0, &size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    const size_t before = world.host.held();
    {
        fuzz::Config config;
        if (JUDGED(xf_config_copy, world.config, config.out()) != XF_OK) return 0;
        std::string_view text(reinterpret_cast<const char *>(data), size);
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            const size_t equals = line.find('=');
            if (line.starts_with('@'))
                JUDGED(xf_config_preset, config, std::string(line.substr(1)).c_str());
            else if (equals != std::string_view::npos)
                set(config, std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
        }
        make(world, config);
    }
    if (world.host.held() != before)
        fuzz::defect("%zu bytes are held for a model that is gone", world.host.held() - before);
    return 0;
}
