// Reading the JSON of tokenizer files as a sequence of events.
//
// No tree is built, so a hostile file cannot cause allocations of more than a few times its own size. Neither nesting
// nor destruction recurses: RapidJSON's iterative parser is used, and the handlers limit the depth.
//
// RapidJSON 1.1 reads out of bounds when it converts some numbers, and it ignores failed allocations. Therefore numbers
// are passed on as text, and memory comes from operator new, which throws.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cinttypes>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "core/json_allocator.h"
#include "core/numbers.h"
#include "text/json/format.h"

namespace xf::tokenizer_json {

// The parser's events. Handlers derive from this class and hide the events that they accept.
struct Events {
    using Ch = char;
    bool Int(int) { return false; }  // required by the parser and never called, because numbers come as text
    bool Uint(unsigned) { return false; }
    bool Int64(int64_t) { return false; }
    bool Uint64(uint64_t) { return false; }
    bool Double(double) { return false; }
};

// Returns true if the whole text was read, false if the handler stopped the parser. XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
template <class Handler>
bool read_events(std::string_view json, Handler *handler) {
    XF_CHECK(json.size() <= kMaxTokenizerJsonBytes, XF_ERROR_LIMIT, "the tokenizer has %zu bytes, expected at most %zu",
             json.size(), kMaxTokenizerJsonBytes);
    // The parser takes a NUL byte for the end of the text and would ignore what follows it.
    XF_CHECK(json.find('\0') == std::string_view::npos, XF_ERROR_CORRUPT, "the tokenizer contains a NUL byte");
    rapidjson::MemoryStream bytes(json.data(), json.size());
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator> reader;
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(bytes, *handler);
    if (result.Code() == rapidjson::kParseErrorTermination) return false;
    XF_CHECK(!result.IsError(), XF_ERROR_CORRUPT, "the tokenizer is not valid JSON at byte %zu: %s", result.Offset(),
             rapidjson::GetParseError_En(result.Code()));
    return true;
}

// Base class of the readers: one object with a fixed set of keys, each of which occurs once, in any order.
//
// kNames are the keys of the format, those of CommonKey first. A reader hides the events of the values that it accepts;
// all others are errors. Errors are XF_ERROR_CORRUPT, except XF_ERROR_VERSION for another version.
template <const auto &kNames>
class ObjectReader : public Events {
public:
    bool Null() { return refuse("null"); }
    bool Bool(bool) { return refuse("true or false"); }
    bool StartArray() { return refuse("an array"); }
    bool EndArray(rapidjson::SizeType) { return true; }

    bool StartObject() {
        if (depth_ != 0) refuse("an object");
        depth_ = 1;
        return true;
    }

    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        for (key_ = 0; key_ < kCount; ++key_)
            if (text == kNames[key_]) break;
        XF_CHECK(key_ < kCount, XF_ERROR_CORRUPT, "the tokenizer has a key that version %" PRId64 " does not define",
                 kVersion);
        XF_CHECK(!seen_[key_], XF_ERROR_CORRUPT, "the tokenizer has the key '%s' twice", kNames[key_]);
        seen_[key_] = true;
        return true;
    }

    bool EndObject(rapidjson::SizeType) {
        return end_object([](int) { return true; });
    }

protected:
    // has(key) returns whether a file of this kind has the key.
    template <class Has>
    bool end_object(Has has) {
        for (int key = 0; key < kCount; ++key)
            XF_CHECK(seen_[key] == has(key), XF_ERROR_CORRUPT,
                     seen_[key] ? "the tokenizer has the key '%s', which its kind does not use"
                                : "the tokenizer lacks the key '%s'",
                     kNames[key]);
        depth_ = 0;
        return true;
    }

    // The key of the scalar value that is being read; -1 in a list or outside the object.
    int at_value() const { return depth_ == 1 ? key_ : -1; }

    // Never returns. The bool satisfies compilers that do not see this in a template.
    [[noreturn]] bool refuse(const char *found) const {
        if (depth_ == 0) fail(XF_ERROR_CORRUPT, "the tokenizer is %s, expected an object", found);
        fail(XF_ERROR_CORRUPT, "the tokenizer has %s in '%s'", found, kNames[key_]);
    }

    // Returns false if T cannot hold the number. The parser has checked that the text is a JSON number.
    template <class T>
    bool read_number(const Ch *data, rapidjson::SizeType size, T *value) const {
        if (size > kMaxNumberChars) refuse("a number with too many digits");
        const auto read = xf::read_number(data, data + size, value);
        return read.ptr == data + size && read.ec == std::errc();
    }

    bool check_format(std::string_view text) const {
        if (text != kFormat) refuse("another format");
        return true;
    }

    bool check_version(int64_t value) const {
        XF_CHECK(value == kVersion, XF_ERROR_VERSION, "tokenizer version %" PRId64 ", expected %" PRId64, value,
                 kVersion);
        return true;
    }

    int depth_ = 0;  // 1 in the object, more in its lists
    int key_ = 0;

private:
    static constexpr int kCount = std::size(kNames);
    static constexpr size_t kMaxNumberChars = 32;  // longer than any number that the writer writes

    bool seen_[kCount] = {};
};

}  // namespace xf::tokenizer_json
