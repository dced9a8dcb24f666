// HTTP by libmicrohttpd: requests arrive as objects, and replies may be given later, from any thread.
//
// libmicrohttpd serves all connections on one thread (epoll). While a request waits for its translation, its connection
// is suspended and needs no thread. A second thread does what libmicrohttpd does not: it detects that the client of a
// suspended connection has disconnected (Exchange::on_disconnect), and closes connections that have not sent a complete
// request in time, even if a byte arrives now and then.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fields.h"

namespace serve {

// A complete reply.
struct Reply {
    unsigned status = 200;
    std::string body;
    std::string type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers = {};
};

// A request that cannot be served: its status and the sentence of the error.
struct HttpError {
    unsigned status;
    std::string message;
    std::int64_t retry_after = 0;  // seconds; 0: unknown
};

// The reply {"error": message}.
Reply error_reply(const HttpError &error);

class HttpServer;

// One request and its reply. Shared by the connection and the job that computes the reply.
class Exchange : public std::enable_shared_from_this<Exchange> {
public:
    Exchange(HttpServer &server, MHD_Connection *connection, std::string method, std::string path);
    ~Exchange();
    Exchange(const Exchange &) = delete;
    Exchange &operator=(const Exchange &) = delete;

    std::string method, path;
    std::string address;        // of the client
    Fields fields;              // from the query, a form, or a JSON object
    std::size_t body_size = 0;  // bytes received
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    HttpServer &server() const { return server_; }
    // Returns a header of the request; "" if it is missing. Only before the handler returns.
    std::string header(const char *name) const;

    // Gives the reply. Later calls have no effect. Any thread.
    void reply(Reply reply);
    void fail(const HttpError &error) { reply(error_reply(error)); }

    // Server-sent events: begins the reply, adds events, and ends it. Any thread. Optional events are dropped while a
    // slow client has more than 1 MiB to receive.
    void begin_events();
    void event(std::string_view name, std::string_view json, bool optional);
    void end_events();

    // Called at most once if the client disconnects before the reply is complete, on another thread or immediately.
    void on_disconnect(std::function<void()> function);

private:
    friend class HttpServer;
    MHD_Result advance();                                 // queues the reply, or suspends the connection
    ssize_t read_events(char *buffer, std::size_t size);  // content of the stream
    void suspend_locked();
    void resume_locked();
    void disconnected();
    void completed();

    HttpServer &server_;
    std::mutex mutex_;
    MHD_Connection *connection_;  // NULL after the end of the request
    MHD_PostProcessor *form_ = nullptr;
    std::string body_;        // JSON
    bool reading_ = true;     // the body is not complete
    bool ready_ = false;      // reply_ is set
    bool queued_ = false;     // libmicrohttpd has received it
    bool streaming_ = false;  // the reply is a stream of events
    bool ended_ = false;      // of the stream
    bool suspended_ = false;
    bool gone_ = false;                 // the client disconnected
    std::optional<HttpError> failure_;  // found while reading; the reply follows the body
    Reply reply_;
    std::string events_;         // not yet sent
    std::size_t sent_ = 0;       // bytes of events_ that were sent
    std::uint64_t watched_ = 0;  // id for the observer; 0: none
    std::function<void()> on_disconnect_;
};

struct HttpSettings {
    std::string address;                             // "" or an IPv4 or IPv6 address
    std::uint16_t port = 5000;                       // 0: any free port
    unsigned connections = 12000;                    // limit
    unsigned connections_per_address = 0;            // 0: no limit
    unsigned timeout_s = 60;                         // idle connections, and the time to receive a request
    std::size_t body_limit = std::size_t{10} << 20;  // bytes
    std::string certificate, private_key;            // PEM; empty: no TLS
};

class HttpServer {
public:
    using Handler = std::function<void(const std::shared_ptr<Exchange> &)>;
    // Called when a request has ended: its status (0: the client disconnected) is in the reply.
    using Completed = std::function<void(const Exchange &, unsigned status)>;

    // Begins to serve. Throws std::runtime_error. The handler is called on the thread of libmicrohttpd and must not
    // wait; it may throw HttpError.
    HttpServer(const HttpSettings &settings, Handler handler, Completed completed);
    // All requests must have ended.
    ~HttpServer();

    std::uint16_t port() const;
    std::size_t connections() const;
    std::size_t active() const { return active_; }  // requests that have not ended
    // Accepts no further connections; each reply closes its connection.
    void drain();

private:
    friend class Exchange;
    static MHD_Result handle(void *self, MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *data, std::size_t *size, void **state);
    MHD_Result receive(const std::shared_ptr<Exchange> &exchange, const char *data, std::size_t *size);
    void begin(Exchange &exchange);
    std::uint64_t watch(int descriptor, const std::weak_ptr<Exchange> &exchange);
    void unwatch(std::uint64_t id);
    void observe();

    HttpSettings settings_;
    Handler handler_;
    Completed completed_;
    // A connection. While a request is awaited or received, it has been since `since`.
    struct Client {
        int descriptor;
        bool receiving;
        std::chrono::steady_clock::time_point since;
    };
    static void notify(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode code);
    static int descriptor_of(MHD_Connection *connection);
    void set_receiving(MHD_Connection *connection, bool receiving);
    void close_late();

    std::atomic<std::size_t> active_{0};
    std::atomic<bool> draining_{false}, stopped_{false};
    mutable std::mutex clients_mutex_;
    std::unordered_set<Client *> clients_;
    std::mutex watch_mutex_;
    std::unordered_map<std::uint64_t, std::pair<int, std::weak_ptr<Exchange>>> watched_;
    std::uint64_t next_watch_ = 1;
    int epoll_ = -1;
    std::thread observer_;
    MHD_Daemon *daemon_ = nullptr;
    int listen_ = -1;  // after drain()
};

}  // namespace serve
