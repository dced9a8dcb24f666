// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace serve {
namespace {

void begin(JsonWriter &writer, std::string_view level) {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char date[32], time[40];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    std::snprintf(time, sizeof time, "%s.%03dZ", date, static_cast<int>(ms));
    writer.StartObject();
    writer.Key("time");
    writer.String(time);
    writer.Key("level");
    write(writer, level);
}

void end(JsonWriter &writer, rapidjson::StringBuffer &buffer) {
    writer.EndObject();
    buffer.Put('\n');
    std::fwrite(buffer.GetString(), 1, buffer.GetSize(), stdout);  // one call, so that lines are never mixed
    std::fflush(stdout);
}

std::string_view printable(std::string_view text) { return valid_utf8(text) ? text : "(not UTF-8)"; }

}  // namespace

void Log::message(std::string_view level, std::string_view text) const {
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    begin(writer, level);
    writer.Key("message");
    write(writer, printable(text));
    end(writer, buffer);
}

void Log::request(const Exchange &exchange, unsigned status, double seconds) const {
    if (!requests_) return;
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    begin(writer, status >= 500 ? "error" : "info");
    writer.Key("client");
    write(writer, exchange.address);
    writer.Key("method");
    write(writer, printable(exchange.method));
    writer.Key("path");
    write(writer, printable(std::string_view(exchange.path).substr(0, 200)));
    writer.Key("status");
    writer.Uint(status);
    writer.Key("bytes");
    writer.Uint64(exchange.body_size);
    writer.Key("ms");
    writer.Double(std::round(seconds * 1e5) / 100);
    end(writer, buffer);
}

}  // namespace serve
