/* must.h - what the programs of the guides do about errors: tell and end. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUST_H
#define MUST_H

#include <stdio.h>
#include <stdlib.h>
#include <xformer/xformer.h>

static xf_error err;

/* Gives the status back, XF_DONE too, and does not return when it is an error. */
static enum xf_status must(enum xf_status status) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", xf_status_name(status), err.message);
        exit(EXIT_FAILURE);
    }
    return status;
}

#endif
