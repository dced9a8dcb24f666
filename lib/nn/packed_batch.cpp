// SPDX-License-Identifier: Apache-2.0
#include "nn/packed_batch.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "nn/arena.h"

namespace xf {
namespace {

// The number of sentences to which a recorded batch is padded. The sentences of a batch have similar lengths, most of
// them above a third of the longest. Other batches need more sentences, four times as many at a time.
int64_t sentence_bucket(int64_t needed, const PackedSide &src, const PackedSide &tgt) {
    int64_t count = std::max<int64_t>({3 * src.rows / src.max_length, 3 * tgt.rows / tgt.max_length, 1});
    while (count < needed) count *= 4;
    return std::max(needed, std::min({count, src.rows, tgt.rows}));
}

void check_side(const char *side, int64_t sentences, const int32_t *ids, const int64_t *offsets, int64_t V,
                int64_t max_length) {
    XF_CHECK(ids != nullptr && offsets != nullptr, XF_ERROR_INVALID_ARGUMENT, "the batch's %s ids or offsets are NULL",
             side);
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %" PRId64 ", expected 0", side,
             offsets[0]);
    for (int64_t b = 0; b < sentences; ++b) {
        const int64_t length = std::max<int64_t>(offsets[b + 1], -1) - offsets[b];  // cannot overflow
        XF_CHECK(length >= 1, XF_ERROR_INVALID_ARGUMENT,
                 "%s sentence %" PRId64 " has %" PRId64 " tokens, expected at least 1", side, b, length);
        XF_CHECK(length <= max_length, XF_ERROR_OUT_OF_RANGE,
                 "%s sentence %" PRId64 " has %" PRId64 " tokens, expected at most model.max_length %" PRId64, side, b,
                 length, max_length);
    }
    XF_CHECK(offsets[sentences] <= INT32_MAX, XF_ERROR_LIMIT,
             "the batch has %" PRId64 " %s tokens; the maximum is 2^31 - 1", offsets[sentences], side);
    for (int64_t i = 0; i < offsets[sentences]; ++i)
        XF_CHECK(ids[i] >= 0 && ids[i] < V, XF_ERROR_OUT_OF_RANGE, "%s id %d at %" PRId64 ", expected 0 to %" PRId64,
                 side, ids[i], i, V - 1);
}

// The first input of the decoder: the last token of the target if that is a language token that the model expects
// there, otherwise the start symbol.
int32_t first_input(const ModelConfig &config, const int32_t *target, int32_t length, int32_t start) {
    return config.languages.replaces_start(target[length - 1]) ? target[length - 1] : start;
}

void check_ends(const char *side, int64_t sentences, const int32_t *ids, const int64_t *offsets,
                const ModelConfig &config) {
    for (int64_t b = 0; b < sentences; ++b)
        XF_CHECK(config.ends(ids + offsets[b], offsets[b + 1] - offsets[b]), XF_ERROR_INVALID_ARGUMENT,
                 "%s sentence %" PRId64 " ends with token %d, expected the end symbol %d", side, b,
                 ids[offsets[b + 1] - 1], config.tokens.end);
}

}  // namespace

void check_source(const xf_batch &batch, const ModelConfig &config) {
    check_side("source", batch.sentences, batch.src_ids, batch.src_offsets, config.source_V, config.max_length);
    check_ends("source", batch.sentences, batch.src_ids, batch.src_offsets, config);
}

void check_target(const xf_batch &batch, const ModelConfig &config) {
    check_side("target", batch.sentences, batch.tgt_ids, batch.tgt_offsets, config.V, config.max_length);
}

int64_t drop_stride(int64_t longest) {
    const uint64_t least = std::max<int64_t>(longest, 8);
    return std::bit_ceil(least);
}

void PackedBatch::HostSide::unpack(std::span<const int64_t> indices, const int32_t *from, const int64_t *offsets) {
    for (std::vector<int32_t> *values : {&ids, &positions, &begin, &length}) values->clear();
    max_length = 0;
    for (const int64_t b : indices) {
        const int32_t tokens = offsets[b + 1] - offsets[b];
        begin.push_back(ids.size());
        length.push_back(tokens);
        max_length = std::max<int64_t>(max_length, tokens);
        ids.insert(ids.end(), from + offsets[b], from + offsets[b + 1]);
        for (int32_t i = 0; i < tokens; ++i) positions.push_back(i);
    }
}

void PackedBatch::HostSide::pad(int64_t rows, int64_t count, int64_t max_tokens) {
    while (std::ssize(begin) < count) {
        const int64_t at = std::ssize(ids);
        const int32_t tokens = std::min(rows - at, max_tokens);
        begin.push_back(at);
        length.push_back(tokens);
        ids.resize(at + tokens, 0);
        for (int32_t i = 0; i < tokens; ++i) positions.push_back(i);
    }
}

void PackedBatch::HostGroups::pad(int64_t groups, size_t rows) {
    ids.resize(groups, ids.back());
    starts.resize(ids.size() + 1, starts.back());
    order.resize(rows, 0);
}

// A counting sort: a comparison sort would keep a GPU waiting.
void PackedBatch::HostGroups::group(const std::vector<int32_t> &keys, int64_t count, int64_t limit) {
    next.assign(limit + 1, 0);
    for (int64_t i = 0; i < count; ++i) ++next[keys[i] + 1];
    ids.clear();
    starts.clear();
    for (int64_t key = 0; key < limit; ++key) {
        if (next[key + 1] > 0) {
            ids.push_back(key);
            starts.push_back(next[key]);
        }
        next[key + 1] += next[key];
    }
    starts.push_back(count);
    order.resize(count);
    for (int32_t i = 0; i < count; ++i) order[next[keys[i]]++] = i;
}

void PackedBatch::load(Stream &stream, const ModelConfig &config, const xf_batch &batch, Sides sides, bool groups,
                       StepTime time) {
    XF_CHECK(batch.sentences >= 1, XF_ERROR_INVALID_ARGUMENT,
             "the batch has %" PRId64 " sentences, expected at least 1", batch.sentences);
    check_source(batch, config);
    if (sides == Sides::kBoth) check_target(batch, config);
    all_.resize(batch.sentences);
    std::iota(all_.begin(), all_.end(), 0);
    pack(stream, config, batch, all_, sides, groups, time, config.tokens.start);
}

void PackedBatch::load(Stream &stream, const ModelConfig &config, const xf_batch &batch,
                       std::span<const int64_t> indices, Sides sides, int32_t start) {
    pack(stream, config, batch, indices, sides, false, {}, start);
}

void PackedBatch::pack(Stream &stream, const ModelConfig &config, const xf_batch &batch,
                       std::span<const int64_t> indices, Sides sides, bool groups, StepTime time, int32_t start) {
    has_target_ = sides == Sides::kBoth;
    B = sentences = std::ssize(indices);
    src = tgt = PackedSide();
    source_.unpack(indices, batch.src_ids, batch.src_offsets);
    src.tokens = src.rows = std::ssize(source_.ids);
    if (has_target_) target_.unpack(indices, batch.tgt_ids, batch.tgt_offsets);
    if (has_target_) tgt.tokens = tgt.rows = std::ssize(target_.ids);
    const bool pad = has_target_ && groups && stream.device().records();
    if (pad) pad_sides(config);

    staging_.clear();
    when_at_ = staging_.add(2, [&](int64_t i) { return i == 0 ? time.step : time.batch; });
    stage(source_, config, config.source_V, groups, pad, &src, &src_at_);
    if (has_target_) {
        targets_at_ = staging_.add(tgt.rows, [&](int64_t i) { return i < tgt.tokens ? target_.ids[i] : -1; });
        shift_target(config, start);
        stage(target_, config, config.V, groups, pad, &tgt, &tgt_at_);
    }
    // Room for the largest numbers of sentences and groups that these rows can have: recordings refer to this memory,
    // so it must not move when a later batch has more of them.
    staging_.upload(stream, pad && recordable() ? 8 * (src.rows + tgt.rows) : 0);
    set_pointers();
}

void PackedBatch::pad_sides(const ModelConfig &config) {
    src.rows = row_bucket(src.tokens);
    tgt.rows = row_bucket(tgt.tokens);
    int64_t max_tokens[2], extra = 0;
    for (const int which : {0, 1}) {
        HostSide &side = which == 0 ? source_ : target_;
        PackedSide &packed = which == 0 ? src : tgt;
        packed.max_length = side.max_length = drop_stride(side.max_length);
        max_tokens[which] = std::min(side.max_length, config.max_length);
        extra = std::max(extra, (packed.rows - packed.tokens + max_tokens[which] - 1) / max_tokens[which]);
    }
    B = recordable() ? sentence_bucket(sentences + extra, src, tgt) : sentences + extra;
    source_.pad(src.rows, B, max_tokens[0]);
    target_.pad(tgt.rows, B, max_tokens[1]);
}

// Shifts each target right by one.
void PackedBatch::shift_target(const ModelConfig &config, int32_t start) {
    for (int64_t b = 0; b < B; ++b) {
        if (target_.length[b] == 0) continue;
        int32_t *const ids = target_.ids.data() + target_.begin[b];
        const int32_t length = target_.length[b];
        const int32_t first = b < sentences ? first_input(config, ids, length, start) : start;
        std::copy_backward(ids, ids + length - 1, ids + length);
        ids[0] = first;
    }
}

void PackedBatch::stage(const HostSide &side, const ModelConfig &config, int64_t V, bool groups, bool pad,
                        PackedSide *packed, SideOffsets *at) {
    at->ids = staging_.add(side.ids);
    at->positions = staging_.add(side.positions);
    at->begin = staging_.add(side.begin);
    at->length = staging_.add(side.length);
    packed->max_length = side.max_length;
    const auto add_groups = [&](const std::vector<int32_t> &keys, int64_t limit, int64_t max_groups) {
        groups_.group(keys, packed->tokens, limit);
        if (pad && recordable()) groups_.pad(max_groups, side.ids.size());
        return GroupOffsets{staging_.add(groups_.ids), staging_.add(groups_.starts), staging_.add(groups_.order)};
    };
    if (!groups) return;
    at->by_id = add_groups(side.ids, V, std::min(packed->rows, V));
    packed->by_id.count = std::ssize(groups_.ids);
    if (config.positions != Positions::kLearned) return;
    at->by_position = add_groups(side.positions, config.max_length, std::min(packed->max_length, config.max_length));
    packed->by_position.count = std::ssize(groups_.ids);
}

void PackedBatch::set_pointers() {
    const auto set = [&](const SideOffsets &at, PackedSide *side) {
        side->ids = staging_.at(at.ids);
        side->positions = staging_.at(at.positions);
        side->begin = staging_.at(at.begin);
        side->length = staging_.at(at.length);
        side->host_begin = staging_.host(at.begin);
        side->host_length = staging_.host(at.length);
        const auto set_groups = [&](const GroupOffsets &offsets, PackedSide::Groups *groups) {
            groups->ids = staging_.at(offsets.ids);
            groups->starts = staging_.at(offsets.starts);
            groups->order = staging_.at(offsets.order);
        };
        if (side->by_id.count > 0) set_groups(at.by_id, &side->by_id);
        if (side->by_position.count > 0) set_groups(at.by_position, &side->by_position);
    };
    set(src_at_, &src);
    if (has_target_) set(tgt_at_, &tgt);
    targets = has_target_ ? staging_.at(targets_at_) : nullptr;
    when = reinterpret_cast<const uint32_t *>(staging_.at(when_at_));
}

void PackedBatch::adopt(Stream &stream, PackedBatch *from) {
    staging_.adopt(stream, &from->staging_);
    sentences = from->sentences, B = from->B;
    src = from->src, tgt = from->tgt;
    has_target_ = from->has_target_;
    src_at_ = from->src_at_, tgt_at_ = from->tgt_at_;
    targets_at_ = from->targets_at_, when_at_ = from->when_at_;
    set_pointers();
}

}  // namespace xf
