// Finding the kind of a tokenizer file, and Base64; see format.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/format.h"

#include "text/json/reader.h"

namespace xf::tokenizer_json {
namespace {

constexpr int kMaxDepth = 3;  // the object, a list in it, a list in that list
constexpr size_t kMaxKindBytes = 64;

// Stops parsing at the kind, or at the first thing that no tokenizer file has before it.
class KindFinder : public Events {
public:
    std::string kind;

    bool Null() { return scalar(); }
    bool Bool(bool) { return scalar(); }
    bool RawNumber(const Ch *, rapidjson::SizeType, bool) { return scalar(); }
    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 1 && at_kind_ && size <= kMaxKindBytes) kind.assign(data, size);
        return scalar();
    }
    bool StartObject() { return depth_++ == 0; }
    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        at_kind_ = std::string_view(data, size) == "kind";
        return true;
    }
    bool EndObject(rapidjson::SizeType) { return false; }
    bool StartArray() { return !at_kind_ && depth_ > 0 && depth_++ < kMaxDepth; }
    bool EndArray(rapidjson::SizeType) {
        --depth_;
        return true;
    }

private:
    // Continues after a value that is not a list, except after the kind and outside the object.
    bool scalar() const { return depth_ > 0 && !at_kind_; }

    int depth_ = 0;
    bool at_kind_ = false;
};

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string kind_of(std::string_view json) {
    KindFinder finder;
    read_events(json, &finder);
    return finder.kind;
}

std::string to_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t three = 0;
        for (size_t j = 0; j < 3; ++j) three = three << 8 | (i + j < bytes.size() ? uint8_t(bytes[i + j]) : 0u);
        for (size_t j = 0; j < 4; ++j) text.push_back(i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * j) & 63]);
    }
    return text;
}

bool from_base64(std::string_view text, std::string *bytes) {
    bytes->clear();
    if (text.size() % 4 != 0) return false;
    bytes->reserve(text.size() / 4 * 3);
    for (size_t i = 0; i < text.size(); i += 4) {
        size_t digits = 4;
        while (i + 4 == text.size() && digits > 2 && text[i + digits - 1] == '=') --digits;
        uint32_t three = 0;
        for (size_t j = 0; j < 4; ++j) {
            const int value = j < digits ? value_of(text[i + j]) : 0;
            if (value < 0) return false;
            three = three << 6 | value;
        }
        if ((three & (0xFFFFFFu >> (8 * (digits - 1)))) != 0) return false;
        for (size_t j = 0; j + 1 < digits; ++j) bytes->push_back(three >> (16 - 8 * j) & 0xFF);
    }
    return true;
}

}  // namespace xf::tokenizer_json
