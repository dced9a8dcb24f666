// use.cpp - a C++ program of somebody else, with its own C++ library beside the one inside: from text to an answer, and
// an exception.
//
// SPDX-License-Identifier: Apache-2.0
#include <xformer/xformer.hpp>

#include <iostream>
#include <map>

int main() {
    try {
        const std::map<std::string, std::string> pairs{
            {"one", "eins"}, {"two", "zwei"}, {"three", "drei"}, {"one two", "eins zwei"}};
        xformer::Config config;
        config.preset("tiny").set("tokenizer.vocab_size", 270).set("context.threads", 2).set("context.device", "cpu");
        xformer::Context context(config);
        const auto corpus = xformer::Corpus::from_pairs(context, pairs, config);
        const auto tokenizer = xformer::Tokenizer::train(context, corpus, config);
        xformer::Batcher batcher(corpus, tokenizer, config);
        xformer::Trainer trainer(xformer::Model(context, config, tokenizer), config);
        while (trainer.steps() < 3)
            for (const xformer::Batch &batch : batcher) trainer.step(batch);
        xformer::Decoder decoder(trainer.model(), config.set("decode.max_extra_tokens", 5));
        std::cout << "version " << xf_version() << ", an untrained answer has " << decoder.translate("one two").size()
                  << " bytes\n";
        xformer::Model::load(context, "/nonexistent");
    } catch (const xformer::Error &error) {
        std::cout << "refused: " << error.what() << '\n';
        return error.status() != XF_ERROR_NOT_FOUND ||
               std::string(error.what()).find("/nonexistent") == std::string::npos;
    }
    return 1;
}
