// context.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/context.h"

#include "api/guard.h"

using namespace xf;

namespace {

// A context, and who wants to know when all of it is gone: armed when the caller has got it.
struct Hosted {
    Hosted(const Options &options, const xf_host &host)
        : user(host.release_user), release(host.release), context(std::make_unique<Context>(options, &host)) {}
    Hosted(const Hosted &) = delete;
    Hosted &operator=(const Hosted &) = delete;
    ~Hosted() {
        context.reset();
        if (armed && release != nullptr) release(user);
    }
    void *user;
    void (*release)(void *);
    std::unique_ptr<Context> context;
    bool armed = false;
};

}  // namespace

extern "C" {

xf_status xf_context_create(const xf_config *config, const xf_host *host, xf_context **out, xf_error *err) {
    return guard(err, [&] {
        check_pointer(out, "out");
        const OptionsOf options(config);
        xf_host own{};
        if (host != nullptr) {
            own = get_struct(host, "host");
            XF_CHECK((own.alloc != nullptr) == (own.free != nullptr), XF_ERROR_INVALID_ARGUMENT,
                     "host->alloc or host->free is NULL, expected both or neither");
            XF_CHECK(own.log_level >= XF_LOG_ERROR && own.log_level <= XF_LOG_DEBUG, XF_ERROR_INVALID_ARGUMENT,
                     "host->log_level is %d, expected 0 to 3", own.log_level);
            XF_CHECK(own.reserved == 0, XF_ERROR_UNSUPPORTED, "host->reserved is %d, expected 0", own.reserved);
        }
        xf_comm comm{};
        if (own.comm != nullptr) {
            comm = get_struct(own.comm, "host->comm");
            own.comm = &comm;
        }
        auto handle = std::make_unique<xf_context>();
        const auto hosted = std::make_shared<Hosted>(*options, own);
        handle->context = std::shared_ptr<Context>(hosted, hosted->context.get());
        hosted->armed = true;
        if (hosted->context->comm() != nullptr) hosted->context->comm()->own();
        *out = handle.release();
    });
}

void xf_context_free(xf_context *context) { free_handle(context); }

void xf_context_cancel(xf_context *context) {
    if (is_handle(context)) context->context->cancel();
}

const char *xf_context_device(const xf_context *context) {
    return is_handle(context) ? context->context->description().c_str() : nullptr;
}

xf_status xf_context_get_memory(const xf_context *context, xf_memory_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_struct(stats, "stats");
        const Heap &heap = use->context->heap();
        put_struct(stats, xf_memory_stats{0, heap.current(), heap.peak(), heap.budget(), heap.allocations()});
    });
}

int32_t xf_context_rank(const xf_context *context) {
    if (!is_handle(context)) return -1;
    const Comm *const comm = context->context->comm();
    return comm != nullptr ? comm->rank() : 0;
}

int32_t xf_context_rank_count(const xf_context *context) {
    if (!is_handle(context)) return -1;
    const Comm *const comm = context->context->comm();
    return comm != nullptr ? comm->size() : 1;
}

xf_status xf_context_all_gather(xf_context *context, int64_t value, int64_t *values, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        Comm *const comm = use->context->comm();
        Telling own;
        own.run([&] { check_pointer(values, "values"); });
        if (comm != nullptr)
            comm->hear(own.word(), value, own.failed() ? nullptr : values);
        else if (!own.failed())
            *values = value;
        own.rethrow();
    });
}

}  // extern "C"
