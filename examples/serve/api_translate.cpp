// The part of the interface that translates: /translate, /translate_file, and /download_file.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api.h"
#include "api_json.h"
#include "detect.h"

namespace serve {
namespace {

constexpr std::size_t kSample = 4096;                 // bytes for the detection of the language
constexpr std::size_t kLong = std::size_t{32} << 10;  // bytes of texts that the worker thread prepares

std::string extension(std::string_view file_name) {
    const std::size_t dot = file_name.rfind('.');
    std::string text(dot == std::string_view::npos ? "" : file_name.substr(dot));
    for (char &c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

// For each byte of a text, the number of code points before it.
std::vector<std::uint32_t> code_point_index(std::string_view text) {
    std::vector<std::uint32_t> index(text.size() + 1, 0);
    for (std::size_t i = 0; i < text.size(); ++i)
        index[i + 1] = index[i] + ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 ? 1 : 0);
    // A byte inside a character counts as the beginning of the character.
    for (std::size_t i = 1; i < text.size(); ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) index[i] = index[i] - 1;
    return index;
}

void write_alignment(JsonWriter &writer, std::string_view source, const TranslatedDocument &document) {
    const auto from = code_point_index(source), to = code_point_index(document.text);
    const auto range = [&](const char *key, const std::vector<std::uint32_t> &index, std::size_t begin,
                           std::size_t end) {
        writer.Key(key);
        writer.StartArray();
        writer.Uint(index[begin]);
        writer.Uint(index[end]);
        writer.EndArray();
    };
    writer.StartArray();
    for (const AlignedSentence &sentence : document.sentences) {
        writer.StartObject();
        range("source", from, sentence.source_begin, sentence.source_end);
        range("target", to, sentence.target_begin, sentence.target_end);
        writer.Key("words");
        writer.StartArray();
        for (const AlignedSpan &word : sentence.words) {
            writer.StartArray();
            writer.Uint(from[word.source_begin]);
            writer.Uint(from[word.source_end]);
            writer.Uint(to[word.target_begin]);
            writer.Uint(to[word.target_end]);
            writer.EndArray();
        }
        writer.EndArray();
        writer.EndObject();
    }
    writer.EndArray();
}

}  // namespace

std::shared_ptr<Translator> Api::choose(Exchange &exchange, Texts &texts, JobOptions &options) const {
    const std::string source(exchange.fields.text("source")), target(exchange.fields.text("target"));
    if (source.empty()) throw HttpError{400, missing("source")};
    if (target.empty()) throw HttpError{400, missing("target")};
    const std::vector<std::string> known = models_.languages();
    const auto check = [&](const std::string &code) {
        if (std::find(known.begin(), known.end(), code) == known.end())
            throw HttpError{400, code + " is not supported"};
    };
    check(target);
    options.source = source;
    options.target = target;
    if (source == "auto") {
        std::vector<std::string> sources;
        for (const auto &[code, targets] : models_.pairs())
            if (std::find(targets.begin(), targets.end(), target) != targets.end()) sources.push_back(code);
        if (sources.empty()) throw HttpError{400, target + " is not supported"};
        std::string sample;
        for (const std::string &text : texts.texts) {
            if (sample.size() > kSample) break;
            sample.append(beginning_of(text, kSample)) += '\n';
        }
        const std::vector<Detected> found = serve::detect(sample, known);
        texts.detect = true;
        if (!found.empty()) {
            texts.language = found.front().language;
            texts.confidence = found.front().confidence;
        }
        options.source = texts.language;
        if (models_.find(options.source, target) == nullptr) options.source = sources.front();
        if (texts.language.empty()) texts.language = options.source;
    } else {
        check(source);
    }
    std::shared_ptr<Translator> translator = models_.find(options.source, target);
    if (translator == nullptr)
        throw HttpError{400, std::string(language_name(target)) + " (" + target +
                                 ") is not available as a target language from " +
                                 std::string(language_name(options.source)) + " (" + options.source + ")"};
    return translator;
}

void Api::translate(const std::shared_ptr<Exchange> &exchange) {
    Exchange &e = *exchange;
    const Fields &fields = e.fields;
    Texts texts;
    texts.list = fields.is_list("q");
    std::size_t characters = 0;
    for (const std::string_view text : fields.texts("q")) {
        texts.texts.emplace_back(text);
        const std::size_t count = code_points(text);
        if (settings_.char_limit > 0 && count > static_cast<std::size_t>(settings_.char_limit))
            throw HttpError{400, "Invalid request: request (" + std::to_string(count) + ") exceeds text limit (" +
                                     std::to_string(settings_.char_limit) + ")"};
        characters += count;
    }
    if (texts.texts.empty()) throw HttpError{400, missing("q")};
    if (settings_.batch_limit > 0 && texts.texts.size() > static_cast<std::size_t>(settings_.batch_limit))
        throw HttpError{400, "Invalid request: request (" + std::to_string(texts.texts.size()) +
                                 ") exceeds text limit (" + std::to_string(settings_.batch_limit) + ")"};
    JobOptions options;
    std::shared_ptr<Translator> translator = choose(e, texts, options);
    const std::string_view format = fields.text("format");
    if (!format.empty() && format != "text" && format != "html")
        throw HttpError{400, std::string(format) + " format is not supported"};
    texts.html = format == "html";
    options.alternatives = static_cast<int>(fields.integer("alternatives", 0, 0, settings_.alternatives_limit));
    options.beam = static_cast<int>(fields.integer("beam", 0, 1, 8));
    options.prefix = fields.text("prefix");
    options.has_prefix = fields.has("prefix");
    if (options.has_prefix && (texts.texts.size() != 1 || texts.html))
        throw HttpError{400, "Invalid request: prefix requires a single q and the format text"};
    if (texts.html) options.alternatives = 0;  // as LibreTranslate
    if (fields.flag("alignment")) {
        if (texts.html) throw HttpError{400, "Invalid request: alignment requires the format text"};
        options.sources = texts.texts;
    }
    options.stream = fields.flag("stream") || e.header("Accept").starts_with("text/event-stream");
    if (texts.texts.size() > 1) check_access(e, static_cast<std::int64_t>(texts.texts.size()) - 1);
    metrics_.add_characters(characters);
    start(exchange, std::move(translator), std::move(texts), std::move(options));
}

void Api::start(const std::shared_ptr<Exchange> &exchange, std::shared_ptr<Translator> translator, Texts texts,
                JobOptions options) {
    options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(settings_.timeout_s);
    const bool stream = options.stream;
    const bool alternatives = exchange->fields.integer("alternatives", 0, 0, settings_.alternatives_limit) > 0;
    if (stream) exchange->begin_events();

    Job::Callbacks callbacks;
    if (stream) {
        if (!texts.html)
            callbacks.partial = [exchange](std::size_t document, const std::string &text) {
                rapidjson::StringBuffer buffer;
                JsonWriter writer(buffer);
                writer.StartObject();
                writer.Key("index");
                writer.Uint64(document);
                writer.Key("translatedText");
                write(writer, text);
                writer.EndObject();
                exchange->event("partial", text_of(buffer), true);
            };
        callbacks.progress = [exchange](std::size_t done, std::size_t total) {
            exchange->event("progress",
                            "{\"done\":" + std::to_string(done) + ",\"total\":" + std::to_string(total) + "}", true);
        };
    }
    const auto shared = std::make_shared<const Texts>(std::move(texts));
    callbacks.done = [exchange, stream, alternatives, shared](std::vector<TranslatedDocument> documents,
                                                              std::optional<HttpError> error) {
        Reply reply;
        if (error) {
            reply = error_reply(*error);
        } else {
            rapidjson::StringBuffer buffer;
            JsonWriter writer(buffer);
            // One value for each text, in an array if the texts were one.
            const auto each = [&](const char *key, const auto &write_one) {
                writer.Key(key);
                if (shared->list) writer.StartArray();
                for (std::size_t i = 0; i < documents.size(); ++i) write_one(i);
                if (shared->list) writer.EndArray();
            };
            writer.StartObject();
            each("translatedText", [&](std::size_t i) { write(writer, documents[i].text); });
            if (shared->detect)
                each("detectedLanguage",
                     [&](std::size_t) { write_detected(writer, shared->language, shared->confidence); });
            if (alternatives)
                each("alternatives", [&](std::size_t i) {
                    writer.StartArray();
                    for (const std::string &text : documents[i].alternatives) write(writer, text);
                    writer.EndArray();
                });
            if (exchange->fields.flag("alignment"))
                each("alignment", [&](std::size_t i) { write_alignment(writer, shared->texts[i], documents[i]); });
            writer.EndObject();
            reply.body = text_of(buffer);
        }
        if (stream) {
            exchange->event(error ? "error" : "result", reply.body, false);
            exchange->end_events();
        } else {
            exchange->reply(std::move(reply));
        }
    };

    run(exchange, std::move(translator), {shared, &shared->texts}, shared->html ? parse_html : parse_text,
        std::move(options), std::move(callbacks));
}

void Api::run(const std::shared_ptr<Exchange> &exchange, std::shared_ptr<Translator> translator,
              std::shared_ptr<const std::vector<std::string>> texts, Parse parse, JobOptions options,
              Job::Callbacks callbacks) {
    std::size_t size = 0;
    for (const std::string &text : *texts) size += text.size();
    auto prepare = [exchange, texts = std::move(texts), parse, translator = std::move(translator),
                    options = std::move(options), callbacks = std::move(callbacks)]() mutable {
        try {
            std::vector<std::unique_ptr<Document>> documents;
            for (const std::string &text : *texts) documents.push_back(parse(text));
            const auto job =
                std::make_shared<Job>(std::move(translator), std::move(documents), std::move(options), callbacks);
            exchange->on_disconnect([weak = std::weak_ptr(job)] {
                if (const auto still = weak.lock()) still->cancel();
            });
            job->start();
        } catch (const HttpError &error) {
            callbacks.done({}, error);
        } catch (const std::exception &error) {
            callbacks.done({}, HttpError{500, std::string("Cannot translate text: ") + error.what()});
        }
    };
    // A long text must not occupy the thread of all connections.
    if (size <= kLong)
        prepare();
    else
        worker_.run(std::move(prepare));
}

void Api::translate_file(const std::shared_ptr<Exchange> &exchange) {
    Exchange &e = *exchange;
    if (!e.fields.has_file) throw HttpError{400, missing("file")};
    if (e.fields.file_name.empty() || e.fields.file.empty()) throw HttpError{400, "Invalid request: empty file"};
    const std::string kind = extension(e.fields.file_name);
    if (std::find(std::begin(kFormats), std::end(kFormats), kind) == std::end(kFormats))
        throw HttpError{400, "Invalid request: file format not supported"};
    if (!valid_utf8(e.fields.file)) throw HttpError{400, "Invalid request: the file is not valid UTF-8"};
    const std::int64_t unit = settings_.char_limit > 0 ? settings_.char_limit : 10000;
    const auto cost = static_cast<std::int64_t>(e.fields.file.size()) / unit;
    if (cost > 1) check_access(e, cost - 1);
    Texts texts;
    texts.texts.push_back(std::move(e.fields.file));
    JobOptions options;
    std::shared_ptr<Translator> translator = choose(e, texts, options);
    options.deadline = std::chrono::steady_clock::now() + std::chrono::hours(24);  // the client waits or disconnects
    metrics_.add_characters(code_points(texts.texts[0]));

    const std::string stem = e.fields.file_name.substr(0, e.fields.file_name.size() - kind.size());
    const std::string name = stem + "_" + options.target + kind;
    std::string host = e.header("Host");
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
               c == ':' || c == '[' || c == ']' || c == '_';
    };
    if (host.empty() || !std::all_of(host.begin(), host.end(), plain)) host = "localhost";
    const bool tls = settings_.tls || (settings_.trust_forwarded && e.header("X-Forwarded-Proto") == "https");
    const std::string base = (tls ? "https://" : "http://") + host + "/download_file/";

    Job::Callbacks callbacks;
    callbacks.done = [this, exchange, base, name](std::vector<TranslatedDocument> documents,
                                                  std::optional<HttpError> error) {
        if (error) return exchange->fail(*error);
        reply_json(*exchange, [&](JsonWriter &writer) {
            writer.StartObject();
            writer.Key("translatedFileUrl");
            write(writer, base + downloads_.add(name, std::move(documents[0].text)));
            writer.EndObject();
        });
    };
    const Parse parse = kind == ".srt" || kind == ".vtt"    ? parse_subtitles
                        : kind == ".html" || kind == ".htm" ? parse_html
                                                            : parse_text;
    run(exchange, std::move(translator), std::make_shared<const std::vector<std::string>>(std::move(texts.texts)),
        parse, std::move(options), std::move(callbacks));
}

void Api::download(const std::shared_ptr<Exchange> &exchange) {
    const std::string_view name = std::string_view(exchange->path).substr(std::string_view("/download_file/").size());
    const auto content = downloads_.find(name);
    if (content == nullptr) throw HttpError{404, "the file does not exist, or it was removed after 30 minutes"};
    const std::string file_name(name.substr(name.find('.') + 1));
    exchange->reply(
        {200,
         *content,
         "application/octet-stream",
         {{"Content-Disposition", "attachment; filename=\"" + file_name + "\""}, {"Cache-Control", "no-store"}}});
}

}  // namespace serve
