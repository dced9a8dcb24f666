// See average.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/average.h"

#include <algorithm>

#include "core/error.h"

namespace xf {
namespace {

constexpr int64_t kPiece = 1 << 16;  // numbers on the way between device and sums

// Sums in double, on the account of the context.
class Sums {
public:
    Sums(Heap *heap, int64_t count) : heap_(heap), count_(count), values_(static_cast<double *>(heap->alloc(bytes()))) {
        const std::string budget = heap->refusal();
        XF_CHECK(values_ != nullptr, XF_ERROR_NO_MEMORY, "%s",
                 budget.empty() ? "no memory for the sums of the parameters" : budget.c_str());
        std::fill_n(values_, count, 0.0);
    }
    Sums(const Sums &) = delete;
    Sums &operator=(const Sums &) = delete;
    ~Sums() { heap_->free(values_, bytes()); }

    void add(Stream *stream, const float *block) {
        for (int64_t at = 0; at < count_; at += kPiece) {
            stream->download(piece_, block + at, piece_bytes(at));
            for (int64_t i = 0; i < std::min(kPiece, count_ - at); ++i)
                values_[at + i] += static_cast<double>(piece_[i]);
        }
    }

    void give_mean(Stream *stream, float *block, size_t files) {
        for (int64_t at = 0; at < count_; at += kPiece) {
            for (int64_t i = 0; i < std::min(kPiece, count_ - at); ++i)
                piece_[i] = static_cast<float>(values_[at + i] / static_cast<double>(files));
            stream->upload(block + at, piece_, piece_bytes(at));
        }
    }

private:
    size_t bytes() const { return static_cast<size_t>(count_) * sizeof(double); }
    size_t piece_bytes(int64_t at) const { return static_cast<size_t>(std::min(kPiece, count_ - at)) * sizeof(float); }
    Heap *heap_;
    int64_t count_;
    double *values_;
    float piece_[kPiece];
};

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
    for (const ModelWithTokenizer &one : models)
        from.push_back(std::make_unique<Stream>(one.model->context().device()));
    Stream to(mean->context().device());
    const int64_t total = mean->table().total;
    std::vector<double> sums;
    std::vector<float> piece;
    for (int64_t at = 0; at < total; at += kPiece) {
        call.progress("average", at, total);
        const auto count = static_cast<size_t>(std::min(kPiece, total - at));
        sums.assign(count, 0);
        piece.resize(count);
        for (size_t m = 0; m < models.size(); ++m) {
            from[m]->download(piece.data(), models[m].model->params() + at, count * sizeof(float));
            for (size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(piece[i]);
        }
        for (size_t i = 0; i < count; ++i) piece[i] = static_cast<float>(sums[i] / static_cast<double>(models.size()));
        to.upload(mean->params() + at, piece.data(), count * sizeof(float));
    }
    mean->parameters_written(to);
    to.sync();
    call.progress("average", total, total);
    return mean;
}

std::shared_ptr<Model> average_files(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                     std::string *tokenizer, const Call &call) {
    std::shared_ptr<Model> model;
    std::unique_ptr<Sums> sums;
    for (const std::string &path : paths) {
        const ModelFile file(path);
        if (model == nullptr) {
            model = file.make_model(context);
            *tokenizer = file.contents().tokenizer;
            sums = std::make_unique<Sums>(&context->heap(), model->table().total);
        }
        check_same_model(model->options(), "'" + paths[0] + "'", file.options(), "'" + path + "'");
        XF_CHECK(file.contents().tokenizer == *tokenizer, XF_ERROR_INVALID_ARGUMENT,
                 "'%s' and '%s' have different tokenizers", paths[0].c_str(), path.c_str());
        Stream stream(context->device());
        file.load(*model, stream, {}, call);
        sums->add(&stream, model->params());
    }
    Stream stream(context->device());
    sums->give_mean(&stream, model->params(), paths.size());
    model->parameters_written(stream);
    stream.sync();
    return model;
}

}  // namespace xf
