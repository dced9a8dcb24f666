// See shards.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/shards.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "core/hash.h"

namespace xf {
namespace {

Range in_bytes(Range range, size_t each) {
    return {range.begin * static_cast<int64_t>(each), range.end * static_cast<int64_t>(each)};
}

struct TraitLetter {
    Word word;
    uint64_t hashes[std::tuple_size_v<Shards::Traits>];
};
struct TextLetter {
    Word word;
    char text[Shards::kMostText + 1];
};

// Runs task(i) for each i below count on the pool.
template <class Task>
void parallel(ThreadPool &pool, int64_t count, const Task &task) {
    pool.run(
        count, [](void *arg, int64_t i, int32_t) { (*static_cast<const Task *>(arg))(i); },
        const_cast<void *>(static_cast<const void *>(&task)));
}

}  // namespace

Shards::Shards(const std::shared_ptr<Context> &context, int64_t shards, int64_t total, bool narrow)
    : context_(*context),
      heap_(context, &context->heap()),
      pool_(context->pool()),
      device_(context->device()),
      comm_(context->comm()),
      math_(*context, pool_),
      direct_(math_.on_host()),
      early_(direct_ && ranks() > 1 && context->comm_buckets() != 1),
      narrow_(narrow),
      count_(shards > 0 ? shards : ranks()),
      total_(total),
      slices_(total, ranks(), early_ ? context->comm_buckets() : 1),
      whole_(HeapAllocator<float>(heap_)),
      stage_(HeapAllocator<char>(heap_)),
      math_beside_(*context, alone_) {
    XF_CHECK(count_ % ranks() == 0, XF_ERROR_INVALID_ARGUMENT,
             "train.shards is %lld, expected a multiple of the %d ranks", static_cast<long long>(count_), ranks());
    sums_.resize(static_cast<size_t>(slices_.chunks()));
    for (int r = 0; r < ranks(); ++r) {
        const Range slice = slices_.slice(r);
        const auto chunks = [&](int64_t numbers) { return (numbers + slices_.chunk() - 1) / slices_.chunk(); };
        byte_slices_.push_back(in_bytes(slice, sizeof(float)));
        sum_slices_.push_back(in_bytes({chunks(slice.begin), chunks(slice.end)}, sizeof(double)));
    }
    for (auto *messages : {&sends_, &receives_}) messages->reserve(static_cast<size_t>(ranks()));
    landings_.reserve(static_cast<size_t>(ranks()));
    // Where no memory is no other rank's business yet. A trainer alone has nobody to tell: a file that asks for many
    // shards costs nothing before they come.
    if (ranks() > 1) {
        const size_t longest = std::max({letter_bytes(), sizeof(TraitLetter), sizeof(TextLetter)});
        letters_.reserve(longest * static_cast<size_t>(ranks()));
        parts_.reserve(static_cast<size_t>(own().count()));
    }
    chain_.reserve(64);  // levels of the tree
    if (context->lane() != nullptr && ranks() > 1)
        made_lane_ = std::make_unique<Lane>(*context->lane(), *comm_, context->comm_timeout());
    if (overlaps() && !pool_.hosted()) carrier_ = std::make_unique<Background>();
}

Shards::~Shards() {
    if (leaving_ == Leaving::kByThread) break_off();
}

// One for each rank, empty.
char *Shards::letters(size_t bytes) {
    letters_.assign(bytes * static_cast<size_t>(ranks()), 0);
    return letters_.data();
}

float *Shards::whole() {
    if (whole_.empty()) whole_.resize(static_cast<size_t>(total_));
    return whole_.data();
}

uint64_t Shards::hash_of(Stream &stream, const float *block) {
    const float *at = block;
    if (!direct_) {
        stream.download(whole(), block, bytes_of(total_));
        at = whole();
    }
    constexpr int64_t kHashed = 1 << 20;
    std::vector<uint64_t> hashes(static_cast<size_t>((total_ + kHashed - 1) / kHashed));
    parallel(pool_, static_cast<int64_t>(hashes.size()), [&](int64_t i) {
        hashes[static_cast<size_t>(i)] =
            hash64(at + i * kHashed, bytes_of(std::min(kHashed, total_ - i * kHashed)), static_cast<uint64_t>(i));
    });
    return hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
}

void Shards::open_lane(Stream &stream) {
    if (lane_ != nullptr || made_lane_ == nullptr) return;
    made_lane_->join(stream);
    lane_ = made_lane_.get();
}

void Shards::compare(const Telling &own, const Traits &traits) {
    TraitLetter mine{own.word(), {}};
    for (size_t i = 0; i < traits.size(); ++i) mine.hashes[i] = traits[i].hash;
    char *const all = letters(sizeof mine);
    std::memcpy(all + sizeof mine * static_cast<size_t>(rank()), &mine, sizeof mine);
    if (ranks() > 1) comm_->hear(all, sizeof mine);
    own.rethrow();
    const auto at = [&](int r, size_t i) {
        TraitLetter letter;
        std::memcpy(&letter, all + sizeof letter * static_cast<size_t>(r), sizeof letter);
        return letter.hashes[i];
    };
    for (size_t i = 0; i < traits.size(); ++i) {
        // Who is in the largest group is right; of two such groups, the one with the lowest rank.
        int right = 0, most = 0;
        for (int r = 0; r < ranks(); ++r) {
            int alike = 0;
            for (int q = 0; q < ranks(); ++q) alike += at(q, i) == at(r, i) ? 1 : 0;
            if (alike > most) most = alike, right = r;
        }
        for (int r = 0; r < ranks(); ++r)
            XF_CHECK(at(r, i) == at(right, i), XF_ERROR_DESYNC, "rank %d differs from rank %d: %s", r, right,
                     traits[i].name);
    }
}

ShardStats Shards::agree(const Report &report, const std::vector<ShardStats> &own_stats) {
    const auto shards = static_cast<size_t>(own().count());
    const size_t bytes = letter_bytes();
    char *const all = letters(bytes), *const mine = all + bytes * static_cast<size_t>(rank());
    std::memcpy(mine, &report, sizeof report);
    if (!own_stats.empty()) std::memcpy(mine + sizeof report, own_stats.data(), own_stats.size() * sizeof(ShardStats));
    if (ranks() > 1) comm_->hear(all, bytes);
    ShardStats sum;
    for (int r = 0; r < ranks(); ++r) {
        const char *const letter = all + bytes * static_cast<size_t>(r);
        Report said;
        std::memcpy(&said, letter, sizeof said);
        for (size_t i = 0; i < shards; ++i) {
            ShardStats stats;
            std::memcpy(&stats, letter + sizeof said + i * sizeof stats, sizeof stats);
            sum.add(stats);
        }
        if (report.word.status != XF_OK) continue;
        XF_CHECK(said.step == report.step, XF_ERROR_DESYNC, "rank %d makes step %lld, rank %d step %lld", r,
                 static_cast<long long>(said.step), rank(), static_cast<long long>(report.step));
        XF_CHECK(said.per_shard == report.per_shard, XF_ERROR_DESYNC,
                 "rank %d gives each shard %lld batches, rank %d %lld", r, static_cast<long long>(said.per_shard),
                 rank(), static_cast<long long>(report.per_shard));
        XF_CHECK(said.data == report.data, XF_ERROR_DESYNC,
                 "rank %d reads another corpus than rank %d, in another order, or another place of it", r, rank());
    }
    return sum;
}

double Shards::squares(Stream &stream) {
    for (int64_t b = 0; b < slices_.buckets(); ++b) {
        const Range piece = slices_.piece(b, rank());
        double *const sums = sums_.data() + slices_.packed_at(b, rank()) / slices_.chunk();
        if (piece.count() > 0)
            math_.chunk_squares(stream, reduced_ + piece.begin, piece.count(), slices_.chunk(), sums);
    }
    if (ranks() > 1) comm_->all_gather(sums_.data(), sum_slices_);
    double total = 0;
    for (int64_t b = 0; b < slices_.buckets(); ++b)
        for (int r = 0; r < ranks(); ++r) {
            const int64_t first = slices_.packed_at(b, r) / slices_.chunk(), count = slices_.piece(b, r).count();
            for (int64_t i = 0; i * slices_.chunk() < count; ++i) total += sums_[static_cast<size_t>(first + i)];
        }
    return total;
}

void Shards::take_slice(Stream &stream, float *slice, const float *block) {
    each_own_piece([&](Range piece, int64_t at) {
        if (piece.count() > 0) math_.copy(stream, slice + at, block + piece.begin, piece.count());
    });
}

void Shards::unpack(Stream &stream, float *block, const float *packed, bool in_host_memory) {
    for (int r = 0; r < ranks(); ++r)
        for (int64_t b = 0; b < slices_.buckets(); ++b) {
            const Range piece = slices_.piece(b, r);
            const float *const from = packed + slices_.packed_at(b, r);
            if (piece.count() == 0) continue;
            if (in_host_memory && !direct_)
                stream.upload(block + piece.begin, from, bytes_of(piece.count()));
            else
                math_.copy(stream, block + piece.begin, from, piece.count());
        }
}

void Shards::all_gather(Stream &stream, const float *part, float *block, float *scratch) {
    const Range own_slice = slices_.slice(rank());
    if (lane_ != nullptr) {
        sends_.clear(), receives_.clear();
        for (int r = 0; r < ranks(); ++r) {
            const Range of = slices_.slice(r);
            if (r == rank()) continue;
            if (own_slice.count() > 0) sends_.push_back({r, const_cast<float *>(part), bytes_of(own_slice.count())});
            if (of.count() > 0) receives_.push_back({r, scratch + of.begin, bytes_of(of.count())});
        }
        pass(stream);
        lane_->check(stream);
        math_.copy(stream, scratch + own_slice.begin, part, own_slice.count());
        return unpack(stream, block, scratch, false);
    }
    float *const landing = direct_ ? scratch : whole();
    stream.download(landing + own_slice.begin, part, bytes_of(own_slice.count()));
    if (ranks() > 1) comm_->all_gather(landing, byte_slices_);
    unpack(stream, block, landing, true);
}

void Shards::gather(Stream &stream, const float *part, float *block, float *scratch) {
    const Range own_slice = slices_.slice(rank());
    float *const landing = direct_ ? scratch : whole();
    const float *own = part;
    if (!direct_) {
        stream.download(landing + own_slice.begin, part, bytes_of(own_slice.count()));
        own = landing + own_slice.begin;
    }
    comm_->gather(0, own, landing, byte_slices_);
    if (rank() == 0) unpack(stream, block, landing, true);
}

void Shards::hear(const Telling &own, std::string *text) {
    TextLetter mine{own.word(), ""};
    if (text != nullptr) std::snprintf(mine.text, sizeof mine.text, "%s", text->c_str());
    char *const all = letters(sizeof mine);
    std::memcpy(all + sizeof mine * static_cast<size_t>(rank()), &mine, sizeof mine);
    if (ranks() > 1) comm_->hear(all, sizeof mine);
    own.rethrow();
    std::memcpy(&mine, all, sizeof mine);
    if (text != nullptr) text->assign(mine.text, strnlen(mine.text, kMostText));
}

void Shards::lose(const char *why) noexcept {
    if (ranks() > 1) comm_->lose("rank %d could not go on: %s", rank(), why);
}

}  // namespace xf
