// See average.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/average.h"

#include "core/error.h"

namespace xf {

std::shared_ptr<Model> average_models(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                      std::string *tokenizer) {
    std::shared_ptr<Model> model;
    std::vector<double> sum;
    std::vector<float> block;
    for (const std::string &path : paths) {
        context->check_cancelled();
        const ModelFile file(path);
        if (model == nullptr) {
            model = std::make_shared<Model>(context, file.options());
            *tokenizer = file.contents().tokenizer;
            block.resize(static_cast<size_t>(model->table().total));
            sum.assign(block.size(), 0);
        }
        for (size_t i = 0; i < option_count(); ++i) {
            const std::string key = option(i).key;
            if (!key.starts_with("model.")) continue;
            XF_CHECK(file.options().text(key) == model->options().text(key), XF_ERROR_INVALID_ARGUMENT,
                     "'%s' has %s %s, '%s' has %s: models of different configuration can't be averaged",
                     paths[0].c_str(), key.c_str(), model->options().text(key).c_str(), path.c_str(),
                     file.options().text(key).c_str());
        }
        XF_CHECK(file.contents().tokenizer == *tokenizer, XF_ERROR_INVALID_ARGUMENT,
                 "'%s' and '%s' have different tokenizers", paths[0].c_str(), path.c_str());
        Stream stream(context->device());
        file.load(*model, stream, {});
        stream.download(block.data(), model->params(), block.size() * sizeof(float));
        for (size_t i = 0; i < block.size(); ++i) sum[i] += block[i];
    }
    for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<float>(sum[i] / static_cast<double>(paths.size()));
    Stream stream(context->device());
    stream.upload(model->params(), block.data(), block.size() * sizeof(float));
    stream.sync();
    return model;
}

}  // namespace xf
