// The REST interface of LibreTranslate 1.9 and its extensions (openapi.json).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "access.h"
#include "downloads.h"
#include "http.h"
#include "job.h"
#include "log.h"
#include "metrics.h"
#include "translator.h"
#include "worker.h"

namespace serve {

struct ApiSettings {
    std::int64_t char_limit = 0;   // characters of a text; 0: no limit
    std::int64_t batch_limit = 0;  // texts of a request; 0: no limit
    std::int64_t alternatives_limit = 10;
    std::int64_t timeout_s = 120;  // of a translation
    bool require_key = false;
    bool trust_forwarded = false;  // X-Forwarded-For and X-Forwarded-Proto, set by a proxy
    bool tls = false;
    bool page = true;
    std::string suggestions;  // file; empty: suggestions are refused
    std::size_t download_limit = std::size_t{64} << 20;
};

class Api {
public:
    Api(Registry &models, Access &access, Metrics &metrics, const Log &log, ApiSettings settings);

    // Starts or gives the reply. Throws HttpError.
    void handle(const std::shared_ptr<Exchange> &exchange);
    // A request has ended.
    void completed(const Exchange &exchange, unsigned status);

private:
    using Handler = void (Api::*)(const std::shared_ptr<Exchange> &);
    struct Route {
        std::string_view path, method;
        Handler handler;
        bool limited;  // needs an API key if keys are required, and counts against the rate limit
    };
    static const Route kRoutes[];

    // Texts of a request, with their languages.
    struct Texts {
        std::vector<std::string> texts;
        bool list = false, detect = false, html = false;
        std::string language;  // detected
        double confidence = 0;
    };

    void check_access(const Exchange &exchange, std::int64_t cost);
    std::shared_ptr<Translator> choose(Exchange &exchange, Texts &texts, JobOptions &options) const;
    void start(const std::shared_ptr<Exchange> &exchange, std::shared_ptr<Translator> translator, Texts texts,
               JobOptions options);
    // Starts the job that translates documents: on the worker thread if they are long.
    using Parse = std::unique_ptr<Document> (*)(std::string_view);
    void run(const std::shared_ptr<Exchange> &exchange, std::shared_ptr<Translator> translator,
             std::shared_ptr<const std::vector<std::string>> texts, Parse parse, JobOptions options,
             Job::Callbacks callbacks);
    void translate(const std::shared_ptr<Exchange> &exchange);
    void translate_file(const std::shared_ptr<Exchange> &exchange);
    void download(const std::shared_ptr<Exchange> &exchange);
    void detect(const std::shared_ptr<Exchange> &exchange);
    void languages(const std::shared_ptr<Exchange> &exchange);
    void frontend_settings(const std::shared_ptr<Exchange> &exchange);
    void suggest(const std::shared_ptr<Exchange> &exchange);
    void health(const std::shared_ptr<Exchange> &exchange);
    void prometheus(const std::shared_ptr<Exchange> &exchange);
    void asset(const std::shared_ptr<Exchange> &exchange);

    Registry &models_;
    Access &access_;
    Metrics &metrics_;
    const Log &log_;
    ApiSettings settings_;
    Downloads downloads_;
    std::mutex suggestions_mutex_;
    Worker worker_;
};

}  // namespace serve
