// model.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/model.h"

#include <cmath>

#include "api/guard.h"
#include "api/model_handle.h"
#include "decode/encoding.h"
#include "nn/model_file.h"

using namespace xf;

namespace xf {

void fill_tokenizer_handle(xf_tokenizer *handle, std::shared_ptr<const Tokenizer> tokenizer,
                           std::shared_ptr<const Options> model) {
    const auto side = [&](const Tokenizer &part) {
        Part<xf_tokenizer> own(new xf_tokenizer);
        own->borrowed = true;
        own->tokenizer = std::shared_ptr<const Tokenizer>(tokenizer, &part);
        own->model = model;
        return own;
    };
    if (&tokenizer->source() != tokenizer.get()) {
        handle->source = side(tokenizer->source());
        handle->target = side(tokenizer->target());
    }
    handle->tokenizer = std::move(tokenizer);
    handle->model = std::move(model);
}

void fill_model_handle(xf_model *handle, std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer) {
    if (tokenizer != nullptr) {
        const auto check = [](int32_t tokens, int64_t vocabulary, const char *side) {
            XF_CHECK(vocabulary == tokens, XF_ERROR_CORRUPT,
                     "the %s tokenizer has %d tokens, the model's vocabulary %lld", side, tokens,
                     static_cast<long long>(vocabulary));
        };
        check(tokenizer->size(), model->config().V, "target");
        check(tokenizer->source().size(), model->config().source_V, "source");
    }
    handle->context = model->context_ptr();
    handle->config.reset(new xf_config);
    handle->config->borrowed = true;
    handle->config->options = model->options();
    handle->model = std::move(model);
    if (tokenizer == nullptr) return;
    handle->tokenizer.reset(new xf_tokenizer);
    handle->tokenizer->borrowed = true;
    fill_tokenizer_handle(handle->tokenizer.get(), std::move(tokenizer),
                          std::make_shared<const Options>(handle->model->options()));
}

std::string tokenizer_json(const xf_model &model) {
    return model.tokenizer != nullptr ? model.tokenizer->tokenizer->serialize() : std::string();
}

std::shared_ptr<const Tokenizer> parse_tokenizer(const std::string &json) {
    return json.empty() ? nullptr : Tokenizer::parse(json);
}

}  // namespace xf

namespace {

const Parameter &parameter(const xf_model &model, size_t index) {
    const auto &list = model.model->table().list;
    XF_CHECK(index < list.size(), XF_ERROR_OUT_OF_RANGE, "the tensor index is %zu, expected 0 to %zu", index,
             list.size() - 1);
    return list[index];
}

void check_count(const Parameter &p, size_t count) {
    XF_CHECK(count == static_cast<size_t>(p.size()), XF_ERROR_INVALID_ARGUMENT, "count is %zu, expected %lld for '%s'",
             count, static_cast<long long>(p.size()), p.name.c_str());
}

// Holds the metadata of a model for reading or writing.
class MetadataUse {
public:
    MetadataUse(const Model &model, bool exclusive) : usage_(model.texts_usage()), exclusive_(exclusive) {
        XF_CHECK(usage_.begin(exclusive_), XF_ERROR_BUSY, "another call is %s the model's metadata",
                 exclusive_ ? "using" : "changing");
    }
    ~MetadataUse() { usage_.end(exclusive_); }
    MetadataUse(const MetadataUse &) = delete;
    MetadataUse &operator=(const MetadataUse &) = delete;

private:
    Usage &usage_;
    bool exclusive_;
};

}  // namespace

extern "C" {

xf_status xf_model_create(xf_context *context, const xf_tokenizer *tokenizer, const xf_config *config, xf_model **out,
                          xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(out, "out");
        Options options = *OptionsOf(config);
        const std::string &weights = options.text("model.weights");
        XF_CHECK(weights == "same" || weights == "fp32", XF_ERROR_INVALID_ARGUMENT,
                 "model.weights is %s, but a new model has fp32 weights; convert it with xf_model_copy()",
                 weights.c_str());
        std::shared_ptr<const Tokenizer> own;
        if (tokenizer != nullptr) {
            own = shared(tokenizer, "tokenizer")->tokenizer;
            set_tokenizer_options(*own, &options);
        }
        auto handle = std::make_unique<xf_model>();
        auto model = std::make_shared<Model>(use->context, options);
        model->initialize();
        fill_model_handle(handle.get(), std::move(model), std::move(own));
        *out = handle.release();
    });
}

void xf_model_free(xf_model *model) { free_handle(model); }

const xf_config *xf_model_config(const xf_model *model) { return is_handle(model) ? model->config.get() : nullptr; }

const xf_tokenizer *xf_model_tokenizer(const xf_model *model) {
    return is_handle(model) ? model->tokenizer.get() : nullptr;
}

xf_status xf_model_encode(const xf_model *model, int32_t side, const char *text, size_t length, const xf_config *config,
                          int32_t *ids, size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        XF_CHECK(side == XF_SIDE_SOURCE || side == XF_SIDE_TARGET, XF_ERROR_INVALID_ARGUMENT,
                 "side is %d, expected XF_SIDE_SOURCE or XF_SIDE_TARGET", side);
        check_buffer(text, length, "text");
        check_buffer(ids, capacity, "ids");
        check_pointer(count, "count");
        XF_CHECK(use->tokenizer != nullptr, XF_ERROR_STATE, "the model has no tokenizer; encode the text elsewhere");
        const TextEncoder encoder(use->tokenizer->tokenizer, use->model->options(), *OptionsOf(config));
        std::vector<int32_t> encoded;
        EncodeScratch scratch;
        encoder.encode(side == XF_SIDE_SOURCE ? Side::kSource : Side::kTarget, trimmed(std::string_view(text, length)),
                       &encoded, &scratch);
        if (encoded.empty()) encoded.push_back(use->model->config().tokens.end);
        return put_ids(encoded, ids, capacity, count, err);
    });
}

xf_status xf_model_set_metadata(xf_model *model, const char *key, const char *value, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(model, "model");
        check_pointer(key, "key");
        const ModelUse parameters(*use->model, true);
        const MetadataUse changing(*use->model, true);
        if (value != nullptr)
            use->model->metadata().set(key, value);
        else
            use->model->metadata().remove(key);
    });
}

xf_status xf_model_get_metadata(const xf_model *model, const char *key, char *value, size_t capacity, size_t *length,
                                xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_pointer(key, "key");
        check_buffer(value, capacity, "value");
        check_pointer(length, "length");
        const MetadataUse reading(*use->model, false);
        const char *const found = std::as_const(*use->model).metadata().find(key);
        XF_CHECK(found != nullptr, XF_ERROR_NOT_FOUND, "the model has no metadata '%.64s'", key);
        return put_text(found, value, capacity, length, err);
    });
}

xf_status xf_model_get_metadata_key(const xf_model *model, size_t index, char *key, size_t capacity, size_t *length,
                                    xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        check_buffer(key, capacity, "key");
        check_pointer(length, "length");
        const MetadataUse reading(*use->model, false);
        const char *const found = std::as_const(*use->model).metadata().key(index);
        return found != nullptr ? put_text(found, key, capacity, length, err) : XF_DONE;
    });
}

size_t xf_model_tensor_count(const xf_model *model) { return is_handle(model) ? model->model->table().list.size() : 0; }

xf_status xf_model_get_tensor(const xf_model *model, size_t index, xf_tensor_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const Parameter &p = parameter(*use, index);
        check_struct(info, "info");
        const ParameterTable &table = use->model->table();
        xf_tensor_info out{};
        out.name = p.name.c_str();
        out.type = public_type(table.is_matrix(p) ? use->model->weights_type() : uint32_t{XF_WEIGHTS_NUM});
        for (const int64_t size : tensor_shape(p)) out.shape[out.dims++] = size;
        put_struct(info, out);
    });
}

xf_status xf_model_read_tensor(const xf_model *model, size_t index, float *values, size_t count, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const Parameter &p = parameter(*use, index);
        check_pointer(values, "values");
        check_count(p, count);
        const ModelUse parameters(*use->model, false);
        Stream stream(use->context->device());
        use->model->read(stream, p, 0, p.size(), values);
    });
}

xf_status xf_model_write_tensor(xf_model *model, size_t index, const float *values, size_t count, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(model, "model");
        const Parameter &p = parameter(*use, index);
        check_pointer(values, "values");
        check_count(p, count);
        for (size_t i = 0; i < count; ++i)
            XF_CHECK(std::isfinite(values[i]), XF_ERROR_INVALID_ARGUMENT, "value %zu for '%s' is not finite", i,
                     p.name.c_str());
        const ModelUse parameters(*use->model, true);
        float *const params = use->model->params();
        Stream stream(use->context->device());
        stream.upload(params + p.offset, values, count * sizeof(float));
        use->model->parameters_written(stream);
        stream.sync();
    });
}

}  // extern "C"
