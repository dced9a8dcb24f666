// Translations without an engine, for tests of documents.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "document.h"
#include "support/test.hpp"

namespace fake {

struct Word {
    size_t begin, end;
};

inline std::vector<Word> words_of(std::string_view text) {
    std::vector<Word> words;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ') continue;
        if (i == 0 || text[i - 1] == ' ') words.push_back({i, i});
        words.back().end = i + 1;
    }
    return words;
}

// The words of `source` with these indices, each aligned to itself.
inline serve::Translation select(const std::string &source, const std::vector<size_t> &order) {
    const std::vector<Word> words = words_of(source);
    serve::Translation result;
    for (const size_t i : order) {
        if (!result.text.empty()) result.text += ' ';
        const size_t begin = result.text.size();
        result.text += source.substr(words[i].begin, words[i].end - words[i].begin);
        result.spans.push_back({words[i].begin, words[i].end, begin, result.text.size()});
    }
    return result;
}

inline serve::Translation identity(const std::string &source) {
    std::vector<size_t> order(words_of(source).size());
    std::iota(order.begin(), order.end(), size_t{0});
    return select(source, order);
}

inline serve::Translation reversed(const std::string &source) {
    std::vector<size_t> order(words_of(source).size());
    std::iota(order.rbegin(), order.rend(), size_t{0});
    return select(source, order);
}

// Dictionary of the tests: "red house" -> "maison rouge". A part of the result, and the word of the source from which
// it comes, for each.
struct Part {
    const char *text;
    size_t source_word;
};
inline serve::Translation translated(const std::string &source, const std::vector<Part> &parts) {
    const std::vector<Word> words = words_of(source);
    serve::Translation result;
    for (const Part &part : parts) {
        if (!result.text.empty()) result.text += ' ';
        const size_t begin = result.text.size();
        result.text += part.text;
        const Word &word = words.at(part.source_word);
        result.spans.push_back({word.begin, word.end, begin, result.text.size()});
    }
    return result;
}

inline std::string translate(const serve::Document &document,
                             const std::function<serve::Translation(const std::string &)> &f) {
    std::vector<serve::Translation> translations;
    for (const serve::SourceText &text : document.texts()) translations.push_back(f(text.text));
    return document.assemble(translations);
}

// The texts, separated by |.
inline std::string texts_of(const serve::Document &document) {
    std::string all;
    for (const serve::SourceText &text : document.texts()) all += (all.empty() ? "" : "|") + text.text;
    return all;
}

}  // namespace fake
