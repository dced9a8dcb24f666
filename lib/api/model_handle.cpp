// SPDX-License-Identifier: Apache-2.0
#include "api/model_handle.h"

#include "text/tokenizer.h"

namespace xf {

std::unique_ptr<xf_tokenizer> make_handle(std::shared_ptr<const Tokenizer> tokenizer,
                                          std::shared_ptr<const Options> model) {
    auto handle = std::make_unique<xf_tokenizer>();
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
    return handle;
}

std::unique_ptr<xf_model> make_handle(std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_model>();
    handle->context = model->context_ptr();
    handle->config.reset(new xf_config);
    handle->config->borrowed = true;
    handle->config->options = model->options();
    if (tokenizer != nullptr) {
        const auto check = [](int32_t tokens, int64_t vocabulary, const char *side) {
            XF_CHECK(vocabulary == tokens, XF_ERROR_CORRUPT,
                     "the %s tokenizer has %d tokens, the model's vocabulary %" PRId64, side, tokens, vocabulary);
        };
        check(tokenizer->size(), model->config().V, "target");
        check(tokenizer->source().size(), model->config().source_V, "source");
        handle->tokenizer.reset(
            make_handle(std::move(tokenizer), std::make_shared<const Options>(model->options())).release());
        handle->tokenizer->borrowed = true;
    }
    handle->model = std::move(model);
    return handle;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const xf_model &model) {
    return model.tokenizer != nullptr ? model.tokenizer->tokenizer : nullptr;
}

std::string tokenizer_json_of(const xf_model &model) {
    return model.tokenizer != nullptr ? model.tokenizer->tokenizer->serialize() : std::string();
}

std::shared_ptr<const Tokenizer> parse_tokenizer(const std::string &json) {
    return json.empty() ? nullptr : Tokenizer::parse(json);
}

}  // namespace xf
