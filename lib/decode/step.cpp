// See step.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/step.h"

#include <algorithm>
#include <cmath>

namespace xf {
namespace {

constexpr int64_t kFirstCapacity = 32;  // steps; doubled when an answer is longer

}  // namespace

void DecoderStep::begin(const PackedSide &src, int64_t sentences, Num memory, int64_t slots, int64_t limit) {
    const ModelConfig &c = model_.config();
    sentences_ = sentences;
    slots_ = slots;
    limit_ = limit;
    // Where calls are recorded, lengths that differ a little share a layout.
    const bool graphs = model_.context().graphs();
    memory_rows_ = graphs ? bucket(src.rows) : src.rows;
    max_source_length_ = graphs ? bucket(src.max_length) : src.max_length;
    source_begin_.resize(static_cast<size_t>(sentences));
    source_length_.resize(static_cast<size_t>(sentences));
    stream_.download(source_begin_.data(), src.begin, source_begin_.size() * sizeof(int32_t));
    stream_.download(source_length_.data(), src.length, source_length_.size() * sizeof(int32_t));
    Arena size(model_.dtype());
    size.numbers(memory_rows_ * c.decoder_layers, c.kv_columns());
    memory_kv_.reserve(stream_.device(), size.bytes());
    const Num memory_kv(memory_kv_.data(), model_.dtype());
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        xf_linear_fwd args{};
        args.M = src.rows;
        args.N = c.kv_columns();
        args.K = c.D;
        args.src = memory;
        args.ld_src = c.D;
        args.weights = model_.weights(model_.table().decoder[static_cast<size_t>(i)].cross.k);
        args.dst = memory_kv + i * memory_rows_ * c.kv_columns();
        args.ld_dst = c.kv_columns();
        args.flags = XF_LINEAR_ROW_INVARIANT;
        stream_.run(args);
    }
    // What an earlier group left is used whole, however its slots were cut.
    const int64_t columns = c.decoder_layers * slots_ * (c.q_columns() + c.v_columns());
    const size_t step_bytes = static_cast<size_t>(columns) * number_bytes(model_.dtype());
    capacity_ = std::min(limit, static_cast<int64_t>(cache_.bytes() / step_bytes));
    if (capacity_ >= std::min(limit, kFirstCapacity)) return;
    capacity_ = 0;
    cache_ = Buffer();
    grow_cache(std::min(limit, kFirstCapacity));
}

void DecoderStep::grow_cache(int64_t steps) {
    const ModelConfig &c = model_.config();
    const int64_t columns = c.q_columns() + c.v_columns();
    Arena size(model_.dtype());
    size.numbers(c.decoder_layers * steps, slots_ * columns);
    Buffer larger(stream_.device(), size.bytes());
    const Num to(larger.data(), model_.dtype()), from(cache_.data(), model_.dtype());
    for (int64_t part = 0; part < 2 * c.decoder_layers && capacity_ > 0; ++part) {
        const int64_t layer = part / 2, width = slots_ * (part % 2 == 0 ? c.q_columns() : c.v_columns());
        const int64_t skip = part % 2 == 0 ? 0 : slots_ * c.q_columns();
        stream_.copy(to + (layer * steps * slots_ * columns + skip * steps),
                     from + (layer * capacity_ * slots_ * columns + skip * capacity_),
                     static_cast<size_t>(capacity_ * width) * number_bytes(model_.dtype()));
    }
    stream_.sync();
    cache_ = std::move(larger);
    capacity_ = steps;
}

void DecoderStep::plan(int64_t rows, Arena *arena, Scratch *s) const {
    const ModelConfig &c = model_.config();
    s->residual = arena->numbers(rows, c.D);
    for (int i = 0; i < 2; ++i) {
        s->norm[i] = arena->numbers(rows, c.D);
        s->sum[i] = arena->numbers(rows, c.D);
    }
    s->wide = arena->numbers(rows, std::max(c.qkv_columns(), c.F));
    s->context = arena->numbers(rows, c.v_columns());
}

DecoderStep::DeviceRows DecoderStep::upload_rows(const Rows &rows, int64_t t) {
    const auto count = static_cast<int64_t>(rows.tokens.size());
    host_ints_.clear();
    const auto append = [&](const std::vector<int32_t> &values) {
        const size_t at = host_ints_.size();
        host_ints_.insert(host_ints_.end(), values.begin(), values.end());
        return at;
    };
    const size_t tokens = append(rows.tokens), slot = append(rows.slot_of_row);
    const size_t ancestors = host_ints_.size();
    host_ints_.resize(ancestors + static_cast<size_t>(slots_ * t));
    for (size_t r = 0; t > 0 && r < rows.slot_of_row.size(); ++r)
        std::copy_n(rows.ancestors.begin() + static_cast<int64_t>(r) * t, t,
                    host_ints_.begin() + static_cast<int64_t>(ancestors) + rows.slot_of_row[r] * t);
    const size_t q_begin = append(rows.sentence_begin), q_length = append(rows.sentence_length);
    const size_t positions = host_ints_.size();
    host_ints_.insert(host_ints_.end(), static_cast<size_t>(count), static_cast<int32_t>(t));
    const size_t k_begin = host_ints_.size();
    for (const int32_t s : rows.source) host_ints_.push_back(source_begin_[static_cast<size_t>(s)]);
    const size_t k_length = host_ints_.size();
    for (const int32_t s : rows.source) host_ints_.push_back(source_length_[static_cast<size_t>(s)]);
    const size_t allowed = host_ints_.size();
    host_ints_.insert(host_ints_.end(), rows.allowed.begin(), rows.allowed.end());
    const size_t bytes = host_ints_.size() * sizeof(int32_t);
    if (bytes > ints_.bytes()) ints_.reserve(stream_.device(), 2 * bytes);  // it grows by a column a step
    stream_.upload(ints_.data(), host_ints_.data(), bytes);
    const int32_t *base = ints_.ints();
    return {count,
            static_cast<int64_t>(rows.source.size()),
            *std::max_element(rows.sentence_length.begin(), rows.sentence_length.end()),
            base + tokens,
            base + positions,
            base + slot,
            base + ancestors,
            base + q_begin,
            base + q_length,
            base + k_begin,
            base + k_length,
            t,
            rows.allowed.empty() ? nullptr : reinterpret_cast<const uint32_t *>(base + allowed)};
}

void DecoderStep::reserve(int64_t rows, int64_t steps) {
    while (capacity_ < std::min(steps, limit_)) grow_cache(std::min(limit_, 2 * capacity_));
    Scratch s{};
    Arena dry(model_.dtype());
    plan(rows, &dry, &s);
    workspace_.reserve(stream_.device(), dry.bytes());
}

void DecoderStep::run(const Rows &rows, int64_t t, int64_t k, float *values, int32_t *ids) {
    reserve(static_cast<int64_t>(rows.tokens.size()), t + 1);
    run(upload_rows(rows, t), k, values, ids, false);
}

void DecoderStep::run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device) {
    const ModelConfig &c = model_.config();
    const ParameterTable &table = model_.table();
    const int64_t R = rows.rows;
    const Num memory_kv(memory_kv_.data(), model_.dtype()), cache(cache_.data(), model_.dtype());
    Scratch s{};
    Arena arena(model_.dtype(), workspace_.data());
    plan(R, &arena, &s);

    const auto linear = [&](int64_t N, int64_t K, Num src, int64_t weights, Num bias, Num dst, uint32_t flags) {
        xf_linear_fwd args{R, N, K, src, K, model_.weights(weights), bias, dst, N, flags | XF_LINEAR_ROW_INVARIANT};
        stream_.run(args);
    };
    Num residual = s.residual, input = s.residual;
    int turn = 0;
    // Adds src (null at the entry of a pre-LN stack) and normalises; see transformer.h on boundaries.
    const auto boundary = [&](const NormOffsets &norm, Num src) {
        xf_add_norm_fwd args{};
        args.M = R;
        args.D = c.D;
        args.residual = residual;
        args.src = src;
        args.weights = model_.param(norm.weights);
        args.bias = model_.param(norm.bias);
        args.eps = c.norm_epsilon;
        args.sum = c.pre_norm && src != nullptr ? s.sum[turn] : nullptr;
        args.dst = s.norm[turn];
        stream_.run(args);
        input = s.norm[turn];
        residual = !c.pre_norm ? input : src != nullptr ? s.sum[turn] : residual;
        turn ^= 1;
    };
    const auto pick = [&](const NormOffsets &own, const NormOffsets &next) -> const NormOffsets & {
        return c.pre_norm ? next : own;
    };

    xf_embed_fwd embed{};
    embed.rows = R;
    embed.D = c.D;
    embed.ids = rows.tokens;
    embed.pos = rows.steps;
    embed.weights = model_.weights(table.embedding);
    embed.positions = model_.decoder_positions();
    embed.scale = std::sqrt(static_cast<float>(c.D));
    embed.dst = s.residual;
    stream_.run(embed);
    if (c.pre_norm) boundary(table.decoder[0].self.norm, nullptr);

    const float scale = 1.0f / std::sqrt(static_cast<float>(c.K));
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        const DecoderLayerOffsets &at = table.decoder[static_cast<size_t>(i)];
        const NormOffsets &next =
            i + 1 < c.decoder_layers ? table.decoder[static_cast<size_t>(i + 1)].self.norm : table.decoder_norm;
        const Num sub = s.sum[turn];  // a sub-layer's output: free until the boundary that reads it writes it

        linear(c.qkv_columns(), c.D, input, at.self.q, nullptr, s.wide, 0);
        xf_attention_step step{};
        step.rows = R;
        step.H = c.H;
        step.dk = c.K;
        step.dv = c.W;
        step.slots = slots_;
        step.max_step = rows.ld_ancestors;
        step.steps = rows.steps;
        step.slot_of_row = rows.slot_of_row;
        step.ancestors = rows.ancestors;
        step.ld_ancestors = rows.ld_ancestors;
        step.q = s.wide;
        step.k = s.wide + c.q_columns();
        step.v = s.wide + 2 * c.q_columns();
        step.ld_q = step.ld_k = step.ld_v = c.qkv_columns();
        const Num k_cache = cache + i * capacity_ * slots_ * (c.q_columns() + c.v_columns());
        step.k_cache = k_cache;
        step.v_cache = k_cache + capacity_ * slots_ * c.q_columns();
        step.scale = scale;
        step.window = c.window;
        step.dst = s.context;
        step.ld_dst = c.v_columns();
        stream_.run(step);
        linear(c.D, c.v_columns(), s.context, at.self.o, nullptr, sub, 0);
        boundary(pick(at.self.norm, at.cross.norm), sub);

        const Num cross = s.sum[turn];
        linear(c.q_columns(), c.D, input, at.cross.q, nullptr, s.wide, 0);
        xf_attention attention{};
        attention.B = rows.sentences;
        attention.H = c.H;
        attention.dk = c.K;
        attention.dv = c.W;
        attention.max_q_len = rows.most_rows;
        attention.max_k_len = max_source_length_;
        attention.q_begin = rows.q_begin;
        attention.q_len = rows.q_length;
        attention.k_begin = rows.k_begin;
        attention.k_len = rows.k_length;
        attention.q = s.wide;
        attention.ld_q = c.q_columns();
        const Num keys = memory_kv + i * memory_rows_ * c.kv_columns();
        attention.k = keys;
        attention.v = keys + c.q_columns();
        attention.ld_k = attention.ld_v = c.kv_columns();
        attention.scale = scale;
        attention.dst = s.context;
        attention.ld_dst = c.v_columns();
        stream_.run(attention);
        linear(c.D, c.v_columns(), s.context, at.cross.o, nullptr, cross, 0);
        boundary(pick(at.cross.norm, at.ff.norm), cross);

        const Num ff = s.sum[turn];
        linear(c.F, c.D, input, at.ff.in_weights, model_.weights(at.ff.in_bias), s.wide, XF_LINEAR_RELU);
        linear(c.D, c.F, s.wide, at.ff.out_weights, model_.weights(at.ff.out_bias), ff, 0);
        boundary(pick(at.ff.norm, next), ff);
    }

    xf_top_k top{};
    top.rows = R;
    top.V = c.V;
    top.D = c.D;
    top.k = k;
    top.src = input;
    top.weights = model_.weights(table.embedding);
    static constexpr int32_t kBanned[] = {kStartToken};  // never an answer's token
    top.banned_count = 1;
    top.banned = kBanned;
    top.allowed = rows.allowed;
    top.values = values;
    top.ids = ids;
    top.on_device = on_device;
    stream_.run(top);
}

}  // namespace xf
