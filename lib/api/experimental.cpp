// experimental.h of the public headers, except what is in train.cpp and decode.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/experimental.h"

#include "api/guard.h"
#include "comm/loopback.h"

using namespace xf;

extern "C" {

xf_status xf_comm_loopback(xf_comm *comms, int32_t size, xf_error *err) {
    return guard(err, [&] {
        check_pointer(comms, "comms");
        make_loopback(comms, size);
    });
}

xf_status xf_context_all_gather(xf_context *context, int64_t value, const xf_call *call, int64_t *values,
                                xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        DeferredError own;
        own.run([&] {
            check_pointer(values, "values");
            begin_call(*use->context, call).check();
        });
        use->context->communicator().exchange_status(own.status(), value, own.failed() ? nullptr : values);
        own.rethrow();
    });
}

}  // extern "C"
