// bindings.cpp - bindings.c in C++ over xformer.hpp, which is measured as the bindings are.
//
//     bindings MODEL SENTENCES OUTPUT ROUNDS
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "xformer/xformer.hpp"

namespace {

constexpr std::size_t kCall = 32;

void run(const char *model, const char *sentences, const char *output, int rounds) {
    const xformer::Context context(xformer::Config().set("context.threads", 1));
    xformer::Decoder decoder(xformer::Model::load(context, model));
    std::vector<std::string> texts, translations;
    std::ifstream file(sentences);
    for (std::string line; std::getline(file, line);) texts.push_back(line);

    for (int round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        translations.clear();
        for (std::size_t at = 0; at < texts.size(); at += kCall) {
            const xformer::span<const std::string> call(&texts[at], std::min(kCall, texts.size() - at));
            const xformer::Hypotheses found = decoder.translate(call);
            for (const xformer::Sentence &sentence : found) translations.emplace_back(sentence.front().text);
        }
        std::printf("%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        std::fflush(stdout);
    }
    std::ofstream out(output);
    for (const std::string &text : translations) out << text << '\n';
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    try {
        run(argv[1], argv[2], argv[3], std::stoi(argv[4]));
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
