/*
 * engine.h: refusals, events and their order, streaming, cancellation, deadlines, new models, forks, and memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "support.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xformer/experimental.h"

static const char *const texts[] = {"one two three", "four one", "two two four one", "three", "", "one one one four"};
enum { TEXTS = sizeof texts / sizeof *texts };

/* An engine on the world's model that computes in xf_engine_step(). */
static xf_engine *stepped(const char *key, const char *value) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "engine.thread", "false");
    if (key != NULL) set(config, key, value);
    xf_engine *engine = NULL;
    ACCEPTED(xf_engine_create(world.model, NULL, config, &engine, err));
    return engine;
}

static xf_request text_request(const char *text) {
    xf_request request = XF_REQUEST_INIT;
    request.text = text;
    return request;
}

static uint64_t submit(xf_engine *engine, const xf_request *request) {
    uint64_t id = 0;
    ACCEPTED(xf_engine_submit(engine, request, &id, err));
    return id;
}

static void run(xf_engine *engine) {
    xf_status status = XF_OK;
    while (status == XF_OK) status = xf_engine_step(engine, NULL);
    assert_int_equal(status, XF_DONE);
}

/* The next event, whose hypotheses the caller frees. */
static xf_event next_event(xf_engine *engine) {
    xf_event event = XF_EVENT_INIT;
    ACCEPTED(xf_engine_next(engine, 20000, NULL, &event, err));
    return event;
}

/* The best hypothesis of an event, or of sentence s of a call. */
static xf_hypothesis best(const xf_hypotheses *hypotheses, size_t s) {
    xf_hypothesis h = XF_HYPOTHESIS_INIT;
    ACCEPTED(xf_hypotheses_get(hypotheses, s, 0, &h, err));
    return h;
}

TEST(refusals) {
    uint64_t id = 99;
    const xf_request request = text_request("one");
    OWNED(engine) *engine = stepped("engine.max_requests", "2");
    static const int32_t ids[] = {5, 6, TOKEN_END};
    const xf_request empty = XF_REQUEST_INIT;
    xf_request of_ids = empty;
    of_ids.source_ids = ids;
    of_ids.source_id_count = 3;
    const xf_status invalid = XF_ERROR_INVALID_ARGUMENT, range = XF_ERROR_OUT_OF_RANGE;
#define WRONG(status, from, change) \
    CHANGED(xf_request, r, from, change, REFUSED(status, id, xf_engine_submit(engine, &r, &id, err)))
    WRONG(invalid, empty, priority = 0); /* neither text nor ids */
    WRONG(invalid, request, source_ids = ids);
    WRONG(invalid, request, prefix_ids = ids);
    WRONG(invalid, request, prefix_id_count = 1);
    WRONG(invalid, of_ids, prefix = "one");
    WRONG(invalid, of_ids, prefix_id_count = 1);
    WRONG(invalid, of_ids, source_id_count = (size_t)-1);
    WRONG(range, request, priority = 1001);
    WRONG(range, request, priority = INT32_MIN);
    WRONG(range, request, deadline_ms = -1);
    WRONG(invalid, request, stream = 2);
    WRONG(invalid, request, struct_size = 0);
    WRONG(invalid, request, config = (const xf_config *)(const void *)world.model);
    const xf_constraint no_function = XF_CONSTRAINT_INIT;
    WRONG(invalid, request, constraint = &no_function);
    REFUSED(XF_ERROR_NOT_FOUND, id, xf_engine_cancel(engine, 1, err));
    REFUSED(XF_ERROR_NOT_FOUND, id, xf_engine_cancel(engine, 0, err));
    submit(engine, &request);
    submit(engine, &request);
    REFUSED(XF_ERROR_BUSY, id, xf_engine_submit(engine, &request, &id, err));
    run(engine);
    REFUSED(XF_ERROR_BUSY, id, xf_engine_submit(engine, &request, &id, err)); /* events were not received */
    xf_event first = next_event(engine);
    xf_hypotheses_free(first.hypotheses);
    submit(engine, &request);
    /* A model of another context, and one that is being trained. */
    OWNED_CONTEXT *context = context_on("cpu:ref");
    MAKE(model, foreign, xf_model_copy(world.model, context, NULL, NULL, &foreign, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, id, xf_engine_set_model(engine, foreign, NULL, err));
    REFUSED(XF_ERROR_BUSY, nothing, xf_train_step(world.trainer, &two_pairs, 1, NULL, NULL, err));
}

/* Requests with texts, ids, prefixes, and options have the results of the decoder. */
TEST(results_are_those_of_the_decoder) {
    ON_EACH_DEVICE(d) {
        OWNED_CONFIG *config = small_config(cpu_devices[d]);
        MAKE(context, context, xf_context_create(config, NULL, &context, err));
        MAKE(model, model, xf_model_copy(world.model, context, NULL, NULL, &model, err));
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        MAKE(engine, engine, xf_engine_create(model, NULL, config, &engine, err));
        for (int beam = 1; beam <= 3; beam += 2) {
            OWNED_CONFIG *options = NULL;
            ACCEPTED(xf_config_create(&options, err));
            set(options, "decode.beam", beam == 1 ? "1" : "3");
            set(options, "decode.alignment", beam == 1 ? "false" : "true");
            xf_decode_params params = XF_DECODE_PARAMS_INIT;
            params.config = options;
            const char *const prefixes[TEXTS] = {"eins", NULL, "zwei zwei", NULL, NULL, NULL};
            params.prefixes = prefixes;
            MAKE(hypotheses, expected, xf_translate(decoder, texts, NULL, TEXTS, &params, NULL, &expected, err));
            for (size_t i = 0; i < TEXTS; ++i) {
                xf_request request = text_request(texts[i]);
                request.prefix = prefixes[i];
                request.config = options;
                request.user = &params;
                const uint64_t id = submit(engine, &request);
                xf_event event = next_event(engine);
                assert_int_equal(event.id, id);
                assert_ptr_equal(event.user, &params);
                assert_int_equal(event.last, 1);
                assert_int_equal(event.status, XF_OK);
                const xf_hypothesis found = best(event.hypotheses, 0), wanted = best(expected, i);
                assert_string_equal(found.text, wanted.text);
                assert_memory_equal(&found.score, &wanted.score, sizeof found.score);
                assert_int_equal(found.alignment == NULL, wanted.alignment == NULL);
                assert_int_equal(found.alignment == NULL, beam == 1 || wanted.id_count == 0);
                if (found.alignment != NULL) {
                    assert_memory_equal(found.alignment, wanted.alignment, wanted.id_count * sizeof(int32_t));
                    assert_memory_equal(found.text_ends, wanted.text_ends, wanted.id_count * sizeof(size_t));
                }
                assert_int_equal(hypothesis_count(event.hypotheses, 0), hypothesis_count(expected, i));
                xf_hypotheses_free(event.hypotheses);
            }
        }
        xf_request of_ids = XF_REQUEST_INIT;
        of_ids.source_ids = two_pairs.src_ids;
        of_ids.source_id_count = 3;
        submit(engine, &of_ids);
        MAKE(hypotheses, expected, xf_decode(decoder, &one_pair, NULL, NULL, &expected, err));
        xf_event event = next_event(engine);
        const xf_hypothesis found = best(event.hypotheses, 0), wanted = best(expected, 0);
        assert_int_equal(found.id_count, wanted.id_count);
        assert_memory_equal(found.ids, wanted.ids, found.id_count * sizeof *found.ids);
        xf_hypotheses_free(event.hypotheses);
    }
}

TEST(invalid_texts_are_accepted_and_fail) {
    OWNED(engine) *engine = stepped(NULL, NULL);
    xf_request request = text_request("\xFF");
    const uint64_t id = submit(engine, &request);
    run(engine);
    xf_event event = next_event(engine);
    assert_int_equal(event.id, id);
    assert_int_equal(event.status, XF_ERROR_DATA);
    assert_int_equal(event.model_hash, 0);
    xf_error why;
    assert_int_equal(sentence_status(event.hypotheses, 0, &why), XF_ERROR_DATA);
    assert_true(why.message[0] != 0);
    xf_hypotheses_free(event.hypotheses);
}

/* Partial results only grow, consist of whole characters, and begin the last result. */
TEST(partial_results_are_never_taken_back) {
    for (int i = 0; i < 150; ++i)
        assert_true(xf_train_next(world.trainer, world.batcher, NULL, NULL, NULL) >=
                    XF_OK); /* or the end of an epoch */
    for (int beam = 1; beam <= 4; beam += 3) {
        OWNED_CONFIG *config = small_config("cpu:ref");
        set(config, "engine.thread", "false");
        set(config, "decode.min_tokens", "6");
        set(config, "decode.beam", beam == 1 ? "1" : "4");
        MAKE(engine, engine, xf_engine_create(world.model, NULL, config, &engine, err));
        int partial = 0;
        for (size_t i = 0; i < TEXTS; ++i) {
            xf_request request = text_request(texts[i]);
            request.stream = 1;
            submit(engine, &request);
            char before[512] = "";
            for (int last = 0; !last;) {
                (void)xf_engine_step(engine, NULL);
                xf_event event = XF_EVENT_INIT;
                const xf_status status = xf_engine_next(engine, 0, NULL, &event, NULL);
                if (status == XF_DONE) continue;
                assert_int_equal(status, XF_OK);
                const xf_hypothesis h = best(event.hypotheses, 0);
                assert_memory_equal(h.text, before, strlen(before));
                last = event.last;
                if (!last) {
                    assert_true(h.text_length > strlen(before));
                    assert_int_equal(h.complete, 0);
                    assert_null(strstr(h.text, "\xEF\xBF\xBD"));
                    ++partial;
                }
                snprintf(before, sizeof before, "%s", h.text);
                xf_hypotheses_free(event.hypotheses);
            }
        }
        if (beam == 1) assert_true(partial > 0);
    }
}

static int32_t slow_steps(void *user, const xf_constraint_step *step) {
    (void)step;
    usleep(*(const useconds_t *)user);
    return 0;
}
static int32_t failing(void *user, const xf_constraint_step *step) {
    (void)user;
    (void)step;
    return 7;
}

TEST(requests_end_early) {
    OWNED(engine) *engine = stepped("decode.min_tokens", "6");
    const useconds_t millisecond = 1000;
    xf_constraint slow = XF_CONSTRAINT_INIT, fails = XF_CONSTRAINT_INIT;
    slow.function = slow_steps;
    slow.user = (void *)&millisecond;
    fails.function = failing;
    const xf_status expected[] = {XF_OK, XF_ERROR_CALLBACK, XF_ERROR_CANCELLED, XF_ERROR_CANCELLED, XF_OK};
    xf_request requests[5];
    uint64_t ids[5];
    for (int i = 0; i < 5; ++i) {
        requests[i] = text_request(texts[i % 3]);
        if (i == 0) requests[i].deadline_ms = 2;
        if (i == 0) requests[i].constraint = &slow;
        if (i == 1) requests[i].constraint = &fails;
        ids[i] = submit(engine, &requests[i]);
    }
    ACCEPTED(xf_engine_cancel(engine, ids[2], err)); /* before it begins */
    ACCEPTED(xf_engine_step(engine, err));
    ACCEPTED(xf_engine_cancel(engine, ids[3], err));
    run(engine);
    assert_int_equal(xf_engine_cancel(engine, ids[3], NULL), XF_DONE);
    int seen = 0;
    for (int i = 0; i < 5; ++i) {
        xf_event event = next_event(engine);
        const size_t at = (size_t)(event.id - ids[0]);
        assert_int_equal(event.last, 1);
        seen |= 1 << at;
        if (at == 0 && event.status == XF_ERROR_DEADLINE) { /* the machine was too slow to begin */
        } else {
            assert_int_equal(event.status, expected[at]);
            if (event.status == XF_OK) assert_int_equal(best(event.hypotheses, 0).complete, at == 4);
        }
        xf_hypotheses_free(event.hypotheses);
    }
    assert_int_equal(seen, 31);
    PAINTED(xf_engine_info, info);
    ACCEPTED(xf_engine_get_info(engine, &info, err));
    assert_int_equal(info.submitted, 5);
    assert_int_equal(info.cancelled, 2);
    assert_int_equal(info.completed + info.failed, 3);
    assert_int_equal(info.waiting + info.active + info.events, 0);
    /* Cancelling the context ends its requests. */
    submit(engine, &requests[4]);
    ACCEPTED(xf_engine_step(engine, err));
    xf_context_cancel(world.context);
    run(engine);
    xf_event event = next_event(engine);
    assert_int_equal(event.status, XF_ERROR_CANCELLED);
    xf_hypotheses_free(event.hypotheses);
}

TEST(waiting_for_events) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    MAKE(engine, engine, xf_engine_create(world.model, NULL, config, &engine, err));
    xf_event event = XF_EVENT_INIT;
    assert_int_equal(xf_engine_next(engine, 0, NULL, &event, NULL), XF_DONE);
    assert_int_equal(xf_engine_next(engine, 3, NULL, &event, NULL), XF_DONE);
    const volatile int32_t set_before = 1;
    xf_call call = XF_CALL_INIT;
    call.cancelled = &set_before;
    REFUSED(XF_ERROR_CANCELLED, event, xf_engine_next(engine, -1, &call, &event, err));
    call.cancelled = NULL;
    call.deadline_ms = 5;
    REFUSED(XF_ERROR_DEADLINE, event, xf_engine_next(engine, -1, &call, &event, err));
    REFUSED(XF_ERROR_STATE, nothing, xf_engine_step(engine, err));
    PAINTED(xf_engine_info, info);
    ACCEPTED(xf_engine_get_info(engine, &info, err));
    if (info.descriptor < 0) return; /* Windows */
    struct pollfd descriptor = {info.descriptor, POLLIN, 0};
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    const xf_request request = text_request("one two");
    submit(engine, &request);
    assert_int_equal(poll(&descriptor, 1, 20000), 1);
    ACCEPTED(xf_engine_next(engine, 0, NULL, &event, err));
    xf_hypotheses_free(event.hypotheses);
    /* The longest times. */
    xf_request patient = request;
    patient.deadline_ms = INT64_MAX;
    submit(engine, &patient);
    ACCEPTED(xf_engine_next(engine, INT64_MAX, NULL, &event, err));
    assert_int_equal(best(event.hypotheses, 0).complete, 1);
    xf_hypotheses_free(event.hypotheses);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    /* The engine is freed with events that were not received. */
    submit(engine, &request);
    submit(engine, &request);
}

TEST(a_new_model_decodes_the_requests_that_begin_later) {
    OWNED(engine) *engine = stepped(NULL, NULL);
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "model.seed", "77");
    MAKE(model, other, xf_model_create(world.context, world.tokenizer, config, &other, err));
    MAKE(model, copy, xf_model_copy(world.model, world.context, NULL, NULL, &copy, err));
    PAINTED(xf_engine_info, before);
    PAINTED(xf_engine_info, after);
    ACCEPTED(xf_engine_get_info(engine, &before, err));
    const xf_request request = text_request("one two three four");
    submit(engine, &request);
    ACCEPTED(xf_engine_step(engine, err));
    ACCEPTED(xf_engine_set_model(engine, other, NULL, err));
    ACCEPTED(xf_engine_get_info(engine, &after, err));
    assert_int_equal(after.model_count, 2);
    assert_true(after.model_hash != before.model_hash);
    submit(engine, &request);
    run(engine);
    uint64_t hashes[2];
    for (int i = 0; i < 2; ++i) {
        xf_event event = next_event(engine);
        hashes[event.id - 1] = event.model_hash;
        xf_hypotheses_free(event.hypotheses);
    }
    assert_int_equal(hashes[0], before.model_hash);
    assert_int_equal(hashes[1], after.model_hash);
    /* The world's model can be trained again, and a copy has its hash. */
    ACCEPTED(xf_engine_set_model(engine, copy, NULL, err));
    ACCEPTED(xf_engine_get_info(engine, &after, err));
    assert_int_equal(after.model_hash, before.model_hash);
    ACCEPTED(xf_train_step(world.trainer, &two_pairs, 1, NULL, NULL, err));
}

/* Several models decode as in a decoder, and all of them are locked until the engine does not use them. */
TEST(several_models) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "model.decoder_layers", "4");
    set(config, "model.seed", "78");
    set(config, "decode.beam", "1");
    set(config, "engine.thread", "false");
    MAKE(model, deep, xf_model_create(world.context, world.tokenizer, config, &deep, err));
    MAKE(model, first, xf_model_copy(world.model, NULL, NULL, NULL, &first, err));
    const xf_model *const others[] = {world.model};
    const xf_decode_models ensemble = {sizeof ensemble, others, 1, NULL}, draft = {sizeof draft, NULL, 0, world.model};
    MAKE(decoder, together, xf_decoder_create(deep, &ensemble, config, &together, err));
    MAKE(decoder, plain, xf_decoder_create(deep, NULL, config, &plain, err));
    MAKE(engine, engine, xf_engine_create(deep, &ensemble, config, &engine, err));
    uint64_t hashes[3];
    for (int use = 0; use < 3; ++use) { /* an ensemble, a draft, one model */
        if (use > 0) ACCEPTED(xf_engine_set_model(engine, deep, use == 1 ? &draft : NULL, err));
        if (use < 2) REFUSED(XF_ERROR_BUSY, nothing, xf_train_step(world.trainer, &two_pairs, 1, NULL, NULL, err));
        MAKE(hypotheses, expected,
             xf_translate(use == 0 ? together : plain, texts, NULL, TEXTS, NULL, NULL, &expected, err));
        uint64_t ids[TEXTS];
        for (size_t i = 0; i < TEXTS; ++i) {
            const xf_request request = text_request(texts[i]);
            ids[i] = submit(engine, &request);
        }
        run(engine);
        PAINTED(xf_engine_info, info);
        ACCEPTED(xf_engine_get_info(engine, &info, err));
        assert_int_equal(info.model_count, 1);
        hashes[use] = info.model_hash;
        for (size_t i = 0; i < TEXTS; ++i) {
            xf_event event = next_event(engine);
            const size_t at = (size_t)(event.id - ids[0]);
            const xf_hypothesis found = best(event.hypotheses, 0), wanted = best(expected, at);
            assert_string_equal(found.text, wanted.text);
            assert_memory_equal(&found.score, &wanted.score, sizeof found.score);
            assert_int_equal(event.model_hash, texts[at][0] != 0 ? info.model_hash : 0); /* "" never begins */
            xf_hypotheses_free(event.hypotheses);
        }
    }
    assert_true(hashes[0] != hashes[1]);
    assert_int_equal(hashes[1], hashes[2]); /* a draft does not change results */
    ACCEPTED(xf_train_step(world.trainer, &two_pairs, 1, NULL, NULL, err));

    /* An engine that refuses models keeps its own. */
    PAINTED(xf_engine_info, info);
    CHANGED(xf_decode_models, m, draft, struct_size = 0,
            REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_engine_set_model(engine, first, &m, err)));
    CHANGED(xf_decode_models, m, ensemble, draft = first,
            REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_engine_set_model(engine, first, &m, err)));
    ACCEPTED(xf_engine_get_info(engine, &info, err));
    assert_int_equal(info.model_hash, hashes[2]);
}

/* With this many bytes besides the model: the number of requests that succeed, and of those that begin again. */
static int succeed_within(int64_t bytes, int64_t *restarts) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    MAKE(context, unlimited, xf_context_create(config, NULL, &unlimited, err));
    MAKE(model, model, xf_model_copy(world.model, unlimited, NULL, NULL, &model, err));
    xf_memory_stats memory = XF_MEMORY_STATS_INIT;
    ACCEPTED(xf_context_get_memory(unlimited, &memory, err));
    char budget[32];
    snprintf(budget, sizeof budget, "%lld", (long long)(memory.current + bytes));
    set(config, "context.memory_budget", budget);
    set(config, "engine.thread", "false");
    MAKE(context, context, xf_context_create(config, NULL, &context, err));
    MAKE(model, own, xf_model_copy(world.model, context, NULL, NULL, &own, err));
    MAKE(engine, engine, xf_engine_create(own, NULL, config, &engine, err));
    enum { COUNT = 24 };
    for (int i = 0; i < COUNT; ++i) {
        const xf_request request = text_request(texts[i % 4]);
        submit(engine, &request);
    }
    run(engine);
    int ok = 0;
    for (int i = 0; i < COUNT; ++i) {
        xf_event event = next_event(engine);
        assert_true(event.status == XF_OK || event.status == XF_ERROR_NO_MEMORY);
        ok += event.status == XF_OK;
        xf_hypotheses_free(event.hypotheses);
    }
    PAINTED(xf_engine_info, info);
    ACCEPTED(xf_engine_get_info(engine, &info, err));
    *restarts = info.restarts;
    return ok;
}

/* With less and less memory: all at once; then fewer at a time, but all; then none. */
TEST(a_memory_budget_limits_the_number_of_active_requests) {
    int64_t restarts = 0;
    int fewer_at_a_time = 0, ok = 24;
    for (int64_t bytes = 1 << 21; ok > 0; bytes = bytes * 3 / 4) {
        ok = succeed_within(bytes, &restarts);
        assert_true(ok == 24 || restarts > 0);
        fewer_at_a_time += ok == 24 && restarts > 0;
    }
    assert_true(fewer_at_a_time > 0);
}

TEST(a_forked_child_can_only_free_the_engine) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    MAKE(engine, engine, xf_engine_create(world.model, NULL, config, &engine, err));
    const xf_request request = text_request("one");
    submit(engine, &request);
    const pid_t child = fork();
    if (child == 0) {
        uint64_t id;
        const int refused = xf_engine_submit(engine, &request, &id, NULL) == XF_ERROR_FORKED;
        xf_engine_free(engine);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    xf_event event = next_event(engine);
    xf_hypotheses_free(event.hypotheses);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
