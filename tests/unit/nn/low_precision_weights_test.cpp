// Low-precision matrices: values read are the values written, rounded; every entry is found and contains its rows.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/low_precision_weights.h"

#include "core/half.h"
#include "core/int8.h"
#include "nn/fixture.hpp"
#include "nn/model_file.h"

namespace {

using namespace xf_test;

constexpr uint32_t kTypes[] = {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8};

std::shared_ptr<xf::Context> ref() {
    return std::make_shared<xf::Context>(options_of({{"context.device", "cpu:ref"}}), nullptr);
}

// The values of a parameter in a model of this type, rounded.
std::vector<float> rounded(const xf::ParameterTable &table, const xf::Parameter &p, uint32_t type, const float *from) {
    std::vector<float> values(from, from + p.size());
    if (!table.is_matrix(p)) return values;
    if (type == XF_WEIGHTS_INT8) {
        std::vector<int8_t> q(static_cast<size_t>(p.columns));
        for (int64_t row = 0; row < p.rows; ++row) {
            float *const numbers = values.data() + row * p.columns;
            const float scale = xf::quantize_row(numbers, p.columns, q.data());
            for (int64_t i = 0; i < p.columns; ++i) numbers[i] = static_cast<float>(q[static_cast<size_t>(i)]) * scale;
        }
    } else {
        for (float &value : values)
            value = type == XF_WEIGHTS_FP16 ? xf::from_fp16(xf::to_fp16(value)) : xf::from_bf16(xf::to_bf16(value));
    }
    return values;
}

// Calls use(offset, rows, columns) for each matrix that an operation of a forward pass multiplies with.
template <class Use>
void each_unit(const xf::ModelConfig &c, const xf::ParameterTable &table, const Use &use) {
    use(table.encoder.embedding, c.source_V, c.D);
    use(table.decoder.embedding, c.V, c.D);
    use(table.output, c.V, c.D);
    const auto feed_forward = [&](const xf::FeedForwardOffsets &at) {
        use(at.in_weights, c.inner_columns(), c.D);
        use(at.out_weights, c.D, c.F);
    };
    for (const auto &layer : table.encoder.layers) {
        use(layer.self.q, c.qkv_columns(), c.D);
        use(layer.self.o, c.D, c.v_columns());
        feed_forward(layer.ff);
    }
    for (const auto &layer : table.decoder.layers) {
        use(layer.self.q, c.qkv_columns(), c.D);
        use(layer.self.o, c.D, c.v_columns());
        use(layer.cross.q, c.q_columns(), c.D);
        use(layer.cross.k, c.kv_columns(), c.D);
        use(layer.cross.o, c.D, c.v_columns());
        feed_forward(layer.ff);
    }
}

XF_TEST(values_read_are_the_values_written_rounded) {
    const auto context = ref();
    xf::Stream stream(context->device());
    for (const Variant &variant : kVariants) {
        const auto model = make_model(context, variant.settings());
        const xf::ParameterTable &table = model->table();
        for (const uint32_t type : kTypes) {
            xf::LowPrecisionWeights weights(&context->heap(), table, type);
            for (const xf::Parameter &p : table.list)
                for (int64_t row = 0; row < p.rows; row += 2)  // in chunks, the last possibly of one row
                    weights.write(p, row, std::min<int64_t>(2, p.rows - row),
                                  model->params() + p.offset + row * p.columns);
            for (const bool finished : {false, true}) {
                if (finished) weights.pack(stream);
                for (const xf::Parameter &p : table.list) {
                    const std::vector<float> expected = rounded(table, p, type, model->params() + p.offset);
                    std::vector<float> found(expected.size());
                    weights.read(stream, p, 0, p.size(), found.data());
                    CHECK(found == expected);
                    const int64_t first = p.size() / 3, count = p.size() / 2;  // begins and ends within rows
                    found.assign(static_cast<size_t>(count), -1);
                    weights.read(stream, p, first, count, found.data());
                    CHECK(std::equal(found.begin(), found.end(), expected.begin() + static_cast<ptrdiff_t>(first)));
                    if (!table.is_matrix(p)) CHECK(weights.vector(p.offset)[0] == expected[0]);
                }
            }
        }
    }
}

XF_TEST(an_entry_contains_the_rows_of_its_matrices) {
    const auto context = ref();
    xf::Stream stream(context->device());
    for (const Variant &variant : kVariants) {
        const auto model = make_model(context, variant.settings());
        const xf::ParameterTable &table = model->table();
        for (const uint32_t type : kTypes) {
            xf::LowPrecisionWeights weights(&context->heap(), table, type);
            for (const xf::Parameter &p : table.list) weights.write(p, 0, p.rows, model->params() + p.offset);
            weights.pack(stream);
            size_t wrong = 0;
            each_unit(model->config(), table, [&](int64_t offset, int64_t rows, int64_t columns) {
                const xf::Matrix unit = weights.matrix(offset);
                CHECK_EQ(unit.type, type);
                CHECK_EQ(reinterpret_cast<uintptr_t>(unit.data) % 64, uintptr_t{0});
                CHECK_EQ(unit.scales != nullptr, type == XF_WEIGHTS_INT8);
                // The rows in the order of the parameter block, across matrices.
                const xf::Parameter whole{"unit", rows, columns, false, xf::Init::kZero, offset};
                const std::vector<float> expected = rounded(table, whole, type, model->params() + offset);
                for (int64_t i = 0; i < rows * columns; ++i) {
                    const auto at = static_cast<size_t>(i);
                    const float value =
                        type == XF_WEIGHTS_INT8
                            ? static_cast<float>(static_cast<const int8_t *>(unit.data)[i]) * unit.scales[i / columns]
                            : xf::from_half(type, static_cast<const uint16_t *>(unit.data)[i]);
                    wrong += value == expected[at] ? 0 : 1;
                }
            });
            CHECK_EQ(wrong, size_t{0});
        }
    }
}

// Rows that another program quantized may not reach 127, so quantizing them again would change them. They are copied,
// saved, and loaded without change.
XF_TEST(int8_values_are_never_quantized_again) {
    const auto context = ref();
    xf::Stream stream(context->device());
    xf::Model model(context, options_of(kTinyModel), XF_WEIGHTS_INT8);
    const xf::ParameterTable &table = model.table();
    const auto number = [](const xf::Parameter &p, int64_t i) {
        return static_cast<int8_t>((p.offset + 7 * i) % 41 - 20);
    };
    for (const xf::Parameter &p : table.list) {
        if (!table.is_matrix(p)) continue;
        for (int64_t i = 0; i < p.size(); ++i) static_cast<int8_t *>(model.low_precision()->rows(p))[i] = number(p, i);
        std::fill_n(model.low_precision()->scales(p), p.rows, 0.01f);
    }
    model.parameters_written(stream);
    const xf::FileContents contents{"model", "", XF_WEIGHTS_INT8, {}};
    const std::vector<char> bytes = file_of(model, stream, contents);
    const xf::ModelFile file(std::make_shared<xf::MemoryInput>(bytes.data(), bytes.size()));
    const auto loaded = file.make_model(context, XF_WEIGHTS_INT8), copy = model.copy_to(context, "same", xf::Call());
    file.load(*loaded, stream, {});
    for (const auto &same : {loaded, copy}) {
        size_t wrong = 0;
        for (const xf::Parameter &p : table.list) {
            if (!table.is_matrix(p)) continue;
            std::vector<int8_t> found(static_cast<size_t>(p.size()));
            same->low_precision()->read_rows(stream, p, 0, p.rows, found.data());
            for (int64_t i = 0; i < p.size(); ++i) wrong += found[static_cast<size_t>(i)] == number(p, i) ? 0 : 1;
            for (int64_t row = 0; row < p.rows; ++row) wrong += same->low_precision()->scales(p)[row] == 0.01f ? 0 : 1;
        }
        CHECK_EQ(wrong, size_t{0});
    }
}

XF_TEST(invalid_requests_are_rejected) {
    const auto context = ref();
    const auto model = make_model(context, kTinyModel);
    const xf::ParameterTable &table = model->table();
    const xf::Parameter &matrix = table.list[0];
    std::vector<float> values(static_cast<size_t>(matrix.size()), 1.0f);
    for (const uint32_t type : kTypes) {
        xf::LowPrecisionWeights weights(&context->heap(), table, type);
        CHECK_FAILS(weights.vector(table.output), XF_ERROR_INTERNAL);
        CHECK_FAILS(weights.matrix(table.decoder.layers[0].cross.v), XF_ERROR_INTERNAL);
        CHECK_FAILS(weights.matrix(table.decoder.layers[0].ff.in_bias), XF_ERROR_INTERNAL);
        // Beyond the range of the type, and of 127 times the largest scale.
        values[3] = std::numeric_limits<float>::max();
        CHECK_FAILS(weights.write(matrix, 0, matrix.rows, values.data()), XF_ERROR_OUT_OF_RANGE);
        values[3] = std::numeric_limits<float>::quiet_NaN();
        CHECK_FAILS(weights.write(matrix, 0, matrix.rows, values.data()), XF_ERROR_OUT_OF_RANGE);
    }
    for (const float scale : {0.0f, 1e-38f, 1.0f, 2.6e36f}) CHECK(xf::is_valid_scale(scale));
    for (const float scale : {-1e-38f, 2.7e36f, std::numeric_limits<float>::infinity(), values[3]})
        CHECK(!xf::is_valid_scale(scale));
}

// A model with such long rows is not allocated.
XF_TEST(int8_rows_have_a_maximum_length) {
    const auto table_with = [](const char *d_ff) {
        return xf::ParameterTable(xf::ModelConfig::from(options_of(with(kTinyModel, {{"model.d_ff", d_ff}}))));
    };
    const xf::ParameterTable longest = table_with("131072"), longer = table_with("131073");
    CHECK(xf::LowPrecisionLayout(longest, XF_WEIGHTS_INT8).bytes() > 0);
    CHECK_FAILS(xf::LowPrecisionLayout(longer, XF_WEIGHTS_INT8), XF_ERROR_LIMIT);
    CHECK(xf::LowPrecisionLayout(longer, XF_WEIGHTS_FP16).bytes() > 0);
}

// A model of the size of the paper: bytes of each type compared with its values.
XF_TEST(the_overhead_of_the_layout_is_small) {
    const xf::ParameterTable table(xf::ModelConfig::from(options_of({{"model.vocab_size", "37000"}})));
    int64_t numbers = 0;
    for (const xf::Parameter &p : table.list) numbers += p.size();
    CHECK(xf::LowPrecisionLayout(table, XF_WEIGHTS_INT8).bytes() < numbers * 102 / 100);
    CHECK(xf::LowPrecisionLayout(table, XF_WEIGHTS_BF16).bytes() < numbers * 2 * 101 / 100);
}

}  // namespace
