// Loading: each tensor is read to where it stays when that is of its type, else by way of one that is held for it.
//
// What is found wrong with a number is told after the checksum was compared, as most likely the file is damaged. Until
// then its numbers go where they belong: nobody uses a model whose load failed.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include "nn/model_file.h"

namespace xf {
namespace {

constexpr int64_t kWidened = 1 << 16;  // numbers that are widened at a time
constexpr float kMost = std::numeric_limits<float>::max();

// Scans in a form that compilers make wide: a file of 8 bits is looked through faster than it is hashed.

// From least to the largest number; a NaN is outside.
bool all_within(const float *values, int64_t count, float least) {
    int outside = 0;
    for (int64_t i = 0; i < count; ++i)
        outside |= static_cast<int>(values[i] >= least) & static_cast<int>(values[i] <= kMost) ? 0 : 1;
    return outside == 0;
}

bool all_finite(const uint16_t *halves, int64_t count, uint32_t type) {
    int16_t most = 0;  // magnitudes: infinity and NaN are the largest
    for (int64_t i = 0; i < count; ++i) most = std::max(most, static_cast<int16_t>(halves[i] & 0x7FFF));
    return most < (type == XF_WEIGHTS_FP16 ? 0x7C00 : 0x7F80);
}

bool has_least(const int8_t *q, int64_t count) { return std::memchr(q, 0x80, static_cast<size_t>(count)) != nullptr; }

class Loader {
public:
    Loader(const ModelFile &file, const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks)
        : file_(file), model_(model), stream_(stream), direct_(stream.device().host_memory()) {
        const bool int8 = file.weights_type() == XF_WEIGHTS_INT8;
        if (int8) {
            own_ = model.weights_type() == XF_WEIGHTS_INT8 ? model.narrow() : nullptr;
            if (own_ == nullptr)
                own_ = &apart_.emplace(&model.context().heap(), model.table(), uint32_t{XF_WEIGHTS_INT8});
        }
        for (const Parameter &p : model.table().list) {
            places_[p.name] = {&p, nullptr, kLeast, false};
            if (int8 && model.table().is_matrix(p)) places_[scale_name(p)] = {&p, nullptr, 0, true};
            for (const ExtraBlock &block : blocks)
                places_[block.prefix + p.name] = {&p, block.data + p.offset, block.least, false};
        }
    }

    // Where the bytes of a tensor are to be read to; null: nowhere. What was read before is taken.
    void *place(const TensorInfo &tensor) {
        take();
        const auto found = places_.find(tensor.name);
        if (found == places_.end()) return nullptr;
        pending_ = &tensor;
        to_ = found->second;
        type_ = dtype_type(tensor.dtype);
        const Parameter &p = *to_.p;
        if (to_.scales) return own_->scales(p);
        if (type_ == XF_WEIGHTS_INT8) return own_->rows(p);
        if (type_ != XF_WEIGHTS_NUM) {
            if (stays()) return model_.narrow()->rows(p);
            halves_.resize(static_cast<size_t>(p.size()));
            return halves_.data();
        }
        if (float *const last = resting_place()) return last;
        staging_.resize(static_cast<size_t>(p.size()));
        return staging_.data();
    }

    // After the checksum.
    void finish(const Call &call) {
        take();
        XF_CHECK(bad_.empty(), bad_status_, "'%s': %s", file_.path().c_str(), bad_.c_str());
        if (apart_) widen(call);
    }

private:
    static constexpr float kLeast = -kMost;
    struct Place {
        const Parameter *p;
        float *block;  // of a further block; null: the model's
        float least;
        bool scales;
    };

    // Whether halves have the type that the model keeps them in.
    bool stays() const {
        return to_.block == nullptr && type_ == model_.weights_type() && model_.table().is_matrix(*to_.p);
    }
    // Where the host may write floats that stay there; null: they are staged.
    float *resting_place() const {
        if (to_.block == nullptr && model_.narrow() != nullptr)
            return model_.table().is_matrix(*to_.p) ? nullptr : model_.narrow()->vector(to_.p->offset);
        return direct_ ? on_device() : nullptr;
    }
    float *on_device() const { return to_.block != nullptr ? to_.block : model_.params() + to_.p->offset; }

    void note(xf_status status, std::string what) {
        if (bad_.empty()) bad_status_ = status, bad_ = std::move(what);
    }
    void note_unless(bool good, const char *what) {
        if (!good) note(XF_ERROR_CORRUPT, "tensor '" + pending_->name + "' has " + what);
    }
    bool check(const float *values, int64_t count) {
        const bool good = all_within(values, count, to_.least);
        note_unless(good, to_.least < 0 ? "a number that is not finite" : "a number that is not finite or negative");
        return good;
    }

    // Checks what was read, and brings it to where it stays.
    void take() {
        if (pending_ == nullptr) return;
        const Parameter &p = *to_.p;
        if (to_.scales) {
            const float *const scales = own_->scales(p);
            note_unless(std::all_of(scales, scales + p.rows, is_scale),
                        "a scale that is negative, not finite or too large, expected 0 to 2.6e36");
        } else if (type_ == XF_WEIGHTS_INT8) {
            note_unless(!has_least(static_cast<const int8_t *>(own_->rows(p)), p.size()),
                        "the number -128, expected -127 to 127");
        } else if (type_ == XF_WEIGHTS_NUM) {
            float *const last = resting_place();
            const float *const values = last != nullptr ? last : staging_.data();
            if (check(values, p.size()) && last == nullptr) put(0, p.rows, values);
        } else if (stays()) {
            note_unless(all_finite(static_cast<const uint16_t *>(model_.narrow()->rows(p)), p.size(), type_),
                        "a number that is not finite");
        } else {
            take_halves(p);
        }
        pending_ = nullptr;
    }

    void take_halves(const Parameter &p) {
        const int64_t rows = std::clamp<int64_t>(kWidened / p.columns, 1, p.rows);
        float *const last = resting_place();
        for (int64_t row = 0; row < p.rows; row += rows) {
            const int64_t count = std::min(rows, p.rows - row), numbers = count * p.columns;
            if (last == nullptr) staging_.resize(static_cast<size_t>(numbers));
            float *const values = last != nullptr ? last + row * p.columns : staging_.data();
            const uint16_t *const halves = halves_.data() + row * p.columns;
            std::transform(halves, halves + numbers, values, [&](uint16_t half) { return widened(type_, half); });
            if (check(values, numbers) && last == nullptr) put(row, count, values);
        }
    }

    // Rows of a parameter whose place the host can't write floats to.
    void put(int64_t row, int64_t rows, const float *values) {
        const Parameter &p = *to_.p;
        if (to_.block != nullptr || model_.narrow() == nullptr) {
            const auto bytes = static_cast<size_t>(rows * p.columns) * sizeof(float);
            return stream_.upload(on_device() + row * p.columns, values, bytes);
        }
        try {
            model_.narrow()->write(p, row, rows, values);
        } catch (const Error &error) {
            note(error.status(), error.what());
        }
    }

    // The matrices of an int8 file, for a model that keeps others.
    void widen(const Call &call) {
        for (const Parameter &p : model_.table().list) {
            if (!model_.table().is_matrix(p)) continue;
            call.check();
            to_ = {&p, nullptr, kLeast, false};
            const int64_t rows = std::clamp<int64_t>(kWidened / p.columns, 1, p.rows);
            for (int64_t row = 0; row < p.rows; row += rows) {
                const int64_t count = std::min(rows, p.rows - row);
                staging_.resize(static_cast<size_t>(count * p.columns));
                apart_->read(stream_, p, row * p.columns, count * p.columns, staging_.data());
                put(row, count, staging_.data());
            }
        }
        XF_CHECK(bad_.empty(), bad_status_, "'%s': %s", file_.path().c_str(), bad_.c_str());
    }

    const ModelFile &file_;
    const Model &model_;
    Stream &stream_;
    const bool direct_;  // device memory is the host's
    std::map<std::string, Place> places_;
    std::optional<NarrowWeights> apart_;  // an int8 file's, when the model keeps others
    NarrowWeights *own_ = nullptr;        // an int8 file's: the model's or apart_
    const TensorInfo *pending_ = nullptr;
    Place to_{};
    uint32_t type_ = XF_WEIGHTS_NUM;  // of pending_
    std::vector<float> staging_;
    std::vector<uint16_t> halves_;
    std::string bad_;  // what is wrong first; empty: nothing
    xf_status bad_status_ = XF_ERROR_CORRUPT;
};

}  // namespace

void ModelFile::load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks,
                     const Call &call) const {
    Loader loader(*this, model, stream, blocks);
    reader_.load_all([&](const TensorInfo &tensor) { return loader.place(tensor); }, call);
    loader.finish(call);
    model.parameters_written(stream);
    stream.sync();
    model.context().log(XF_LOG_INFO, "file", "loaded the %s '%s', %llu bytes", kind().c_str(), path().c_str(),
                        static_cast<unsigned long long>(bytes()));
}

}  // namespace xf
