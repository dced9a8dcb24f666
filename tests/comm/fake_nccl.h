// The controls of the fake libnccl.so.2, for nccl_test.cpp. See fake_nccl.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
// How work gets into an emulated stream: xf_cuda_host_external().
__attribute__((visibility("default"))) void xf_fake_nccl_use(int32_t (*external)(void *stream,
                                                                                 int32_t (*poll)(void *arg),
                                                                                 void *arg));
// What goes wrong on a rank, at its exchange number `after`; what NULL: nothing.
//     silent   it neither sends nor receives from there on
//     stuck    the same, and ncclCommAbort() takes seconds and frees nothing
//     async    the same, and an asynchronous error on that rank
//     flip     a bit of what comes is another
//     refuse   ncclSend() returns an error
//     init     it never joins
//     usage    ncclCommInitRankConfig() returns an error
//     id       ncclGetUniqueId() returns an error
__attribute__((visibility("default"))) void xf_fake_nccl_fault(const char *what, int32_t rank, int64_t after);
// Bytes that were sent since the last call.
__attribute__((visibility("default"))) int64_t xf_fake_nccl_bytes(void);
}
