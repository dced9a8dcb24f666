// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "http.h"

namespace serve {
namespace {

constexpr std::size_t kMaxUnsent = std::size_t{1} << 20;  // bytes of events for a slow client

}  // namespace

Reply error_reply(const HttpError &error) {
    const std::string_view message = error.message;
    rapidjson::StringBuffer buffer;
    JsonWriter writer(buffer);
    writer.StartObject();
    writer.Key("error");
    write(writer, valid_utf8(message) ? message : "the request contains text that is not valid UTF-8");
    writer.EndObject();
    Reply reply{error.status, text_of(buffer)};
    if (error.retry_after > 0) reply.headers.emplace_back("Retry-After", std::to_string(error.retry_after));
    return reply;
}

Exchange::Exchange(HttpServer &server, MHD_Connection *connection, std::string given_method, std::string given_path)
    : method(std::move(given_method)), path(std::move(given_path)), server_(server), connection_(connection) {
    ++server_.active_;
}

Exchange::~Exchange() { --server_.active_; }

std::string Exchange::header(const char *name) const {
    const char *value = MHD_lookup_connection_value(connection_, MHD_HEADER_KIND, name);
    return value != nullptr ? value : "";
}

void Exchange::reply(Reply reply) {
    const std::lock_guard lock(mutex_);
    if (ready_) return;
    reply_ = std::move(reply);
    ready_ = true;
    resume_locked();
}

void Exchange::begin_events() {
    const std::lock_guard lock(mutex_);
    if (ready_) return;
    reply_ = {200, "", "text/event-stream", {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
    ready_ = streaming_ = true;
    resume_locked();
}

void Exchange::event(std::string_view name, std::string_view json, bool optional) {
    const std::lock_guard lock(mutex_);
    if (connection_ == nullptr || ended_ || (optional && events_.size() - sent_ > kMaxUnsent)) return;
    events_.append("event: ").append(name).append("\ndata: ").append(json).append("\n\n");
    resume_locked();
}

void Exchange::end_events() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    resume_locked();
}

void Exchange::on_disconnect(std::function<void()> function) {
    {
        const std::lock_guard lock(mutex_);
        if (connection_ != nullptr && !gone_) {
            on_disconnect_ = std::move(function);
            return;
        }
    }
    function();
}

void Exchange::suspend_locked() {
    suspended_ = true;
    watched_ = server_.watch(HttpServer::descriptor_of(connection_), weak_from_this());
    MHD_suspend_connection(connection_);
}

void Exchange::resume_locked() {
    if (!suspended_) return;
    suspended_ = false;
    server_.unwatch(watched_);
    MHD_resume_connection(connection_);
}

void Exchange::disconnected() {
    std::function<void()> function;
    {
        const std::lock_guard lock(mutex_);
        function.swap(on_disconnect_);
        gone_ = true;
        // The reply of the job resumes the connection; a stream may have nothing more to send.
        if (streaming_) {
            ended_ = true;
            resume_locked();
        }
    }
    if (function) function();
}

MHD_Result Exchange::advance() {
    {
        const std::lock_guard lock(mutex_);
        if (!ready_) {
            suspend_locked();
            return MHD_YES;
        }
        if (queued_) return MHD_YES;
        queued_ = true;
    }
    // Without the lock, because libmicrohttpd calls read_events() with a lock that it also takes here. reply_ and
    // streaming_ do not change after ready_ is set.
    MHD_Response *response = nullptr;
    if (streaming_) {
        auto *self = new std::shared_ptr<Exchange>(shared_from_this());
        response = MHD_create_response_from_callback(
            MHD_SIZE_UNKNOWN, std::size_t{16} << 10,
            [](void *state, std::uint64_t, char *buffer, std::size_t size) {
                return (*static_cast<std::shared_ptr<Exchange> *>(state))->read_events(buffer, size);
            },
            self, [](void *state) { delete static_cast<std::shared_ptr<Exchange> *>(state); });
    } else {
        response = MHD_create_response_from_buffer(reply_.body.size(), reply_.body.data(), MHD_RESPMEM_MUST_COPY);
    }
    if (response == nullptr) return MHD_NO;
    const auto add = [&](const char *name, const std::string &value) {
        MHD_add_response_header(response, name, value.c_str());
    };
    if (!reply_.type.empty()) add("Content-Type", reply_.type);
    for (const auto &[name, value] : reply_.headers) add(name.c_str(), value);
    if (server_.draining_) add("Connection", "close");
    add("Access-Control-Allow-Origin", "*");
    add("X-Content-Type-Options", "nosniff");
    const MHD_Result result = MHD_queue_response(connection_, reply_.status, response);
    MHD_destroy_response(response);
    return result;
}

ssize_t Exchange::read_events(char *buffer, std::size_t size) {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(size, events_.size() - sent_);
    if (count == 0) {
        if (ended_) return MHD_CONTENT_READER_END_OF_STREAM;
        suspend_locked();
        return 0;
    }
    std::memcpy(buffer, events_.data() + sent_, count);
    sent_ += count;
    if (sent_ == events_.size()) {
        events_.clear();
        sent_ = 0;
    }
    return static_cast<ssize_t>(count);
}

void Exchange::completed() {
    std::function<void()> function;
    unsigned status = 0;
    {
        const std::lock_guard lock(mutex_);
        if (form_ != nullptr) MHD_destroy_post_processor(form_);
        form_ = nullptr;
        server_.set_receiving(connection_, true);  // the next request
        connection_ = nullptr;
        function.swap(on_disconnect_);
        if (queued_ && !gone_ && (!streaming_ || ended_)) status = reply_.status;
    }
    if (function) function();  // has no effect after the end of the job
    server_.completed_(*this, status);
}

}  // namespace serve
