// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace serve {
namespace {

std::string address_of(const sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address != nullptr && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, text, sizeof text);
    if (address != nullptr && address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr, text, sizeof text);
    constexpr std::string_view kMapped = "::ffff:";  // an IPv4 client of a socket for both
    const std::string_view view = text;
    return std::string(view.starts_with(kMapped) ? view.substr(kMapped.size()) : view);
}

// A part of a form, or a parameter of a query.
MHD_Result add_field(void *fields, MHD_ValueKind, const char *name, const char *file_name, const char *, const char *,
                     const char *data, std::uint64_t offset, std::size_t size) {
    auto &to = *static_cast<Fields *>(fields);
    if (file_name == nullptr) return to.add(name, {data, size}, offset) ? MHD_YES : MHD_NO;
    if (std::string_view(name) != "file") return MHD_YES;
    if (offset == 0) {
        to.has_file = true;
        to.file_name = file_name;
        to.file.clear();
    }
    to.file.append(data, size);
    return MHD_YES;
}

MHD_Result add_argument(void *fields, MHD_ValueKind, const char *name, const char *value) {
    const std::string_view text = value != nullptr ? value : "";
    return static_cast<Fields *>(fields)->add(name, text, 0) ? MHD_YES : MHD_NO;
}

}  // namespace

HttpServer::HttpServer(const HttpSettings &settings, Handler handler, Completed completed)
    : settings_(settings), handler_(std::move(handler)), completed_(std::move(completed)) {
    std::vector<MHD_OptionItem> options;
    const auto add = [&](MHD_OPTION option, std::intptr_t value, void *pointer = nullptr) {
        options.push_back({option, value, pointer});
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    sockaddr_storage address{};
    if (!settings_.address.empty()) {
        addrinfo hints{}, *found = nullptr;
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
        hints.ai_socktype = SOCK_STREAM;
        if (getaddrinfo(settings_.address.c_str(), std::to_string(settings_.port).c_str(), &hints, &found) != 0)
            throw std::runtime_error("the address '" + settings_.address + "' is not an IPv4 or IPv6 address");
        std::memcpy(&address, found->ai_addr, found->ai_addrlen);
        if (found->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
        freeaddrinfo(found);
        add(MHD_OPTION_SOCK_ADDR, 0, &address);
    } else {
        flags |= MHD_USE_DUAL_STACK;
    }
    if (!settings_.certificate.empty()) {
        flags |= MHD_USE_TLS;
        add(MHD_OPTION_HTTPS_MEM_CERT, 0, settings_.certificate.data());
        add(MHD_OPTION_HTTPS_MEM_KEY, 0, settings_.private_key.data());
    }
    add(MHD_OPTION_CONNECTION_LIMIT, settings_.connections);
    add(MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings_.connections_per_address);
    add(MHD_OPTION_CONNECTION_TIMEOUT, settings_.timeout_s);
    add(MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096);
    add(MHD_OPTION_STRICT_FOR_CLIENT, 1);
    // For headers and parts of bodies; libmicrohttpd occupies all of it for each connection. 10,000 need about 130 MB.
    add(MHD_OPTION_CONNECTION_MEMORY_LIMIT, 12 << 10);
    add(MHD_OPTION_END, 0);

    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    const auto start = [&] {
        return MHD_start_daemon(
            flags, settings_.port, nullptr, nullptr, &HttpServer::handle, this, MHD_OPTION_NOTIFY_COMPLETED,
            +[](void *, MHD_Connection *, void **state, MHD_RequestTerminationCode) {
                auto *exchange = static_cast<std::shared_ptr<Exchange> *>(*state);
                if (exchange == nullptr) return;
                (*exchange)->completed();
                delete exchange;
                *state = nullptr;
            },
            nullptr, MHD_OPTION_NOTIFY_CONNECTION, &HttpServer::notify, this, MHD_OPTION_ARRAY, options.data(),
            MHD_OPTION_END);
    };
    daemon_ = start();
    if (daemon_ == nullptr && (flags & MHD_USE_DUAL_STACK) == MHD_USE_DUAL_STACK) {  // a system without IPv6
        flags &= ~static_cast<unsigned>(MHD_USE_DUAL_STACK);
        daemon_ = start();
    }
    if (daemon_ == nullptr) {
        const int error = errno;  // after an invalid certificate, any value
        const bool tls = !settings_.certificate.empty();
        close(epoll_);
        throw std::runtime_error("cannot listen on port " + std::to_string(settings_.port) + ": " +
                                 (error == EADDRINUSE ? "another program uses it; choose one with --port"
                                  : tls ? "the certificate or the key is invalid, or the port is not allowed"
                                        : std::strerror(error)));
    }
    observer_ = std::thread([this] { observe(); });
}

HttpServer::~HttpServer() {
    MHD_stop_daemon(daemon_);
    stopped_ = true;
    observer_.join();
    close(epoll_);
    if (listen_ >= 0) close(listen_);
}

std::uint16_t HttpServer::port() const {
    const MHD_DaemonInfo *info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
    return info != nullptr ? info->port : settings_.port;
}

std::size_t HttpServer::connections() const {
    const std::lock_guard lock(clients_mutex_);
    return clients_.size();
}

void HttpServer::drain() {
    draining_ = true;
    if (listen_ < 0) listen_ = MHD_quiesce_daemon(daemon_);
}

MHD_Result HttpServer::handle(void *self, MHD_Connection *connection, const char *url, const char *method, const char *,
                              const char *data, std::size_t *size, void **state) {
    auto &server = *static_cast<HttpServer *>(self);
    try {
        if (*state == nullptr) {
            auto exchange = std::make_shared<Exchange>(server, connection, method, url);
            *state = new std::shared_ptr<Exchange>(exchange);
            server.begin(*exchange);
            // A body that is too large is not read: libmicrohttpd closes the connection after the reply.
            return exchange->ready_ ? exchange->advance() : MHD_YES;
        }
        return server.receive(*static_cast<std::shared_ptr<Exchange> *>(*state), data, size);
    } catch (const std::exception &) {  // no memory: closes the connection
        return MHD_NO;
    }
}

void HttpServer::begin(Exchange &exchange) {
    const MHD_ConnectionInfo *info = MHD_get_connection_info(exchange.connection_, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    exchange.address = address_of(info != nullptr ? info->client_addr : nullptr);
    // A proxy could interpret such headers differently and attribute a part of a body to another client (request
    // smuggling).
    struct {
        int lengths = 0, encodings = 0;  // headers that define the length of the body
        bool valid = true;               // names without white space
    } found;
    MHD_get_connection_values(
        exchange.connection_, MHD_HEADER_KIND,
        [](void *state, MHD_ValueKind, const char *name, const char *) {
            auto &seen = *static_cast<decltype(found) *>(state);
            seen.lengths += strcasecmp(name, "Content-Length") == 0;
            seen.encodings += strcasecmp(name, "Transfer-Encoding") == 0;
            for (const char *c = name; *c != '\0'; ++c) seen.valid = seen.valid && *c > ' ' && *c < 127;
            return MHD_YES;
        },
        &found);
    const auto refuse = [&](const HttpError &error) {
        Reply reply = error_reply(error);
        reply.headers.emplace_back("Connection", "close");
        exchange.reply(std::move(reply));
    };
    const std::string encoding = exchange.header("Transfer-Encoding"), length = exchange.header("Content-Length");
    if (!found.valid)
        refuse({400, "Invalid request: the name of a header contains white space"});
    else if (found.lengths + found.encodings > 1)
        refuse({400, "Invalid request: the length of the body is defined more than once"});
    else if (found.encodings == 1 && strcasecmp(encoding.c_str(), "chunked") != 0)
        refuse({501, "the transfer encoding is '" + encoding + "'; expected chunked"});
    else if (!length.empty() && std::strtoull(length.c_str(), nullptr, 10) > settings_.body_limit)
        refuse({413, "Invalid request: the body has " + length + " bytes; the maximum is " +
                         std::to_string(settings_.body_limit)});
    MHD_get_connection_values(exchange.connection_, MHD_GET_ARGUMENT_KIND, add_argument, &exchange.fields);
    exchange.form_ =
        MHD_create_post_processor(exchange.connection_, std::size_t{64} << 10, add_field, &exchange.fields);
}

MHD_Result HttpServer::receive(const std::shared_ptr<Exchange> &exchange, const char *data, std::size_t *size) {
    Exchange &e = *exchange;
    if (!e.reading_) return e.advance();
    if (*size > 0) {
        e.body_size += *size;
        if (!e.failure_ && e.body_size > settings_.body_limit)
            e.failure_ = HttpError{
                413, "Invalid request: the body has more than " + std::to_string(settings_.body_limit) + " bytes"};
        if (!e.failure_ && e.form_ == nullptr) e.body_.append(data, *size);
        if (!e.failure_ && e.form_ != nullptr && MHD_post_process(e.form_, data, *size) != MHD_YES)
            e.failure_ = HttpError{400, "Invalid request: the form is malformed or has more than 64 fields"};
        *size = 0;
        return MHD_YES;
    }
    e.reading_ = false;
    set_receiving(e.connection_, false);
    try {
        if (e.form_ != nullptr) {
            if (MHD_destroy_post_processor(e.form_) != MHD_YES && !e.failure_)
                e.failure_ = HttpError{400, "Invalid request: the form is malformed"};
            e.form_ = nullptr;
        }
        if (e.failure_) throw HttpError(*e.failure_);
        e.fields.finish_form();
        const std::string type = e.header("Content-Type");
        if (type.starts_with("application/json"))
            e.fields.parse_json(e.body_);
        else if (!e.body_.empty())
            throw HttpError{415, "the content type is '" + type +
                                     "'; expected application/json, application/x-www-form-urlencoded, or "
                                     "multipart/form-data"};
        e.body_ = std::string();
        handler_(exchange);
    } catch (const HttpError &error) {
        e.fail(error);
    } catch (const std::bad_alloc &) {
        e.fail({503, "the server has not enough memory for this request", 1});
    } catch (const std::exception &error) {
        e.fail({500, error.what()});
    }
    return e.advance();
}

}  // namespace serve
