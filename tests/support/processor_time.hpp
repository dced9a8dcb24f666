// Processor time of this process in seconds: the cost of a call, independent of the load of the machine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace xf_test {

inline double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace xf_test
