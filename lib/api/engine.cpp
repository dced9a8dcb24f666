// engine.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/engine.h"

#include "api/decode_handles.h"
#include "api/model_handle.h"
#include "decode/engine.h"

using namespace xf;

struct xf_engine : Handle<0x5846000Au> {
    static constexpr const char *kKind = "an engine";
    // In a forked child, locks may be held by threads that do not exist there, so the engine is not destroyed.
    ~xf_engine() {
        if (context->pid() != process_id()) (void)engine.release();
    }
    // Ends calls that wait; the last one destroys the handle.
    void close() noexcept { engine->close(); }

    std::shared_ptr<Context> context;
    std::unique_ptr<Engine> engine;
};

namespace {

std::string text_of(const char *text, size_t length) {
    if (text == nullptr) return {};
    return length > 0 ? std::string(text, length) : std::string(text);
}

std::vector<int32_t> ids_of(const int32_t *ids, size_t count, const char *name) {
    XF_CHECK(ids != nullptr || count == 0, XF_ERROR_INVALID_ARGUMENT, "%s is NULL with a count of %zu", name, count);
    check_size(count, sizeof *ids, name);
    return {ids, ids + count};
}

EngineRequest request_of(const xf_request &given, int32_t V) {
    XF_CHECK((given.text != nullptr) != (given.source_ids != nullptr), XF_ERROR_INVALID_ARGUMENT,
             "either request->text or request->source_ids must be set");
    XF_CHECK(given.text == nullptr || (given.prefix_ids == nullptr && given.prefix_id_count == 0),
             XF_ERROR_INVALID_ARGUMENT, "request->prefix_ids is set with request->text, which takes request->prefix");
    XF_CHECK(given.source_ids == nullptr || given.prefix == nullptr, XF_ERROR_INVALID_ARGUMENT,
             "request->prefix is set with request->source_ids, which takes request->prefix_ids");
    XF_CHECK(given.priority >= -1000 && given.priority <= 1000, XF_ERROR_OUT_OF_RANGE,
             "request->priority is %d, expected -1000 to 1000", given.priority);
    XF_CHECK(given.deadline_ms >= 0, XF_ERROR_OUT_OF_RANGE, "request->deadline_ms is %" PRId64 ", expected 0 or more",
             given.deadline_ms);
    XF_CHECK(given.stream == 0 || given.stream == 1, XF_ERROR_INVALID_ARGUMENT,
             "request->stream is %d, expected 0 or 1", given.stream);
    EngineRequest request;
    request.is_text = given.text != nullptr;
    request.text = text_of(given.text, given.text_length);
    request.prefix = text_of(given.prefix, given.prefix_length);
    request.ids = ids_of(given.source_ids, given.source_id_count, "request->source_ids");
    request.prefix_ids = ids_of(given.prefix_ids, given.prefix_id_count, "request->prefix_ids");
    if (given.config != nullptr) request.options = *OptionsOf(given.config);
    request.constraint = constraint_of(given.constraint, "request->constraint", V);
    request.deadline_ms = given.deadline_ms;
    request.priority = given.priority;
    request.stream = given.stream != 0;
    request.user = given.user;
    return request;
}

}  // namespace

extern "C" {

xf_status xf_engine_create(const xf_model *model, const xf_decode_models *more, const xf_config *config,
                           xf_engine **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_pointer(out, "out");
        auto handle = std::make_unique<xf_engine>();
        handle->context = use->context;
        handle->engine = std::make_unique<Engine>(models_of(*use, more), tokenizer_of(*use), *OptionsOf(config));
        *out = handle.release();
    });
}

void xf_engine_free(xf_engine *engine) { free_handle(engine); }

xf_status xf_engine_submit(xf_engine *engine, const xf_request *request, uint64_t *id, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(engine, "engine");
        const xf_request given = get_struct(request, "request");
        check_pointer(id, "id");
        *id = use->engine->submit(request_of(given, use->engine->vocab_size()));
    });
}

xf_status xf_engine_cancel(xf_engine *engine, uint64_t id, xf_error *err) {
    return guard(err, [&]() -> xf_status {
        const auto use = shared(engine, "engine");
        return use->engine->cancel(id) ? XF_OK : XF_DONE;
    });
}

xf_status xf_engine_next(xf_engine *engine, int64_t timeout_ms, const xf_call *call, xf_event *event, xf_error *err) {
    return guard(err, [&]() -> xf_status {
        const auto use = shared(engine, "engine");
        check_struct(event, "event");
        const Call own = begin_call(*use->context, call);
        auto hypotheses = std::make_unique<xf_hypotheses>();
        hypotheses->outcomes.resize(1);
        EngineEvent next;
        if (!use->engine->next(timeout_ms, own, &next)) return XF_DONE;
        const xf_status status = next.outcome.status;
        hypotheses->has_text = next.has_text;
        hypotheses->outcomes[0] = std::move(next.outcome);
        put_struct(event, xf_event{0, next.id, next.user, hypotheses.release(), next.model_hash, next.last, status});
        return XF_OK;
    });
}

xf_status xf_engine_step(xf_engine *engine, xf_error *err) {
    return guard(err, [&]() -> xf_status {
        const auto use = shared(engine, "engine");
        return use->engine->step() ? XF_OK : XF_DONE;
    });
}

xf_status xf_engine_set_model(xf_engine *engine, const xf_model *model, const xf_decode_models *more, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(engine, "engine");
        const auto next = shared(model, "model");
        use->engine->set_models(models_of(*next, more), tokenizer_of(*next));
    });
}

xf_status xf_engine_get_info(const xf_engine *engine, xf_engine_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(engine, "engine");
        check_struct(info, "info");
        const EngineStats s = use->engine->stats();
        put_struct(info, xf_engine_info{0, s.waiting, s.active, s.events, s.submitted, s.completed, s.cancelled,
                                        s.failed, s.steps, s.rows, s.encoder_passes, s.restarts, s.model_hash,
                                        static_cast<int32_t>(s.models), use->engine->descriptor()});
    });
}

}  // extern "C"
