// The controls of the fake libnccl.so.2, for nccl_test.cpp. See fake_nccl.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
// Sets the function that adds work to an emulated stream: xf_cuda_host_external().
__attribute__((visibility("default"))) void xf_fake_nccl_use(int32_t (*external)(void *stream,
                                                                                 int32_t (*poll)(void *arg),
                                                                                 void *arg));
// Injects a fault on a rank at its exchange number `after`; NULL: none. The kinds:
//     silent   the rank stops sending and receiving
//     stuck    the same, and ncclCommAbort() takes seconds and frees nothing
//     async    the same, and an asynchronous error on that rank
//     flip     one received bit is flipped
//     refuse   ncclSend() returns an error
//     init     the rank never joins
//     usage    ncclCommInitRankConfig() returns an error
//     id       ncclGetUniqueId() returns an error
__attribute__((visibility("default"))) void xf_fake_nccl_fault(const char *what, int32_t rank, int64_t after);
// Returns the number of bytes sent since the last call.
__attribute__((visibility("default"))) int64_t xf_fake_nccl_bytes(void);
}
