// One of each object, small enough to train in a second, and a folder for files.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <xformer/experimental.hpp>
#include <xformer/xformer.hpp>

#include "../../support/temp_folder.hpp"
#include "../../support/world.h"

inline const std::vector<std::pair<std::string, std::string>> kPairs = [] {
    std::vector<std::pair<std::string, std::string>> pairs;
    std::istringstream lines(corpus_text);
    for (std::string source, target; std::getline(lines, source, '\t') && std::getline(lines, target);)
        pairs.emplace_back(source, target);
    return pairs;
}();

inline std::vector<std::string> sources() {
    std::vector<std::string> texts;
    for (const auto &pair : kPairs) texts.push_back(pair.first);
    return texts;
}

constexpr std::int32_t kEnd = 1;  // the end symbol of trained tokenizers

// A corpus of lines "source TAB target". A line without a tab has an empty target, so it is skipped.
inline xformer::Corpus from_text(const xformer::Context &context, std::string_view text,
                                 xformer::ConfigView config = {}) {
    return xformer::detail::make<xformer::Corpus>(corpus_from_text, context.get(), config.get(), text.data(),
                                                  text.size());
}

inline xformer::Config small_config() {
    auto config = xformer::detail::make<xformer::Config>(make_config, "cpu");
    config.set("context.threads", 1);
    return config;
}

struct World {
    xformer::Config config = small_config();
    xformer::Context context{config};
    xformer::Corpus corpus = xformer::Corpus::from_pairs(context, kPairs, config);
    xformer::Tokenizer tokenizer = xformer::Tokenizer::train(context, corpus, config);
    xformer::Batcher batcher{corpus, tokenizer, config};
    xformer::Model model{context, config, tokenizer};
    xformer::Trainer trainer{model, config};
    xformer::Decoder decoder{model, config};

    void train(int steps) {
        for (xformer::Batch batch; steps > 0;)
            if (batcher.next(batch)) trainer.step(batch), --steps;
    }
};

// std::filesystem::path where its strings are those of the library, which they are not on Windows.
using Path = std::conditional_t<std::is_same_v<std::filesystem::path::string_type, std::string>, std::filesystem::path,
                                std::string>;

// A temporary folder whose files are paths.
struct Folder : xf_test::TempFolder {
    Path operator/(const char *name) const { return (std::filesystem::path(path()) / name).string(); }
};
