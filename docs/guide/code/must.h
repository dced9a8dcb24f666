/* must.h - how the programs of the guides handle errors: print the message and exit. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef MUST_H
#define MUST_H

#include <stdio.h>
#include <stdlib.h>
#include <xformer/xformer.h>

static xf_error err;

/* Prints an error and exits. Returns the status, XF_OK or XF_DONE, if it is not an error. */
static xf_status must(xf_status status) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", xf_status_name(status), err.message);
        exit(EXIT_FAILURE);
    }
    return status;
}

#endif
