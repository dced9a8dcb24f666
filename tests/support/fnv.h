/*
 * A checksum of test results: 64-bit FNV-1a (draft-eastlake-fnv). Adding bytes in several calls gives the checksum of
 * their concatenation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_FNV_H
#define XF_TEST_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define XF_TEST_FNV_INIT UINT64_C(14695981039346656037)

static inline void fnv_add(uint64_t *sum, const void *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    for (size_t i = 0; i < size; ++i) *sum = (*sum ^ bytes[i]) * UINT64_C(1099511628211);
}

/* Adds the bytes of a file; 0 if it cannot be opened. */
static inline int fnv_add_file(uint64_t *sum, const char *path) {
    unsigned char bytes[4096];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) fnv_add(sum, bytes, n);
    fclose(file);
    return 1;
}

#endif
