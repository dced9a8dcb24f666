// model.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/model.h"

#include <cmath>

#include "api/guard.h"
#include "api/model_handle.h"

using namespace xf;

namespace xf {

void fill_model_handle(xf_model *handle, std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer) {
    if (tokenizer != nullptr)
        XF_CHECK(model->config().V == tokenizer->size(), XF_ERROR_CORRUPT,
                 "the tokenizer has %d tokens, the model's vocabulary %lld", tokenizer->size(),
                 static_cast<long long>(model->config().V));
    if (tokenizer != nullptr)
        XF_CHECK(model->config().source_V == tokenizer->source().size(), XF_ERROR_CORRUPT,
                 "the sources' tokenizer has %d tokens, the model's source vocabulary %lld", tokenizer->source().size(),
                 static_cast<long long>(model->config().source_V));
    handle->context = model->context_ptr();
    handle->config.reset(new xf_config);
    handle->config->options = model->options();
    handle->model = std::move(model);
    if (tokenizer == nullptr) return;
    handle->tokenizer.reset(new xf_tokenizer);
    handle->tokenizer->tokenizer = std::move(tokenizer);
    handle->tokenizer->model = std::make_shared<const Options>(handle->model->options());
}

void set_tokens(const Tokenizer &tokenizer, Options *options) {
    const auto set = [&](const char *key, int32_t token) {
        if (options->i64(key) < 0) options->set_i64(key, token);
    };
    XF_CHECK(tokenizer.end_id() >= 0 || options->i64("model.end_token") >= 0, XF_ERROR_INVALID_ARGUMENT,
             "the tokenizer has no end symbol, expected model.end_token");
    set("model.end_token", tokenizer.end_id());
    set("model.start_token",
        tokenizer.start_id() >= 0 ? tokenizer.start_id() : static_cast<int32_t>(options->i64("model.end_token")));
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
    XF_CHECK(index < list.size(), XF_ERROR_OUT_OF_RANGE, "parameter %zu, expected 0 to %zu", index, list.size() - 1);
    return list[index];
}

void check_count(const Parameter &p, size_t count) {
    XF_CHECK(count == static_cast<size_t>(p.size()), XF_ERROR_INVALID_ARGUMENT, "count is %zu, expected %lld for '%s'",
             count, static_cast<long long>(p.size()), p.name.c_str());
}

// A text that the host keeps with a model; NULL also while another call changes them, as a getter has no status.
template <class Read>
const char *host_text(const xf_model *model, Read read) noexcept {
    if (!is_handle(model) || !model->model->texts_usage().begin(false)) return nullptr;
    const char *const text = read(std::as_const(*model->model).metadata());
    model->model->texts_usage().end(false);
    return text;
}

class ChangingTexts {
public:
    explicit ChangingTexts(Usage &usage) : usage_(usage) {
        XF_CHECK(usage_.begin(true), XF_ERROR_BUSY, "the model's texts are being read by another call");
    }
    ~ChangingTexts() { usage_.end(true); }
    ChangingTexts(const ChangingTexts &) = delete;
    ChangingTexts &operator=(const ChangingTexts &) = delete;

private:
    Usage &usage_;
};

}  // namespace

extern "C" {

xf_status xf_model_create(xf_context *context, const xf_config *config, const xf_tokenizer *tokenizer, xf_model **out,
                          xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(out, "out");
        Options options = *OptionsOf(config);
        std::shared_ptr<const Tokenizer> own;
        if (tokenizer != nullptr) {
            own = shared(tokenizer, "tokenizer")->tokenizer;
            const int64_t asked = options.i64("model.vocab_size");
            XF_CHECK(asked == 0 || asked == own->size(), XF_ERROR_INVALID_ARGUMENT,
                     "model.vocab_size is %lld, the tokenizer has %d", static_cast<long long>(asked), own->size());
            options.set_i64("model.vocab_size", own->size());
            if (own->source().size() != own->size()) {
                const int64_t sources = options.i64("model.source_vocab_size");
                XF_CHECK(sources == 0 || sources == own->source().size(), XF_ERROR_INVALID_ARGUMENT,
                         "model.source_vocab_size is %lld, the sources' tokenizer has %d",
                         static_cast<long long>(sources), own->source().size());
                options.set_i64("model.source_vocab_size", own->source().size());
            }
            set_tokens(*own, &options);
        }
        auto handle = std::make_unique<xf_model>();
        auto model = std::make_shared<Model>(use->context, options);
        model->initialise();
        fill_model_handle(handle.get(), std::move(model), std::move(own));
        *out = handle.release();
    });
}

void xf_model_free(xf_model *model) { free_handle(model); }

const xf_config *xf_model_config(const xf_model *model) { return is_handle(model) ? model->config.get() : nullptr; }

const xf_tokenizer *xf_model_tokenizer(const xf_model *model) {
    return is_handle(model) ? model->tokenizer.get() : nullptr;
}

xf_status xf_model_set_metadata(xf_model *model, const char *key, const char *value, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(model, "model");
        check_pointer(key, "key");
        const ModelUse parameters(*use->model, true);
        const ChangingTexts changing(use->model->texts_usage());
        if (value != nullptr)
            use->model->metadata().set(key, value);
        else
            use->model->metadata().remove(key);
    });
}

const char *xf_model_metadata(const xf_model *model, const char *key) {
    return host_text(model, [key](const UserMetadata &texts) { return key != nullptr ? texts.find(key) : nullptr; });
}

const char *xf_model_metadata_key(const xf_model *model, size_t index) {
    return host_text(model, [index](const UserMetadata &texts) { return texts.key(index); });
}

size_t xf_model_tensor_count(const xf_model *model) { return is_handle(model) ? model->model->table().list.size() : 0; }

xf_status xf_model_get_tensor(const xf_model *model, size_t index, xf_tensor_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(model, "model");
        const Parameter &p = parameter(*use, index);
        check_struct(info, "info");
        put_struct(info, xf_tensor_info{0, p.name.c_str(), p.rows, p.columns});
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
