/*
 * Prints the option table, one fact per line, for options.txt: programs that set options by name rely on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "xformer/xformer.h"

static const char *type_name(int32_t type) {
    switch (type) {
        case XF_OPTION_INTEGER:
            return "i64";
        case XF_OPTION_REAL:
            return "f64";
        case XF_OPTION_BOOL:
            return "bool";
        case XF_OPTION_TEXT:
            return "str";
    }
    return "unknown";
}

int main(void) {
    const size_t count = xf_option_count();
    for (size_t i = 0; i < count; ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        xf_error err;
        if (xf_option_get(i, &info, &err) != XF_OK) {
            fprintf(stderr, "option %zu: %s\n", i, err.message);
            return 1;
        }
        printf("%s type = %s\n", info.key, type_name(info.type));
        printf("%s default = %s\n", info.key, info.default_value);
        if (info.type == XF_OPTION_INTEGER || info.type == XF_OPTION_REAL) {
            printf("%s minimum = %.17g\n", info.key, info.minimum);
            printf("%s maximum = %.17g\n", info.key, info.maximum);
        }
        for (const char *at = info.choices; at != NULL;) {
            const char *end = strchr(at, '|');
            const int length = (int)(end != NULL ? end - at : (ptrdiff_t)strlen(at));
            printf("%s choice %.*s = allowed\n", info.key, length, at);
            at = end != NULL ? end + 1 : NULL;
        }
        if (info.type == XF_OPTION_TEXT && info.choices == NULL) printf("%s choice * = allowed\n", info.key);
    }
    return count > 0 ? 0 : 1;
}
