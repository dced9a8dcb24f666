/*
 * support.c - what the tests of examples/paper/parse share; see support.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <string.h>

const char program_name[] = "parse test"; /* what messages of the shared files begin with */

struct tree tree_of(struct labels *labels, const char *text) {
    struct tree tree = {0};
    assert_int_equal(tree_read(&tree, labels, true, text, strlen(text)), TREE_OK);
    return tree;
}
