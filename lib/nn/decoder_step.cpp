// SPDX-License-Identifier: Apache-2.0
#include "nn/decoder_step.h"

#include <algorithm>

namespace xf {
namespace {

std::vector<int64_t> cache_columns(const ModelConfig &c) {
    std::vector<int64_t> columns;
    for (int64_t layer = 0; layer < c.decoder_layers; ++layer)
        columns.insert(columns.end(), {c.q_columns(), c.v_columns()});
    return columns;
}

}  // namespace

// Self-attention over the cells of each row, and cross-attention over the keys and values of the sources.
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
        args.max_step = rows_.max_step;
        args.steps = rows_.steps;
        args.slot_of_row = rows_.slot_of_row;
        args.cells = rows_.cells;
        args.ld_cells = rows_.ld_cells;
        args.q = acts.qkv;
        args.k = acts.qkv + c.q_columns();
        args.v = acts.qkv + 2 * c.q_columns();
        args.ld_q = args.ld_k = args.ld_v = c.qkv_columns();
        args.k_cache = step_.cache_.tensor(2 * layer);
        args.v_cache = step_.cache_.tensor(2 * layer + 1);
        args.scale = c.attention_scale();
        args.window = c.window;
        args.dst = acts.context;
        args.ld_dst = c.v_columns();
        args.multi_step = rows_.multi_step ? 1 : 0;
        pass.stream.run(args);
    }

    void cross(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) override {
        PackedSide queries, keys;
        queries.max_length = rows_.max_rows;
        queries.begin = rows_.q_begin;
        queries.length = rows_.q_length;
        keys.max_length = rows_.max_source_length;
        keys.begin = rows_.k_begin;
        keys.length = rows_.k_length;
        pass.stream.run(
            cross_arguments(pass, rows_.sentences, queries, keys, step_.memory_.tensor(layer), dropout_site, acts));
    }

private:
    const DecoderStep &step_;
    const DeviceRows &rows_;
};

DecoderStep::DecoderStep(const Model &model, Stream &stream)
    : model_(model),
      stream_(stream),
      memory_(stream, model.dtype(), std::vector<int64_t>(model.config().decoder_layers, model.config().kv_columns())),
      cache_(stream, model.dtype(), cache_columns(model.config())) {
    const SpecialTokens &tokens = model.config().tokens;
    banned_ = {tokens.end};
    if (tokens.start != tokens.end) banned_.push_back(tokens.start);
    banned_.insert(banned_.end(), tokens.banned.begin(), tokens.banned.end());
}

void DecoderStep::Rows::clear() {
    for (std::vector<int32_t> *values : {&tokens, &steps, &cells, &sentence_begin, &sentence_length}) values->clear();
    sources.clear();
    allowed.clear();
    may_end = true;
    multi_step = false;
}

void DecoderStep::Rows::add(int32_t token, int64_t step, const std::vector<int32_t> &row_cells) {
    tokens.push_back(token);
    steps.push_back(static_cast<int32_t>(step));
    cells.insert(cells.end(), row_cells.begin(), row_cells.begin() + step + 1);
    cells.resize(tokens.size() * ld_cells);
}

Pass DecoderStep::pass(const Call &call) const {
    return {.model = model_, .stream = stream_, .call = call, .invariant = true};
}

int64_t DecoderStep::add_sources(const PackedSide &src, Num memory, const Call &call) {
    const ModelConfig &c = model_.config();
    const bool empty = memory_rows_.size() == 0;
    const int64_t begin = memory_rows_.take(src.rows);
    if (const int64_t rows = memory_rows_.size(); rows > memory_.rows()) {
        // Similar lengths share a layout if operations are recorded.
        const int64_t wanted = model_.context().graphs() ? bucket(rows) : rows;
        memory_.reserve(empty ? wanted : std::max(wanted, memory_.rows() * 3 / 2), !empty);
    }
    for (int64_t layer = 0; layer < c.decoder_layers; ++layer)
        cross_kv_fwd(pass(call), model_.table().decoder.layers[layer].cross, src.rows, memory,
                     memory_.tensor(layer) + begin * c.kv_columns());
    return begin;
}

DecoderStep::DeviceRows DecoderStep::upload(const Rows &rows) {
    const int64_t count = rows.tokens.size(), sentences = rows.sources.size();
    staging_.clear();
    const size_t tokens = staging_.add(rows.tokens), steps = staging_.add(rows.steps);
    const size_t slots = staging_.add(count, [](int64_t row) { return row; });
    const size_t cells = staging_.add(rows.cells);
    const size_t q_begin = staging_.add(rows.sentence_begin), q_length = staging_.add(rows.sentence_length);
    const size_t k_begin = staging_.add(sentences, [&](int64_t s) { return rows.sources[s].begin; });
    const size_t k_length = staging_.add(sentences, [&](int64_t s) { return rows.sources[s].length; });
    const size_t allowed = staging_.add(rows.allowed.size(), [&](int64_t i) { return rows.allowed[i]; });
    staging_.upload(stream_);
    DeviceRows device{};
    device.rows = count;
    device.sentences = sentences;
    device.max_rows = *std::max_element(rows.sentence_length.begin(), rows.sentence_length.end());
    device.tokens = staging_.at(tokens);
    device.steps = staging_.at(steps);
    device.slot_of_row = staging_.at(slots);
    device.cells = staging_.at(cells);
    device.q_begin = staging_.at(q_begin);
    device.q_length = staging_.at(q_length);
    device.k_begin = staging_.at(k_begin);
    device.k_length = staging_.at(k_length);
    device.ld_cells = rows.ld_cells;
    device.max_step = rows.ld_cells - 1;
    for (const Source &source : rows.sources)
        device.max_source_length = std::max<int64_t>(device.max_source_length, source.length);
    device.allowed = rows.allowed.empty() ? nullptr : reinterpret_cast<const uint32_t *>(staging_.at(allowed));
    device.may_end = rows.may_end;
    device.multi_step = rows.multi_step;
    return device;
}

void DecoderStep::reserve(int64_t rows) {
    Arena dry(model_.dtype());
    plan_stack(model_.config(), Stack::kDecoder, PassKind::kInference, rows, 0, &dry, &acts_);
    workspace_.reserve(stream_.device(), dry.bytes());
}

void DecoderStep::run(const Rows &rows, int64_t k, float *values, int32_t *ids, float *all_values, const Call &call) {
    reserve(rows.tokens.size());
    run(upload(rows), k, values, ids, all_values, false, call);
}

void DecoderStep::run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, float *all_values, bool on_device,
                      const Call &call) {
    const ModelConfig &c = model_.config();
    Arena arena(model_.dtype(), workspace_.data());
    plan_stack(c, Stack::kDecoder, PassKind::kInference, rows.rows, 0, &arena, &acts_);
    CachedAttention attention(*this, rows);

    xf_top_k top{};
    top.rows = rows.rows;
    top.V = c.V;
    top.D = c.D;
    top.k = k;
    top.src = stack_fwd(pass(call), Stack::kDecoder, {rows.rows, rows.tokens, rows.steps}, &attention, acts_);
    model_.matrix(model_.table().output).give_to(&top);
    top.bias = model_.param(model_.table().output_bias);
    const int64_t skipped = rows.may_end ? 1 : 0;
    top.banned_count = banned_.size() - skipped;
    top.banned = banned_.data() + skipped;
    top.allowed = rows.allowed;
    top.values = values;
    top.ids = ids;
    top.all_values = all_values;
    top.on_device = on_device;
    stream_.run(top);
}

}  // namespace xf
