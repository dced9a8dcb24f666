// Options with choices: the code that reads an option accepts exactly the words of its row in the option table.
//
// Options::choice() compares the whole list of words at every read, so a word that is added only to the table makes
// the reader below throw XF_ERROR_INTERNAL, whichever word is set.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"
#include "core/options.h"
#include "decode/decoder.h"
#include "nn/model_config.h"
#include "nn/model_file.h"
#include "support/test.hpp"
#include "text/words/tokenizer.h"
#include "train/train_config.h"

namespace {

using xf::Options;

// The code that reads the options of each group.
const std::map<std::string, std::function<void(const Options &)>, std::less<>> kReaders = {
    {"context", [](const Options &options) { xf::Context(options, nullptr); }},
    {"tokenizer", [](const Options &options) { xf::TokenizerOptions::from(options); }},
    {"model",
     [](const Options &options) {
         xf::ModelConfig::from(options);
         xf::weights_named(options.text("model.weights"), XF_WEIGHTS_NUM);
     }},
    {"train",
     [](const Options &options) {
         xf::TrainConfig::from(options, 512);
         xf::DecodeConfig::from(options, xf::ModelConfig::from(options), nullptr);
     }},
};

void check_word(const xf::Option &row, std::string_view word) {
    const std::string_view key = row.key;
    if (key == "context.comm" && word != row.default_value) return;  // would start MPI
    Options options;
    options.set("context.device", key == "context.isa" ? "cpu" : "cpu:ref");
    options.set("model.vocab_size", "100");
    options.set(key, word);
    const auto reader = kReaders.find(key.substr(0, key.find('.')));
    CHECK(reader != kReaders.end());
    if (reader == kReaders.end()) return;
    std::string failure;
    try {
        reader->second(options);
    } catch (const xf::Error &error) {  // for example, a device without bf16
        const bool unknown = std::string_view(error.what()).find("unknown") != std::string_view::npos;
        if (error.status() == XF_ERROR_INTERNAL || unknown) failure = error.what();
    }
    CHECK_EQ(failure, std::string());
}

XF_TEST(every_choice_has_a_reader) {
    for (size_t i = 0; i < xf::option_count(); ++i) {
        const xf::Option &row = xf::option(i);
        if (row.choices == nullptr) continue;
        const std::string_view words = row.choices;
        for (size_t begin = 0; begin < words.size();) {
            const size_t end = std::min(words.find('|', begin), words.size());
            check_word(row, words.substr(begin, end - begin));
            begin = end + 1;
        }
    }
}

XF_TEST(a_reader_with_other_choices_is_rejected) {
    const Options options;
    CHECK_EQ(options.choice<int>("train.label_smoothing_kind", {{"uniform", 2}, {"others", 1}}), 1);
    CHECK_FAILS(options.choice<int>("train.label_smoothing_kind", {{"others", 1}}), XF_ERROR_INTERNAL);
    CHECK_FAILS(options.choice<int>("train.label_smoothing_kind", {{"uniform", 1}}), XF_ERROR_INTERNAL);
    CHECK_FAILS(options.choice<int>("train.label_smoothing_kind", {{"others", 1}, {"uniform", 2}, {"none", 3}}),
                XF_ERROR_INTERNAL);
    CHECK_FAILS(options.choice<int>("train.label_smoothing_kind", {{"others", 1}, {"all", 2}}), XF_ERROR_INTERNAL);
    CHECK_FAILS(options.choice<int>("model.heads", {{"8", 8}}), XF_ERROR_INTERNAL);
    CHECK_FAILS(options.str("train.label_smoothing_kind"), XF_ERROR_INTERNAL);
}

}  // namespace
