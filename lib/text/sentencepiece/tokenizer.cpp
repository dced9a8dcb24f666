// Checking, encoding, and decoding; see sentencepiece/tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece/tokenizer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/utf8.h"
#include "text/json/sentencepiece.h"

namespace xf {
namespace {

std::string byte_name(unsigned byte) { return format("<0x%02X>", byte); }

// The byte of a piece that byte_name() named.
char byte_of(std::string_view piece) {
    unsigned byte = 0;
    for (const char c : piece.substr(3, 2)) byte = byte * 16 + (c >= 'A' ? c - 'A' + 10 : c - '0');
    return static_cast<char>(byte);
}

// Appends a piece with spaces instead of U+2581.
void append_piece(std::string_view piece, std::string *text) {
    for (size_t at = 0; at < piece.size();) {
        const size_t space = std::min(piece.find(kSpaceSymbol, at), piece.size());
        text->append(piece.substr(at, space - at));
        if (space < piece.size()) text->push_back(' ');
        at = space + kSpaceSymbol.size();
    }
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceTable table) : table_(std::move(table)) {
    check_table();
    std::vector<int32_t> user_defined;
    for (int32_t id = 0; id < size(); ++id)
        if (table_.type(id) == PieceType::kUserDefined) user_defined.push_back(id);
    user_defined_ = PieceTrie(std::move(user_defined), [&](int32_t id) { return table_.pieces.bytes(id); });
    normalizer_ = std::make_unique<SentencePieceNormalizer>(table_, table_.character_map, &user_defined_);
    if (!table_.decoded_map.empty())
        denormalizer_ = std::make_unique<SentencePieceNormalizer>(WhitespaceRules{false, false, false, false},
                                                                  table_.decoded_map, nullptr);
    encoder_ = table_.kind == SentencePieceTable::Kind::kBpe ? make_bpe_encoder(table_, unknown_id_, user_defined_)
                                                             : make_unigram_encoder(table_, unknown_id_, user_defined_);
}

void SentencePieceTokenizer::check_table() {
    byte_ids_.fill(-1);
    for (int32_t id = 0; id < size(); ++id) {
        const PieceType type = table_.type(id);
        XF_CHECK(std::isfinite(table_.score(id)), XF_ERROR_CORRUPT, "the score of piece %d is not finite", id);
        XF_CHECK(find_invalid_utf8(table_.pieces.bytes(id)) == std::string_view::npos, XF_ERROR_CORRUPT,
                 "piece %d is not UTF-8", id);
        if (type == PieceType::kUnknown) {
            XF_CHECK(unknown_id_ < 0, XF_ERROR_CORRUPT,
                     "pieces %d and %d both have the unknown type, expected one piece", unknown_id_, id);
            unknown_id_ = id;
        }
        XF_CHECK(type != PieceType::kByte || table_.byte_fallback, XF_ERROR_CORRUPT,
                 "piece %d has the byte type, but byte_fallback is false", id);
    }
    XF_CHECK(unknown_id_ >= 0, XF_ERROR_CORRUPT, "no piece has the unknown type, expected one");
    for (unsigned byte = 0; byte < 256 && table_.byte_fallback; ++byte) {
        const int32_t id = table_.pieces.find(byte_name(byte));
        XF_CHECK(id >= 0 && table_.type(id) == PieceType::kByte, XF_ERROR_CORRUPT,
                 "byte_fallback is true, but there is no byte piece '%s'", byte_name(byte).c_str());
        byte_ids_[byte] = id;
    }
    int32_t bytes = 0;
    for (const PieceType type : table_.types) bytes += type == PieceType::kByte;
    XF_CHECK(bytes == (table_.byte_fallback ? 256 : 0), XF_ERROR_CORRUPT,
             "the tokenizer has %d byte pieces, expected 256", bytes);
    for (const int32_t id : {table_.start_id, table_.end_id})
        XF_CHECK(id == -1 || (table_.pieces.contains(id) && table_.type(id) == PieceType::kControl), XF_ERROR_CORRUPT,
                 "the start or end id is %d, expected the id of a control piece or -1", id);
}

std::string SentencePieceTokenizer::serialize() const { return write_sentencepiece_json(table_); }

const char *SentencePieceTokenizer::kind() const {
    return table_.kind == SentencePieceTable::Kind::kBpe ? sentencepiece_json::kBpe : sentencepiece_json::kUnigram;
}

Segmentation SentencePieceTokenizer::segmentation() const {
    return table_.kind == SentencePieceTable::Kind::kBpe ? Segmentation::kMerges : Segmentation::kLikelihood;
}

void SentencePieceTokenizer::encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                                    Sampler *sampler) const {
    normalizer_->normalize(text, &scratch->normalized);
    const size_t before = ids->size();
    try {
        PieceSink sink(unknown_id_, table_.byte_fallback ? &byte_ids_ : nullptr, ids);
        encoder_->encode(scratch->normalized, &sink, scratch, sampler);
    } catch (...) {
        ids->resize(before);
        throw;
    }
}

void SentencePieceTokenizer::check_id(int32_t id) const {
    XF_CHECK(table_.pieces.contains(id), XF_ERROR_OUT_OF_RANGE, "token id %d, expected 0 to %d", id, size() - 1);
}

// Moves a run of bytes to the text. Each byte that is not valid UTF-8 becomes U+FFFD.
void SentencePieceTokenizer::append_bytes(std::string *bytes, std::string *text) const {
    for (size_t i = 0; i < bytes->size();) {
        const CodePoint c = decode_utf8(*bytes, i);
        if (c.valid)
            text->append(*bytes, i, c.size);
        else
            text->append("\xEF\xBF\xBD");
        i += c.valid ? c.size : 1;
    }
    bytes->clear();
}

std::string SentencePieceTokenizer::decode(const int32_t *ids, size_t count) const {
    std::string text, bytes;
    bool at_start = true;  // neither text nor a dummy space so far
    bool dropped = false;  // the dummy space of the last piece was dropped
    for (size_t i = 0; i < count; ++i) {
        const int32_t id = ids[i];
        check_id(id);
        std::string_view piece = table_.pieces.bytes(id);
        if (table_.type(id) == PieceType::kByte) {
            bytes.push_back(byte_of(piece));
            continue;
        }
        append_bytes(&bytes, &text);
        if (dropped || !text.empty()) at_start = false;
        dropped = false;
        if (table_.type(id) == PieceType::kControl) continue;
        if (table_.type(id) == PieceType::kUnknown) {
            text += table_.unknown_surface;
            continue;
        }
        if (at_start && (table_.add_dummy_prefix || table_.remove_extra_whitespaces) &&
            piece.starts_with(kSpaceSymbol)) {
            piece.remove_prefix(kSpaceSymbol.size());
            dropped = !table_.remove_extra_whitespaces;  // otherwise the next piece may lose its space too
        }
        append_piece(piece, &text);
    }
    append_bytes(&bytes, &text);
    if (denormalizer_ == nullptr) return text;
    std::string denormalized;
    denormalizer_->normalize(text, &denormalized);
    return denormalized;
}

std::string SentencePieceTokenizer::token_text(int32_t id) const {
    check_id(id);
    const std::string_view piece = table_.pieces.bytes(id);
    std::string text;
    switch (table_.type(id)) {
        case PieceType::kControl:
            return text;
        case PieceType::kUnknown:
            return table_.unknown_surface;
        case PieceType::kByte:
            return std::string(1, byte_of(piece));
        default:
            append_piece(piece, &text);
            return text;
    }
}

std::string SentencePieceTokenizer::piece(int32_t id) const {
    check_id(id);
    return std::string(table_.pieces.bytes(id));
}

}  // namespace xf
