// Package forked is for a test. It uses an object of the library in a forked process, which Go itself cannot create.
//
// SPDX-License-Identifier: Apache-2.0
package forked

/*
#cgo pkg-config: xformer
#include <sys/wait.h>
#include <unistd.h>
#include <xformer/xformer.h>

// Returns the status of a call in a child process. The child runs no Go code between fork() and _exit().
static int32_t in_child(void *context) {
    int end = 0;
    const pid_t child = fork();
    if (child == 0) {
        xf_memory_stats stats = XF_MEMORY_STATS_INIT;
        _exit(-xf_context_get_memory(context, &stats, NULL));
    }
    if (child < 0 || waitpid(child, &end, 0) != child || !WIFEXITED(end)) return XF_ERROR_INTERNAL;
    return -WEXITSTATUS(end);
}
*/
import "C"

import "unsafe"

// Status returns the status of a call on a context of this process, made in a child process.
func Status(context unsafe.Pointer) int32 {
	return int32(C.in_child(context))
}
