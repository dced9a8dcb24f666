// See average.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/average.h"

#include <algorithm>

#include "core/error.h"

namespace xf {
namespace {

constexpr int64_t kPiece = 1 << 16;  // numbers on the way between device and sums

// The options of what `name` calls must be those of the first.
void check_same_model(const Options &first, const std::string &first_name, const Options &other,
                      const std::string &name) {
    for (size_t i = 0; i < option_count(); ++i) {
        const std::string key = option(i).key;
        if (!key.starts_with("model.")) continue;
        XF_CHECK(other.text(key) == first.text(key), XF_ERROR_INVALID_ARGUMENT,
                 "%s has %s %s, %s has %s: models of different configuration can't be averaged", first_name.c_str(),
                 key.c_str(), first.text(key).c_str(), name.c_str(), other.text(key).c_str());
    }
}

bool same_tokenizer(const std::shared_ptr<const Tokenizer> &a, const std::shared_ptr<const Tokenizer> &b) {
    if (a == b) return true;
    return a != nullptr && b != nullptr && a->serialize() == b->serialize();
}

}  // namespace

std::shared_ptr<Model> average_models(const std::vector<ModelWithTokenizer> &models, const Call &call) {
    const Model &first = *models.front().model;
    for (size_t i = 1; i < models.size(); ++i) {
        check_same_model(first.options(), "model 0", models[i].model->options(), format("model %zu", i));
        XF_CHECK(same_tokenizer(models.front().tokenizer, models[i].tokenizer), XF_ERROR_INVALID_ARGUMENT,
                 "model 0 and model %zu have different tokenizers", i);
    }
    auto mean = std::make_shared<Model>(first.context_ptr(), first.options());
    mean->metadata() = first.metadata();
    std::vector<std::unique_ptr<Stream>> from;
    from.reserve(models.size());
    for (const ModelWithTokenizer &one : models)
        from.push_back(std::make_unique<Stream>(one.model->context().device()));
    Stream to(mean->context().device());
    const ParameterTable &table = mean->table();
    std::vector<double> sums;
    std::vector<float> piece;
    for (const Parameter &p : table.list) {
        for (int64_t at = 0; at < p.size(); at += kPiece) {
            call.progress("average", p.offset + at, table.total);
            const int64_t count = std::min(kPiece, p.size() - at);
            sums.assign(static_cast<size_t>(count), 0);
            piece.resize(static_cast<size_t>(count));
            for (size_t m = 0; m < models.size(); ++m) {
                models[m].model->read(*from[m], p, at, count, piece.data());
                for (size_t i = 0; i < piece.size(); ++i) sums[i] += static_cast<double>(piece[i]);
            }
            for (size_t i = 0; i < piece.size(); ++i)
                piece[i] = static_cast<float>(sums[i] / static_cast<double>(models.size()));
            to.upload(mean->params() + p.offset + at, piece.data(), piece.size() * sizeof(float));
        }
    }
    mean->parameters_written(to);
    to.sync();
    call.progress("average", table.total, table.total);
    return mean;
}

std::shared_ptr<Model> average_files(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                     std::string *tokenizer, const Call &call) {
    std::shared_ptr<Model> model;
    std::unique_ptr<HeapBlock> block;
    Stream stream(context->device());
    std::vector<float> piece;
    // Calls use(sums, numbers of the model, how many) for all parameters, piece by piece.
    const auto each_piece = [&](const auto &use) {
        auto *const sums = static_cast<double *>(block->data());
        for (int64_t at = 0; at < model->table().total; at += kPiece) {
            piece.resize(static_cast<size_t>(std::min(kPiece, model->table().total - at)));
            use(sums + at, model->params() + at);
        }
    };
    for (const std::string &path : paths) {
        const ModelFile file(path);
        if (model == nullptr) {
            model = file.make_model(context);
            *tokenizer = file.contents().tokenizer;
            const auto count = static_cast<size_t>(model->table().total);
            block = std::make_unique<HeapBlock>(&context->heap(), count * sizeof(double), "sums of parameters");
            std::fill_n(static_cast<double *>(block->data()), count, 0.0);
        }
        check_same_model(model->options(), "'" + paths[0] + "'", file.options(), "'" + path + "'");
        XF_CHECK(file.contents().tokenizer == *tokenizer, XF_ERROR_INVALID_ARGUMENT,
                 "'%s' and '%s' have different tokenizers", paths[0].c_str(), path.c_str());
        file.load(*model, stream, {}, call);
        each_piece([&](double *sums, const float *numbers) {
            stream.download(piece.data(), numbers, piece.size() * sizeof(float));
            for (size_t i = 0; i < piece.size(); ++i) sums[i] += static_cast<double>(piece[i]);
        });
    }
    each_piece([&](const double *sums, float *numbers) {
        for (size_t i = 0; i < piece.size(); ++i)
            piece[i] = static_cast<float>(sums[i] / static_cast<double>(paths.size()));
        stream.upload(numbers, piece.data(), piece.size() * sizeof(float));
    });
    model->parameters_written(stream);
    stream.sync();
    return model;
}

}  // namespace xf
