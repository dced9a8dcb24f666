// Reading and writing the tokenizers of lib/text/words; see json/words.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/words.h"

#include "core/error.h"
#include "core/utf8.h"
#include "text/json/reader.h"
#include "text/json/writer.h"
#include "text/words/bpe.h"

namespace xf {

using namespace tokenizer_json;

namespace {

// The file is never larger than what the reader accepts. The bounds are the largest vocabulary with every byte written
// as \u0000, the quotes and commas, the characters (which are not pieces), and scores of at most 16 characters; or the
// largest number of merges, each of two numbers.
static_assert(6 * Vocabulary::kMaxTotalBytes + 21 * Vocabulary::kMaxSize < kMaxTokenizerJsonBytes);
static_assert(Vocabulary::kMaxTotalBytes + 20 * BpeModel::kMaxMerges < kMaxTokenizerJsonBytes);

enum WordsKey {
    kNormalizationKey = kCommonKeyCount,
    kInvalidKey,
    kVocabSizeKey,
    kMinPairCountKey,
    kCoverageKey,
    kCharactersKey,
    kMergesKey,
    kPiecesKey,
    kScoresKey,
    kWordsKeyCount
};
constexpr const char *kWordsKeyNames[kWordsKeyCount] = {
    "format",       "version",    "kind",           "normalization",
    "invalid_utf8", "vocab_size", "min_pair_count", "character_coverage",
    "characters",   "merges",     "pieces",         "scores"};

// Returns whether files of a kind have the key.
bool has_key(TokenizerKind kind, int key) {
    if (key == kMergesKey) return kind == TokenizerKind::kBpe;
    if (key == kPiecesKey) return kind != TokenizerKind::kBpe;
    return key != kScoresKey || kind == TokenizerKind::kUnigram;
}

class TableReader : public ObjectReader<kWordsKeyNames> {
public:
    TableReader(TokenizerOptions *options, WordTable *table) : options_(options), table_(table) {}

    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 2 && key_ == kScoresKey) return add_score(data, size);
        int64_t integer = 0;
        if (read_number(data, size, &integer)) return set_integer(integer);
        if (at_value() != kCoverageKey) refuse("a number with a fraction or beyond 64 bits");
        if (!read_number(data, size, &options_->character_coverage)) refuse("a number beyond the range of a double");
        return true;
    }

    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        if (depth_ == 2 && key_ == kPiecesKey) return add_piece(text);
        switch (at_value()) {
            case kFormatKey:
                return check_format(text);
            case kKindKey:
                return set_choice(kTokenizerKinds, text, "an unknown kind", &options_->kind);
            case kNormalizationKey:
                return set_choice(kNormalizations, text, "an unknown value", &options_->normalization);
            case kInvalidKey:
                return set_choice(kInvalidUtf8Kinds, text, "an unknown value", &options_->invalid_utf8);
            case kCharactersKey:
                return set_characters(text);
            default:
                refuse("a string");
        }
    }

    bool EndObject(rapidjson::SizeType) {
        return end_object([&](int key) { return has_key(options_->kind, key); });
    }

    bool StartArray() {
        if (depth_ < 1 || depth_ > (key_ == kMergesKey ? 2 : 1) || !is_list(key_)) refuse("an array");
        ++depth_;
        in_pair_ = 0;
        return true;
    }

    bool EndArray(rapidjson::SizeType) {
        if (depth_ == 3) {
            if (in_pair_ != 2) refuse("an invalid merge");
            XF_CHECK(table_->merges.size() < BpeModel::kMaxMerges, XF_ERROR_LIMIT,
                     "the tokenizer has more than %zu merges", BpeModel::kMaxMerges);
            table_->merges.push_back({pair_[0], pair_[1]});
        }
        --depth_;
        return true;
    }

private:
    static bool is_list(int key) { return key == kMergesKey || key == kPiecesKey || key == kScoresKey; }

    void check_count(size_t count, const char *what) const {
        XF_CHECK(count < Vocabulary::kMaxSize, XF_ERROR_LIMIT, "the tokenizer has more than %zu %s",
                 size_t{Vocabulary::kMaxSize}, what);
    }

    bool set_integer(int64_t value) {
        if (depth_ == 3) {
            if (in_pair_ == 2 || value < 0 || value > Vocabulary::kMaxSize) refuse("an invalid merge");
            pair_[in_pair_++] = value;
            return true;
        }
        switch (at_value()) {
            case kVersionKey:
                return check_version(value);
            case kVocabSizeKey:
                options_->vocab_size = value;
                return true;
            case kMinPairCountKey:
                options_->min_pair_count = value;
                return true;
            case kCoverageKey:
                options_->character_coverage = value;
                return true;
            default:
                refuse("an integer");
        }
    }

    bool add_piece(std::string_view text) {
        check_count(table_->pieces.size(), "pieces");
        table_->pieces.push_back(text);
        return true;
    }

    bool add_score(const Ch *data, rapidjson::SizeType size) {
        float score = 0;
        if (!read_number(data, size, &score)) refuse("a number beyond the range of a float");
        check_count(table_->scores.size(), "scores");
        table_->scores.push_back(score);
        return true;
    }

    template <class T, size_t n>
    bool set_choice(const Choice<T> (&choices)[n], std::string_view text, const char *otherwise, T *chosen) {
        for (const auto &[word, value] : choices) {
            if (text != word) continue;
            *chosen = value;
            return true;
        }
        refuse(otherwise);
    }

    bool set_characters(std::string_view text) {
        for (size_t i = 0; i < text.size();) {
            const CodePoint c = decode_utf8(text, i);
            if (!c.valid) refuse("invalid UTF-8");
            check_count(table_->characters.size(), "characters");
            table_->characters.push_back(c.value);
            i += c.size;
        }
        return true;
    }

    TokenizerOptions *options_;
    WordTable *table_;
    // depth_ is 2 in a list of merges, pieces, or scores, and 3 in a merge.
    int32_t pair_[2] = {};
    int in_pair_ = 0;
};

}  // namespace

void read_tokenizer_json(std::string_view json, TokenizerOptions *options, WordTable *table) {
    TableReader handler(options, table);
    read_events(json, &handler);
    check_tokenizer_options(*options, XF_ERROR_CORRUPT);
}

std::string write_tokenizer_json(const TokenizerOptions &options, const WordTable &table) {
    std::string characters;
    for (const uint32_t c : table.characters) append_utf8(c, &characters);
    ObjectWriter writer(word_for(kTokenizerKinds, options.kind));
    writer.string(kWordsKeyNames[kNormalizationKey], word_for(kNormalizations, options.normalization));
    writer.string(kWordsKeyNames[kInvalidKey], word_for(kInvalidUtf8Kinds, options.invalid_utf8));
    writer.integer(kWordsKeyNames[kVocabSizeKey], options.vocab_size);
    writer.integer(kWordsKeyNames[kMinPairCountKey], options.min_pair_count);
    writer.real(kWordsKeyNames[kCoverageKey], options.character_coverage);
    writer.string(kWordsKeyNames[kCharactersKey], characters);
    writer.start_array(kWordsKeyNames[options.kind == TokenizerKind::kBpe ? kMergesKey : kPiecesKey]);
    for (size_t i = 0; i < table.pieces.size(); ++i) writer.element(table.pieces[i]);
    for (const BpeMerge &merge : table.merges) {
        writer.start_array();
        writer.element(merge.left);
        writer.element(merge.right);
        writer.end_array();
    }
    writer.end_array();
    if (options.kind == TokenizerKind::kUnigram) {
        writer.start_array(kWordsKeyNames[kScoresKey]);
        for (const float score : table.scores) writer.element(score);
        writer.end_array();
    }
    return writer.finish();
}

}  // namespace xf
