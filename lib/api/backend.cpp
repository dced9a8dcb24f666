// backend.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/backend.h"

#include "api/guard.h"

using namespace xf;

extern "C" {

size_t xf_context_backend_count(const xf_context *context) {
    return is_handle(context) ? context->context->registry().entries().size() : 0;
}

xf_status xf_context_get_backend(const xf_context *context, size_t index, xf_backend_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_struct(info, "info");
        const auto &entries = use->context->registry().entries();
        XF_CHECK(index < entries.size(), XF_ERROR_OUT_OF_RANGE, "the backend index is %zu, expected 0 to %zu", index,
                 entries.size() - 1);
        const BackendEntry &entry = entries[index];
        put_struct(info, xf_backend_info{0, entry.name.c_str(), entry.version.c_str(), entry.path.c_str(),
                                         entry.kind.c_str(), entry.state, entry.device_count, entry.reason.c_str()});
    });
}

}  // extern "C"
