/* backends.c - lists the backends, and why one cannot be used. SPDX-License-Identifier: Apache-2.0 */
#include "must.h"

static void log_line(void *user, const xf_log_line *line) {
    (void)user;
    fprintf(stderr, "%s%s: %s\n", line->level <= XF_LOG_WARNING ? "! " : "", line->component, line->message);
}

static const char *const states[] = {"", "absent", "found", "unusable", "usable", "active"};

static void print_device(const char *title, const xf_context *context) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    must(xf_context_get_info(context, &info, &err));
    printf("%s: %s\n", title, info.description);
}

int main(void) {
    xf_context *context = NULL;
    xf_host host = XF_HOST_INIT;
    host.log = log_line;
    host.log_level = XF_LOG_INFO;
    must(xf_context_create(NULL, &host, &context, &err));

    print_device("this context", context);
    for (size_t i = 0; i < xf_context_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        must(xf_context_get_backend(context, i, &info, &err));
        printf("%c %s (%s), %s%s%s\n", info.state == XF_BACKEND_ACTIVE ? '*' : ' ', info.name, info.kind,
               states[info.state], info.reason[0] != 0 ? ": " : "", info.reason);
    }
    xf_context_free(context);

    xf_config *config = NULL;
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "context.device", "cpu:ref", &err));
    must(xf_config_set(config, "context.threads", "1", &err));
    must(xf_context_create(config, NULL, &context, &err)); /* this device or an error */
    print_device("named", context);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
