// model.h of the public headers: models from and to bytes, and made of other models.
//
// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"
#include "api/model_handle.h"
#include "core/checked.h"
#include "nn/summary.h"
#include "train/average.h"
#include "xformer/model.h"

using namespace xf;

namespace {

std::shared_ptr<const Input> open_source(const xf_source *in) {
    const xf_source source = get_struct(in, "source");
    const int given = (source.path != nullptr) + (source.data != nullptr) + (source.read != nullptr) + (source.fd >= 0);
    XF_CHECK(given == 1, XF_ERROR_INVALID_ARGUMENT, "%d of the source's path, data, read and fd are given, expected 1",
             given);
    XF_CHECK(source.reserved == 0, XF_ERROR_UNSUPPORTED, "source->reserved is %d, expected 0", source.reserved);
    if (source.path != nullptr) return std::make_shared<InputFile>(source.path);
    if (source.fd >= 0) return std::make_shared<InputFile>(source.fd);
    if (source.read != nullptr) return std::make_shared<CallbackInput>(source.read, source.read_user, source.size);
    return std::make_shared<MemoryInput>(source.data, source.size);
}

xf_model *make_handle(std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_model>();
    fill_model_handle(handle.get(), std::move(model), std::move(tokenizer));
    return handle.release();
}

xf_model *load(const std::shared_ptr<Context> &context, std::shared_ptr<const Input> input) {
    const Call call = context->call();
    const ModelFile file(std::move(input));
    auto tokenizer = parse_tokenizer(file.contents().tokenizer);
    auto model = file.make_model(context, context->weights_type(file.weights_type(), "'" + file.path() + "'"));
    Stream stream(context->device());
    file.load(*model, stream, {}, call);
    context->log(XF_LOG_INFO, "model", "loaded '%s'", file.path().c_str());
    return make_handle(std::move(model), std::move(tokenizer));
}

FileContents contents_of(const xf_model &model, const xf_config *config) {
    FileContents contents;
    contents.kind = "model";
    contents.weights_type = file_weights_type(*OptionsOf(config));
    contents.tokenizer = tokenizer_json(model);
    return contents;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const xf_model &model) {
    return model.tokenizer != nullptr ? model.tokenizer->tokenizer : nullptr;
}

}  // namespace

extern "C" {

xf_status xf_model_load(xf_context *context, const char *path, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(path, "path");
        check_pointer(out, "out");
        *out = load(use->context, std::make_shared<InputFile>(path));
    });
}

xf_status xf_model_load_from(xf_context *context, const xf_source *source, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        auto input = open_source(source);
        check_pointer(out, "out");
        *out = load(use->context, std::move(input));
    });
}

xf_status xf_model_inspect(xf_context *context, const xf_config *config, const xf_source *source,
                           xf_model_summary *summary, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const OptionsOf options(config);
        const ModelFile file(open_source(source));
        check_struct(summary, "summary");
        const ModelSummary s = summarise(file, *use->context, *options);
        xf_model_summary told{
            0, s.parameters, s.vocab_size, s.file_bytes, s.decode_bytes, s.train_bytes, s.step, s.has_tokenizer, 0, {}};
        s.precision.copy(told.precision, sizeof told.precision - 1);
        put_struct(summary, told);
    });
}

xf_status xf_model_save(const xf_model *model, const xf_config *config, const char *path, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const FileContents contents = contents_of(*use, config);
        check_pointer(path, "path");
        const ModelUse parameters(*use->model, false);
        Stream stream(use->context->device());
        save_model_file(path, *use->model, stream, contents, {}, use->context->call());
        use->context->log(XF_LOG_INFO, "model", "saved '%s'", path);
    });
}

xf_status xf_model_save_memory(const xf_model *model, const xf_config *config, void *buffer, size_t capacity,
                               size_t *size, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const FileContents contents = contents_of(*use, config);
        XF_CHECK(buffer != nullptr || capacity == 0, XF_ERROR_INVALID_ARGUMENT, "buffer is NULL with a capacity of %zu",
                 capacity);
        check_pointer(size, "size");
        const ModelUse parameters(*use->model, false);
        Stream stream(use->context->device());
        *size = save_model_memory(buffer, capacity, *use->model, stream, contents, use->context->call());
        if (*size <= capacity) return XF_OK;
        return report(err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                      format("the model has %zu bytes, the buffer %zu", *size, capacity).c_str());
    });
}

xf_status xf_model_average(const xf_model *const *models, size_t count, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        check_pointer(models, "models");
        XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
        check_size(count, sizeof(void *), "count");
        check_pointer(out, "out");
        std::vector<std::unique_ptr<Use<const xf_model>>> uses;
        std::vector<std::unique_ptr<ModelUse>> parameters;
        std::vector<ModelWithTokenizer> list;
        for (size_t i = 0; i < count; ++i) {
            uses.push_back(std::make_unique<Use<const xf_model>>(models[i], format("models[%zu]", i).c_str(), false));
            const xf_model &model = **uses.back();
            parameters.push_back(std::make_unique<ModelUse>(*model.model, false));
            list.push_back({model.model, tokenizer_of(model)});
        }
        const Call call = list.front().model->context().call();
        *out = make_handle(average_models(list, call), list.front().tokenizer);
    });
}

xf_status xf_model_average_files(xf_context *context, const char *const *paths, size_t count, xf_model **out,
                                 xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(paths, "paths");
        check_pointer(out, "out");
        XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
        check_size(count, sizeof(void *), "count");
        std::vector<std::string> list;
        for (size_t i = 0; i < count; ++i) {
            check_pointer(paths[i], format("paths[%zu]", i).c_str());
            list.emplace_back(paths[i]);
        }
        std::string tokenizer;
        auto model = average_files(use->context, list, &tokenizer, use->context->call());
        *out = make_handle(std::move(model), parse_tokenizer(tokenizer));
    });
}

xf_status xf_model_copy(const xf_model *model, xf_context *context, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_pointer(out, "out");
        const auto where = context != nullptr ? shared(context, "context")->context : use->context;
        const ModelUse parameters(*use->model, false);
        *out = make_handle(use->model->copy_to(where, where->call()), tokenizer_of(*use));
    });
}

}  // extern "C"
