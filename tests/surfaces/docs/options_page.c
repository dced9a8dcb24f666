/*
 * options_page.c - prints docs/guide/options.md from the library's own table: options_page > docs/guide/options.md
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xformer/xformer.h>

static const char *const groups[][2] = {
    {"context",
     "Read by `xf_context_create()`: the device and its limits. See [backends](backends.md) and\n"
     "[memory and threads](memory-and-threads.md)."},
    {"tokenizer", "Read by `xf_tokenizer_train()`. See [tokenizer](tokenizer.md)."},
    {"text",
     "Read by `xf_batcher_create()`, `xf_corpus_encode()`, `xf_decoder_create()`, `xf_engine_create()`,\n"
     "`xf_model_encode()`, and from the config of a single call or request. See\n"
     "[multilingual models](decoding.md#multilingual-models)."},
    {"data", "Read by `xf_corpus_open()` and similar functions, and by `xf_batcher_create()`. See [data](data.md)."},
    {"model",
     "Read by `xf_model_create()` and kept in the model file; see [choosing sizes](training.md#sizes).\n"
     "`model.weights` is read when a model is loaded, copied, or saved; see\n"
     "[quantized models](files.md#quantized-models)."},
    {"train",
     "Read by `xf_trainer_create()` and kept in the checkpoint; `train.label_smoothing` and its kind also by\n"
     "`xf_decoder_create()`, for `xf_evaluate()`. See [training](training.md)."},
    {"decode",
     "Read by `xf_decoder_create()`, `xf_engine_create()`, and from the config of a single call. See\n"
     "[decoding](decoding.md)."},
    {"engine", "Read by `xf_engine_create()`. See [serving](serving.md)."},
};

/* Lists the choices with commas, because a '|' would end the cell of the table. */
static void print_choices(const char *choices) {
    for (const char *word = choices; *word != 0;) {
        const size_t length = strcspn(word, "|");
        printf("%s`%.*s`", word == choices ? "" : ", ", (int)length, word);
        word += length + (word[length] == '|');
    }
}

/* Prints an integer in full, and any other number with as few digits as identify it. */
static void print_number(double value) {
    char text[32];
    int digits = value < 1e16 && value == (double)(long long)value ? 16 : 1;
    do snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < 17 && strtod(text, NULL) != value);
    printf("%s", text);
}

static void print_values(const xf_option_info *option) {
    switch (option->type) {
        case XF_OPTION_BOOL:
            printf("`true`, `false`");
            break;
        case XF_OPTION_TEXT:
            if (option->choices != NULL)
                print_choices(option->choices);
            else
                printf("text");
            break;
        default:
            print_number(option->minimum);
            printf(" to ");
            print_number(option->maximum);
    }
}

int main(void) {
    size_t printed = 0;
    printf(
        "# Options\n\n"
        "This page lists all options of the library. It is generated from the table that `xf_option_get()` reads.\n"
        "Set an option by its key: `xf_config_set(config, \"decode.beam\", \"8\", &err)`, or with the function for "
        "its\n"
        "type. A value outside the bounds is an error; values are never clamped. The last column names the section\n"
        "of the paper.\n\n"
        "`xf_config_preset()` sets several options at once. The table omits the preset `parsing`, the model of s. "
        "6.3.\n"
        "The rows of Table 3 that are not presets are in examples/paper/rows.c.\n\n"
        "| preset | layers | d_model | d_ff | heads | d_k, d_v | dropout | warm-up steps |\n"
        "|---|---|---|---|---|---|---|---|\n");
    static const char *const presets[] = {"tiny", "small", "base", "big"};
    static const char *const columns[] = {"model.encoder_layers", "model.d_model", "model.d_ff",
                                          "model.heads",          "model.d_k",     "train.dropout",
                                          "train.warmup_steps"};
    for (size_t i = 0; i < sizeof presets / sizeof *presets; ++i) {
        xf_config *config = NULL;
        if (xf_config_create(&config, NULL) != XF_OK || xf_config_preset(config, presets[i], NULL) != XF_OK)
            return EXIT_FAILURE;
        printf("| `%s` |", presets[i]);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; ++k) {
            const char *value = NULL;
            if (xf_config_get(config, columns[k], &value, NULL) != XF_OK) return EXIT_FAILURE;
            printf(" %s |", value);
        }
        printf("\n");
        xf_config_free(config);
    }
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        const size_t length = strlen(groups[g][0]);
        printf("\n## %s\n\n%s\n\n", groups[g][0], groups[g][1]);
        printf("| option | default | values | meaning | paper |\n|---|---|---|---|---|\n");
        for (size_t i = 0; i < xf_option_count(); ++i) {
            xf_option_info option = XF_OPTION_INFO_INIT;
            if (xf_option_get(i, &option, NULL) != XF_OK) return EXIT_FAILURE;
            if (strncmp(option.key, groups[g][0], length) != 0 || option.key[length] != '.') continue;
            printf("| `%s` | `%s` | ", option.key, option.default_value);
            print_values(&option);
            printf(" | %s | %s |\n", option.doc, option.paper);
            ++printed;
        }
    }
    if (printed == xf_option_count()) return EXIT_SUCCESS;
    fprintf(stderr, "%d options of %d belong to no group of this page\n", (int)(xf_option_count() - printed),
            (int)xf_option_count());
    return EXIT_FAILURE;
}
