// What the readers of all formats of tokenizers share: one object whose keys are known, each of which occurs once, in
// any order, and of which the first three are "format", "version" and "kind".
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "text/tokenizer_json_events.h"
#include "text/tokenizer_json_keys.h"

namespace xf::tokenizer_json {

// kNames are the format's keys, those of CommonKey first. A reader derives from this, hides the events of the values
// that it takes, and reads none that this refuses. Every error is XF_ERROR_CORRUPT but for another version.
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
        XF_CHECK(key_ < kCount, XF_ERROR_CORRUPT, "the tokenizer has a key that version %lld does not know",
                 static_cast<long long>(kVersion));
        XF_CHECK(!seen_[key_], XF_ERROR_CORRUPT, "the tokenizer has the key '%s' twice", kNames[key_]);
        seen_[key_] = true;
        return true;
    }

    bool EndObject(rapidjson::SizeType) {
        return end_object([](int) { return true; });
    }

protected:
    // For formats whose kinds differ in their keys: has(key) says which this one has.
    template <class Has>
    bool end_object(Has has) {
        for (int key = 0; key < kCount; ++key)
            XF_CHECK(seen_[key] == has(key), XF_ERROR_CORRUPT, "the tokenizer %s the key '%s'",
                     seen_[key] ? "is of a kind without" : "lacks", kNames[key]);
        depth_ = 0;
        return true;
    }

    // The key whose plain value is being read, -1 in a list or outside the object.
    int at_value() const { return depth_ == 1 ? key_ : -1; }

    // Never returns; the bool is for a compiler that does not see it in a template.
    [[noreturn]] bool refuse(const char *found) const {
        if (depth_ == 0) fail(XF_ERROR_CORRUPT, "the tokenizer is %s, expected an object", found);
        fail(XF_ERROR_CORRUPT, "the tokenizer has %s in '%s'", found, kNames[key_]);
    }

    // False when T cannot hold the number; the parser has checked that it has the form of a JSON number.
    template <class T>
    bool read_number(const Ch *data, rapidjson::SizeType size, T *value) const {
        if (size > kMaxNumberChars) refuse("a number of too many digits");
        const auto read = std::from_chars(data, data + size, *value);
        return read.ptr == data + size && read.ec == std::errc();
    }

    bool check_format(std::string_view text) const {
        if (text != kFormat) refuse("another format");
        return true;
    }

    bool check_version(int64_t value) const {
        XF_CHECK(value == kVersion, XF_ERROR_VERSION, "tokenizer version %lld, expected %lld",
                 static_cast<long long>(value), static_cast<long long>(kVersion));
        return true;
    }

    int depth_ = 0;  // 1 in the object, more in its lists
    int key_ = 0;

private:
    static constexpr int kCount = static_cast<int>(std::size(kNames));
    static constexpr size_t kMaxNumberChars = 32;  // more than any number that is written has

    bool seen_[kCount] = {};
};

}  // namespace xf::tokenizer_json
