// The option table and its values: each option accepts its default and its bounds and nothing beyond. Errors change
// nothing and state the expected value.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include "core/error.h"
#include "support/test.hpp"

namespace {

using xf::Option;
using xf::Options;

template <class Row>
void each_row(Row row) {
    for (size_t i = 0; i < xf::option_count(); ++i) row(xf::option(i));
}

std::string message_of(void (*body)()) { return xf_test::outcome_of(body).message; }

XF_TEST(every_row_is_complete) {
    std::set<std::string> keys;
    each_row([&](const Option &row) {
        const std::string key = row.key;
        CHECK(keys.insert(key).second);
        CHECK(key.find('.') != std::string::npos);
        CHECK(row.default_value != nullptr && row.paper != nullptr && row.since != nullptr);
        CHECK(std::string(row.doc).size() > 10 && std::string(row.doc).back() == '.');
        CHECK(row.minimum <= row.maximum);
        CHECK(row.choices == nullptr || row.type == XF_OPTION_TEXT);
    });
}

XF_TEST(every_default_is_what_a_new_config_has_and_may_be_set) {
    each_row([](const Option &row) {
        Options fresh, set;
        set.set(row.key, row.default_value);
        CHECK_EQ(fresh.text(row.key), set.text(row.key));
        set.set(row.key, fresh.text(row.key));  // set() reads the result of text()
        CHECK_EQ(fresh.text(row.key), set.text(row.key));
    });
}

XF_TEST(integers_accept_exactly_their_bounds) {
    each_row([](const Option &row) {
        if (row.type != XF_OPTION_INTEGER) return;
        Options options;
        const auto low = static_cast<int64_t>(row.minimum), high = static_cast<int64_t>(row.maximum);
        for (const int64_t value : {low, high}) {
            options.set_i64(row.key, value);
            CHECK_EQ(options.i64(row.key), value);
            options.set(row.key, std::to_string(value));
            CHECK_EQ(options.i64(row.key), value);
        }
        for (const int64_t value :
             {low - 1, high + 1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
            CHECK_FAILS(options.set_i64(row.key, value), XF_ERROR_OUT_OF_RANGE);
        CHECK_EQ(options.i64(row.key), high);
        for (const char *text : {"", " 1", "1 ", "1.5", "0x10", "+5", "1e3", "99999999999999999999x", "many", "nan"})
            CHECK_REFUSED(options.set(row.key, text), XF_ERROR_INVALID_ARGUMENT, "an integer");
        for (const char *text : {"9223372036854775808", "99999999999999999999", "-99999999999999999999"})
            CHECK_FAILS(options.set(row.key, text), XF_ERROR_OUT_OF_RANGE);
        CHECK_EQ(options.i64(row.key), high);
    });
}

XF_TEST(numbers_accept_exactly_their_bounds) {
    each_row([](const Option &row) {
        if (row.type != XF_OPTION_REAL) return;
        Options options;
        for (const double value : {row.minimum, row.maximum, 0.5 * (row.minimum + row.maximum)}) {
            options.set_f64(row.key, value);
            CHECK_EQ(options.f64(row.key), value);
            const std::string text = options.text(row.key);
            options.set(row.key, text);
            CHECK_EQ(options.f64(row.key), value);
        }
        options.set_f64(row.key, row.maximum);
        const double infinity = std::numeric_limits<double>::infinity();
        for (const double value : {std::nextafter(row.minimum, -infinity), std::nextafter(row.maximum, infinity),
                                   infinity, -infinity, std::nan("")})
            CHECK_FAILS(options.set_f64(row.key, value), XF_ERROR_OUT_OF_RANGE);
        CHECK_FAILS(options.set(row.key, "nan"), XF_ERROR_OUT_OF_RANGE);
        const std::string zeros(400, '0');
        for (const char *text : {"1e999", "-1e999", "1e99999", "1e+99999999999999999999", "0.0001e999"})
            CHECK_FAILS(options.set(row.key, text), XF_ERROR_OUT_OF_RANGE);
        for (const std::string &text : {"1" + zeros, "1" + zeros + ".5", "-1" + zeros + "e-9"})
            CHECK_FAILS(options.set(row.key, text), XF_ERROR_OUT_OF_RANGE);
        for (const char *text : {"", "0,5", "0.5x", " 0.5", "0x1p-1", "1e", "1e999x", "--1"})
            CHECK_REFUSED(options.set(row.key, text), XF_ERROR_INVALID_ARGUMENT, "a number");
        CHECK_EQ(options.f64(row.key), row.maximum);
        if (row.minimum > 0) return;
        for (const std::string &text :
             {std::string("1e-999"), std::string("-1E-99999"), std::string("1000e-999"),
              std::string("1e-99999999999999999999"), "0." + zeros + "1", "." + zeros + "1e9", "1" + zeros + "e-999"}) {
            options.set_f64(row.key, row.maximum);
            options.set(row.key, text);
            CHECK_EQ(options.f64(row.key), 0.0);
        }
    });
}

XF_TEST(booleans_and_words) {
    each_row([](const Option &row) {
        Options options;
        if (row.type == XF_OPTION_BOOL) {
            for (const char *yes : {"true", "1"}) {
                options.set(row.key, yes);
                CHECK(options.boolean(row.key));
            }
            for (const char *no : {"false", "0"}) {
                options.set(row.key, no);
                CHECK(!options.boolean(row.key));
            }
            for (const char *text : {"", "yes", "True", "TRUE", "2", "-1"})
                CHECK_REFUSED(options.set(row.key, text), XF_ERROR_INVALID_ARGUMENT, "true or false");
        } else if (row.type == XF_OPTION_TEXT && row.choices != nullptr) {
            std::string words = row.choices;
            for (size_t begin = 0; begin < words.size();) {
                const size_t end = std::min(words.find('|', begin), words.size());
                options.set(row.key, words.substr(begin, end - begin));
                CHECK_EQ(options.text(row.key), words.substr(begin, end - begin));
                begin = end + 1;
            }
            const std::string last = options.text(row.key);
            for (const char *text : {"", "|", "nonsense"})
                CHECK_FAILS(options.set(row.key, text), XF_ERROR_OUT_OF_RANGE);
            CHECK_FAILS(options.set(row.key, words), XF_ERROR_OUT_OF_RANGE);
            CHECK_EQ(options.text(row.key), last);
            CHECK_FAILS(options.str(row.key), XF_ERROR_INTERNAL);
        }
    });
    Options options;
    CHECK_FAILS(options.set("context.device", std::string(4097, 'x')), XF_ERROR_OUT_OF_RANGE);
}

XF_TEST(a_wrong_key_or_type_is_named) {
    Options options;
    CHECK_FAILS(options.set("train.dropuot", "0.1"), XF_ERROR_NOT_FOUND);
    CHECK_FAILS(options.set("", "0.1"), XF_ERROR_NOT_FOUND);
    CHECK_FAILS(options.i64(std::string(1 << 20, 'k')), XF_ERROR_NOT_FOUND);
    CHECK(message_of([] { Options().set("train.dropuot", "0"); }).find("'train.dropout'") != std::string::npos);
    CHECK(message_of([] { Options().set("beam", "0"); }).find("'decode.beam'") != std::string::npos);
    // A name that is not near is not suggested.
    CHECK(message_of([] { Options().set("nosuch", "0"); }).find("nearest") == std::string::npos);
    CHECK(message_of([] { Options().set("train.nosuch", "0"); }).find("nearest") == std::string::npos);
    const std::string bounds = message_of([] { Options().set("train.dropout", "0.99"); });
    CHECK(bounds.find("0.99") != std::string::npos && bounds.find("0.95") != std::string::npos);
    CHECK_FAILS(options.set_i64("model.norm", 1), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(options.set_f64("decode.beam", 4), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(options.set_bool("decode.beam", true), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(options.set_str("train.dropout", "0.1"), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(options.str("train.dropout"), XF_ERROR_INVALID_ARGUMENT);
    options.set_i64("train.learning_rate", 2);  // an integer is a number
    CHECK_EQ(options.f64("train.learning_rate"), 2.0);
}

XF_TEST(presets_are_those_of_the_paper) {
    Options options;
    options.set("decode.beam", "7");
    options.preset("big");
    CHECK_EQ(options.i64("model.d_model"), 1024);
    CHECK_EQ(options.i64("model.d_ff"), 4096);
    CHECK_EQ(options.i64("model.heads"), 16);
    CHECK_EQ(options.f64("train.dropout"), 0.3);
    CHECK_EQ(options.i64("decode.beam"), 7);
    options.preset("base");
    const Options defaults;
    each_row([&](const Option &row) {
        if (std::string(row.key) != "decode.beam") CHECK_EQ(options.text(row.key), defaults.text(row.key));
    });
    CHECK_FAILS(options.preset("huge"), XF_ERROR_NOT_FOUND);
    CHECK_FAILS(options.preset("A-h1"), XF_ERROR_NOT_FOUND);  // rows of Table 3 are in examples/paper
    CHECK_EQ(options.i64("model.d_model"), 512);
}

// It changes only these options of base; base restores all except those of decoding.
XF_TEST(the_preset_of_the_parser) {
    Options options, expected;
    const Options defaults;
    options.preset("big");
    options.preset("parsing");
    const std::map<std::string, std::string> changes = {
        {"model.encoder_layers", "4"}, {"model.decoder_layers", "4"}, {"model.d_model", "1024"},
        {"model.d_k", "128"},          {"model.d_v", "128"},          {"train.attention_dropout", "0.1"},
        {"decode.beam", "21"},         {"decode.alpha", "0.3"},       {"decode.max_extra_tokens", "300"}};
    for (const auto &[key, value] : changes) expected.set(key, value);
    each_row([&](const Option &row) { CHECK_EQ(options.text(row.key), expected.text(row.key)); });
    options.preset("base");
    each_row([&](const Option &row) {
        const bool kept = std::string_view(row.key).starts_with("decode.");
        CHECK_EQ(options.text(row.key), (kept ? expected : defaults).text(row.key));
    });
}

XF_TEST(only_the_options_of_a_group_are_copied) {
    Options from, to;
    from.set("model.heads", "3");
    from.set("train.dropout", "0.5");
    to.copy_group(from, "model.");
    CHECK_EQ(to.i64("model.heads"), 3);
    CHECK_EQ(to.f64("train.dropout"), 0.1);
}

}  // namespace
