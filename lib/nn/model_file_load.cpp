// Loading. A tensor whose type does not change is read directly to its final location; others go through a buffer.
//
// Invalid values are reported after the checksum was verified, because most likely the file is damaged. Until then they
// are stored like others: a model whose load failed is not used.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include "nn/model_file.h"

namespace xf {
namespace {

constexpr int64_t kChunkElements = 1 << 16;  // converted to fp32 at a time
constexpr float kMax = std::numeric_limits<float>::max();

// The loops are written so that compilers vectorize them: checking an int8 file is faster than hashing it.

// Returns whether all values are in [minimum, the largest finite value]. NaN is not.
bool all_within(const float *values, int64_t count, float minimum) {
    int outside = 0;
    for (int64_t i = 0; i < count; ++i)
        outside |= static_cast<int>(values[i] >= minimum) & static_cast<int>(values[i] <= kMax) ? 0 : 1;
    return outside == 0;
}

bool all_finite(const uint16_t *halves, int64_t count, uint32_t type) {
    int16_t most = 0;  // magnitudes: infinity and NaN are the largest
    for (int64_t i = 0; i < count; ++i) {
        const int16_t magnitude = halves[i] & 0x7FFF;
        most = std::max(most, magnitude);
    }
    return most < (type == XF_WEIGHTS_FP16 ? 0x7C00 : 0x7F80);
}

bool has_minus_128(const int8_t *q, int64_t count) { return std::memchr(q, 0x80, count) != nullptr; }

class Loader {
public:
    Loader(const ModelFile &file, const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks)
        : file_(file), model_(model), stream_(stream), host_memory_(stream.device().host_memory()) {
        const bool int8 = file.weights_type() == XF_WEIGHTS_INT8;
        if (int8) {
            int8_ = model.weights_type() == XF_WEIGHTS_INT8 ? model.low_precision() : nullptr;
            if (int8_ == nullptr)
                int8_ = &unpacked_.emplace(&model.context().heap(), model.table(), uint32_t{XF_WEIGHTS_INT8});
        }
        for (const Parameter &p : model.table().list) {
            targets_[p.name] = {&p, nullptr, kMin, false};
            if (int8 && model.table().is_matrix(p)) targets_[scale_name(p)] = {&p, nullptr, 0, true};
            for (const ExtraBlock &block : blocks)
                targets_[block.prefix + p.name] = {&p, block.data + p.offset, block.minimum, false};
        }
    }

    // Returns the address to which the bytes of a tensor are to be read; null: skip it. Completes the previous tensor.
    void *begin(const TensorInfo &tensor) {
        finish_tensor();
        const auto found = targets_.find(tensor.name);
        if (found == targets_.end()) return nullptr;
        pending_ = &tensor;
        target_ = found->second;
        type_ = dtype_type(tensor.dtype);
        const Parameter &p = *target_.p;
        if (target_.scales) return int8_->scales(p);
        if (type_ == XF_WEIGHTS_INT8) return int8_->rows(p);
        if (type_ != XF_WEIGHTS_NUM) {
            if (is_final()) return model_.low_precision()->rows(p);
            halves_.resize(p.size());
            return halves_.data();
        }
        if (float *const direct = final_address()) return direct;
        staging_.resize(p.size());
        return staging_.data();
    }

    // Must be called after the checksum was verified.
    void finish(const Call &call) {
        finish_tensor();
        XF_CHECK(error_.empty(), error_status_, "'%s': %s", file_.path().c_str(), error_.c_str());
        if (unpacked_) dequantize(call);
    }

private:
    static constexpr float kMin = -kMax;
    struct Target {
        const Parameter *p;
        float *block;  // the additional block; null: the parameters
        float minimum;
        bool scales;
    };

    // Returns whether the model stores the current tensor in its 16-bit type.
    bool is_final() const {
        return target_.block == nullptr && type_ == model_.weights_type() && model_.table().is_matrix(*target_.p);
    }
    // The final address of fp32 values, if the host can write to it; otherwise null.
    float *final_address() const {
        if (target_.block == nullptr && model_.low_precision() != nullptr)
            return model_.table().is_matrix(*target_.p) ? nullptr : model_.low_precision()->vector(target_.p->offset);
        return host_memory_ ? on_device() : nullptr;
    }
    float *on_device() const { return target_.block != nullptr ? target_.block : model_.params() + target_.p->offset; }

    void note_error(xf_status status, std::string what) {
        if (error_.empty()) error_status_ = status, error_ = std::move(what);
    }
    void check_that(bool good, const char *what) {
        if (!good) note_error(XF_ERROR_CORRUPT, "tensor '" + pending_->name + "' has " + what);
    }
    bool check(const float *values, int64_t count) {
        const bool good = all_within(values, count, target_.minimum);
        check_that(good,
                   target_.minimum < 0 ? "a value that is not finite" : "a value that is not finite or is negative");
        return good;
    }

    // Checks the tensor that was read and copies it to its final location.
    void finish_tensor() {
        if (pending_ == nullptr) return;
        const Parameter &p = *target_.p;
        if (target_.scales) {
            const float *const scales = int8_->scales(p);
            check_that(std::all_of(scales, scales + p.rows, is_valid_scale),
                       "a scale that is negative, not finite, or too large, expected 0 to 2.6e36");
        } else if (type_ == XF_WEIGHTS_INT8) {
            check_that(!has_minus_128(int8_->rows(p), p.size()), "the value -128, expected -127 to 127");
        } else if (type_ == XF_WEIGHTS_NUM) {
            float *const direct = final_address();
            const float *const values = direct != nullptr ? direct : staging_.data();
            if (check(values, p.size()) && direct == nullptr) put(0, p.rows, values);
        } else if (is_final()) {
            check_that(all_finite(reinterpret_cast<const uint16_t *>(model_.low_precision()->rows(p)), p.size(), type_),
                       "a value that is not finite");
        } else {
            finish_halves(p);
        }
        pending_ = nullptr;
    }

    void finish_halves(const Parameter &p) {
        const int64_t rows = std::clamp<int64_t>(kChunkElements / p.columns, 1, p.rows);
        float *const direct = final_address();
        for (int64_t row = 0; row < p.rows; row += rows) {
            const int64_t count = std::min(rows, p.rows - row), elements = count * p.columns;
            if (direct == nullptr) staging_.resize(elements);
            float *const values = direct != nullptr ? direct + row * p.columns : staging_.data();
            const uint16_t *const halves = halves_.data() + row * p.columns;
            std::transform(halves, halves + elements, values, [&](uint16_t half) { return from_half(type_, half); });
            if (check(values, elements) && direct == nullptr) put(row, count, values);
        }
    }

    // Writes rows of the current parameter if the host cannot write fp32 values to their final location.
    void put(int64_t row, int64_t rows, const float *values) {
        const Parameter &p = *target_.p;
        if (target_.block != nullptr || model_.low_precision() == nullptr) {
            const size_t bytes = rows * p.columns * sizeof(float);
            return stream_.upload(on_device() + row * p.columns, values, bytes);
        }
        try {
            model_.low_precision()->write(p, row, rows, values);
        } catch (const Error &error) {
            note_error(error.status(), error.what());
        }
    }

    // Writes the matrices of an int8 file to a model of another type.
    void dequantize(const Call &call) {
        for (const Parameter &p : model_.table().list) {
            if (!model_.table().is_matrix(p)) continue;
            call.check();
            target_ = {&p, nullptr, kMin, false};
            const int64_t rows = std::clamp<int64_t>(kChunkElements / p.columns, 1, p.rows);
            for (int64_t row = 0; row < p.rows; row += rows) {
                const int64_t count = std::min(rows, p.rows - row);
                staging_.resize(count * p.columns);
                unpacked_->read(stream_, p, row * p.columns, count * p.columns, staging_.data());
                put(row, count, staging_.data());
            }
        }
        XF_CHECK(error_.empty(), error_status_, "'%s': %s", file_.path().c_str(), error_.c_str());
    }

    const ModelFile &file_;
    const Model &model_;
    Stream &stream_;
    const bool host_memory_;  // of the device
    std::map<std::string, Target> targets_;
    std::optional<LowPrecisionWeights> unpacked_;  // of an int8 file, if the model has another type
    LowPrecisionWeights *int8_ = nullptr;          // of an int8 file: those of the model, or unpacked_
    const TensorInfo *pending_ = nullptr;
    Target target_{};
    uint32_t type_ = XF_WEIGHTS_NUM;  // of pending_
    std::vector<float> staging_;
    std::vector<uint16_t> halves_;
    std::string error_;  // the first error; empty: none
    xf_status error_status_ = XF_ERROR_CORRUPT;
};

}  // namespace

void ModelFile::load(const Model &model, Stream &stream, const std::vector<ExtraBlock> &blocks,
                     const Call &call) const {
    Loader loader(*this, model, stream, blocks);
    reader_.load_all([&](const TensorInfo &tensor) { return loader.begin(tensor); }, call);
    loader.finish(call);
    model.parameters_written(stream);
    stream.sync();
    model.context().log(XF_LOG_INFO, "file", "loaded the %s '%s', %" PRIu64 " bytes", kind().c_str(), path().c_str(),
                        bytes());
}

}  // namespace xf
