// comm.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/comm.h"

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

}  // extern "C"
