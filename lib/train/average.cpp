// SPDX-License-Identifier: Apache-2.0
#include "train/average.h"

#include <algorithm>

#include "core/error.h"

namespace xf {
namespace {

constexpr int64_t kChunkParameters = 1 << 16;  // parameters that are copied from a device at a time

void check_same_model(const Options &first, const std::string &first_name, const ModelFile &other) {
    for (size_t i = 0; i < option_count(); ++i) {
        const std::string key = option(i).key;
        if (!key.starts_with("model.")) continue;
        XF_CHECK(other.options().text(key) == first.text(key), XF_ERROR_INVALID_ARGUMENT,
                 "'%s' has %s %s, '%s' has %s, expected the same configuration", first_name.c_str(), key.c_str(),
                 first.text(key).c_str(), other.path().c_str(), other.options().text(key).c_str());
    }
}

}  // namespace

std::shared_ptr<Model> average_files(const std::shared_ptr<Context> &context, size_t count,
                                     const std::function<std::shared_ptr<const Input>(size_t i)> &open,
                                     std::string *tokenizer, const Call &call) {
    std::string first;
    std::shared_ptr<Model> model;
    std::unique_ptr<HeapBlock> block;
    double *all_sums = nullptr;  // of block
    Stream stream(context->device());
    std::vector<float> chunk;
    // Calls use(sums, parameters) for each chunk of the parameters.
    const auto for_each_chunk = [&](const auto &use) {
        for (int64_t at = 0; at < model->table().total; at += kChunkParameters) {
            chunk.resize(std::min(kChunkParameters, model->table().total - at));
            use(all_sums + at, model->params() + at);
        }
    };
    for (size_t f = 0; f < count; ++f) {
        const ModelFile file(open(f));
        if (model == nullptr) {
            model = file.make_model(context);
            first = file.path();
            *tokenizer = file.contents().tokenizer;
            const uint64_t numbers = model->table().total;
            block = std::make_unique<HeapBlock>(&context->heap(), numbers * sizeof(double), "sums of parameters");
            all_sums = static_cast<double *>(block->data());
            std::fill_n(all_sums, numbers, 0.0);
        }
        check_same_model(model->options(), first, file);
        XF_CHECK(file.contents().tokenizer == *tokenizer, XF_ERROR_INVALID_ARGUMENT,
                 "'%s' and '%s' have different tokenizers", first.c_str(), file.path().c_str());
        file.load(*model, stream, {}, call);
        for_each_chunk([&](double *sums, const float *parameters) {
            stream.download(chunk.data(), parameters, chunk.size() * sizeof(float));
            for (size_t i = 0; i < chunk.size(); ++i) sums[i] += chunk[i];
        });
    }
    for_each_chunk([&](const double *sums, float *parameters) {
        for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = sums[i] / count;
        stream.upload(parameters, chunk.data(), chunk.size() * sizeof(float));
    });
    model->parameters_written(stream);
    stream.sync();
    return model;
}

}  // namespace xf
