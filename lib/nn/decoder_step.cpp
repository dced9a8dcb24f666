// See decoder_step.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/decoder_step.h"

#include <algorithm>

namespace xf {
namespace {

constexpr int64_t kFirstCapacity = 32;  // steps; doubled when needed

}  // namespace

// Self-attention over the cached ancestors of each row, and cross-attention over the keys and values of the sources.
class DecoderStep::CachedAttention final : public Attention {
public:
    CachedAttention(const DecoderStep &step, const DeviceRows &rows) : step_(step), rows_(rows) {}

    void self(const Pass &pass, int64_t layer, uint32_t, const AttentionActivations &acts) override {
        const ModelConfig &c = pass.config();
        xf_attention_step args{};
        args.rows = rows_.rows;
        args.H = c.H;
        args.dk = c.d_k;
        args.dv = c.d_v;
        args.slots = step_.slots_;
        args.max_step = rows_.max_step;
        args.steps = rows_.steps;
        args.slot_of_row = rows_.slot_of_row;
        args.ancestors = rows_.ancestors;
        args.ld_ancestors = rows_.ld_ancestors;
        args.q = acts.qkv;
        args.k = acts.qkv + c.q_columns();
        args.v = acts.qkv + 2 * c.q_columns();
        args.ld_q = args.ld_k = args.ld_v = c.qkv_columns();
        const Num keys = step_.keys(layer);
        args.k_cache = keys;
        args.v_cache = keys + step_.capacity_ * step_.slots_ * c.q_columns();
        args.scale = c.attention_scale();
        args.window = c.window;
        args.dst = acts.context;
        args.ld_dst = c.v_columns();
        pass.stream.run(args);
    }

    void cross(const Pass &pass, int64_t layer, uint32_t, const AttentionActivations &acts) override {
        const ModelConfig &c = pass.config();
        xf_attention args{};
        args.B = rows_.sentences;
        args.H = c.H;
        args.dk = c.d_k;
        args.dv = c.d_v;
        args.max_q_len = rows_.max_rows;
        args.max_k_len = step_.max_source_length_;
        args.q_begin = rows_.q_begin;
        args.q_len = rows_.q_length;
        args.k_begin = rows_.k_begin;
        args.k_len = rows_.k_length;
        args.q = acts.qkv;
        args.ld_q = c.q_columns();
        const Num kv = step_.memory_kv(layer);
        args.k = kv;
        args.v = kv + c.q_columns();
        args.ld_k = args.ld_v = c.kv_columns();
        args.scale = c.attention_scale();
        args.dst = acts.context;
        args.ld_dst = c.v_columns();
        pass.stream.run(args);
    }

private:
    const DecoderStep &step_;
    const DeviceRows &rows_;
};

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

int64_t DecoderStep::cache_columns() const { return model_.config().q_columns() + model_.config().v_columns(); }

Num DecoderStep::keys(int64_t layer) const {
    return Num(cache_.data(), model_.dtype()) + layer * capacity_ * slots_ * cache_columns();
}

Num DecoderStep::memory_kv(int64_t layer) const {
    return Num(memory_kv_.data(), model_.dtype()) + layer * memory_rows_ * model_.config().kv_columns();
}

void DecoderStep::begin(const PackedSide &src, int64_t sentences, Num memory, int64_t slots, int64_t limit,
                        const Call &call) {
    const ModelConfig &c = model_.config();
    slots_ = slots;
    limit_ = limit;
    call_ = &call;
    // Similar lengths share a layout if operations are recorded.
    const bool graphs = model_.context().graphs();
    memory_rows_ = graphs ? bucket(src.rows) : src.rows;
    max_source_length_ = graphs ? bucket(src.max_length) : src.max_length;
    source_begin_.assign(src.host_begin, src.host_begin + sentences);
    source_length_.assign(src.host_length, src.host_length + sentences);
    Arena size(model_.dtype());
    size.numbers(memory_rows_ * c.decoder_layers, c.kv_columns());
    memory_kv_.reserve(stream_.device(), size.bytes());
    for (int64_t i = 0; i < c.decoder_layers; ++i)
        cross_kv_fwd(pass(), model_.table().decoder.layers[i].cross, src.rows, memory, memory_kv(i));
    // The memory of the previous group is reused, whatever its shape was.
    const size_t step_bytes = c.decoder_layers * slots_ * cache_columns() * number_bytes(model_.dtype());
    capacity_ = std::min<int64_t>(limit, cache_.bytes() / step_bytes);
    if (capacity_ >= std::min(limit, kFirstCapacity)) return;
    capacity_ = 0;
    cache_ = Buffer();
    grow_cache(std::min(limit, kFirstCapacity), {}, slots_);
}

// Copies the kept blocks so that they are contiguous. Within one buffer the new shape is not larger than the old one,
// so every block moves toward the beginning. A copy of at most the distance it moves never overlaps itself.
void DecoderStep::move_slots(const Buffer &from, Shape before, const Buffer &to, Shape after,
                             std::span<const int32_t> kept, int64_t width) {
    const ModelConfig &c = model_.config();
    const Num src(from.data(), model_.dtype()), dst(to.data(), model_.dtype());
    const bool same = from.data() == to.data();
    const auto move = [&](int64_t target, int64_t source, int64_t count) {
        if (same && target == source) return;
        const int64_t chunk = same ? source - target : count;
        for (int64_t at = 0; at < count; at += chunk)
            stream_.copy(dst + (target + at), src + (source + at),
                         std::min(chunk, count - at) * number_bytes(model_.dtype()));
    };
    for (int64_t part = 0; part < 2 * c.decoder_layers; ++part) {  // keys and values of each layer
        const int64_t layer = part / 2, columns = part % 2 == 0 ? c.q_columns() : c.v_columns();
        const auto begin = [&](const Shape &shape) {
            return shape.steps * shape.slots * (layer * cache_columns() + (part % 2 == 0 ? 0 : c.q_columns()));
        };
        if (before.slots == after.slots) {
            move(begin(after), begin(before), before.steps * before.slots * columns);
            continue;
        }
        for (int64_t step = 0; step < before.steps; ++step) {
            const int64_t source = begin(before) + step * before.slots * columns;
            int64_t target = begin(after) + step * after.slots * columns;
            for (size_t i = 0; i < kept.size();) {
                size_t end = i + 1;  // adjacent blocks are copied together
                while (end < kept.size() && kept[end] == kept[end - 1] + 1) ++end;
                const int64_t count = (end - i) * width * columns;
                move(target, source + kept[i] * width * columns, count);
                target += count;
                i = end;
            }
        }
    }
}

void DecoderStep::grow_cache(int64_t steps, std::span<const int32_t> kept, int64_t width) {
    const ModelConfig &c = model_.config();
    const Shape before{capacity_, slots_};
    if (capacity_ > 0) slots_ = kept.size() * width;
    Arena size(model_.dtype());
    size.numbers(c.decoder_layers * steps, slots_ * cache_columns());
    Buffer larger(stream_.device(), size.bytes());
    move_slots(cache_, before, larger, {steps, slots_}, kept, width);
    stream_.sync();
    cache_ = std::move(larger);
    capacity_ = steps;
}

void DecoderStep::make_room(std::span<const int32_t> kept, int64_t width) {
    const Shape before{capacity_, slots_};
    const int64_t slots = kept.size() * width;
    const int64_t steps = std::min(limit_, before.steps * before.slots / slots);
    // At least a quarter more steps, so that the total amount copied is at most a few times the size of the cache.
    if (steps < std::min(limit_, before.steps + before.steps / 4))
        return grow_cache(std::min(limit_, 2 * capacity_), kept, width);
    move_slots(cache_, before, cache_, {steps, slots}, kept, width);
    slots_ = slots;
    capacity_ = steps;
}

DecoderStep::DeviceRows DecoderStep::upload(const Rows &rows) {
    const int64_t count = rows.tokens.size(), sentences = rows.source.size();
    staging_.clear();
    const size_t tokens = staging_.add(rows.tokens), slots = staging_.add(rows.slot_of_row);
    const size_t steps = staging_.add(count, [&](int64_t) { return rows.t; });
    const size_t q_begin = staging_.add(rows.sentence_begin), q_length = staging_.add(rows.sentence_length);
    const size_t k_begin = staging_.add(sentences, [&](int64_t i) { return source_begin_[rows.source[i]]; });
    const size_t k_length = staging_.add(sentences, [&](int64_t i) { return source_length_[rows.source[i]]; });
    const size_t allowed = staging_.add(rows.allowed.size(), [&](int64_t i) { return rows.allowed[i]; });
    staging_.upload(stream_);
    const size_t bytes = slots_ * rows.ld_ancestors * sizeof(int32_t);
    ancestors_.reserve(stream_.device(), bytes);
    if (rows.t > 0) stream_.upload(ancestors_.data(), rows.ancestors, bytes);
    DeviceRows device{};
    device.rows = count;
    device.sentences = sentences;
    device.max_rows = *std::max_element(rows.sentence_length.begin(), rows.sentence_length.end());
    device.tokens = staging_.at(tokens);
    device.steps = staging_.at(steps);
    device.slot_of_row = staging_.at(slots);
    device.ancestors = ancestors_.ints();
    device.q_begin = staging_.at(q_begin);
    device.q_length = staging_.at(q_length);
    device.k_begin = staging_.at(k_begin);
    device.k_length = staging_.at(k_length);
    device.ld_ancestors = rows.ld_ancestors;
    device.max_step = rows.t;
    device.allowed = rows.allowed.empty() ? nullptr : reinterpret_cast<const uint32_t *>(staging_.at(allowed));
    device.may_end = rows.may_end;
    return device;
}

void DecoderStep::reserve(int64_t rows, int64_t steps) {
    while (capacity_ < std::min(steps, limit_)) {
        const int32_t all[] = {0};
        grow_cache(std::min(limit_, 2 * capacity_), all, slots_);
    }
    Arena dry(model_.dtype());
    plan_stack(model_.config(), Stack::kDecoder, PassKind::kInference, rows, 0, &dry, &acts_);
    workspace_.reserve(stream_.device(), dry.bytes());
}

void DecoderStep::run(const Rows &rows, int64_t k, float *values, int32_t *ids) {
    reserve(rows.tokens.size(), rows.t + 1);
    run(upload(rows), k, values, ids, false);
}

void DecoderStep::run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device) {
    const ModelConfig &c = model_.config();
    Arena arena(model_.dtype(), workspace_.data());
    plan_stack(c, Stack::kDecoder, PassKind::kInference, rows.rows, 0, &arena, &acts_);
    CachedAttention attention(*this, rows);

    xf_top_k top{};
    top.rows = rows.rows;
    top.V = c.V;
    top.D = c.D;
    top.k = k;
    top.src = stack_fwd(pass(), Stack::kDecoder, {rows.rows, rows.tokens, rows.steps}, &attention, acts_);
    model_.matrix(model_.table().output).give_to(&top);
    top.bias = model_.param(model_.table().output_bias);
    const int64_t skipped = rows.may_end ? 1 : 0;
    top.banned_count = banned_.size() - skipped;
    top.banned = banned_.data() + skipped;
    top.allowed = rows.allowed;
    top.values = values;
    top.ids = ids;
    top.on_device = on_device;
    stream_.run(top);
}

}  // namespace xf
