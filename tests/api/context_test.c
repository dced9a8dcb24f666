/*
 * context.h: creating with every wrong argument, the log, the memory account.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static void *plain_alloc(void *user, size_t size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void plain_free(void *user, void *ptr, size_t size) {
    (void)user;
    (void)size;
    free(ptr);
}

static void test_create(void **state) {
    (void)state;
    xf_context *out = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_context_create(world.config, NULL, NULL, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONFIG && wrong_handle(i) != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(wrong_handle(i), NULL, &out, err));

    static const char *const devices[] = {"",          "gpu",       "cpu:nothing", "cpu:99", "cpu:-1",
                                          "cuda:7000", "cpu:ref:0", "CPU",         "cpu:1x", "cpu:99999999999999999999",
                                          "cpu:",      "ref"};
    xf_config *config = small_config("cpu:ref");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        set(config, "context.device", devices[i]);
        REFUSED(XF_ERROR_NOT_FOUND, out, xf_context_create(config, NULL, &out, err));
    }
    set(config, "context.device", "cpu:ref");
    set(config, "context.memory_budget", "1");
    REFUSED(XF_ERROR_NO_MEMORY, out, xf_context_create(config, NULL, &out, err));
    set(config, "context.memory_budget", "0");

    xf_allocator allocator = {sizeof allocator, NULL, plain_alloc, plain_free};
    allocator.struct_size = 0;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &allocator, &out, err));
    allocator.struct_size = sizeof allocator - 1;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &allocator, &out, err));
    allocator.struct_size = SIZE_MAX;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &allocator, &out, err));
    allocator.struct_size = sizeof allocator;
    allocator.alloc = NULL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &allocator, &out, err));
    allocator.alloc = plain_alloc;
    allocator.free = NULL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &allocator, &out, err));
    allocator.free = plain_free;

    struct {
        xf_allocator known;
        uint64_t later[3];
    } larger = {{sizeof larger, NULL, plain_alloc, plain_free}, {0, 0, 1}};
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, &larger.known, &out, err));
    larger.later[2] = 0;
    ACCEPTED(xf_context_create(config, &larger.known, &out, err));
    xf_context_free(out);
    ACCEPTED(xf_context_create(config, &allocator, &out, err));
    xf_context_free(out);
    ACCEPTED(xf_context_create(NULL, NULL, &out, err));
    xf_context_free(out);
    xf_config_free(config);
    xf_context_free(NULL);
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONTEXT) xf_context_free(wrong_handle(i));
}

static void unused_log(void *user, enum xf_log_level level, const char *component, const char *message) {
    (void)user, (void)level, (void)component, (void)message;
}

static void test_refusals(void **state) {
    (void)state;
    REFUSED_HANDLE(CONTEXT, nothing, xf_context_set_log(handle, unused_log, NULL, XF_LOG_INFO, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing,
            xf_context_set_log(world.context, unused_log, NULL, (enum xf_log_level)4, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing,
            xf_context_set_log(world.context, unused_log, NULL, (enum xf_log_level) - 1, err));
    ACCEPTED(xf_context_set_log(world.context, NULL, NULL, XF_LOG_DEBUG, err));
    xf_memory_stats stats;
    memset(&stats, 0x5A, sizeof stats);
    stats.struct_size = sizeof stats;
    REFUSED_HANDLE(CONTEXT, stats, xf_context_get_memory(handle, &stats, err));
    CHECK_OUTPUT_STRUCT(xf_memory_stats, out, xf_context_get_memory(world.context, out, err));
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i == CONTEXT) continue;
        assert_null(xf_context_device(wrong_handle(i)));
        xf_context_cancel(wrong_handle(i));
    }
    assert_non_null(strstr(xf_context_device(world.context), "ref"));
}

struct heard {
    int warnings, others, lines_with_number;
};

static void listen(void *user, enum xf_log_level level, const char *component, const char *message) {
    struct heard *heard = user;
    assert_true(strlen(component) > 0 && strlen(message) > 0);
    ++*(level == XF_LOG_WARNING ? &heard->warnings : &heard->others);
    heard->lines_with_number += strstr(message, "pairs:3:") != NULL;
}

static void test_log(void **state) {
    (void)state;
    static const char text[] = "one\teins\ntwo\tzwei\nno tab here\nthree\tdrei\n\tempty\nfour\tvier\n";
    struct heard heard = {0, 0, 0};
    xf_corpus *corpus = NULL;
    ACCEPTED(xf_context_set_log(world.context, listen, &heard, XF_LOG_WARNING, err));
    ACCEPTED(xf_corpus_from_memory(world.context, NULL, "pairs", text, sizeof text - 1, &corpus, err));
    assert_int_equal(heard.warnings, 3); /* two lines and a summary */
    assert_int_equal(heard.lines_with_number, 1);
    assert_int_equal(heard.others, 0);
    xf_corpus_free(corpus);

    /* A wish for errors only, and silence. */
    ACCEPTED(xf_context_set_log(world.context, listen, &heard, XF_LOG_ERROR, err));
    ACCEPTED(xf_corpus_from_memory(world.context, NULL, "pairs", text, sizeof text - 1, &corpus, err));
    xf_corpus_free(corpus);
    ACCEPTED(xf_context_set_log(world.context, NULL, &heard, XF_LOG_DEBUG, err));
    ACCEPTED(xf_corpus_from_memory(world.context, NULL, "pairs", text, sizeof text - 1, &corpus, err));
    xf_corpus_free(corpus);
    assert_int_equal(heard.warnings + heard.others, 3);
}

/* A number type that no device here has is an error that says which backend has it; recording is nobody's duty. */
static void test_precision(void **state) {
    (void)state;
    xf_config *config = NULL;
    xf_context *out = NULL;
    ACCEPTED(xf_config_create(&config, err));
    ACCEPTED(xf_config_set(config, "context.device", "cpu", err));
    ACCEPTED(xf_config_set(config, "context.precision", "bf16", err));
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, NULL, &out, err));
    xf_error refusal = {0};
    assert_int_equal(xf_context_create(config, NULL, &out, &refusal), XF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(refusal.message, "cuda"));
    assert_int_not_equal(xf_config_set(config, "context.precision", "fp16", &refusal), XF_OK);
    ACCEPTED(xf_config_set(config, "context.precision", "fp32", err));
    ACCEPTED(xf_config_set_i64(config, "context.graphs", 0, err));
    ACCEPTED(xf_context_create(config, NULL, &out, err));
    assert_non_null(strstr(xf_context_device(out), "fp32"));
    xf_context_free(out);
    xf_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_create), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_log), cmocka_unit_test(test_precision)};
    return RUN(tests, world_open, world_close);
}
