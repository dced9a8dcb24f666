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

}  // namespace

std::shared_ptr<Model> average_models(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                      std::string *tokenizer) {
    std::shared_ptr<Model> model;
    std::unique_ptr<Sums> sums;
    for (const std::string &path : paths) {
        context->check_cancelled();
        const ModelFile file(path);
        if (model == nullptr) {
            model = std::make_shared<Model>(context, file.options());
            *tokenizer = file.contents().tokenizer;
            sums = std::make_unique<Sums>(&context->heap(), model->table().total);
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
        sums->add(&stream, model->params());
    }
    Stream stream(context->device());
    sums->give_mean(&stream, model->params(), paths.size());
    model->parameters_written(stream);
    stream.sync();
    return model;
}

}  // namespace xf
