// The parameters of a request: one JSON object, whether they arrived as JSON, as a form, or in the query.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace serve {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

// Writes a string. It must be valid UTF-8.
inline void write(JsonWriter &writer, std::string_view text) {
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
inline void write_key(JsonWriter &writer, std::string_view text) {
    writer.Key(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
inline std::string text_of(const rapidjson::StringBuffer &buffer) { return {buffer.GetString(), buffer.GetSize()}; }

bool valid_utf8(std::string_view text);
// Number of Unicode code points of valid UTF-8.
std::size_t code_points(std::string_view text);

// The first bytes of a text, without a part of a character.
std::string_view beginning_of(std::string_view text, std::size_t size);

class Fields {
public:
    Fields() { object_.SetObject(); }
    // Replaces all fields by those of a JSON object. Throws HttpError 400.
    void parse_json(std::string_view text);
    // Adds a part of a field of a form or a query. A part at offset 0 begins a field; the first field of a name counts.
    // Returns false if there are more than 64 fields.
    bool add(std::string_view name, std::string_view text, std::size_t offset);
    // After the last part. Changes "\r\n" and "\r" to "\n", as browsers send "\r\n" in forms.
    void finish_form();

    bool has(std::string_view name) const { return find(name) != nullptr; }
    bool is_list(std::string_view name) const;
    // A string; "" if it is missing or null. Throws HttpError 400 for other types or invalid UTF-8.
    std::string_view text(std::string_view name) const;
    // A string, or each string of an array; empty if it is missing or null.
    std::vector<std::string_view> texts(std::string_view name) const;
    // An integer, or a string that is one. Throws HttpError 400 if it is not a number or out of range.
    std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t lowest,
                         std::int64_t highest) const;
    // true, false, or a string "true", "1", "false", "0", "".
    bool flag(std::string_view name) const;

    std::string file, file_name;  // of a multipart form
    bool has_file = false;

private:
    const rapidjson::Value *find(std::string_view name) const;
    rapidjson::Document object_;
    std::vector<std::pair<std::string, std::string>> form_;  // fields that finish_form() adds to object_
};

}  // namespace serve
