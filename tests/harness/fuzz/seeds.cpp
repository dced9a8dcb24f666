// Writes the first inputs of the fuzzers, made by the library itself: seeds FOLDER, which gets a folder for each
// target.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

std::filesystem::path root;

void put(const std::string &target, const std::string &name, std::string_view bytes) {
    std::filesystem::create_directories(root / target);
    std::ofstream(root / target / name, std::ios::binary) << bytes;
}

void need(xf_status status, const xf_error &error) {
    if (status != XF_OK) fuzz::defect("no seeds: %s", error.message);
}

// A model file, and its header in the format of header.cpp.
void put_file(const std::string &target, const std::string &name, const std::string &file) {
    put(target, name, file);
    uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof header);
    const uint64_t behind = file.size() - 8 - header;
    put("header", target + "-" + name,
        '\x08' + std::string(reinterpret_cast<const char *>(&behind), 8) + file.substr(8, header));
}

using Settings = std::vector<std::pair<const char *, const char *>>;

void models(const xf_context *context, const char *name, const Settings &settings, bool with_tokenizer) {
    xf_error error{};
    fuzz::Config config;
    need(xf_config_create(config.out(), &error), error);
    fuzz::set_small(config);
    need(xf_config_set(config, "tokenizer.vocab_size", "262", &error), error);
    for (const auto &[key, value] : settings) need(xf_config_set(config, key, value, &error), error);
    fuzz::Config stored;  // with the weights of the file; a new model has fp32
    need(xf_config_copy(config, stored.out(), &error), error);
    need(xf_config_set(config, "model.weights", "same", &error), error);
    xf_context *const world = const_cast<xf_context *>(context);
    fuzz::Corpus corpus;
    fuzz::Tokenizer tokenizer;
    need(corpus_from_text(world, nullptr, fuzz::kPairs, sizeof fuzz::kPairs - 1, corpus.out(), &error), error);
    need(xf_tokenizer_train(world, corpus, config, nullptr, tokenizer.out(), &error), error);
    fuzz::ScratchFile file("seed");
    need(save_tokenizer(tokenizer, file.path(), &error), error);
    put("tokenizer", name, file.read() + std::string(1, '\0') + "the caf\xC3\xA9 12  x");
    if (!with_tokenizer) need(xf_config_set(config, "model.vocab_size", "70", &error), error);
    fuzz::Model model;
    need(xf_model_create(world, with_tokenizer ? tokenizer : nullptr, config, model.out(), &error), error);
    need(xf_model_set_metadata(model, "origin", "here", &error), error);
    size_t size = 0;
    save_model_memory(model, stored, nullptr, 0, &size, &error);
    std::string bytes(size, '\0');
    need(save_model_memory(model, stored, bytes.data(), size, &size, &error), error);
    put_file("model", name, bytes);
    fuzz::Trainer trainer;
    fuzz::Batcher batcher;
    need(xf_trainer_create(model, config, trainer.out(), &error), error);
    if (with_tokenizer) need(xf_batcher_create(corpus, tokenizer, config, nullptr, batcher.out(), &error), error);
    if (with_tokenizer) need(xf_train_next(trainer, batcher, nullptr, nullptr, &error), error);
    need(save_trainer(trainer, batcher, file.path(), &error), error);
    put_file("checkpoint", name, file.read());
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
    root = argv[1];
    xf_error error{};
    fuzz::Config config;
    fuzz::Context context;
    need(xf_config_create(config.out(), &error), error);
    fuzz::set_small(config);
    need(xf_context_create(config, nullptr, context.out(), &error), error);
    models(context, "plain", {{"model.d_model", "2"}, {"model.d_k", "1"}, {"model.d_v", "1"}}, true);
    models(context, "other",
           {{"model.d_model", "2"},
            {"model.d_ff", "1"},
            {"model.heads", "1"},
            {"model.tie", "none"},
            {"model.activation", "swiglu"},
            {"model.attention_bias", "1"},
            {"model.output_bias", "1"},
            {"model.norm", "pre_rms"},
            {"model.embedding_norm", "1"},
            {"model.positions", "learned"},
            {"model.max_length", "12"},
            {"model.window", "4"},
            {"train.ema", "0.5"},
            {"tokenizer.kind", "unigram"},
            {"model.weights", "int8"}},
           false);
    models(context, "half",
           {{"model.d_model", "2"},
            {"model.d_ff", "1"},
            {"model.heads", "1"},
            {"model.d_k", "1"},
            {"model.d_v", "1"},
            {"tokenizer.kind", "wordpiece"},
            {"model.weights", "fp16"},
            {"model.first_token", "4"},
            {"model.banned_tokens", "7,8"},
            {"train.ema", "0.9"},
            {"train.shards", "2"}},
           false);
    put("utf8", "mixed", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\xE2\x82 \xED\xA0\x80");
    return 0;
}
