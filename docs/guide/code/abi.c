/*
 * abi.c - a program that works with older and newer libraries than the one it was compiled for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* [has_option] */
static int has_option(const char *key) {
    xf_option_info info = XF_OPTION_INFO_INIT;
    return xf_option_find(key, &info, NULL) == XF_OK;
}
/* [has_option] */

int main(void) {
    /* [version] */
    if (xf_version_num() < XF_VERSION_NUM) fprintf(stderr, "compiled for a newer library than %s\n", xf_version());
    /* [version] */
    printf("context.threads: %s\n", has_option("context.threads") ? "known" : "unknown");
    printf("context.magic: %s\n", has_option("context.magic") ? "known" : "unknown");

    /* [struct_size] */
    /* This is how a program that was compiled for a later version calls the library: with a larger struct. */
    struct {
        xf_memory_stats known;
        int64_t added_later;
    } stats;
    xf_context *context = NULL;
    must(xf_context_create(NULL, NULL, &context, &err));
    memset(&stats, 0x55, sizeof stats);
    stats.known.struct_size = sizeof stats;
    must(xf_context_get_memory(context, &stats.known, &err));
    printf("a member that is unknown to the library: %d\n", (int)stats.added_later);
    /* [struct_size] */
    xf_context_free(context);
    return 0;
}
