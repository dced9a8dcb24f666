// serve: a translation server with a web page, over the engine of libxformer.
//
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/resource.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "common.h"
#include "options.h"
}

#include "access.h"
#include "api.h"
#include "http.h"
#include "log.h"
#include "metrics.h"
#include "translator.h"

extern "C" const char program_name[] = "xformer-serve";

namespace serve {
namespace {

std::string read_file(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Allows as many open files as the system permits: each connection needs one.
void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the memory of large requests to the system; glibc would keep it.
void trim_memory() {
#ifdef __GLIBC__
    if (mallinfo2().fordblks > std::size_t{32} << 20) malloc_trim(0);
#endif
}

int run(int argc, char **argv) {
    flag_list models{};
    const char *address = "127.0.0.1", *keys = "", *certificate = "", *private_key = "", *suggestions = "";
    std::int64_t port = 5000, connections = 12000, per_address = 0, timeout = 60, translation_timeout = 120;
    std::int64_t body_limit = 10485760, char_limit = 0, batch_limit = 0, per_minute = 0;
    bool require_key = false, trust_forwarded = false, no_page = false, quiet = false;
    const flag flags[] = {
        {"model", FLAG_LIST, &models, nullptr, "NAME=FILE",
         "a model; NAME is the pair of languages, such as en-de; or a folder of files NAME.xf"},
        {"address", FLAG_TEXT, &address, nullptr, "ADDRESS", "IPv4 or IPv6 address (127.0.0.1); all: every address"},
        {"port", FLAG_COUNT, &port, nullptr, "N", "port (5000); 0: any free port"},
        {"tls-certificate", FLAG_TEXT, &certificate, nullptr, "FILE", "PEM file; enables TLS"},
        {"tls-key", FLAG_TEXT, &private_key, nullptr, "FILE", "PEM file with the private key"},
        {"api-keys", FLAG_TEXT, &keys, nullptr, "FILE", "lines KEY or KEY REQUESTS-PER-MINUTE"},
        {"require-key", FLAG_SWITCH, &require_key, nullptr, "", "refuse requests without an API key"},
        {"requests-per-minute", FLAG_COUNT, &per_minute, nullptr, "N", "limit for each client; 0: none"},
        {"char-limit", FLAG_COUNT, &char_limit, nullptr, "N", "maximum number of characters of a text; 0: none"},
        {"batch-limit", FLAG_COUNT, &batch_limit, nullptr, "N", "maximum number of texts in a request; 0: none"},
        {"body-limit", FLAG_COUNT, &body_limit, nullptr, "BYTES", "maximum size of a request (10485760)"},
        {"connections", FLAG_COUNT, &connections, nullptr, "N", "maximum number of connections (12000)"},
        {"connections-per-address", FLAG_COUNT, &per_address, nullptr, "N", "the same for each client; 0: no limit"},
        {"timeout", FLAG_COUNT, &timeout, nullptr, "S", "seconds in which a connection must send a request (60)"},
        {"translation-timeout", FLAG_COUNT, &translation_timeout, nullptr, "S",
         "maximum time of a translation, except of files (120)"},
        {"suggestions", FLAG_TEXT, &suggestions, nullptr, "FILE", "accept suggestions and append them to FILE"},
        {"trust-forwarded", FLAG_SWITCH, &trust_forwarded, nullptr, "", "use X-Forwarded-For and -Proto of a proxy"},
        {"no-page", FLAG_SWITCH, &no_page, nullptr, "", "serve only the API"},
        {"quiet", FLAG_SWITCH, &quiet, nullptr, "", "do not log requests"},
    };
    command_line line{};
    line.usage = "[--model NAME=FILE]... [OPTION]...";
    line.about =
        "Serves translations over HTTP, with the interface of LibreTranslate and a web page.\n"
        "SIGHUP loads changed models; SIGTERM and Ctrl-C end the program after the accepted requests.";
    line.groups = "context. engine. decode. model.weights";
    line.flags = flags;
    line.flag_count = std::size(flags);
    const int status = read_command_line(&line, argc - 1, argv + 1);
    if (status >= 0) return status;

    // All threads inherit the mask; only this one receives the signals.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    raise_file_limit();

    xformer::Config config;
    const int applied = apply_settings(&line, const_cast<xf_config *>(config.get()));
    if (applied >= 0) return applied;
    const Log log(!quiet);
    xformer::Host host;
    host.log = [&](const xf_log_line &logged) { log.message("warning", logged.message); };
    const xformer::Context context(config, std::move(host));
    std::vector<std::string> sources(models.texts, models.texts + models.count);
    if (sources.empty()) throw std::runtime_error("--model is missing; expected --model NAME=FILE or --model FOLDER");
    Registry registry(context, config, std::move(sources),
                      [&](std::string_view level, const std::string &text) { log.message(level, text); });
    registry.load(true);

    Access access(per_minute, keys);
    Metrics metrics;
    ApiSettings settings;
    settings.char_limit = char_limit;
    settings.batch_limit = batch_limit;
    settings.timeout_s = translation_timeout;
    settings.require_key = require_key;
    settings.trust_forwarded = trust_forwarded;
    settings.tls = *certificate != '\0';
    settings.page = !no_page;
    settings.suggestions = suggestions;
    Api api(registry, access, metrics, log, settings);

    HttpSettings http;
    http.address = std::string_view(address) == "all" ? "" : address;
    if (port > 65535) throw std::runtime_error("the port is " + std::to_string(port) + "; expected at most 65535");
    http.port = static_cast<std::uint16_t>(port);
    http.connections = static_cast<unsigned>(connections);
    http.connections_per_address = static_cast<unsigned>(per_address);
    http.timeout_s = static_cast<unsigned>(timeout);
    http.body_limit = static_cast<std::size_t>(body_limit);
    if (settings.tls != (*private_key != '\0'))
        throw std::runtime_error("only one of --tls-certificate and --tls-key was set; TLS needs both");
    if (require_key && *keys == '\0') throw std::runtime_error("--require-key needs --api-keys FILE");
    if (settings.tls) {
        http.certificate = read_file(certificate);
        http.private_key = read_file(private_key);
    }
    HttpServer server(
        http, [&](const std::shared_ptr<Exchange> &exchange) { api.handle(exchange); },
        [&](const Exchange &exchange, unsigned code) { api.completed(exchange, code); });
    log.message("info", std::string("serving on ") + (settings.tls ? "https://" : "http://") +
                            (http.address.empty()                          ? "localhost"
                             : http.address.find(':') == std::string::npos ? http.address
                                                                           : "[" + http.address + "]") +
                            ":" + std::to_string(server.port()));

    for (bool draining = false;;) {
        const timespec second = {1, 0}, short_time = {0, 20000000};
        const int signal = sigtimedwait(&signals, nullptr, draining ? &short_time : &second);
        registry.free_retired();
        if (signal < 0 && !draining) trim_memory();
        if (signal == SIGHUP) {
            try {
                registry.load(false);
            } catch (const std::exception &error) {
                log.message("error", error.what());
            }
        }
        if (signal == SIGINT || signal == SIGTERM) {
            if (draining) {
                log.message("warning", "ended before all requests were answered");
                std::_Exit(EXIT_FAILED);
            }
            draining = true;
            log.message("info",
                        "ending after " + std::to_string(server.active()) + " requests; a second signal ends at once");
            server.drain();
        }
        if (draining && server.active() == 0) break;
    }
    log.message("info", "ended");
    return EXIT_OK;
}

}  // namespace
}  // namespace serve

int main(int argc, char **argv) {
    try {
        return serve::run(argc, argv);
    } catch (const std::exception &error) {
        complain("%s", error.what());
        return EXIT_FAILED;
    }
}
