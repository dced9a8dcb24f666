// Writing the JSON object of a tokenizer file. The same calls write the same bytes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/encodings.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

#include "core/json_allocator.h"
#include "core/numbers.h"
#include "text/json/format.h"

namespace xf::tokenizer_json {

class ObjectWriter {
public:
    // Begins the object with the common keys.
    explicit ObjectWriter(std::string_view kind) : writer_(buffer_) {
        writer_.StartObject();
        string("format", kFormat);
        integer("version", kVersion);
        string("kind", kind);
    }

    void string(const char *key, std::string_view value) {
        writer_.Key(key);
        element(value);
    }
    void integer(const char *key, int64_t value) {
        writer_.Key(key);
        writer_.Int64(value);
    }
    void real(const char *key, double value) {
        writer_.Key(key);
        writer_.Double(value);
    }
    void boolean(const char *key, bool value) {
        writer_.Key(key);
        writer_.Bool(value);
    }
    void start_array(const char *key) {
        writer_.Key(key);
        writer_.StartArray();
    }
    void start_array() { writer_.StartArray(); }
    void end_array() { writer_.EndArray(); }

    void element(std::string_view value) { writer_.String(value.data(), value.size()); }
    void element(int32_t value) { writer_.Int(value); }
    // The shortest digits from which the same float is read.
    void element(float value) {
        char digits[40];
        const auto end = write_number(digits, digits + sizeof digits, value);
        writer_.RawValue(digits, end - digits, rapidjson::kNumberType);
    }

    std::string finish() {
        writer_.EndObject();
        return {buffer_.GetString(), buffer_.GetSize()};
    }

private:
    using Utf8 = rapidjson::UTF8<>;
    using Buffer = rapidjson::GenericStringBuffer<Utf8, ThrowingAllocator>;

    Buffer buffer_;
    rapidjson::Writer<Buffer, Utf8, Utf8, ThrowingAllocator> writer_;
};

}  // namespace xf::tokenizer_json
