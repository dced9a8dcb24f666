// model.h of the public headers: models from and to bytes, and made of other models.
//
// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"
#include "api/io.h"
#include "api/model_handle.h"
#include "nn/summary.h"
#include "train/average.h"
#include "xformer/model.h"

using namespace xf;

namespace {

xf_model *make_handle(std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_model>();
    fill_model_handle(handle.get(), std::move(model), std::move(tokenizer));
    return handle.release();
}

std::shared_ptr<const Tokenizer> tokenizer_of(const xf_model &model) {
    return model.tokenizer != nullptr ? model.tokenizer->tokenizer : nullptr;
}

}  // namespace

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
        *out = make_handle(std::move(model), std::move(tokenizer));
    });
}

xf_status xf_model_inspect(xf_context *context, const xf_source *source, const xf_config *config,
                           xf_model_summary *summary, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const OptionsOf options(config);
        const ModelFile file(open_source(source));
        check_struct(summary, "summary");
        const ModelSummary s = summarize(file, *use->context, *options);
        put_struct(summary, xf_model_summary{0, s.parameters, s.vocab_size, s.file_bytes, s.decode_bytes, s.train_bytes,
                                             s.step, s.has_tokenizer, public_type(s.weights_type)});
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
        contents.tokenizer = tokenizer_json(*use);
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
        *out = make_handle(std::move(model), parse_tokenizer(tokenizer));
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
                           tokenizer_of(*use));
    });
}

}  // extern "C"
