// context.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/context.h"

#include "api/guard.h"

using namespace xf;

extern "C" {

xf_status xf_context_create(const xf_config *config, const xf_allocator *allocator, xf_context **out, xf_error *err) {
    return guard(err, [&] {
        check_pointer(out, "out");
        const OptionsOf options(config);
        xf_allocator own{};
        if (allocator != nullptr) {
            own = get_struct(allocator, "allocator");
            XF_CHECK(own.alloc != nullptr && own.free != nullptr, XF_ERROR_INVALID_ARGUMENT,
                     "allocator->alloc or allocator->free is NULL");
        }
        auto handle = std::make_unique<xf_context>();
        handle->context = std::make_shared<Context>(*options, allocator != nullptr ? &own : nullptr);
        *out = handle.release();
    });
}

void xf_context_free(xf_context *context) { free_handle(context); }

xf_status xf_context_set_log(xf_context *context, xf_log_fn fn, void *user, xf_log_level level, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        int number;  // what C may pass is more than what C++ may read as the enumeration
        static_assert(sizeof number == sizeof level);
        std::memcpy(&number, &level, sizeof number);
        XF_CHECK(number >= XF_LOG_ERROR && number <= XF_LOG_DEBUG, XF_ERROR_INVALID_ARGUMENT,
                 "log level %d, expected 0 to 3", number);
        use->context->set_log(fn, user, level);
    });
}

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

}  // extern "C"
