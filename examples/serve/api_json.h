// Helpers of api.cpp and api_translate.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http.h"

namespace serve {

inline constexpr std::string_view kFormats[] = {".txt", ".html", ".htm", ".srt", ".vtt"};  // of files

inline std::string missing(std::string_view name) {
    return "Invalid request: missing " + std::string(name) + " parameter";
}

// Writes the reply of a handler that needs no job.
template <class Write>
void reply_json(Exchange &exchange, const Write &write_value) {
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    write_value(writer);
    exchange.reply({200, text_of(buffer)});
}

inline void write_detected(JsonWriter &writer, std::string_view language, double confidence) {
    writer.StartObject();
    writer.Key("confidence");
    writer.Double(confidence);
    writer.Key("language");
    write(writer, language);
    writer.EndObject();
}

}  // namespace serve
