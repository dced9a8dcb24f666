// Ranks that are threads of one process: their messages are copied from one's memory to the other's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "xformer/comm.h"

namespace xf {

// Fills comms[size]. Each must be closed once.
void make_loopback(xf_comm *comms, int32_t size);

}  // namespace xf
