/*
 * line_checks.c - lines with a language tag (examples/translate/line_checks.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "line_checks.h"

#include <stdio.h>
#include <string.h>

static int checks, failed;

static void expect_tag(const char *text, const char *expected) {
    const char *name = NULL;
    const size_t length = language_tag(text, strlen(text), &name);
    ++checks;
    if (length == strlen(expected) && (length == 0 || memcmp(name, expected, length) == 0)) return;
    ++failed;
    printf("FAILED: the tag of '%s' has %zu bytes, expected '%s'\n", text, length, expected);
}

int main(void) {
    expect_tag(">>fra<< Hello", "fra");
    expect_tag("  >>zho_Hans<<Hello", "zho_Hans");
    expect_tag(">>pt-br<<", "pt-br");
    expect_tag(">><< Hello", "");
    expect_tag(">>fra< Hello", "");
    expect_tag(">> fra << Hello", "");
    expect_tag("a >>fra<< Hello", "");
    expect_tag(">>", "");
    expect_tag("", "");
    expect_tag(">>this-is-much-too-long-for-the-name-of-a-language<< Hello", "");
    printf("%d checks, %d failed\n", checks, failed);
    return failed > 0 || checks < 10;
}
