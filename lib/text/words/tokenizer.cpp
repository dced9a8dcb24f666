// Training, encoding, and decoding; see words/tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/tokenizer.h"

#include <cinttypes>

#include "core/error.h"
#include "core/utf8.h"
#include "text/json/words.h"
#include "text/words/bpe.h"
#include "text/words/train.h"
#include "text/words/unigram.h"
#include "text/words/wordpiece.h"

namespace xf {

TokenizerOptions TokenizerOptions::from(const Options &options) {
    TokenizerOptions t;
    t.kind = options.choice("tokenizer.kind", kTokenizerKinds);
    t.vocab_size = options.i64("tokenizer.vocab_size");
    t.character_coverage = options.f64("tokenizer.character_coverage");
    t.normalization = options.choice("tokenizer.normalization", kNormalizations);
    t.invalid_utf8 = options.choice("tokenizer.invalid_utf8", kInvalidUtf8Kinds);
    return t;
}

void check_tokenizer_options(const TokenizerOptions &options, xf_status status) {
    XF_CHECK(options.vocab_size >= Vocabulary::kFirstPieceId && options.vocab_size <= Vocabulary::kMaxSize, status,
             "tokenizer.vocab_size is %" PRId64 ", expected %d to %" PRId64, options.vocab_size,
             Vocabulary::kFirstPieceId, Vocabulary::kMaxSize);
    XF_CHECK(options.min_pair_count >= 1, status, "min_pair_count is %" PRId64 ", expected 1 or more",
             options.min_pair_count);
    XF_CHECK(options.character_coverage >= 0 && options.character_coverage <= 1, status,
             "tokenizer.character_coverage is %s, expected 0 to 1", number(options.character_coverage).c_str());
}

namespace {

WordTable learn(const TokenizerOptions &options, WordCounts words, const Call &call) {
    const BpeTrainOptions pieces{options.vocab_size, options.min_pair_count, options.character_coverage};
    switch (options.kind) {
        case TokenizerKind::kBpe:
            return train_bpe(std::move(words), pieces, call);
        case TokenizerKind::kWordPiece:
            return train_wordpiece(std::move(words), pieces, call);
        default:
            return train_unigram(std::move(words), pieces, call);
    }
}

std::unique_ptr<const WordModel> make_model(TokenizerKind kind, WordTable table) {
    switch (kind) {
        case TokenizerKind::kBpe:
            return std::make_unique<BpeModel>(std::move(table));
        case TokenizerKind::kWordPiece:
            return std::make_unique<WordPieceModel>(table);
        default:
            return std::make_unique<UnigramModel>(std::move(table));
    }
}

}  // namespace

WordTokenizer::WordTokenizer(const TokenizerOptions &options, std::unique_ptr<const WordModel> model)
    : options_(options), model_(std::move(model)) {}

std::shared_ptr<const WordTokenizer> WordTokenizer::train(const TokenizerOptions &options, const LineSource &lines,
                                                          const Call &call) {
    check_tokenizer_options(options, XF_ERROR_INVALID_ARGUMENT);
    WordCounts words;
    std::string text;
    std::vector<int32_t> codes;
    std::string_view line;
    for (int64_t number = 1; lines(&line); ++number) {
        call.check();
        if (line.empty()) continue;
        text.assign(1, ' ');
        try {
            normalize(line, options.normalization, options.invalid_utf8, &text, &codes);
        } catch (const Error &error) {
            fail(error.status(), "line %" PRId64 ": %s", number, error.what());
        }
        WordSplitter splitter(text);
        std::string_view word;
        while (splitter.next(&word)) {
            call.check();
            words.add(word);
        }
    }
    XF_CHECK(!words.words().empty(), XF_ERROR_DATA, "the training text is empty, expected at least one character");
    return std::shared_ptr<const WordTokenizer>(
        new WordTokenizer(options, make_model(options.kind, learn(options, std::move(words), call))));
}

std::shared_ptr<const WordTokenizer> WordTokenizer::parse(std::string_view json) {
    TokenizerOptions options;
    WordTable table;
    read_tokenizer_json(json, &options, &table);
    std::unique_ptr<const WordModel> model = make_model(options.kind, std::move(table));
    XF_CHECK(model->vocabulary().size() <= options.vocab_size, XF_ERROR_CORRUPT,
             "the tokenizer has %d pieces, expected at most its vocab_size of %" PRId64, model->vocabulary().size(),
             options.vocab_size);
    return std::shared_ptr<const WordTokenizer>(new WordTokenizer(options, std::move(model)));
}

std::string WordTokenizer::serialize() const { return write_tokenizer_json(options_, model_->table()); }

Segmentation WordTokenizer::segmentation() const {
    return options_.kind == TokenizerKind::kBpe       ? Segmentation::kMerges
           : options_.kind == TokenizerKind::kUnigram ? Segmentation::kLikelihood
                                                      : Segmentation::kLongestMatch;
}

void WordTokenizer::encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                           Sampler *sampler) const {
    if (text.empty()) return;
    scratch->normalized.assign(1, ' ');
    normalize(text, options_.normalization, options_.invalid_utf8, &scratch->normalized, &scratch->codes);
    const size_t before = ids->size();
    try {
        model_->encode(WordSplitter(scratch->normalized), ids, scratch, sampler);
    } catch (...) {
        ids->resize(before);
        throw;
    }
}

std::string WordTokenizer::decode(const int32_t *ids, size_t count) const {
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) size += piece_bytes(ids[i]).size();
    std::string text;
    text.reserve(size);
    for (size_t i = 0; i < count; ++i) text.append(piece_bytes(ids[i]));
    if (!text.empty() && text[0] == ' ') text.erase(0, 1);
    if (options_.normalization != Normalization::kNone && find_invalid_utf8(text) != std::string_view::npos)
        return replace_invalid_utf8(text);
    return text;
}

std::string WordTokenizer::piece(int32_t id) const {
    const std::string_view bytes = piece_bytes(id);
    if (id == start_id()) return "<s>";
    if (id == end_id()) return "</s>";
    const auto hex = [](char c) { return format("<0x%02X>", c & 0xFFu); };
    if (Vocabulary::is_fallback(id)) return hex(bytes[0]);
    std::string name;
    for (const char c : bytes) {
        if (c == ' ')
            name += "\xE2\x96\x81";
        else if ((c & 0xFFu) < 0x20 || c == 0x7F)
            name += hex(c);
        else
            name += c;
    }
    return name;
}

std::string_view WordTokenizer::piece_bytes(int32_t id) const {
    const Vocabulary &vocabulary = model_->vocabulary();
    XF_CHECK(vocabulary.contains(id), XF_ERROR_OUT_OF_RANGE, "token id %d, expected 0 to %d", id,
             vocabulary.size() - 1);
    return vocabulary.bytes(id);
}

}  // namespace xf
