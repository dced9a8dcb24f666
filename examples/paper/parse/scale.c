/*
 * scale.c - the parsing experiment in small; see scale.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scale.h"

#include <string.h>

const char scale_text[] =
    "Scaled: d_model 256 for 1024, d_ff 512 for 2048, 8 heads of 32 for 8 of 128, so every width by a quarter; layers "
    "4, "
    "beam 21, alpha 0.3 and answers of up to 300 tokens more than the source are the paper's.";

enum xf_status set_scale(xf_config *config, const char *name, xf_error *err) {
    static const struct {
        const char *key, *value;
    } scaled[] = {
        {"model.d_model", "256"},
        {"model.d_ff", "512"},
        {"model.d_k", "32"},
        {"model.d_v", "32"},
        {"model.norm", "pre"},
        {"tokenizer.vocab_size", "2000"},
        {"data.batch_tokens", "1500"},
        {"train.warmup_steps", "500"},
        {"train.learning_rate", "0.7"},
        {"train.attention_dropout", "0.1"},
    };
    if (strcmp(name, "scaled") != 0) return xf_config_preset(config, name, err);
    enum xf_status status = xf_config_preset(config, "parsing", err);
    for (size_t i = 0; status == XF_OK && i < sizeof scaled / sizeof scaled[0]; ++i)
        status = xf_config_set(config, scaled[i].key, scaled[i].value, err);
    return status;
}
