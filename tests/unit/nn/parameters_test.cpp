// The parameter table and initial values: names, offsets, sizes of the paper's models, and distributions.
//
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "nn/fixture.hpp"
#include "nn/parameters.h"

namespace {

using namespace xf_test;

xf::ParameterTable table_of(const Settings &settings) {
    return xf::ParameterTable(xf::ModelConfig::from(options_of(settings)));
}

xf::ParameterTable preset_table(const char *preset, int64_t V) {
    xf::Options options;
    options.preset(preset);
    options.set_i64("model.vocab_size", V);
    return xf::ParameterTable(xf::ModelConfig::from(options));
}

std::vector<float> initial(const xf::ParameterTable &table, uint64_t seed, float before) {
    std::vector<float> block(static_cast<size_t>(table.total), before);
    table.initialize(seed, block.data());
    return block;
}

int64_t numbers(const xf::ParameterTable &table) {
    int64_t sum = 0;
    for (const xf::Parameter &p : table.list) sum += p.size();
    return sum;
}

// Computed by hand from section 3: no bias in attention, two in the feed-forward sub-layer, weight and bias per norm,
// and one shared embedding.
int64_t by_hand(int64_t N, int64_t D, int64_t F, int64_t HK, int64_t HV, int64_t V) {
    const int64_t norm = 2 * D, attention = 2 * HK * D + 2 * HV * D + norm, ff = 2 * D * F + F + D + norm;
    return V * D + N * (attention + ff) + N * (2 * attention + ff);
}

XF_TEST(the_models_of_the_paper_have_its_sizes) {
    const int64_t base = numbers(preset_table("base", 37000)), big = numbers(preset_table("big", 37000));
    CHECK_EQ(base, by_hand(6, 512, 2048, 512, 512, 37000));
    CHECK_EQ(big, by_hand(6, 1024, 4096, 1024, 1024, 37000));
    CHECK_NEAR(static_cast<double>(base), 63.0e6, 0.1e6);  // Table 3 says 65 with tensor2tensor's padded vocabulary
    CHECK(big > 209e6 && big < 214.5e6);                   // Table 3 says 213
    CHECK_NEAR(static_cast<double>(numbers(preset_table("small", 10000))), 10e6, 2e6);
}

XF_TEST(names_are_unique_and_tensors_do_not_overlap) {
    for (const Variant &variant : kVariants) {
        const xf::ParameterTable table = table_of(variant.settings());
        std::set<std::string> names;
        int64_t end = 0;
        for (const xf::Parameter &p : table.list) {
            CHECK(names.insert(p.name).second);
            CHECK(p.offset >= end);
            CHECK(p.offset - end < 16);
            CHECK(p.rows > 0 && p.columns > 0 && (!p.vector || p.rows == 1));
            end = p.offset + p.size();
        }
        CHECK(table.total >= end && table.total - end < 16);
        CHECK_EQ(table.total % 16, 0);
    }
}

// A model in which all sizes differ.
xf::ParameterTable small_table(const Settings &changes) {
    const Settings sizes =
        "model.encoder_layers=1 model.decoder_layers=1 model.d_model=6 model.d_ff=11 model.heads=2 "
        "model.d_k=4 model.d_v=5 model.vocab_size=13 model.max_length=9"_set;
    return table_of(with(sizes, changes));
}

std::string names_and_shapes(const xf::ParameterTable &table) {
    std::string found;
    for (const xf::Parameter &p : table.list)
        found += xf::format("%s %lldx%lld\n", p.name.c_str(), static_cast<long long>(p.rows),
                            static_cast<long long>(p.columns));
    return found;
}

// "PATH.ROW" for each row, in lines.
std::string at(const std::string &path, const std::vector<const char *> &rows) {
    std::string lines;
    for (const char *row : rows) lines += path + "." + row + "\n";
    return lines;
}

XF_TEST(names_and_shapes_of_a_small_model) {
    const std::vector<const char *> attention = {"q.weight 8x6",  "k.weight 8x6",    "v.weight 10x6",
                                                 "o.weight 6x10", "norm.weight 1x6", "norm.bias 1x6"};
    const std::vector<const char *> feed_forward = {"in.weight 11x6", "in.bias 1x11",    "out.weight 6x11",
                                                    "out.bias 1x6",   "norm.weight 1x6", "norm.bias 1x6"};
    CHECK_EQ(names_and_shapes(small_table({{"model.norm", "pre"}, {"model.positions", "learned"}})),
             "embedding.weight 13x6\nencoder.position.weight 9x6\n" + at("encoder.0.self_attention", attention) +
                 at("encoder.0.feed_forward", feed_forward) + at("encoder", {"norm.weight 1x6", "norm.bias 1x6"}) +
                 "decoder.position.weight 9x6\n" + at("decoder.0.self_attention", attention) +
                 at("decoder.0.cross_attention", attention) + at("decoder.0.feed_forward", feed_forward) +
                 at("decoder", {"norm.weight 1x6", "norm.bias 1x6"}));
}

XF_TEST(names_and_shapes_of_a_model_with_all_options) {
    const xf::ParameterTable table = small_table(
        "model.source_vocab_size=17 model.tie=none model.attention_bias=true model.output_bias=true "
        "model.activation=reglu model.norm=post_rms model.embedding_norm=true model.positions=fixed"_set);
    const std::vector<const char *> attention = {"q.weight 8x6",  "k.weight 8x6", "v.weight 10x6",
                                                 "q.bias 1x8",    "k.bias 1x8",   "v.bias 1x10",
                                                 "o.weight 6x10", "o.bias 1x6",   "norm.weight 1x6"};
    const std::vector<const char *> feed_forward = {"in.weight 11x6", "gate.weight 11x6", "in.bias 1x11",
                                                    "gate.bias 1x11", "out.weight 6x11",  "out.bias 1x6",
                                                    "norm.weight 1x6"};
    CHECK_EQ(names_and_shapes(table),
             at("encoder", {"embedding.weight 17x6", "position.weight 9x6", "embedding_norm.weight 1x6"}) +
                 at("encoder.0.self_attention", attention) + at("encoder.0.feed_forward", feed_forward) +
                 at("decoder", {"embedding.weight 13x6", "position.weight 9x6", "embedding_norm.weight 1x6"}) +
                 at("decoder.0.self_attention", attention) + at("decoder.0.cross_attention", attention) +
                 at("decoder.0.feed_forward", feed_forward) + at("output", {"weight 13x6", "bias 1x13"}));
    // One linear map uses them as one matrix and one bias.
    for (const xf::AttentionOffsets &at :
         {table.encoder.layers[0].self, table.decoder.layers[0].self, table.decoder.layers[0].cross}) {
        CHECK_EQ(at.k_bias, at.q_bias + 8);
        CHECK_EQ(at.v_bias, at.k_bias + 8);
    }
    for (const xf::FeedForwardOffsets &at : {table.encoder.layers[0].ff, table.decoder.layers[0].ff}) {
        CHECK_EQ(at.gate_weights, at.in_weights + 11 * 6);
        CHECK_EQ(at.gate_bias, at.in_bias + 11);
    }
}

// Initial values of a table of positions: sinusoids if it is fixed, noise if it is learned.
XF_TEST(a_fixed_table_begins_with_the_sinusoids) {
    const xf::ParameterTable table = table_of(kVariants[5].settings());
    const std::vector<float> block = initial(table, 3, 0);
    std::vector<float> expected(96 * 16);
    xf::fill_sinusoids(0, 96, 16, expected.data());
    CHECK(
        std::equal(expected.begin(), expected.end(), block.begin() + static_cast<ptrdiff_t>(table.encoder.positions)));
    CHECK(
        std::equal(expected.begin(), expected.end(), block.begin() + static_cast<ptrdiff_t>(table.decoder.positions)));
    CHECK_NEAR(expected[17], std::cos(1.0), 1e-7);
}

XF_TEST(contradictory_options_are_rejected) {
    const auto refuse = [](const Settings &changes, const char *part) {
        const std::string said = outcome_of([&] { table_of(with(kTinyModel, changes)); }).message;
        if (said.find(part) == std::string::npos)
            record(__FILE__, __LINE__, xf::format("%s: '%s'", part, said.c_str()));
    };
    refuse({{"model.source_vocab_size", "18"}}, "expected equal sizes with model.tie=all");
    refuse({{"model.start_token", "19"}}, "model.start_token is 19, expected at most 18");
    refuse({{"model.end_token", "18"}, {"model.tie", "none"}, {"model.source_vocab_size", "18"}},
           "model.end_token is 18, expected at most 17 because model.source_vocab_size is 18");
    refuse({{"model.first_token", "1"}}, "model.first_token is 1");
    refuse({{"model.banned_tokens", "3,x"}}, "model.banned_tokens is '3,x'");
    refuse({{"model.banned_tokens", "3,"}}, "model.banned_tokens is '3,'");
    refuse({{"model.banned_tokens", "3,19"}}, "is 19, expected at most 18");
    refuse({{"model.banned_tokens", "1"}}, "without which no hypothesis can end");
}

// Backends multiply with q, k, and v as one matrix.
XF_TEST(q_k_and_v_are_adjacent) {
    // Odd sizes, after which alignment would leave a gap.
    const xf::ParameterTable table = table_of(with(kVariants[2].settings(), {{"model.d_model", "10"}}));
    const auto check = [](const xf::AttentionOffsets &at) {
        CHECK(at.k == at.q + 3 * 5 * 10 && at.v == at.k + 3 * 5 * 10 && at.o >= at.v + 3 * 7 * 10);
        CHECK(at.q % 16 == 0 && at.o % 16 == 0);
    };
    for (const auto &layer : table.encoder.layers) check(layer.self);
    for (const auto &layer : table.decoder.layers) check(layer.self), check(layer.cross);
}

XF_TEST(initial_values_have_their_mean_and_variance) {
    const xf::ParameterTable table = preset_table("small", 2000);
    const std::vector<float> block = initial(table, 3, 0);
    for (const xf::Parameter &p : table.list) {
        double sum = 0, squares = 0, top = 0;
        for (int64_t i = 0; i < p.size(); ++i) {
            const double value = block[static_cast<size_t>(p.offset + i)];
            sum += value, squares += value * value, top = std::max(top, std::fabs(value));
        }
        const auto n = static_cast<double>(p.size());
        const double mean = sum / n, variance = squares / n - mean * mean;
        if (p.vector) {
            CHECK_EQ(mean, p.name.ends_with("norm.weight") ? 1.0 : 0.0);
            CHECK_EQ(variance, 0.0);
            continue;
        }
        // Glorot and Bengio 2010, eq. 16: q is initialized separately, not as a third of a stacked matrix.
        const bool embedding = p.name == "embedding.weight";
        const double expected =
            embedding ? 1.0 / static_cast<double>(p.columns) : 2.0 / static_cast<double>(p.rows + p.columns);
        CHECK_NEAR(mean, 0, 4.5 * std::sqrt(expected / n));
        CHECK_NEAR(variance / expected, 1, 4.5 * std::sqrt(2 / n));
        CHECK(embedding ? top > 4 * std::sqrt(expected) : top <= std::sqrt(3 * expected) * (1 + 1e-6));
        CHECK(top > 0.99 * std::sqrt(3 * expected));
    }
}

XF_TEST(the_seed_determines_every_matrix_and_all_differ) {
    const xf::ParameterTable table = table_of(kVariants[1].settings());
    const std::vector<float> a = initial(table, 1, 0);
    CHECK(a == initial(table, 1, 7));  // including the padding between tensors
    std::set<std::array<float, 16>> beginnings;
    for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, 1 | uint64_t{1} << 40}) {
        const std::vector<float> block = initial(table, seed, 0);
        for (const xf::Parameter &p : table.list) {
            if (p.vector) continue;
            std::array<float, 16> begin{};
            std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(p.offset), begin.size(), begin.begin());
            CHECK(beginnings.insert(begin).second);
        }
    }
}

}  // namespace
