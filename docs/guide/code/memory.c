/*
 * memory.c - the host's allocator, the memory account, a budget, and a steady state without allocations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200112L
#include "must.h"

/* [allocator] */
/* Called from any thread, concurrently. posix_memalign() and free() allow that. */
static void *host_alloc(void *user, size_t size, size_t alignment) {
    void *memory = NULL;
    (void)user;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void host_free(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    free(memory);
}
/* [allocator] */

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    const char *const texts[] = {"three two one", "four five six"};

    /* [create] */
    xf_host host = XF_HOST_INIT;
    host.alloc = host_alloc;
    host.free = host_free;
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "context.memory_budget", "64000000", &err));
    must(xf_context_create(config, &host, &context, &err));
    /* [create] */
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    must(xf_decoder_create(model, NULL, config, &decoder, &err));

    /* [steady] */
    xf_memory_stats memory = XF_MEMORY_STATS_INIT;
    int64_t allocations = 0;
    for (int round = 0; round < 10; ++round) {
        xf_hypotheses *hypotheses = NULL;
        must(xf_translate(decoder, texts, NULL, 2, NULL, NULL, &hypotheses, &err));
        xf_hypotheses_free(hypotheses);
        must(xf_context_get_memory(context, &memory, &err));
        if (round == 0) allocations = memory.allocations;
    }
    printf("new allocations after the first call: %d\n", (int)(memory.allocations - allocations));
    printf("peak within the budget: %s\n", memory.peak <= memory.budget ? "yes" : "no");
    /* [steady] */

    /* [refusal] */
    xf_model *large = NULL;
    xf_config_preset(config, "base", NULL);
    xf_config_set(config, "model.vocab_size", "37000", NULL);
    if (xf_model_create(context, NULL, config, &large, &err) == XF_ERROR_NO_MEMORY) printf("%s\n", err.message);
    /* [refusal] */

    xf_model_free(large);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
