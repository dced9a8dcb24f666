// Named sets of options: the paper's two models and its parser, and two smaller models.
//
// Every preset sets all columns of the table below, so a later preset replaces an earlier one. Other options remain as
// they are, also the decoding options that "parsing" sets.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/options.h"

namespace xf {
namespace {

struct Preset {
    const char *name;
    int64_t layers, d_model, d_ff, heads, d_k;  // d_v is d_k
    double dropout, attention_dropout, label_smoothing;
    int64_t warmup;
};

constexpr Preset kPresets[] = {
    {"tiny", 2, 64, 128, 4, 16, 0.1, 0, 0.1, 400},
    {"small", 4, 256, 1024, 4, 64, 0.1, 0, 0.1, 2000},
    {"base", 6, 512, 2048, 8, 64, 0.1, 0, 0.1, 4000},
    {"big", 6, 1024, 4096, 16, 64, 0.3, 0, 0.1, 4000},
    // s. 6.3. Unspecified values are those of base, with d_k = d_model / h and attention dropout.
    {"parsing", 4, 1024, 2048, 8, 128, 0.1, 0.1, 0.1, 4000},
};

}  // namespace

void Options::preset(std::string_view name) {
    for (const Preset &p : kPresets) {
        if (name != p.name) continue;
        set_i64("model.encoder_layers", p.layers);
        set_i64("model.decoder_layers", p.layers);
        set_i64("model.d_model", p.d_model);
        set_i64("model.d_ff", p.d_ff);
        set_i64("model.heads", p.heads);
        set_i64("model.d_k", p.d_k);
        set_i64("model.d_v", p.d_k);
        set_str("model.positions", "sinusoid");
        set_f64("train.dropout", p.dropout);
        set_f64("train.attention_dropout", p.attention_dropout);
        set_f64("train.label_smoothing", p.label_smoothing);
        set_i64("train.warmup_steps", p.warmup);
        if (name != "parsing") return;
        set_i64("decode.beam", 21);
        set_f64("decode.alpha", 0.3);
        set_i64("decode.max_extra_tokens", 300);
        return;
    }
    fail(XF_ERROR_NOT_FOUND, "there is no preset '%s', expected tiny, small, base, big or parsing",
         std::string(name.substr(0, 64)).c_str());
}

}  // namespace xf
