// model.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/model.h"

#include "api/model_handle.h"
#include "decode/encoding.h"
#include "decode/translator.h"
#include "nn/model_file.h"
#include "text/tokenizer.h"
#include "xformer/text.h"

using namespace xf;

namespace {

const Parameter &parameter(const xf_model &model, size_t index) {
    const auto &list = model.model->table().list;
    XF_CHECK(index < list.size(), XF_ERROR_OUT_OF_RANGE, "the tensor index is %zu, expected 0 to %zu", index,
             list.size() - 1);
    return list[index];
}

void check_count(const Parameter &p, size_t count) {
    XF_CHECK(std::cmp_equal(count, p.size()), XF_ERROR_INVALID_ARGUMENT, "count is %zu, expected %" PRId64 " for '%s'",
             count, p.size(), p.name.c_str());
}

struct MetadataUse : SharedUse {
    MetadataUse(const Model &model, bool exclusive)
        : SharedUse(model.texts_usage(), exclusive,
                    exclusive ? "another call is using the model's metadata"
                              : "another call is changing the model's metadata") {}
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
        auto model = std::make_shared<Model>(use->context, options);
        model->initialize();
        *out = make_handle(std::move(model), std::move(own)).release();
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
        const ModelUse parameters(*use->model, true);
        use->model->write(p, values);
    });
}

}  // extern "C"
