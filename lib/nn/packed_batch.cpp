// See packed_batch.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/packed_batch.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace xf {
namespace {

struct HostSide {
    std::vector<int32_t> ids, positions, begin, length;
    int64_t max_length = 0;
};

HostSide unpack(int64_t sentences, const int32_t *ids, const int32_t *offsets) {
    HostSide side;
    side.ids.assign(ids, ids + offsets[sentences]);
    side.positions.reserve(side.ids.size());
    for (int64_t b = 0; b < sentences; ++b) {
        const int32_t length = offsets[b + 1] - offsets[b];
        side.begin.push_back(offsets[b]);
        side.length.push_back(length);
        side.max_length = std::max<int64_t>(side.max_length, length);
        for (int32_t i = 0; i < length; ++i) side.positions.push_back(i);
    }
    return side;
}

struct HostGroups {
    std::vector<int32_t> ids, starts, order;
};

HostGroups group(const std::vector<int32_t> &keys) {
    HostGroups groups;
    groups.order.resize(keys.size());
    std::iota(groups.order.begin(), groups.order.end(), 0);
    std::stable_sort(groups.order.begin(), groups.order.end(), [&](int32_t a, int32_t b) {
        return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < groups.order.size(); ++i) {
        const int32_t key = keys[static_cast<size_t>(groups.order[i])];
        if (!groups.ids.empty() && groups.ids.back() == key) continue;
        groups.ids.push_back(key);
        groups.starts.push_back(static_cast<int32_t>(i));
    }
    groups.starts.push_back(static_cast<int32_t>(keys.size()));
    return groups;
}

}  // namespace

void check_side(const char *side, int64_t sentences, const int32_t *ids, const int32_t *offsets,
                const ModelConfig &config) {
    XF_CHECK(ids != nullptr && offsets != nullptr, XF_ERROR_INVALID_ARGUMENT, "the batch's %s ids or offsets are NULL",
             side);
    XF_CHECK(offsets[0] == 0, XF_ERROR_INVALID_ARGUMENT, "the first %s offset is %d, expected 0", side, offsets[0]);
    for (int64_t b = 0; b < sentences; ++b) {
        const int64_t length = int64_t{offsets[b + 1]} - offsets[b];
        XF_CHECK(length >= 1, XF_ERROR_INVALID_ARGUMENT, "%s sentence %lld has %lld tokens, expected at least 1", side,
                 static_cast<long long>(b), static_cast<long long>(length));
        XF_CHECK(length <= config.max_length, XF_ERROR_OUT_OF_RANGE,
                 "%s sentence %lld has %lld tokens, expected at most model.max_length %lld", side,
                 static_cast<long long>(b), static_cast<long long>(length), static_cast<long long>(config.max_length));
    }
    for (int32_t i = 0; i < offsets[sentences]; ++i)
        XF_CHECK(ids[i] >= 0 && ids[i] < config.V, XF_ERROR_OUT_OF_RANGE, "%s id %d at %d, expected 0 to %lld", side, ids[i],
                 i, static_cast<long long>(config.V - 1));
}

int64_t drop_stride(int64_t longest) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(longest, 8))));
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
    check_side("source", batch.sentences, batch.src_ids, batch.src_offsets, config);
    if (both) check_side("target", batch.sentences, batch.tgt_ids, batch.tgt_offsets, config);

    host_.clear();
    B = batch.sentences;
    const size_t at_when = append({static_cast<int32_t>(time.step), static_cast<int32_t>(time.batch)});
    struct Side {
        size_t ids, positions, begin, length, group[2][3];
    };
    const auto add = [&](const HostSide &side, PackedSide *packed) {
        Side at{};
        at.ids = append(side.ids);
        at.positions = append(side.positions);
        at.begin = append(side.begin);
        at.length = append(side.length);
        packed->rows = static_cast<int64_t>(side.ids.size());
        packed->max_length = side.max_length;
        for (int which = 0; groups && which < (config.learned_positions ? 2 : 1); ++which) {
            const HostGroups g = group(which == 0 ? side.ids : side.positions);
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
        for (int which = 0; which < 2; ++which) {
            PackedSide::Groups &g = which == 0 ? packed->by_id : packed->by_position;
            g.ids = base + at.group[which][0];
            g.starts = base + at.group[which][1];
            g.order = base + at.group[which][2];
        }
    };

    src = tgt = PackedSide();
    const Side at_src = add(unpack(B, batch.src_ids, batch.src_offsets), &src);
    Side at_tgt{};
    size_t at_targets = 0;
    if (both) {
        HostSide side = unpack(B, batch.tgt_ids, batch.tgt_offsets);
        at_targets = append(side.ids);
        for (size_t i = side.ids.size(); i-- > 0;)  // shifted right, behind the start symbol
            side.ids[i] = side.positions[i] == 0 ? kStartToken : side.ids[i - 1];
        at_tgt = add(side, &tgt);
    }
    device_.reserve(stream.device(), host_.size() * sizeof(int32_t));
    stream.upload(device_.data(), host_.data(), host_.size() * sizeof(int32_t));
    resolve(at_src, &src);
    if (both) resolve(at_tgt, &tgt);
    targets = both ? device_.ints() + at_targets : nullptr;
    when = reinterpret_cast<const uint32_t *>(device_.ints() + at_when);
}

}  // namespace xf
