// See packed_batch.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/packed_batch.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "nn/arena.h"

namespace xf {
namespace {

// Sentences that a batch to be recorded is padded to. Batches are cut from sentences of about one length, most of them
// above a third of the longest; only batches of another kind need more, and then four times as many.
int64_t sentence_bucket(int64_t needed, const PackedSide &src, const PackedSide &tgt) {
    int64_t most = std::max<int64_t>({3 * src.rows / src.max_length, 3 * tgt.rows / tgt.max_length, 1});
    while (most < needed) most *= 4;
    return std::max(needed, std::min({most, src.rows, tgt.rows}));
}

void check_side(const char *side, int64_t sentences, const int32_t *ids, const int32_t *offsets, int64_t V,
                int64_t max_length) {
    XF_CHECK(ids != nullptr && offsets != nullptr, XF_ERROR_INVALID_ARGUMENT, "the batch's %s ids or offsets are NULL",
             side);
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %d, expected 0", side, offsets[0]);
    for (int64_t b = 0; b < sentences; ++b) {
        const int64_t length = int64_t{offsets[b + 1]} - offsets[b];
        XF_CHECK(length >= 1, XF_ERROR_INVALID_ARGUMENT, "%s sentence %lld has %lld tokens, expected at least 1", side,
                 static_cast<long long>(b), static_cast<long long>(length));
        XF_CHECK(length <= max_length, XF_ERROR_OUT_OF_RANGE,
                 "%s sentence %lld has %lld tokens, expected at most model.max_length %lld", side,
                 static_cast<long long>(b), static_cast<long long>(length), static_cast<long long>(max_length));
    }
    for (int32_t i = 0; i < offsets[sentences]; ++i)
        XF_CHECK(ids[i] >= 0 && ids[i] < V, XF_ERROR_OUT_OF_RANGE, "%s id %d at %d, expected 0 to %lld", side, ids[i],
                 i, static_cast<long long>(V - 1));
}

// What the decoder is fed before a target: its last token, where that is a language which the model wants there.
int32_t fed_first(const ModelConfig &config, const int32_t *target, int32_t length, int32_t start) {
    return config.languages.starts(target[length - 1]) ? target[length - 1] : start;
}

void check_ends(const char *side, int64_t sentences, const int32_t *ids, const int32_t *offsets,
                const ModelConfig &config) {
    for (int64_t b = 0; b < sentences; ++b)
        XF_CHECK(config.ends(ids + offsets[b], offsets[b + 1] - offsets[b]), XF_ERROR_INVALID_ARGUMENT,
                 "%s sentence %lld ends with token %d, expected the end symbol %d", side, static_cast<long long>(b),
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
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(longest, 8))));
}

void PackedBatch::HostSide::pad(int64_t rows, int64_t count, int64_t longest) {
    while (static_cast<int64_t>(begin.size()) < count) {
        const auto at = static_cast<int64_t>(ids.size());
        const int64_t tokens = std::min(rows - at, longest);
        begin.push_back(static_cast<int32_t>(at));
        length.push_back(static_cast<int32_t>(tokens));
        ids.resize(static_cast<size_t>(at + tokens), 0);
        for (int64_t i = 0; i < tokens; ++i) positions.push_back(static_cast<int32_t>(i));
    }
}

void PackedBatch::HostSide::unpack(int64_t count, const int32_t *from, const int32_t *offsets) {
    ids.assign(from, from + offsets[count]);
    positions.clear();
    begin.clear();
    length.clear();
    max_length = 0;
    for (int64_t b = 0; b < count; ++b) {
        const int32_t tokens = offsets[b + 1] - offsets[b];
        begin.push_back(offsets[b]);
        length.push_back(tokens);
        max_length = std::max<int64_t>(max_length, tokens);
        for (int32_t i = 0; i < tokens; ++i) positions.push_back(i);
    }
}

// Groups without tokens behind the last one.
void PackedBatch::HostGroups::pad(int64_t groups, size_t rows) {
    ids.resize(static_cast<size_t>(groups), ids.back());
    starts.resize(ids.size() + 1, starts.back());
    order.resize(rows, 0);
}

// By counting: a GPU would wait for a sort.
void PackedBatch::HostGroups::group(const std::vector<int32_t> &keys, size_t count, int64_t limit) {
    next.assign(static_cast<size_t>(limit) + 1, 0);
    for (size_t i = 0; i < count; ++i) ++next[static_cast<size_t>(keys[i]) + 1];
    ids.clear();
    starts.clear();
    for (size_t key = 0; key < static_cast<size_t>(limit); ++key) {
        if (next[key + 1] > 0) {
            ids.push_back(static_cast<int32_t>(key));
            starts.push_back(next[key]);
        }
        next[key + 1] += next[key];
    }
    starts.push_back(static_cast<int32_t>(count));
    order.resize(count);
    for (size_t i = 0; i < count; ++i)
        order[static_cast<size_t>(next[static_cast<size_t>(keys[i])]++)] = static_cast<int32_t>(i);
}

size_t PackedBatch::append(const std::vector<int32_t> &values) {
    const size_t at = host_.size();
    host_.insert(host_.end(), values.begin(), values.end());
    host_.resize((host_.size() + 15) / 16 * 16);
    return at;
}

void PackedBatch::load(Stream &stream, const ModelConfig &config, const xf_batch &batch, Sides sides, bool groups,
                       StepTime time) {
    const bool both = sides == Sides::kBoth;
    XF_CHECK(batch.sentences >= 1, XF_ERROR_INVALID_ARGUMENT, "the batch has %lld sentences, expected at least 1",
             static_cast<long long>(batch.sentences));
    check_source(batch, config);
    if (both) check_target(batch, config);

    host_.clear();
    B = batch.sentences;
    sentences = batch.sentences;
    host_.resize(16);
    const size_t at_when = 0;
    host_[0] = static_cast<int32_t>(time.step);
    host_[1] = static_cast<int32_t>(time.batch);
    const bool pad = both && groups && stream.device().records();
    struct Side {
        size_t ids, positions, begin, length, group[2][3];
    };
    const auto add = [&](const HostSide &side, int64_t V, PackedSide *packed) {
        Side at{};
        at.ids = append(side.ids);
        at.positions = append(side.positions);
        at.begin = append(side.begin);
        at.length = append(side.length);
        packed->rows = static_cast<int64_t>(side.ids.size());
        packed->max_length = side.max_length;
        for (int which = 0; groups && which < (config.positions == Positions::kLearned ? 2 : 1); ++which) {
            HostGroups &g = groups_;
            g.group(which == 0 ? side.ids : side.positions, static_cast<size_t>(packed->tokens),
                    which == 0 ? V : config.max_length);
            if (pad && recordable())  // to what there can be
                g.pad(which == 0 ? std::min(packed->rows, V) : std::min(packed->max_length, config.max_length),
                      side.ids.size());
            at.group[which][0] = append(g.ids);
            at.group[which][1] = append(g.starts);
            at.group[which][2] = append(g.order);
            (which == 0 ? packed->by_id : packed->by_position).count = static_cast<int64_t>(g.ids.size());
        }
        return at;
    };
    const auto resolve = [&](const Side &at, PackedSide *packed) {
        const int32_t *base = device_.ints();
        packed->ids = base + at.ids;
        packed->positions = base + at.positions;
        packed->begin = base + at.begin;
        packed->length = base + at.length;
        packed->host_begin = host_.data() + at.begin;
        packed->host_length = host_.data() + at.length;
        for (int which = 0; which < 2; ++which) {
            PackedSide::Groups &g = which == 0 ? packed->by_id : packed->by_position;
            g.ids = base + at.group[which][0];
            g.starts = base + at.group[which][1];
            g.order = base + at.group[which][2];
        }
    };

    src = tgt = PackedSide();
    HostSide &source = source_, &target = target_;
    source.unpack(B, batch.src_ids, batch.src_offsets);
    src.tokens = static_cast<int64_t>(source.ids.size());
    if (both) {
        target.unpack(B, batch.tgt_ids, batch.tgt_offsets);
        tgt.tokens = static_cast<int64_t>(target.ids.size());
    }
    if (pad) {
        const int64_t rows[2] = {row_bucket(src.tokens), row_bucket(tgt.tokens)};
        src.rows = rows[0], tgt.rows = rows[1];
        int64_t longest[2], more = 0;
        for (HostSide *side : {&source, &target}) {
            const int which = side == &source ? 0 : 1;
            side->max_length = drop_stride(side->max_length);
            longest[which] = std::min(side->max_length, config.max_length);
            const int64_t padding = rows[which] - static_cast<int64_t>(side->ids.size());
            more = std::max(more, (padding + longest[which] - 1) / longest[which]);
        }
        src.max_length = source.max_length, tgt.max_length = target.max_length;
        B = recordable() ? sentence_bucket(B + more, src, tgt) : B + more;
        source.pad(rows[0], B, longest[0]);
        target.pad(rows[1], B, longest[1]);
    }
    const Side at_src = add(source, config.source_V, &src);
    Side at_tgt{};
    size_t at_targets = 0;
    if (both) {
        at_targets = append(target.ids);
        std::fill_n(host_.begin() + static_cast<std::ptrdiff_t>(at_targets) + tgt.tokens,
                    static_cast<int64_t>(target.ids.size()) - tgt.tokens, -1);
        for (size_t i = target.ids.size(); i-- > 0;)  // shifted right, behind the start symbol
            target.ids[i] = target.positions[i] == 0 ? config.tokens.start : target.ids[i - 1];
        for (int64_t b = 0; b < sentences; ++b) {
            const auto at = static_cast<size_t>(batch.tgt_offsets[b]);
            target.ids[at] = fed_first(config, batch.tgt_ids + at, batch.tgt_offsets[b + 1] - batch.tgt_offsets[b],
                                       config.tokens.start);
        }
        at_tgt = add(target, config.V, &tgt);
    }
    // For as many sentences and groups as the rows can have: a batch that has more of them than those before it must
    // not move, or what was recorded would be worth nothing.
    size_t room = host_.size();
    if (pad && recordable()) room = std::max(room, static_cast<size_t>(8 * (src.rows + tgt.rows)));
    device_.reserve(stream.device(), room * sizeof(int32_t));
    stream.upload(device_.data(), host_.data(), host_.size() * sizeof(int32_t));
    resolve(at_src, &src);
    if (both) resolve(at_tgt, &tgt);
    targets = both ? device_.ints() + at_targets : nullptr;
    when = reinterpret_cast<const uint32_t *>(device_.ints() + at_when);
}

void PackedBatch::adopt(Stream &stream, PackedBatch *from) {
    device_.reserve(stream.device(), from->device_.bytes());
    stream.copy(device_.data(), from->device_.data(), from->host_.size() * sizeof(int32_t));
    std::swap(host_, from->host_);  // host_begin and host_length go with it
    sentences = from->sentences, B = from->B;
    src = from->src, tgt = from->tgt;
    targets = from->targets;
    const int32_t *const old = from->device_.ints();
    const auto move = [&](const int32_t *&pointer) { pointer = device_.ints() + (pointer - old); };
    for (PackedSide *side : {&src, &tgt}) {
        for (const int32_t **pointer : {&side->ids, &side->positions, &side->begin, &side->length}) move(*pointer);
        for (PackedSide::Groups *g : {&side->by_id, &side->by_position})
            for (const int32_t **pointer : {&g->ids, &g->starts, &g->order}) move(*pointer);
    }
    move(targets);
    when = reinterpret_cast<const uint32_t *>(device_.ints() + (reinterpret_cast<const int32_t *>(from->when) - old));
}

void PackedBatch::load(Stream &stream, const ModelConfig &config, const xf_batch &batch, std::span<const int64_t> which,
                       Sides sides, int32_t start) {
    const size_t count = which.size();
    const bool both = sides == Sides::kBoth;
    B = sentences = static_cast<int64_t>(count);
    src = tgt = PackedSide();
    const auto measure = [&](const int32_t *offsets, PackedSide *side) {
        for (const int64_t b : which) {
            const int64_t length = offsets[b + 1] - offsets[b];
            side->tokens += length;
            side->max_length = std::max(side->max_length, length);
        }
        side->rows = side->tokens;
    };
    measure(batch.src_offsets, &src);
    if (both) measure(batch.tgt_offsets, &tgt);
    // Where each array lies: 16 numbers are 64 bytes.
    size_t total = 0;
    const auto take = [&](int64_t numbers) {
        const size_t at = total;
        total += (static_cast<size_t>(numbers) + 15) / 16 * 16;
        return at;
    };
    struct Places {
        size_t ids, positions, begin, length;
    };
    const auto places = [&](const PackedSide &side) {
        return Places{take(side.rows), take(side.rows), take(sentences), take(sentences)};
    };
    const size_t at_when = take(2), at_targets = take(tgt.rows);
    const Places at_src = places(src), at_tgt = both ? places(tgt) : Places();
    host_.resize(total);
    host_[at_when] = host_[at_when + 1] = 0;
    device_.reserve(stream.device(), total * sizeof(int32_t));
    const auto fill = [&](const int32_t *ids, const int32_t *offsets, const Places &at, bool shift, PackedSide *side) {
        int32_t *const host = host_.data();
        const int32_t *const base = device_.ints();
        int32_t row = 0;
        for (size_t s = 0; s < count; ++s) {
            const int32_t length = offsets[which[s] + 1] - offsets[which[s]];
            const int32_t *const from = ids + offsets[which[s]];
            host[at.begin + s] = row;
            host[at.length + s] = length;
            if (shift) {
                host[at.ids + static_cast<size_t>(row)] = fed_first(config, from, length, start);
                std::copy_n(from, length - 1, host + at.ids + row + 1);
                std::copy_n(from, length, host + at_targets + row);
            } else {
                std::copy_n(from, length, host + at.ids + row);
            }
            std::iota(host + at.positions + row, host + at.positions + row + length, 0);
            row += length;
        }
        side->ids = base + at.ids;
        side->positions = base + at.positions;
        side->begin = base + at.begin;
        side->length = base + at.length;
        side->host_begin = host + at.begin;
        side->host_length = host + at.length;
    };
    fill(batch.src_ids, batch.src_offsets, at_src, false, &src);
    if (both) fill(batch.tgt_ids, batch.tgt_offsets, at_tgt, true, &tgt);
    stream.upload(device_.data(), host_.data(), total * sizeof(int32_t));
    targets = both ? device_.ints() + at_targets : nullptr;
    when = reinterpret_cast<const uint32_t *>(device_.ints() + at_when);
}

}  // namespace xf
