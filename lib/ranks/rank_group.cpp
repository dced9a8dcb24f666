// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_group.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace xf {
namespace {

struct TraitMessage {
    RankStatus status;
    uint64_t hashes[std::tuple_size_v<RankGroup::Traits>];
};
struct TextMessage {
    RankStatus status;
    char text[RankGroup::kMaxText + 1];
};

template <class Message>
Message message_at(const char *messages, size_t bytes, int rank) {
    Message message;
    std::memcpy(&message, messages + bytes * rank, sizeof message);
    return message;
}

}  // namespace

RankGroup::RankGroup(Communicator &communicator, int64_t most_shards)
    : communicator_(communicator), most_shards_(most_shards) {
    // One rank exchanges nothing. Its number of shards may come from a file, so no memory depends on it here.
    if (size() > 1) messages_.reserve(std::max({report_bytes(), sizeof(TraitMessage), sizeof(TextMessage)}) * size());
}

// Returns one empty message per rank.
char *RankGroup::clear_messages(size_t bytes) {
    messages_.assign(bytes * size(), 0);
    return messages_.data();
}

void RankGroup::compare(const DeferredError &own, const Traits &traits) {
    TraitMessage mine{own.status(), {}};
    for (size_t i = 0; i < traits.size(); ++i) mine.hashes[i] = traits[i].hash;
    char *const all = clear_messages(sizeof mine);
    std::memcpy(all + sizeof mine * rank(), &mine, sizeof mine);
    communicator_.exchange_status(all, sizeof mine);
    own.rethrow();
    const auto hash_of = [&](int r, size_t i) { return message_at<TraitMessage>(all, sizeof mine, r).hashes[i]; };
    for (size_t i = 0; i < traits.size(); ++i) {
        // The largest group of equal ranks is the reference; of two such groups, the one with the lowest rank.
        int reference = 0, largest = 0;
        for (int r = 0; r < size(); ++r) {
            int equal = 0;
            for (int q = 0; q < size(); ++q) equal += hash_of(q, i) == hash_of(r, i) ? 1 : 0;
            if (equal > largest) largest = equal, reference = r;
        }
        for (int r = 0; r < size(); ++r)
            XF_CHECK(hash_of(r, i) == hash_of(reference, i), XF_ERROR_DESYNC, "rank %d has %s than rank %d", r,
                     traits[i].difference, reference);
    }
}

ShardStats RankGroup::exchange_reports(const StepReport &report, const std::vector<ShardStats> &own_stats) {
    const size_t bytes = report_bytes();
    char *const all = clear_messages(bytes), *const mine = all + bytes * rank();
    std::memcpy(mine, &report, sizeof report);
    if (!own_stats.empty()) std::memcpy(mine + sizeof report, own_stats.data(), own_stats.size() * sizeof(ShardStats));
    communicator_.exchange_status(all, bytes);
    ShardStats sum;
    for (int r = 0; r < size(); ++r) {
        const auto other = message_at<StepReport>(all, bytes, r);
        const char *const stats = all + bytes * r + sizeof other;
        for (int i = 0; i < most_shards_; ++i) sum.add(message_at<ShardStats>(stats, sizeof(ShardStats), i));
        if (report.status.status != XF_OK) continue;
        const auto check_equal = [&](const char *what, int64_t found, int64_t own) {
            XF_CHECK(found == own, XF_ERROR_DESYNC,
                     "rank %d has %s %" PRId64 ", rank %d has %" PRId64 ", expected the same on all ranks", r, what,
                     found, rank(), own);
        };
        check_equal("step", other.step, report.step);
        check_equal("batches per shard", other.batches_per_shard, report.batches_per_shard);
        XF_CHECK(other.data == report.data, XF_ERROR_DESYNC,
                 "rank %d has a different corpus, shuffle order, or position than rank %d", r, rank());
    }
    return sum;
}

void RankGroup::exchange_status(const DeferredError &own, std::string *text) {
    TextMessage mine{own.status(), ""};
    if (text != nullptr) std::snprintf(mine.text, sizeof mine.text, "%s", text->c_str());
    char *const all = clear_messages(sizeof mine);
    std::memcpy(all + sizeof mine * rank(), &mine, sizeof mine);
    communicator_.exchange_status(all, sizeof mine);
    own.rethrow();
    std::memcpy(&mine, all, sizeof mine);
    if (text != nullptr) text->assign(mine.text, strnlen(mine.text, kMaxText));
}

void RankGroup::abort(const char *reason) noexcept {
    if (size() > 1) communicator_.abort("%s", reason);
}

}  // namespace xf
