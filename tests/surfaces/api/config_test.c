/*
 * config.h: every refusal of the setters and getters, and that a refusal changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

/* All values of a config, as text. */
static char *snapshot(xf_config *config) {
    char *text = calloc(1, 65536);
    assert_non_null(text);
    for (size_t i = 0; i < xf_option_count(); ++i) {
        const xf_option_info info = get_option(i);
        const char *value = NULL;
        ACCEPTED(xf_config_get(config, info.key, &value, err));
        snprintf(text + strlen(text), 65536 - strlen(text), "%s=%s\n", info.key, value);
    }
    return text;
}

static void refused_with(xf_config *config, const char *key, const char *value, xf_status expected,
                         const char *part_of_message) {
    OWNED_MEMORY char *before = snapshot(config);
    REFUSED(expected, nothing, xf_config_set(config, key, value, err));
    SAYS(part_of_message);
    OWNED_MEMORY char *after = snapshot(config);
    assert_string_equal(before, after);
}

TEST(unknown_keys) {
    xf_config *c = world.config;
    double f64 = 77;
    const char *text = SENTINEL;
    refused_with(c, "model.dmodel", "64", XF_ERROR_NOT_FOUND, "model.d_model");
    refused_with(c, "train.label_smooting", "0", XF_ERROR_NOT_FOUND, "train.label_smoothing");
    refused_with(c, "beam", "4", XF_ERROR_NOT_FOUND, "decode.beam");
    refused_with(c, "", "4", XF_ERROR_NOT_FOUND, "xf_option_get() lists all options");
    refused_with(c, "train.zebra", "4", XF_ERROR_NOT_FOUND, "xf_option_get() lists all options");
    refused_with(c, "train.lr", "1", XF_ERROR_NOT_FOUND, "train.learning_rate");
    refused_with(c, "batch_size", "4", XF_ERROR_NOT_FOUND, "data.batch_tokens");
    refused_with(c, "decode.length_penalty", "1", XF_ERROR_NOT_FOUND, "decode.alpha");
    refused_with(c, "decode.beam ", "4", XF_ERROR_NOT_FOUND, "decode.beam'");
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_config_set_number(c, "decode.bean", 1, err));
    REFUSED(XF_ERROR_NOT_FOUND, f64, xf_config_get_number(c, "decode.alfa", &f64, err));
    REFUSED(XF_ERROR_NOT_FOUND, text, xf_config_get(c, "model.nurm", &text, err));
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_config_preset(c, "huge", err));
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_config_preset(c, "", err));

    /* Values in a message are sanitized: line ends, escapes, invalid UTF-8, length. */
    static char longest[100000];
    memset(longest, 'x', sizeof longest - 1);
    const char *const hostile[] = {"two\nlines",
                                   "\x1b[31mred",
                                   "caf\xc3",
                                   "\xff\xfe",
                                   "0123456789012345678901234567890123456789012345678901234567890123\xc3\xa9",
                                   longest};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
        refused_with(c, hostile[i], "1", XF_ERROR_NOT_FOUND, "");
        refused_with(c, "decode.beam", hostile[i], XF_ERROR_INVALID_ARGUMENT, "decode.beam");
        refused_with(c, "model.norm", hostile[i], XF_ERROR_OUT_OF_RANGE, "model.norm");
        REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_config_preset(c, hostile[i], err));
    }
}

TEST(values) {
    xf_config *c = world.config;
    refused_with(c, "decode.beam", "0", XF_ERROR_OUT_OF_RANGE, "1 to 1024");
    refused_with(c, "train.dropout", "-1e-300", XF_ERROR_OUT_OF_RANGE, "0 to 0.95");
    refused_with(c, "model.norm", "rms", XF_ERROR_OUT_OF_RANGE, "post|pre");
    /* Beyond what a type holds is beyond any bound, and a number too small to tell from 0 is 0. */
    refused_with(c, "decode.beam", "9223372036854775808", XF_ERROR_OUT_OF_RANGE, "1 to 1024");
    refused_with(c, "decode.beam", "-99999999999999999999", XF_ERROR_OUT_OF_RANGE, "1 to 1024");
    refused_with(c, "train.dropout", "1e999", XF_ERROR_OUT_OF_RANGE, "0 to 0.95");
    refused_with(c, "train.dropout", "-1e999", XF_ERROR_OUT_OF_RANGE, "0 to 0.95");
    static const char *const tiny[] = {"1e-400", "-1e-400", "0.0000000001e-330"};
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; ++i) {
        double value = 1;
        set(c, "train.dropout", tiny[i]);
        ACCEPTED(xf_config_get_number(c, "train.dropout", &value, err));
        assert_true(value == 0);
    }
    set(c, "train.dropout", "0.1");
    /* Other malformed texts, for each option: tests/unit/core/options_test.cpp. */
    refused_with(c, "decode.beam", "4e0", XF_ERROR_INVALID_ARGUMENT, "an integer");
    refused_with(c, "train.dropout", "0,1", XF_ERROR_INVALID_ARGUMENT, "a number");
    refused_with(c, "train.dropout", "inf", XF_ERROR_OUT_OF_RANGE, "0 to 0.95");
    refused_with(c, "data.strict", "yes", XF_ERROR_INVALID_ARGUMENT, "true or false");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "train.dropout", NAN, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "decode.beam", NAN, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "data.strict", NAN, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "decode.beam", 4.5, err)); /* an integer */
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "data.strict", 0.5, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, "decode.beam", INFINITY, err));
    SAYS("is inf,"); /* the value before the conversion to an integer */
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, "train.dropout", INFINITY, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, "decode.beam", INT64_MAX, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, "data.strict", 2, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, "data.strict", -1, err));

    /* Another type. */
    double number = 77;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_config_set_number(c, "model.norm", 4, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, number, xf_config_get_number(c, "model.norm", &number, err));
    ACCEPTED(xf_config_get_number(c, "decode.beam", &number, err));
    assert_true(number == 4);
}

/* Each row: readable back, its bounds hold on both sides, its default is what a new config has. */
TEST(table) {
    OWNED_CONFIG *copy = NULL;
    MAKE(config, c, xf_config_create(&c, err));
    assert_true(xf_option_count() > 30);
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info row = {.struct_size = sizeof row};
        const char *value = NULL;
        ACCEPTED(xf_option_get(i, &row, err));
        ACCEPTED(xf_config_get(c, row.key, &value, err));
        ACCEPTED(xf_config_set(c, row.key, row.default_value, err));
        assert_true(strlen(row.doc) > 0 && row.paper != NULL && strlen(row.since) > 0 && row.reserved == 0);
        if (row.type == XF_OPTION_INTEGER) {
            ACCEPTED(xf_config_set_number(c, row.key, (int64_t)row.minimum, err));
            ACCEPTED(xf_config_set_number(c, row.key, (int64_t)row.maximum, err));
            REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, row.key, (int64_t)row.minimum - 1, err));
            REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, row.key, (int64_t)row.maximum + 1, err));
        } else if (row.type == XF_OPTION_REAL) {
            ACCEPTED(xf_config_set_number(c, row.key, row.maximum, err));
            ACCEPTED(xf_config_set_number(c, row.key, row.minimum, err));
            REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set_number(c, row.key, nextafter(row.minimum, -1), err));
            REFUSED(XF_ERROR_OUT_OF_RANGE, nothing,
                    xf_config_set_number(c, row.key, nextafter(row.maximum, 1e300), err));
        }
        ACCEPTED(xf_config_set(c, row.key, row.default_value, err));
    }
    PAINTED(xf_option_info, info);
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_option_get(xf_option_count(), &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_option_get(SIZE_MAX, &info, err));

    /* Each row is found by its key; other keys are refused as xf_config_set() refuses them. */
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info row = XF_OPTION_INFO_INIT, same = XF_OPTION_INFO_INIT;
        ACCEPTED(xf_option_get(i, &row, err));
        ACCEPTED(xf_option_find(row.key, &same, err));
        assert_memory_equal(&row, &same, sizeof row);
    }
    REFUSED(XF_ERROR_NOT_FOUND, info, xf_option_find("", &info, err));
    REFUSED(XF_ERROR_NOT_FOUND, info, xf_option_find("context.weights", &info, err)); /* of an older version */
    REFUSED(XF_ERROR_NOT_FOUND, info, xf_option_find("decode.beams", &info, err));
    SAYS("decode.beam'");

    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_config_preset(c, "C-N2", err)); /* a row of examples/paper */
    static const char *const presets[] = {"tiny", "small", "base", "big"};
    for (int i = 0; i < 4; ++i) ACCEPTED(xf_config_preset(c, presets[i], err));
    ACCEPTED(xf_config_copy(c, &copy, err));
    OWNED_MEMORY char *a = snapshot(c), *b = snapshot(copy);
    assert_string_equal(a, b);
    ACCEPTED(xf_config_set_number(c, "decode.beam", 9, err)); /* the copy is its own */
    int64_t beam = 0;
    ACCEPTED(get_integer(copy, "decode.beam", &beam, err));
    assert_int_equal(beam, 4);
    double number = 0;
    ACCEPTED(xf_config_set_number(c, "decode.alpha", 1, err)); /* an integer is a number */
    ACCEPTED(xf_config_get_number(c, "decode.alpha", &number, err));
    assert_true(number == 1);
    int64_t boolean = 9;
    ACCEPTED(xf_config_set_number(c, "data.strict", 1, err));
    ACCEPTED(get_integer(c, "data.strict", &boolean, err));
    assert_int_equal(boolean, 1);
    ACCEPTED(xf_config_set(c, "model.norm", "pre", err));
}

/* "Valid until the option is set again": not only until it is read again, and however many others are read. */
TEST(text_stays_valid) {
    const char name[] = "cpu:a-name-that-is-much-longer-than-a-short-string";
    const char *first = NULL, *second = NULL;
    MAKE(config, c, xf_config_create(&c, err));
    ACCEPTED(xf_config_set(c, "context.device", name, err));
    ACCEPTED(xf_config_get(c, "context.device", &first, err));
    ACCEPTED(xf_config_get(c, "context.device", &second, err));
    assert_ptr_equal(first, second);
    free(snapshot(c));
    assert_string_equal(first, name);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
