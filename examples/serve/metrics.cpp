// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <cstdio>
#include <functional>

namespace serve {
namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// Escapes the value of a label.
std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        if (c == '\n')
            result += "\\n";
        else if (c == '"' || c == '\\')
            (result += '\\') += c;
        else
            result += c;
    }
    return result;
}

void describe(std::string &text, const std::string &name, const char *type, const char *help) {
    text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void single(std::string &text, const std::string &name, const char *type, const char *help, std::uint64_t value) {
    describe(text, name, type, help);
    text += name + " " + std::to_string(value) + "\n";
}

}  // namespace

void Metrics::add(const std::string &route, unsigned status, double seconds) {
    const std::lock_guard lock(mutex_);
    ++requests_[{route, status}];
    Histogram &histogram = seconds_[route];
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    ++histogram.counts[bucket];
    histogram.sum += seconds;
}

void Metrics::add_characters(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    characters_ += count;
}

std::string Metrics::text(const std::vector<std::shared_ptr<Translator>> &models, std::size_t connections,
                          std::size_t active) const {
    std::string text;
    single(text, "serve_connections", "gauge", "Open connections.", connections);
    single(text, "serve_requests_active", "gauge", "Requests that have not ended.", active);
    {
        const std::lock_guard lock(mutex_);
        single(text, "serve_characters_total", "counter", "Characters that clients sent for translation.", characters_);
        describe(text, "serve_requests_total", "counter",
                 "Requests that ended, by status; 0: the client disconnected.");
        for (const auto &[key, count] : requests_)
            text += "serve_requests_total{path=\"" + escaped(key.first) + "\",status=\"" + std::to_string(key.second) +
                    "\"} " + std::to_string(count) + "\n";
        const std::string name = "serve_request_duration_seconds";
        describe(text, name, "histogram", "Time from the headers of a request to the end of its reply.");
        for (const auto &[route, histogram] : seconds_) {
            const std::string label = "path=\"" + escaped(route) + "\"";
            std::uint64_t below = 0;
            for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
                below += histogram.counts[i];
                const std::string bound = i < kBounds.size() ? number(kBounds[i]) : "+Inf";
                text += name + "_bucket{" + label + ",le=\"" + bound + "\"} " + std::to_string(below) + "\n";
            }
            text += name + "_sum{" + label + "} " + number(histogram.sum) + "\n";
            text += name + "_count{" + label + "} " + std::to_string(below) + "\n";
        }
    }
    struct Row {
        const char *name, *type, *help;
        std::int64_t xf_engine_info::*member;
    };
    static constexpr Row kRows[] = {
        {"serve_sentences_waiting", "gauge", "Sentences whose search has not begun.", &xf_engine_info::waiting},
        {"serve_sentences_active", "gauge", "Sentences in the search.", &xf_engine_info::active},
        {"serve_sentences_total", "counter", "Sentences submitted.", &xf_engine_info::submitted},
        {"serve_sentences_completed_total", "counter", "Sentences translated.", &xf_engine_info::completed},
        {"serve_sentences_cancelled_total", "counter", "Sentences cancelled.", &xf_engine_info::cancelled},
        {"serve_sentences_failed_total", "counter", "Sentences that failed.", &xf_engine_info::failed},
        {"serve_steps_total", "counter", "Steps of the decoder.", &xf_engine_info::steps},
        {"serve_rows_total", "counter", "Hypotheses computed in these steps; divided by the steps: the mean batch.",
         &xf_engine_info::rows},
        {"serve_encoder_passes_total", "counter", "Steps that ran the encoder.", &xf_engine_info::encoder_passes},
    };
    std::vector<std::pair<std::string, xf_engine_info>> infos;
    for (const auto &model : models) infos.emplace_back(escaped(model->name()), model->info());
    for (const Row &row : kRows) {
        describe(text, row.name, row.type, row.help);
        for (const auto &[name, info] : infos)
            text += std::string(row.name) + "{model=\"" + name + "\"} " + std::to_string(info.*row.member) + "\n";
    }
    return text;
}

}  // namespace serve
