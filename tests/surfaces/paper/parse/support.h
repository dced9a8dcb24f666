/*
 * support.h - what the tests of examples/paper/parse share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_TEST_SUPPORT_H
#define PARSE_TEST_SUPPORT_H

#include "../../../support/c_test.h"
#include "tree.h"

/* Reads a tree from text, adding new labels; it need not be a tree. */
struct tree tree_of(struct labels *labels, const char *text);

#endif
