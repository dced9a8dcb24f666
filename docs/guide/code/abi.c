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
    for (size_t i = 0; i < xf_option_count(); ++i)
        if (xf_option_get(i, &info, NULL) == XF_OK && strcmp(info.key, key) == 0) return 1;
    return 0;
}
/* [has_option] */

int main(void) {
    /* [version] */
    if (xf_version_num() < XF_VERSION_NUM) fprintf(stderr, "compiled for a newer library than %s\n", xf_version());
    /* [version] */
    printf("context.graphs: %s\n", has_option("context.graphs") ? "known" : "not known");
    printf("context.magic: %s\n", has_option("context.magic") ? "known" : "not known");

    /* [struct_size] */
    /* What a program that was compiled for a later version does: its struct is larger than the library's. */
    struct {
        xf_memory_stats known;
        int64_t of_a_later_version;
    } stats;
    xf_context *context = NULL;
    must(xf_context_create(NULL, NULL, &context, &err));
    memset(&stats, 0x55, sizeof stats);
    stats.known.struct_size = sizeof stats;
    must(xf_context_get_memory(context, &stats.known, &err));
    printf("a member that the library does not know: %d\n", (int)stats.of_a_later_version);
    /* [struct_size] */
    xf_context_free(context);
    return 0;
}
