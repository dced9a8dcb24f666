/*
 * inspect.c - `translate inspect`: prints the contents of a model file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "options.h"
#include "system.h"

/* Prints what the header of a file reports. */
static xf_status print_file(xf_context *context, const char *path, const xf_config *config, xf_error *err) {
    static const char *const types[] = {"?", "fp32", "fp16", "bf16", "int8"}; /* by XF_TYPE_... */
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    const xf_source source = XF_SOURCE_PATH(path);
    const xf_status status = xf_model_inspect(context, &source, config, &summary, err);
    if (status != XF_OK) return status;
    const bool known = summary.weights > 0 && summary.weights < (int32_t)(sizeof types / sizeof types[0]);
    if (summary.step < 0)
        printf("file\n  %-22s model\n", "kind");
    else
        printf("file\n  %-22s checkpoint after step %lld\n", "kind", (long long)summary.step);
    printf("  %-22s %lld bytes\n", "size", (long long)summary.file_bytes);
    printf("  %-22s %s\n", "weights", types[known ? summary.weights : 0]);
    printf("  %-22s at most %.0f MB\n", "memory to translate", (double)summary.decode_bytes / 1e6);
    if (summary.weights == XF_TYPE_FP32)
        printf("  %-22s at most %.0f MB\n", "memory to train", (double)summary.train_bytes / 1e6);
    printf("\n");
    return XF_OK;
}

/* Prints a text on one line, without control characters, and cut after some bytes. */
static void print_short(const char *text, size_t length) {
    enum { LONGEST = 100 };
    size_t shown = length < LONGEST ? length : LONGEST;
    while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80) --shown; /* whole characters */
    for (size_t i = 0; i < shown; ++i) putchar((unsigned char)text[i] < 0x20 || text[i] == 0x7F ? ' ' : text[i]);
    if (shown < length) printf(" ... (%zu bytes)", length);
    printf("\n");
}

static void print_metadata(const xf_model *model) {
    char key[257];
    size_t length = 0, i = 0;
    for (; xf_model_get_metadata_key(model, i, key, sizeof key, &length, NULL) == XF_OK; ++i) {
        xf_model_get_metadata(model, key, NULL, 0, &length, NULL);
        char *value = allocate(length + 1);
        if (i == 0) printf("metadata\n");
        printf("  %-22s ", key);
        if (xf_model_get_metadata(model, key, value, length + 1, &length, NULL) == XF_OK) print_short(value, length);
        free(value);
    }
    if (i > 0) printf("\n");
}

static void print_configuration(const xf_model *model) {
    const xf_config *config = xf_model_config(model);
    printf("configuration\n");
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = {.struct_size = sizeof info};
        const char *value = NULL;
        if (xf_option_get(i, &info, NULL) != XF_OK || strncmp(info.key, "model.", 6) != 0) continue;
        if (xf_config_get(config, info.key, &value, NULL) == XF_OK) printf("  %-22s %s\n", info.key, value);
    }
}

/* Formats the dimensions of a tensor: "512 x 64". */
static void put_shape(char *text, size_t size, const xf_tensor_info *info) {
    size_t used = 0;
    for (int32_t i = 0; i < info->dims && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? " x " : "", (long long)info->shape[i]);
}

static void print_parameters(const xf_model *model) {
    printf("\nparameters\n");
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        xf_tensor_info info = {.struct_size = sizeof info};
        if (xf_model_get_tensor(model, i, &info, NULL) != XF_OK) continue;
        char shape[96];
        put_shape(shape, sizeof shape, &info);
        printf("  %-44s %16s %12lld\n", info.name, shape, (long long)element_count(&info));
    }
    printf("  %-44s %16s %12lld\n", "total", "", (long long)parameter_count(model));
}

/* Prints a space and the piece of a token. */
static int print_piece(const xf_tokenizer *tokenizer, int32_t id) {
    char text[1024];
    size_t length = 0;
    xf_error err;
    if (xf_tokenizer_get_piece(tokenizer, id, text, sizeof text, &length, &err) == XF_OK) return printf(" %s", text);
    if (err.status == XF_ERROR_BUFFER_TOO_SMALL) return printf(" (%zu bytes)", length);
    return printf(" (%s)", err.message);
}

static void print_sample(const xf_tokenizer *tokenizer) {
    const int32_t size = vocabulary_size(tokenizer);
    printf("\nvocabulary     %d tokens, for example:\n ", (int)size);
    for (int32_t i = 0; i < 24; ++i) print_piece(tokenizer, (int32_t)((int64_t)i * (size - 1) / 23));
    printf("\n");
}

/* Prints the pieces and ids of a text, and the text decoded from these ids. */
static int print_pieces(const xf_tokenizer *tokenizer, const char *text) {
    size_t count = 0, length = 0;
    xf_error err;
    xf_status status = xf_tokenizer_encode(tokenizer, text, strlen(text), NULL, 0, &count, &err);
    if (status != XF_OK && status != XF_ERROR_BUFFER_TOO_SMALL) return fail(&err);
    int32_t *ids = allocate(count * sizeof *ids);
    char *back = NULL;
    status = xf_tokenizer_encode(tokenizer, text, strlen(text), ids, count, &count, &err);
    if (status == XF_OK) {
        printf("pieces        ");
        for (size_t i = 0; i < count; ++i) print_piece(tokenizer, ids[i]);
        printf("\nids           ");
        for (size_t i = 0; i < count; ++i) printf(" %d", (int)ids[i]);
        status = xf_tokenizer_decode(tokenizer, ids, count, NULL, 0, &length, &err);
        if (status == XF_ERROR_BUFFER_TOO_SMALL) {
            back = allocate(length + 1);
            status = xf_tokenizer_decode(tokenizer, ids, count, back, length + 1, &length, &err);
        }
    }
    if (status == XF_OK) printf("\nback           %s\n", back != NULL ? back : "");
    free(back);
    free(ids);
    return status == XF_OK ? EXIT_OK : fail(&err);
}

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), most = strlen(ending);
    return length >= most && strcmp(text + length - most, ending) == 0;
}

/* Returns whether an argument names a file, or has the ending of a model (whose name may be mistyped). */
static bool names_model(const char *argument) {
    struct stat file;
    if (stat(argument, &file) == 0 && S_ISREG(file.st_mode)) return true;
    return ends_with(argument, ".xf") || ends_with(argument, ".xf.ckpt");
}

/*
 * Determines the model and the text from the arguments: "[M.xf] [TEXT]" without --model, "[TEXT]" with it. A single
 * argument is the model if it names one and is not after "--". Returns -1 to continue, or the exit status.
 */
static int read_arguments(const struct command_line *line, const char **path, const char **text) {
    const size_t count = line->argument_count;
    if (*path != NULL && count == 2) {
        complain("'%.64s' is one argument too many: with --model, only one text is accepted", line->arguments[1]);
        return EXIT_USAGE;
    }
    const bool first_is_model =
        *path == NULL && (count == 2 || (count == 1 && line->plain_count == 1 && names_model(line->arguments[0])));
    if (first_is_model) *path = line->arguments[0];
    if (count > first_is_model) *text = line->arguments[first_is_model];
    if (*path == NULL) *path = model_beside();
    return *path != NULL ? -1 : EXIT_USAGE;
}

int inspect_command(int argc, char **argv) {
    const char *path = NULL, *text = NULL;
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &path, NULL, "en-de.xf",
         "The model, or a checkpoint; it can also be the first argument. The default is the one beside the program, "
         "English to German."},
    };
    struct command_line line = {.usage = "inspect [M.xf] [TEXT]",
                                .about =
                                    "Shows the contents of a model file or, with a text, the pieces of the text. A "
                                    "single argument is the model if it is the name of a file or ends in .xf; put a "
                                    "text like that after --, or after --model M.xf.",
                                .groups = "context.",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .most_arguments = 2};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    const bool named = path != NULL;
    status = read_arguments(&line, &path, &text);
    if (status >= 0) return status;
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_error err;
    if (xf_config_create(&config, &err) != XF_OK) return fail(&err);
    status = apply_settings(&line, config);
    if (status < 0) {
        status = EXIT_FAILED;
        context = open_context(config);
        if (context != NULL) model = open_model(context, path, config);
        if (context != NULL && model == NULL && !named && line.argument_count > 0 && path == line.arguments[0])
            complain("'%.64s' was taken for a model; put a text after --, and several words in quotes", path);
    }
    if (model != NULL && text != NULL) {
        status = print_pieces(xf_model_tokenizer(model), text);
    } else if (model != NULL) {
        status = print_file(context, path, config, &err) == XF_OK ? EXIT_OK : fail(&err);
        print_metadata(model);
        print_configuration(model);
        print_parameters(model);
        print_sample(xf_model_tokenizer(model));
    }
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return status;
}
