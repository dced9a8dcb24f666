// context.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/context.h"

#include "api/guard.h"

using namespace xf;

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
            if (own.log_level == 0) own.log_level = XF_LOG_WARNING;
            XF_CHECK(own.log_level >= XF_LOG_ERROR && own.log_level <= XF_LOG_DEBUG, XF_ERROR_INVALID_ARGUMENT,
                     "host->log_level is %d, expected 0 to %d", own.log_level, XF_LOG_DEBUG);
            XF_CHECK(own.reserved == 0, XF_ERROR_UNSUPPORTED, "host->reserved is %d, expected 0", own.reserved);
        }
        xf_comm comm{};
        if (own.comm != nullptr) {
            comm = get_struct(own.comm, "host->comm", offsetof(xf_comm, ranks_per_machine));
            own.comm = &comm;
        }
        auto handle = std::make_unique<xf_context>();
        handle->context = std::make_shared<Context>(*options, &own);
        handle->context->take_ownership();
        *out = handle.release();
    });
}

void xf_context_free(xf_context *context) { free_handle(context); }

void xf_context_cancel(xf_context *context) {
    if (is_handle(context)) context->context->cancel();
}

xf_status xf_context_get_info(const xf_context *context, xf_context_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_struct(info, "info");
        Context &c = *use->context;
        put_struct(info, xf_context_info{0, c.description().c_str(), c.active().name.c_str(), c.device_name().c_str(),
                                         c.isa().c_str(), c.dtype() == XF_BF16 ? XF_TYPE_BF16 : XF_TYPE_FP32,
                                         c.pool().workers(), c.communicator().rank(), c.communicator().size()});
    });
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
