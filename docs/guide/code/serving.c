/*
 * serving.c - an engine: requests with partial results, a deadline, and a cancellation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_engine *engine = NULL;
    xf_source source = XF_SOURCE_PATH("numerals.xf");

    /* [submit] */
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "decode.beam", "1", &err)); /* greedy: partial results come with each token */
    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    must(xf_engine_create(model, NULL, config, &engine, &err));

    xf_request request = XF_REQUEST_INIT;
    uint64_t ids[3];
    request.text = "three two one";
    request.stream = 1;
    must(xf_engine_submit(engine, &request, &ids[0], &err));
    request.text = "five six five";
    request.stream = 0;
    request.priority = 1;        /* begins before waiting requests of priority 0 */
    request.deadline_ms = 60000; /* then ends with its best hypothesis so far */
    must(xf_engine_submit(engine, &request, &ids[1], &err));
    request.text = "one one one";
    must(xf_engine_submit(engine, &request, &ids[2], &err));
    must(xf_engine_cancel(engine, ids[2], &err)); /* XF_DONE if it has already ended */
    /* [submit] */

    /* [events] */
    char results[3][64] = {"", "", ""};
    for (int ended = 0; ended < 3;) {
        xf_event event = XF_EVENT_INIT;
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        must(xf_engine_next(engine, -1, NULL, &event, &err)); /* waits */
        for (int i = 0; i < 3; ++i) {
            if (event.id != ids[i]) continue;
            if (event.status != XF_OK) {
                snprintf(results[i], sizeof results[i], "%s", xf_status_name(event.status));
            } else {
                must(xf_hypotheses_get(event.hypotheses, 0, 0, &best, &err));
                if (!event.last) fprintf(stderr, "so far: '%s'\n", best.text);
                snprintf(results[i], sizeof results[i], "%s", best.text);
            }
        }
        ended += event.last;
        xf_hypotheses_free(event.hypotheses);
    }
    /* [events] */
    printf("%s\n%s\n", results[0], results[1]);
    fprintf(stderr, "cancelled: %s\n", results[2]);

    xf_engine_free(engine);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
