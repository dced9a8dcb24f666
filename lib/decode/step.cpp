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

DecoderStep::DecoderStep(const Model &model, Stream &stream) : model_(model), stream_(stream) {
    const SpecialTokens &tokens = model.config().tokens;
    banned_ = {tokens.end};
    if (tokens.start != tokens.end) banned_.push_back(tokens.start);
    banned_.insert(banned_.end(), tokens.banned.begin(), tokens.banned.end());
}

void DecoderStep::Rows::clear() {
    for (std::vector<int32_t> *values : {&tokens, &slot_of_row, &sentence_begin, &sentence_length, &source})
        values->clear();
    allowed.clear();
    may_end = true;
}

Pass DecoderStep::pass() const {
    Pass pass{model_, stream_, *call_};
    pass.invariant = true;
    return pass;
}

void DecoderStep::begin(const PackedSide &src, int64_t sentences, Num memory, int64_t slots, int64_t limit,
                        const Call &call) {
    const ModelConfig &c = model_.config();
    sentences_ = sentences;
    slots_ = slots;
    limit_ = limit;
    call_ = &call;
    // Where calls are recorded, lengths that differ a little share a layout.
    const bool graphs = model_.context().graphs();
    memory_rows_ = graphs ? bucket(src.rows) : src.rows;
    max_source_length_ = graphs ? bucket(src.max_length) : src.max_length;
    source_begin_.assign(src.host_begin, src.host_begin + sentences);
    source_length_.assign(src.host_length, src.host_length + sentences);
    Arena size(model_.dtype());
    size.numbers(memory_rows_ * c.decoder_layers, c.kv_columns());
    memory_kv_.reserve(stream_.device(), size.bytes());
    const Num memory_kv(memory_kv_.data(), model_.dtype());
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        const AttentionOffsets &at = model_.table().decoder[static_cast<size_t>(i)].cross;
        linear_fwd(pass(), src.rows, c.kv_columns(), c.D, memory, at.k, at.k_bias,
                   memory_kv + i * memory_rows_ * c.kv_columns());
    }
    // What an earlier group left is used whole, however its slots were cut.
    const int64_t columns = c.decoder_layers * slots_ * (c.q_columns() + c.v_columns());
    const size_t step_bytes = static_cast<size_t>(columns) * number_bytes(model_.dtype());
    capacity_ = std::min(limit, static_cast<int64_t>(cache_.bytes() / step_bytes));
    if (capacity_ >= std::min(limit, kFirstCapacity)) return;
    capacity_ = 0;
    cache_ = Buffer();
    grow_cache(std::min(limit, kFirstCapacity), {}, slots_);
}

// Copies the blocks kept, each behind the one before. Within one buffer the new shape is no larger, so nothing moves
// up: pieces of at most the way they go never overlap.
void DecoderStep::move_slots(const Buffer &from, Shape before, const Buffer &to, Shape after,
                             std::span<const int32_t> kept, int64_t width) {
    const ModelConfig &c = model_.config();
    const int64_t columns = c.q_columns() + c.v_columns();
    const Num old(from.data(), model_.dtype()), made(to.data(), model_.dtype());
    const bool same = from.data() == to.data();
    const auto move = [&](int64_t target, int64_t source, int64_t count) {
        if (same && target == source) return;
        const int64_t most = same ? source - target : count;
        for (int64_t at = 0; at < count; at += most)
            stream_.copy(made + (target + at), old + (source + at),
                         static_cast<size_t>(std::min(most, count - at)) * number_bytes(model_.dtype()));
    };
    for (int64_t part = 0; part < 2 * c.decoder_layers; ++part) {  // keys and values of each layer
        const int64_t layer = part / 2, each = part % 2 == 0 ? c.q_columns() : c.v_columns();
        const auto begin = [&](const Shape &shape) {
            return shape.steps * shape.slots * (layer * columns + (part % 2 == 0 ? 0 : c.q_columns()));
        };
        if (before.slots == after.slots) {
            move(begin(after), begin(before), before.steps * before.slots * each);
            continue;
        }
        for (int64_t step = 0; step < before.steps; ++step) {
            const int64_t source = begin(before) + step * before.slots * each;
            int64_t target = begin(after) + step * after.slots * each;
            for (size_t i = 0; i < kept.size();) {
                size_t end = i + 1;  // neighbours go together
                while (end < kept.size() && kept[end] == kept[end - 1] + 1) ++end;
                const int64_t count = static_cast<int64_t>(end - i) * width * each;
                move(target, source + kept[i] * width * each, count);
                target += count;
                i = end;
            }
        }
    }
}

void DecoderStep::grow_cache(int64_t steps, std::span<const int32_t> kept, int64_t width) {
    const ModelConfig &c = model_.config();
    const Shape before{capacity_, slots_};
    if (capacity_ > 0) slots_ = static_cast<int64_t>(kept.size()) * width;
    Arena size(model_.dtype());
    size.numbers(c.decoder_layers * steps, slots_ * (c.q_columns() + c.v_columns()));
    Buffer larger(stream_.device(), size.bytes());
    move_slots(cache_, before, larger, {steps, slots_}, kept, width);
    stream_.sync();
    cache_ = std::move(larger);
    capacity_ = steps;
}

void DecoderStep::make_room(std::span<const int32_t> kept, int64_t width) {
    const Shape before{capacity_, slots_};
    const int64_t slots = static_cast<int64_t>(kept.size()) * width;
    const int64_t steps = std::min(limit_, before.steps * before.slots / slots);
    // A quarter more at least, so that what is copied in all stays within a few times the cache.
    if (steps < std::min(limit_, before.steps + before.steps / 4))
        return grow_cache(std::min(limit_, 2 * capacity_), kept, width);
    move_slots(cache_, before, cache_, {steps, slots}, kept, width);
    slots_ = slots;
    capacity_ = steps;
}

void DecoderStep::plan(int64_t rows, Arena *arena, Scratch *s) const {
    const ModelConfig &c = model_.config();
    s->residual = arena->numbers(rows, c.D);
    for (int i = 0; i < 2; ++i) {
        s->norm[i] = arena->numbers(rows, c.D);
        s->sum[i] = arena->numbers(rows, c.D);
    }
    s->wide = arena->numbers(rows, std::max(c.qkv_columns(), c.inner_columns()));
    s->hidden = c.gated ? arena->numbers(rows, c.F) : s->wide;
    s->context = arena->numbers(rows, c.v_columns());
}

DecoderStep::DeviceRows DecoderStep::upload_rows(const Rows &rows) {
    const auto count = static_cast<int64_t>(rows.tokens.size());
    host_ints_.clear();
    const auto append = [&](const std::vector<int32_t> &values) {
        const size_t at = host_ints_.size();
        host_ints_.insert(host_ints_.end(), values.begin(), values.end());
        return at;
    };
    const size_t tokens = append(rows.tokens), slot = append(rows.slot_of_row);
    const size_t q_begin = append(rows.sentence_begin), q_length = append(rows.sentence_length);
    const size_t positions = host_ints_.size();
    host_ints_.insert(host_ints_.end(), rows.tokens.size(), static_cast<int32_t>(rows.t));
    const size_t k_begin = host_ints_.size();
    for (const int32_t s : rows.source) host_ints_.push_back(source_begin_[static_cast<size_t>(s)]);
    const size_t k_length = host_ints_.size();
    for (const int32_t s : rows.source) host_ints_.push_back(source_length_[static_cast<size_t>(s)]);
    const size_t allowed = host_ints_.size();
    host_ints_.insert(host_ints_.end(), rows.allowed.begin(), rows.allowed.end());
    const size_t ancestors = host_ints_.size(), lines = static_cast<size_t>(slots_ * rows.ld_ancestors);
    const size_t bytes = host_ints_.size() * sizeof(int32_t), line_bytes = lines * sizeof(int32_t);
    ints_.reserve(stream_.device(), bytes + line_bytes);
    stream_.upload(ints_.data(), host_ints_.data(), bytes);
    if (rows.t > 0) stream_.upload(ints_.ints() + ancestors, rows.ancestors, line_bytes);
    const int32_t *base = ints_.ints();
    DeviceRows on_device{};
    on_device.rows = count;
    on_device.sentences = static_cast<int64_t>(rows.source.size());
    on_device.most_rows = *std::max_element(rows.sentence_length.begin(), rows.sentence_length.end());
    on_device.tokens = base + tokens;
    on_device.steps = base + positions;
    on_device.slot_of_row = base + slot;
    on_device.ancestors = base + ancestors;
    on_device.q_begin = base + q_begin;
    on_device.q_length = base + q_length;
    on_device.k_begin = base + k_begin;
    on_device.k_length = base + k_length;
    on_device.ld_ancestors = rows.ld_ancestors;
    on_device.max_step = rows.t;
    on_device.allowed = rows.allowed.empty() ? nullptr : reinterpret_cast<const uint32_t *>(base + allowed);
    on_device.may_end = rows.may_end;
    return on_device;
}

void DecoderStep::reserve(int64_t rows, int64_t steps) {
    while (capacity_ < std::min(steps, limit_)) {
        const int32_t all[] = {0};
        grow_cache(std::min(limit_, 2 * capacity_), all, slots_);
    }
    Scratch s{};
    Arena dry(model_.dtype());
    plan(rows, &dry, &s);
    workspace_.reserve(stream_.device(), dry.bytes());
}

void DecoderStep::run(const Rows &rows, int64_t k, float *values, int32_t *ids) {
    reserve(static_cast<int64_t>(rows.tokens.size()), rows.t + 1);
    run(upload_rows(rows), k, values, ids, false);
}

void DecoderStep::run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device) {
    Scratch s{};
    Arena arena(model_.dtype(), workspace_.data());
    plan(rows.rows, &arena, &s);
    const Pass now = pass();

    xf_top_k top{};
    top.rows = rows.rows;
    top.V = model_.config().V;
    top.D = model_.config().D;
    top.k = k;
    top.src = decode(now, rows, s);
    model_.matrix(model_.table().output).give_to(&top);
    top.bias = model_.param(model_.table().output_bias);
    const size_t allowed = rows.may_end ? 1 : 0;
    top.banned_count = static_cast<int64_t>(banned_.size() - allowed);
    top.banned = banned_.data() + allowed;
    top.allowed = rows.allowed;
    top.values = values;
    top.ids = ids;
    top.on_device = on_device;
    stream_.run(top);
}

// The decoder's output [rows, D].
Num DecoderStep::decode(const Pass &pass, const DeviceRows &rows, const Scratch &s) {
    const ModelConfig &c = model_.config();
    const ParameterTable &table = model_.table();
    const int64_t R = rows.rows;
    const Num memory_kv(memory_kv_.data(), model_.dtype()), cache(cache_.data(), model_.dtype());

    xf_embed_fwd embed{};
    embed.rows = R;
    embed.D = c.D;
    embed.ids = rows.tokens;
    embed.pos = rows.steps;
    embed.V = c.V;
    model_.matrix(table.target_embedding).give_to(&embed);
    embed.positions = model_.decoder_positions();
    embed.scale = c.embedding_scale;
    const Num embedded = c.embedding_norm ? s.sum[0] : s.residual;
    embed.dst = embedded;
    stream_.run(embed);
    Flow flow{embedded, embedded};
    int turn = 0;
    // A sub-layer leaves its output where the next boundary keeps its sum.
    const auto output = [&] { return s.at(turn).sum; };
    const auto boundary = [&](const NormOffsets &below, const NormOffsets &above) {
        flow = boundary_fwd(pass, after(pass, below, above), R, flow, output(), s.at(turn), 0);
        ++turn;
    };
    if (c.embedding_norm) {
        boundary_fwd(pass, table.decoder_entry, R, flow, nullptr, {Num(), s.residual, nullptr}, 0);
        flow = {s.residual, s.residual};
    }
    if (c.pre_norm) flow = boundary_fwd(pass, table.decoder[0].self.norm, R, flow, nullptr, s.at(turn++), 0);

    const float scale = 1.0f / std::sqrt(static_cast<float>(c.K));
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        const DecoderLayerOffsets &at = table.decoder[static_cast<size_t>(i)];
        const NormOffsets &next =
            i + 1 < c.decoder_layers ? table.decoder[static_cast<size_t>(i + 1)].self.norm : table.decoder_norm;

        linear_fwd(pass, R, c.qkv_columns(), c.D, flow.input, at.self.q, at.self.q_bias, s.wide);
        xf_attention_step step{};
        step.rows = R;
        step.H = c.H;
        step.dk = c.K;
        step.dv = c.W;
        step.slots = slots_;
        step.max_step = rows.max_step;
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
        linear_fwd(pass, R, c.D, c.v_columns(), s.context, at.self.o, at.self.o_bias, output());
        boundary(at.self.norm, at.cross.norm);

        linear_fwd(pass, R, c.q_columns(), c.D, flow.input, at.cross.q, at.cross.q_bias, s.wide);
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
        linear_fwd(pass, R, c.D, c.v_columns(), s.context, at.cross.o, at.cross.o_bias, output());
        boundary(at.cross.norm, at.ff.norm);

        const Num inner = c.plain_relu() ? Num() : s.wide;
        feed_forward_fwd(pass, at.ff, R, 0, flow.input, {inner, s.hidden, s.at(turn)});
        boundary(at.ff.norm, next);
    }
    return flow.input;
}

}  // namespace xf
