// model.h of the public headers: models from and to bytes, and made of other models.
//
// SPDX-License-Identifier: Apache-2.0
#include "api/io.h"
#include "api/model_handle.h"
#include "nn/summary.h"
#include "text/tokenizer.h"
#include "train/average.h"
#include "xformer/model.h"

using namespace xf;

extern "C" {

xf_status xf_model_load(xf_context *context, const xf_source *source, const xf_config *config, const xf_call *call,
                        xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        auto input = open_source(source);
        const OptionsOf options(config);
        check_pointer(out, "out");
        const Call own = begin_call(*use->context, call);
        const ModelFile file(std::move(input));
        auto tokenizer = parse_tokenizer(file.contents().tokenizer);
        const std::string name = format("'%s'", file.path().c_str());
        auto model = file.make_model(use->context, use->context->weights_type(options->text("model.weights"),
                                                                              file.weights_type(), name.c_str()));
        Stream stream(use->context->device());
        file.load(*model, stream, {}, own);
        use->context->log(XF_LOG_INFO, "model", "loaded %s", name.c_str());
        *out = make_handle(std::move(model), std::move(tokenizer)).release();
    });
}

xf_status xf_model_inspect(xf_context *context, const xf_source *source, const xf_config *config,
                           xf_model_summary *summary, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const OptionsOf options(config);
        const ModelFile file(open_source(source));
        check_struct(summary, "summary");
        put_struct(summary, summarize(file, *use->context, *options));
    });
}

xf_status xf_model_save(const xf_model *model, const xf_config *config, const xf_call *call, const xf_sink *sink,
                        xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const OptionsOf options(config);
        const Sink to(sink);
        const Call own = begin_call(*use->context, call);
        FileContents contents;
        contents.kind = "model";
        contents.weights_type = weights_named(options->text("model.weights"), use->model->weights_type());
        contents.tokenizer = tokenizer_json_of(*use);
        const ModelUse parameters(*use->model, false);
        Stream stream(use->context->device());
        to.save([&](Output *output) { save_model(output, to.name(), *use->model, stream, contents, {}, own); });
    });
}

xf_status xf_model_average(xf_context *context, const xf_source *sources, size_t count, const xf_call *call,
                           xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(sources, "sources");
        check_pointer(out, "out");
        XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
        check_size(count, sizeof *sources, "count");
        const Call own = begin_call(*use->context, call);
        std::string tokenizer;
        auto model = average_files(
            use->context, count, [&](size_t i) { return open_source(element(sources, i, "sources")); }, &tokenizer,
            own);
        *out = make_handle(std::move(model), parse_tokenizer(tokenizer)).release();
    });
}

xf_status xf_model_copy(const xf_model *model, xf_context *context, const xf_config *config, const xf_call *call,
                        xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const OptionsOf options(config);
        check_pointer(out, "out");
        const auto where = context != nullptr ? shared(context, "context")->context : use->context;
        const ModelUse parameters(*use->model, false);
        *out = make_handle(use->model->copy_to(where, options->text("model.weights"), begin_call(*where, call)),
                           tokenizer_of(*use))
                   .release();
    });
}

}  // extern "C"
