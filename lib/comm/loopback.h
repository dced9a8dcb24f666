// Ranks that are threads of one process: messages are copied from one rank's memory to another's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "xformer/experimental.h"

namespace xf {

// Fills comms[size]. Each table must be closed once.
void make_loopback(xf_comm *comms, int32_t size);

}  // namespace xf
