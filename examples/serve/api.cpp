// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "api_json.h"
#include "assets.h"
#include "detect.h"

namespace serve {
namespace {

constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}  // namespace

const Api::Route Api::kRoutes[] = {
    {"/translate", "POST", &Api::translate, true},
    {"/translate_file", "POST", &Api::translate_file, true},
    {"/download_file/", "GET", &Api::download, false},
    {"/detect", "POST", &Api::detect, true},
    {"/languages", "GET", &Api::languages, false},
    {"/frontend/settings", "GET", &Api::frontend_settings, false},
    {"/suggest", "POST", &Api::suggest, true},
    {"/health", "GET", &Api::health, false},
    {"/metrics", "GET", &Api::prometheus, false},
    {"/openapi.json", "GET", &Api::asset, false},
    {"/spec", "GET", &Api::asset, false},
    {"/", "GET", &Api::asset, false},
    {"/page.js", "GET", &Api::asset, false},
    {"/page.css", "GET", &Api::asset, false},
};

Api::Api(Registry &models, Access &access, Metrics &metrics, const Log &log, ApiSettings settings)
    : models_(models),
      access_(access),
      metrics_(metrics),
      log_(log),
      settings_(std::move(settings)),
      downloads_(settings_.download_limit) {}

void Api::handle(const std::shared_ptr<Exchange> &exchange) {
    Exchange &e = *exchange;
    if (settings_.trust_forwarded) {
        const std::string forwarded = e.header("X-Forwarded-For");
        if (!forwarded.empty()) e.address = forwarded.substr(0, forwarded.find(','));
    }
    const Route *route = nullptr;
    for (const Route &candidate : kRoutes)
        if (e.path == candidate.path || (candidate.handler == &Api::download && e.path.starts_with(candidate.path)))
            route = &candidate;
    if (route == nullptr || (!settings_.page && (e.path == "/" || e.path.starts_with("/page.")))) {
        e.path = "";  // not a label of the metrics
        throw HttpError{404, "there is no such path; see /openapi.json"};
    }
    if (e.method == "OPTIONS") {
        e.reply({204,
                 "",
                 "",
                 {{"Access-Control-Allow-Methods", "GET, POST"},
                  {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                  {"Access-Control-Max-Age", "1728000"}}});
        return;
    }
    if (e.method != route->method && !(e.method == "HEAD" && route->method == "GET")) {
        Reply reply = error_reply({405, "the method is " + e.method + "; expected " + std::string(route->method)});
        reply.headers.emplace_back("Allow", route->method);
        e.reply(std::move(reply));
        return;
    }
    if (route->limited) check_access(e, 1);
    (this->*route->handler)(exchange);
}

void Api::completed(const Exchange &exchange, unsigned status) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - exchange.start).count();
    std::string route = "other";
    for (const Route &candidate : kRoutes)
        if (exchange.path == candidate.path) route = candidate.path;
    if (exchange.path.starts_with("/download_file/")) route = "/download_file";
    metrics_.add(route, status, seconds);
    log_.request(exchange, status, seconds);
}

void Api::check_access(const Exchange &exchange, std::int64_t cost) {
    std::string key(access_.has_keys() ? exchange.fields.text("api_key") : "");
    if (!key.empty() && !access_.is_key(key)) throw HttpError{403, "Invalid API key"};
    if (key.empty() && settings_.require_key)
        throw HttpError{400, "Please contact the server operator to get an API key"};
    const std::int64_t wait = access_.take(key, exchange.address, cost);
    if (wait > 0)
        throw HttpError{429, "Slowdown: too many requests; try again in " + std::to_string(wait) + " s", wait};
}

void Api::detect(const std::shared_ptr<Exchange> &exchange) {
    std::string sample;
    for (const std::string_view text : exchange->fields.texts("q")) (sample += text) += '\n';
    if (sample.empty()) throw HttpError{400, missing("q")};
    std::vector<Detected> found = serve::detect(beginning_of(sample, 65536), {});
    if (found.empty()) found.push_back({"en", 0});
    reply_json(*exchange, [&](JsonWriter &writer) {
        writer.StartArray();
        for (const Detected &one : found) write_detected(writer, one.language, one.confidence);
        writer.EndArray();
    });
}

void Api::languages(const std::shared_ptr<Exchange> &exchange) {
    auto pairs = models_.pairs();
    for (const std::string &code : models_.languages()) pairs[code];  // languages that are only targets
    reply_json(*exchange, [&](JsonWriter &writer) {
        writer.StartArray();
        for (const auto &[code, targets] : pairs) {
            writer.StartObject();
            writer.Key("code");
            write(writer, code);
            writer.Key("name");
            write(writer, language_name(code));
            writer.Key("targets");
            writer.StartArray();
            for (const std::string &target : targets) write(writer, target);
            writer.EndArray();
            writer.EndObject();
        }
        writer.EndArray();
    });
}

void Api::frontend_settings(const std::shared_ptr<Exchange> &exchange) {
    const auto pairs = models_.pairs();
    const std::string target = pairs.empty() ? "en" : pairs.begin()->second.front();
    reply_json(*exchange, [&](JsonWriter &writer) {
        const auto flag = [&](const char *key, bool value) {
            writer.Key(key);
            writer.Bool(value);
        };
        const auto language = [&](const char *key, std::string_view code, std::string_view name) {
            writer.Key(key);
            writer.StartObject();
            writer.Key("code");
            write(writer, code);
            writer.Key("name");
            write(writer, name);
            writer.EndObject();
        };
        writer.StartObject();
        flag("apiKeys", access_.has_keys());
        writer.Key("charLimit");
        writer.Int64(settings_.char_limit > 0 ? settings_.char_limit : -1);
        flag("filesTranslation", true);
        writer.Key("frontendTimeout");
        writer.Int(300);
        flag("keyRequired", settings_.require_key);
        writer.Key("language");
        writer.StartObject();
        language("source", "auto", "Auto Detect");
        language("target", target, language_name(target));
        writer.EndObject();
        flag("suggestions", !settings_.suggestions.empty());
        writer.Key("supportedFilesFormat");
        writer.StartArray();
        for (const std::string_view format : kFormats) write(writer, format);
        writer.EndArray();
        writer.EndObject();
    });
}

void Api::suggest(const std::shared_ptr<Exchange> &exchange) {
    if (settings_.suggestions.empty()) throw HttpError{403, "Suggestions are disabled on this server."};
    const Fields &fields = exchange->fields;
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    writer.StartObject();
    for (const char *name : {"q", "s", "source", "target"}) {
        if (fields.text(name).empty()) throw HttpError{400, missing(name)};
        writer.Key(name);
        write(writer, fields.text(name));
    }
    writer.EndObject();
    buffer.Put('\n');
    {
        const std::lock_guard lock(suggestions_mutex_);
        bool is_torn = false;  // a full disk may have left a part of a line
        std::error_code ignored;
        if (std::filesystem::is_regular_file(settings_.suggestions, ignored)) {
            std::ifstream written(settings_.suggestions, std::ios::binary | std::ios::ate);
            is_torn = written.tellg() > 0 && written.seekg(-1, std::ios::end) && written.get() != '\n';
        }
        std::ofstream file(settings_.suggestions, std::ios::app | std::ios::binary);
        if (!(file << (is_torn ? "\n" : "") << text_of(buffer) << std::flush))
            throw HttpError{500, "the suggestion could not be stored"};
    }
    exchange->reply({200, "{\"success\":true}"});
}

void Api::health(const std::shared_ptr<Exchange> &exchange) { exchange->reply({200, "{\"status\":\"ok\"}"}); }

void Api::prometheus(const std::shared_ptr<Exchange> &exchange) {
    exchange->reply({200, metrics_.text(models_.all(), exchange->server().connections(), exchange->server().active()),
                     "text/plain; version=0.0.4; charset=utf-8"});
}

void Api::asset(const std::shared_ptr<Exchange> &exchange) {
    for (const Asset &asset : assets())
        if (asset.path == exchange->path)
            exchange->reply({200,
                             std::string(asset.content),
                             std::string(asset.type),
                             {{"Content-Security-Policy", std::string(kPagePolicy)},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-cache"}}});
}

}  // namespace serve
