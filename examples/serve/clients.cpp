// The part of HttpServer that observes clients; see http.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <sys/socket.h>

#include "http.h"

namespace serve {

int HttpServer::descriptor_of(MHD_Connection *connection) {
    const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != nullptr ? info->connect_fd : -1;
}

void HttpServer::notify(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode code) {
    auto &server = *static_cast<HttpServer *>(self);
    const std::lock_guard lock(server.clients_mutex_);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        auto *client = new Client{descriptor_of(connection), true, std::chrono::steady_clock::now()};
        server.clients_.insert(client);
        *context = client;
    } else if (auto *client = static_cast<Client *>(*context)) {
        server.clients_.erase(client);
        delete client;
        *context = nullptr;
    }
}

void HttpServer::set_receiving(MHD_Connection *connection, bool receiving) {
    const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info == nullptr || info->socket_context == nullptr) return;
    const std::lock_guard lock(clients_mutex_);
    auto &client = *static_cast<Client *>(info->socket_context);
    client.receiving = receiving;
    client.since = std::chrono::steady_clock::now();
}

void HttpServer::close_late() {
    // Before libmicrohttpd closes a descriptor, it reports the end of the connection, which waits for this lock.
    const std::lock_guard lock(clients_mutex_);
    const auto oldest = std::chrono::steady_clock::now() - std::chrono::seconds(settings_.timeout_s);
    for (Client *client : clients_) {
        if (!client->receiving) continue;
        // libmicrohttpd does not notice the end of a connection that arrives together with a part of a request.
        char byte;
        const bool ended = recv(client->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
        if (ended || client->since < oldest) shutdown(client->descriptor, SHUT_RDWR);
    }
}

std::uint64_t HttpServer::watch(int descriptor, const std::weak_ptr<Exchange> &exchange) {
    const std::lock_guard lock(watch_mutex_);
    const std::uint64_t id = next_watch_++;
    epoll_event event{};
    event.events = EPOLLRDHUP | EPOLLONESHOT;
    event.data.u64 = id;
    watched_.emplace(id, std::pair(descriptor, exchange));
    epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
    return id;
}

void HttpServer::unwatch(std::uint64_t id) {
    const std::lock_guard lock(watch_mutex_);
    const auto found = watched_.find(id);
    if (found == watched_.end()) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.first, nullptr);
    watched_.erase(found);
}

void HttpServer::observe() {
    auto last = std::chrono::steady_clock::now();
    while (!stopped_) {
        epoll_event events[64];
        const int count = epoll_wait(epoll_, events, 64, 250);
        for (int i = 0; i < count; ++i) {
            std::shared_ptr<Exchange> exchange;
            {
                const std::lock_guard lock(watch_mutex_);
                const auto found = watched_.find(events[i].data.u64);
                if (found != watched_.end()) exchange = found->second.second.lock();
            }
            if (exchange) exchange->disconnected();
        }
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::seconds(1)) continue;
        last = now;
        close_late();
    }
}

}  // namespace serve
