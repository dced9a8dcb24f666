/*
 * rows.c - the rows of Table 3, and the number of parameters and operations of a model; see rows.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rows.h"

#include <string.h>

#include "common.h"

const struct paper_row paper_rows[PAPER_ROWS] = {
    {"base", "base", "", 4.92, 25.8, 65, 100},
    {"A-h1", "(A)", "h 1, d_k = d_v 512", 5.29, 24.9, 0, 100},
    {"A-h4", "(A)", "h 4, d_k = d_v 128", 5.00, 25.5, 0, 100},
    {"A-h16", "(A)", "h 16, d_k = d_v 32", 4.91, 25.8, 0, 100},
    {"A-h32", "(A)", "h 32, d_k = d_v 16", 5.01, 25.4, 0, 100},
    {"B-dk16", "(B)", "d_k 16", 5.16, 25.1, 58, 100},
    {"B-dk32", "(B)", "d_k 32", 5.01, 25.4, 60, 100},
    {"C-N2", "(C)", "N 2", 6.11, 23.7, 36, 100},
    {"C-N4", "(C)", "N 4", 5.19, 25.3, 50, 100},
    {"C-N8", "(C)", "N 8", 4.88, 25.5, 80, 100},
    {"C-dmodel256", "(C)", "d_model 256, d_k = d_v 32", 5.75, 24.5, 28, 100},
    {"C-dmodel1024", "(C)", "d_model 1024, d_k = d_v 128", 4.66, 26.0, 168, 100},
    {"C-dff1024", "(C)", "d_ff 1024", 5.12, 25.4, 53, 100},
    {"C-dff4096", "(C)", "d_ff 4096", 4.75, 26.2, 90, 100},
    {"D-dropout0.0", "(D)", "dropout 0.0", 5.77, 24.6, 0, 100},
    {"D-dropout0.2", "(D)", "dropout 0.2", 4.95, 25.5, 0, 100},
    {"D-smoothing0.0", "(D)", "label smoothing 0.0", 4.67, 25.3, 0, 100},
    {"D-smoothing0.2", "(D)", "label smoothing 0.2", 5.47, 25.7, 0, 100},
    {"E-learned", "(E)", "learned positions", 4.92, 25.7, 0, 100},
    {"big", "big", "d_model 1024, d_ff 4096, h 16, dropout 0.3", 4.33, 26.4, 213, 300},
};

/* The options in which each row differs from base; big is a preset of the library. */
static const struct {
    const char *row, *key, *value;
} changes[] = {
    {"A-h1", "model.heads", "1"},
    {"A-h1", "model.d_k", "512"},
    {"A-h1", "model.d_v", "512"},
    {"A-h4", "model.heads", "4"},
    {"A-h4", "model.d_k", "128"},
    {"A-h4", "model.d_v", "128"},
    {"A-h16", "model.heads", "16"},
    {"A-h16", "model.d_k", "32"},
    {"A-h16", "model.d_v", "32"},
    {"A-h32", "model.heads", "32"},
    {"A-h32", "model.d_k", "16"},
    {"A-h32", "model.d_v", "16"},
    {"B-dk16", "model.d_k", "16"},
    {"B-dk32", "model.d_k", "32"},
    {"C-N2", "model.encoder_layers", "2"},
    {"C-N2", "model.decoder_layers", "2"},
    {"C-N4", "model.encoder_layers", "4"},
    {"C-N4", "model.decoder_layers", "4"},
    {"C-N8", "model.encoder_layers", "8"},
    {"C-N8", "model.decoder_layers", "8"},
    {"C-dmodel256", "model.d_model", "256"},
    {"C-dmodel256", "model.d_k", "32"},
    {"C-dmodel256", "model.d_v", "32"},
    {"C-dmodel1024", "model.d_model", "1024"},
    {"C-dmodel1024", "model.d_k", "128"},
    {"C-dmodel1024", "model.d_v", "128"},
    {"C-dff1024", "model.d_ff", "1024"},
    {"C-dff4096", "model.d_ff", "4096"},
    {"D-dropout0.0", "train.dropout", "0"},
    {"D-dropout0.2", "train.dropout", "0.2"},
    {"D-smoothing0.0", "train.label_smoothing", "0"},
    {"D-smoothing0.2", "train.label_smoothing", "0.2"},
    {"E-learned", "model.positions", "learned"},
};

const struct paper_row *find_row(const char *name) {
    for (int i = 0; i < PAPER_ROWS; ++i)
        if (strcmp(paper_rows[i].name, name) == 0) return &paper_rows[i];
    return NULL;
}

static int64_t option(const xf_config *config, const char *key) {
    int64_t value = 0;
    get_integer(config, key, &value, NULL);
    return value;
}

int set_row(xf_config *config, const char *name, int64_t scale) {
    static const char *const widths[] = {"model.d_model", "model.d_ff", "model.d_k", "model.d_v"};
    const int64_t warmup = option(config, "train.warmup_steps");
    xf_error err;
    if (find_row(name) == NULL) {
        complain("Table 3 has no row '%s'; see paper table3 --help", name);
        return EXIT_USAGE;
    }
    xf_status status = xf_config_preset(config, strcmp(name, "big") == 0 ? "big" : "base", &err);
    for (size_t i = 0; status == XF_OK && i < sizeof changes / sizeof changes[0]; ++i)
        if (strcmp(changes[i].row, name) == 0) status = xf_config_set(config, changes[i].key, changes[i].value, &err);
    if (status == XF_OK) status = xf_config_set_number(config, "train.warmup_steps", warmup, &err);
    for (size_t i = 0; status == XF_OK && i < sizeof widths / sizeof widths[0]; ++i) {
        const int64_t width = option(config, widths[i]);
        if (scale < 1 || width % scale != 0) {
            complain("--scale is %lld, expected a divisor of %lld, the %s of row %s", (long long)scale,
                     (long long)width, widths[i], name);
            return EXIT_USAGE;
        }
        status = xf_config_set_number(config, widths[i], width / scale, &err);
    }
    return status == XF_OK ? -1 : fail(&err);
}

struct model_size size_of(const xf_config *config, int64_t vocabulary) {
    const char *positions = "";
    xf_config_get(config, "model.positions", &positions, NULL);
    return (struct model_size){
        .encoder_layers = option(config, "model.encoder_layers"),
        .decoder_layers = option(config, "model.decoder_layers"),
        .d_model = option(config, "model.d_model"),
        .d_ff = option(config, "model.d_ff"),
        .heads = option(config, "model.heads"),
        .d_k = option(config, "model.d_k"),
        .d_v = option(config, "model.d_v"),
        .vocabulary = vocabulary,
        .learned_positions = strcmp(positions, "learned") == 0 ? option(config, "model.max_length") : 0};
}

/* Multiply-adds per token of the projections q, k, v, and o; q and o, or k and v, are half of it. */
static int64_t attention_weights(const struct model_size *z) { return 2 * z->d_model * z->heads * (z->d_k + z->d_v); }

int64_t count_parameters(const struct model_size *z) {
    const int64_t norm = 2 * z->d_model, attention = attention_weights(z);
    const int64_t feed_forward = 2 * z->d_model * z->d_ff + z->d_ff + z->d_model;
    return (z->vocabulary + 2 * z->learned_positions) * z->d_model + /* one table of positions per stack */
           z->encoder_layers * (attention + feed_forward + 2 * norm) +
           z->decoder_layers * (2 * attention + feed_forward + 3 * norm);
}

double pair_flops(const struct model_size *z, int64_t source, int64_t target) {
    const double s = (double)source, t = (double)target, attention = (double)attention_weights(z);
    const double feed_forward = 2.0 * (double)(z->d_model * z->d_ff), width = (double)(z->heads * (z->d_k + z->d_v));
    const double encoder = s * (attention + feed_forward) + s * s * width;
    const double decoder =
        t * (attention + attention / 2 + feed_forward) + s * attention / 2 + (t * (t + 1) / 2 + s * t) * width;
    const double projection = t * (double)(z->d_model * z->vocabulary);
    return 3 * 2 * ((double)z->encoder_layers * encoder + (double)z->decoder_layers * decoder + projection);
}

double batch_flops(const struct model_size *z, const xf_batch *batch) {
    double sum = 0;
    for (int64_t i = 0; i < batch->sentences; ++i)
        sum += pair_flops(z, batch->src_offsets[i + 1] - batch->src_offsets[i],
                          batch->tgt_offsets[i + 1] - batch->tgt_offsets[i]);
    return sum;
}
