// One of each object, small enough to train in a second, and a folder for files.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>
#include <xformer/experimental.hpp>
#include <xformer/xformer.hpp>

#include "../../support/api.h"

inline const std::vector<std::pair<std::string, std::string>> kPairs{
    {"one two three", "eins zwei drei"},
    {"two three four", "zwei drei vier"},
    {"three four", "drei vier"},
    {"four one", "vier eins"},
    {"one one two", "eins eins zwei"},
    {"four four three two", "vier vier drei zwei"},
    {"two", "zwei"},
    {"three one four two", "drei eins vier zwei"},
    {"one four", "eins vier"},
    {"two two", "zwei zwei"},
    {"three three three", "drei drei drei"},
    {"four two one", "vier zwei eins"},
};

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
    xformer::Config config;
    config.set("context.device", "cpu").set("context.threads", 1).set("tokenizer.vocab_size", 290);
    config.set("data.batch_tokens", 40).set("model.encoder_layers", 1).set("model.decoder_layers", 1);
    config.set("model.d_model", 16).set("model.d_ff", 24).set("model.heads", 2).set("model.d_k", 8).set("model.d_v", 8);
    config.set("model.max_length", 64).set("train.schedule", "constant").set("train.learning_rate", 0.01);
    return config.set("train.warmup_steps", 5).set("decode.max_extra_tokens", 8);
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

// A new empty folder, which goes with this.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "hpp.XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::filesystem::path operator/(const char *name) const { return path_ / name; }
    const std::filesystem::path &path() const { return path_; }

private:
    std::filesystem::path path_;
};
