/* backends.c - what can compute here, and why something can't. SPDX-License-Identifier: Apache-2.0 */
#include "must.h"

static void log_line(void *user, enum xf_log_level level, const char *component, const char *message) {
    (void)user;
    fprintf(stderr, "%s%s: %s\n", level <= XF_LOG_WARNING ? "! " : "", component, message);
}

static const char *const states[] = {"absent", "found", "unusable", "usable", "active"};

int main(void) {
    xf_context *context = NULL;
    xf_host host = XF_HOST_INIT;
    host.log = log_line;
    host.log_level = XF_LOG_INFO;
    must(xf_context_create(NULL, &host, &context, &err));

    printf("this context: %s\n", xf_context_device(context));
    for (size_t i = 0; i < xf_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        must(xf_backend_get(context, i, &info, &err));
        printf("%c %s (%s), %s%s%s\n", info.state == XF_BACKEND_ACTIVE ? '*' : ' ', info.name, info.kind,
               states[info.state], info.reason[0] != 0 ? ": " : "", info.reason);
    }
    xf_context_free(context);

    xf_config *config = NULL;
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "context.device", "cpu:ref", &err));
    must(xf_config_set(config, "context.threads", "1", &err));
    must(xf_context_create(config, NULL, &context, &err)); /* that device or an error, never another one */
    printf("named: %s\n", xf_context_device(context));
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
