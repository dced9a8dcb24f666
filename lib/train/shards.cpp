// See shards.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/shards.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/hash.h"

namespace xf {
namespace {

std::vector<Range> in_bytes(std::vector<Range> ranges, size_t each) {
    for (Range &range : ranges) range.begin *= static_cast<int64_t>(each), range.end *= static_cast<int64_t>(each);
    return ranges;
}

// Runs task(i) for each i below count on the pool.
template <class Task>
void parallel(ThreadPool &pool, int64_t count, const Task &task) {
    pool.run(
        count, [](void *arg, int64_t i, int32_t) { (*static_cast<const Task *>(arg))(i); },
        const_cast<void *>(static_cast<const void *>(&task)));
}

size_t bytes_of(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

}  // namespace

Shards::Shards(const std::shared_ptr<Context> &context, int64_t shards, int64_t total, bool narrow)
    : context_(*context),
      heap_(context, &context->heap()),
      pool_(context->pool()),
      device_(context->device()),
      comm_(context->comm()),
      math_(*context),
      direct_(math_.on_host()),
      narrow_(narrow),
      count_(shards > 0 ? shards : ranks()),
      total_(total),
      whole_(HeapAllocator<float>(heap_)),
      stage_(HeapAllocator<char>(heap_)) {
    XF_CHECK(count_ % ranks() == 0, XF_ERROR_INVALID_ARGUMENT,
             "train.shards is %lld, expected a multiple of the %d ranks", static_cast<long long>(count_), ranks());
    // So many chunks that slices are even, so few that their sums are soon exchanged; lines of memory are whole.
    chunk_ = (total / 1024 / 16 + 1) * 16;
    const int64_t chunks = (total + chunk_ - 1) / chunk_;
    sums_.resize(static_cast<size_t>(chunks));
    std::vector<Range> of_chunks;
    for (int64_t r = 0; r < ranks(); ++r) {
        of_chunks.push_back(share(chunks, r, ranks()));
        slices_.push_back(
            {std::min(total, of_chunks.back().begin * chunk_), std::min(total, of_chunks.back().end * chunk_)});
    }
    sum_slices_ = in_bytes(std::move(of_chunks), sizeof(double));
    for (auto *messages : {&sends_, &receives_}) messages->reserve(static_cast<size_t>(ranks()));
    landings_.reserve(static_cast<size_t>(ranks()));
    byte_slices_ = in_bytes(slices_, sizeof(float));
}

float *Shards::whole() {
    if (whole_.empty()) whole_.resize(static_cast<size_t>(total_));
    return whole_.data();
}

float *Shards::spare() {
    if (free_.empty()) {
        spares_.emplace_back(device_, bytes_of(total_));
        free_.reserve(spares_.size());  // begin() allocates nothing
        return spares_.back().floats();
    }
    float *const block = free_.back();
    free_.pop_back();
    return block;
}

uint64_t Shards::hash_of(Stream &stream, const float *block) {
    const float *at = block;
    if (!direct_) {
        stream.download(whole(), block, bytes_of(total_));
        at = whole();
    }
    std::vector<uint64_t> hashes(static_cast<size_t>((total_ + kPiece - 1) / kPiece));
    parallel(pool_, static_cast<int64_t>(hashes.size()), [&](int64_t i) {
        hashes[static_cast<size_t>(i)] =
            hash64(at + i * kPiece, bytes_of(std::min(kPiece, total_ - i * kPiece)), static_cast<uint64_t>(i));
    });
    return hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
}

void Shards::open_lane(Stream &stream) {
    if (lane_ == nullptr && context_.lane() != nullptr && ranks() > 1)
        lane_ = std::make_unique<Lane>(*context_.lane(), *comm_, stream, context_.comm_timeout());
}

void Shards::compare(const std::vector<Trait> &traits) {
    if (ranks() == 1) return;
    std::vector<uint64_t> all(traits.size() * static_cast<size_t>(ranks()));
    const auto at = [&](int r, size_t i) -> uint64_t & { return all[static_cast<size_t>(r) * traits.size() + i]; };
    for (size_t i = 0; i < traits.size(); ++i) at(rank(), i) = traits[i].hash;
    comm_->all_gather(all.data(), traits.size() * sizeof(uint64_t));
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
    const size_t bytes = sizeof(Report) + shards * sizeof(ShardStats);
    letters_.assign(bytes * static_cast<size_t>(ranks()), 0);
    char *const mine = letters_.data() + bytes * static_cast<size_t>(rank());
    std::memcpy(mine, &report, sizeof report);
    if (!own_stats.empty()) std::memcpy(mine + sizeof report, own_stats.data(), own_stats.size() * sizeof(ShardStats));
    if (comm_ != nullptr) comm_->all_gather(letters_.data(), bytes);
    ShardStats sum;
    for (int r = 0; r < ranks(); ++r) {
        const char *const letter = letters_.data() + bytes * static_cast<size_t>(r);
        Report said;
        std::memcpy(&said, letter, sizeof said);
        if (report.status == XF_OK && said.status != XF_OK)
            fail(XF_ERROR_PEER, "rank %d: %.*s", r, static_cast<int>(sizeof said.message - 1), said.message);
        for (size_t i = 0; i < shards; ++i) {
            ShardStats stats;
            std::memcpy(&stats, letter + sizeof said + i * sizeof stats, sizeof stats);
            sum.sentences += stats.sentences;
            sum.src_tokens += stats.src_tokens;
            sum.tgt_tokens += stats.tgt_tokens;
            sum.loss_sum += stats.loss_sum;
            sum.nll_sum += stats.nll_sum;
        }
        if (report.status != XF_OK || said.status != XF_OK) continue;
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

Shards::Plan Shards::make_plan(int64_t present) {
    const ShardTree tree(count_, present);
    Plan plan;
    std::vector<Range> nodes;
    for (int r = 0; r < ranks(); ++r) {
        plan.covers.push_back(tree.cover(share(count_, r, ranks())));
        const std::vector<Range> &cover = plan.covers.back();
        nodes.insert(nodes.end(), cover.begin(), cover.end());
        plan.rounds = std::max(plan.rounds, cover.size());
    }
    plan.additions = tree.fold(nodes);
    plan.at.resize(nodes.size());
    const size_t others = nodes.size() - plan.covers[static_cast<size_t>(rank())].size();
    arrived_.reserve(device_, others * bytes_of(kPiece));
    const size_t pieces = static_cast<size_t>(ranks() - 1) * bytes_of(kPiece);
    if (narrow_)
        for (Buffer *buffer : {&outgoing_, &incoming_}) buffer->reserve(device_, pieces / 2);
    if (!direct_ && lane_ == nullptr && stage_.size() < 2 * pieces) stage_.resize(2 * pieces);
    return plan;
}

void Shards::begin(int64_t present) {
    auto plan = plans_.find(present);
    if (plan == plans_.end()) plan = plans_.emplace(present, make_plan(present)).first;
    plan_ = &plan->second;
    present_ = present;
    next_ = own().begin;
    parts_.clear();
    if (!direct_) whole();  // here no memory is an error of all; later the others would wait for this rank
    free_.clear();
    for (const Buffer &block : spares_) free_.push_back(block.floats());
}

void Shards::add(Stream &stream, float *grads) {
    const ShardTree tree(count_, present_);
    Part part{{next_, next_ + 1}, grads};
    ++next_;
    while (!parts_.empty() && tree.siblings(parts_.back().leaves, part.leaves)) {
        const Part left = parts_.back();
        parts_.pop_back();
        math_.add(stream, left.numbers, part.numbers, total_, narrow_);
        if (part.numbers != grads) free_.push_back(part.numbers);
        part = {{left.leaves.begin, part.leaves.end}, left.numbers};
    }
    if (part.numbers == grads && next_ < std::min(own().end, present_)) {
        part.numbers = spare();
        math_.copy(stream, part.numbers, grads, total_);
    }
    parts_.push_back(part);
}

// sends_ and receives_.
void Shards::pass(Stream &stream) {
    if (lane_ != nullptr) return lane_->exchange(stream, sends_, receives_);
    if (direct_) return comm_->exchange(sends_, receives_);
    char *at = stage_.data();
    landings_.clear();
    for (Comm::Message &message : sends_) {
        stream.download(at, message.data, message.size);
        message.data = at;
        at += message.size;
    }
    for (Comm::Message &message : receives_) {
        landings_.push_back(message.data);
        message.data = at;
        at += message.size;
    }
    comm_->exchange(sends_, receives_);
    for (size_t i = 0; i < receives_.size(); ++i) stream.upload(landings_[i], receives_[i].data, receives_[i].size);
}

// Numbers first .. first + kPiece - 1 of every rank's slice, from every other rank's parts.
void Shards::exchange_piece(Stream &stream, int64_t first) {
    const auto piece = [&](int r) {
        const Range slice = slices_[static_cast<size_t>(r)];
        const int64_t begin = std::min(slice.end, slice.begin + first);
        return Range{begin, std::min(slice.end, begin + kPiece)};
    };
    const bool narrow = narrow_ && !plan_->additions.empty();
    const auto bytes = [&](Range range) { return bytes_of(range.count()) / (narrow ? 2 : 1); };
    const Range mine = piece(rank());
    for (size_t round = 0; round < plan_->rounds; ++round) {
        sends_.clear(), receives_.clear();
        char *out = static_cast<char *>(outgoing_.data()), *in = static_cast<char *>(incoming_.data());
        // place(r, numbers): where what rank r sends in this round lands.
        const auto each_receive = [&](const auto &place) {
            size_t at = 0;
            for (int r = 0; r < ranks(); ++r) {
                if (r == rank()) continue;
                const size_t parts = plan_->covers[static_cast<size_t>(r)].size();
                if (round < parts && mine.count() > 0)
                    place(r, arrived_.floats() + static_cast<int64_t>(at + round) * kPiece);
                at += parts;
            }
        };
        for (int r = 0; r < ranks(); ++r) {
            const Range to = piece(r);
            if (r == rank() || round >= parts_.size() || to.count() == 0) continue;
            float *const numbers = parts_[round].numbers + to.begin;
            if (narrow) math_.to_bf16(stream, out, numbers, to.count());
            sends_.push_back({r, narrow ? static_cast<void *>(out) : numbers, bytes(to)});
            if (narrow) out += bytes_of(kPiece) / 2;
        }
        each_receive([&](int r, float *numbers) {
            receives_.push_back({r, narrow ? static_cast<void *>(in) : numbers, bytes(mine)});
            if (narrow) in += bytes_of(kPiece) / 2;
        });
        pass(stream);
        if (!narrow) continue;
        in = static_cast<char *>(incoming_.data());
        each_receive([&](int, float *numbers) {
            math_.from_bf16(stream, numbers, in, mine.count());
            in += bytes_of(kPiece) / 2;
        });
    }
}

void Shards::reduce(Stream &stream, float *grads) {
    int64_t longest = 0;
    for (const Range &slice : slices_) longest = std::max(longest, slice.count());
    const Range own_slice = slice();
    for (int64_t first = 0; first < longest; first += kPiece) {
        if (ranks() > 1) exchange_piece(stream, first);
        const int64_t begin = own_slice.begin + first, count = std::min(kPiece, own_slice.end - begin);
        if (count <= 0) continue;
        size_t node = 0;
        int64_t arrived = 0;
        for (int r = 0; r < ranks(); ++r)
            for (size_t i = 0; i < plan_->covers[static_cast<size_t>(r)].size(); ++i)
                plan_->at[node++] = r == rank() ? parts_[i].numbers + begin : arrived_.floats() + arrived++ * kPiece;
        for (const auto &[low, high] : plan_->additions)
            math_.add(stream, plan_->at[low], plan_->at[high], count, narrow_);
        if (plan_->at[0] != grads + begin) math_.copy(stream, grads + begin, plan_->at[0], count);
    }
    if (lane_ != nullptr) lane_->check(stream);
    reduced_ = grads;
}

double Shards::squares(Stream &stream) {
    const Range own_slice = slice();
    math_.chunk_squares(stream, reduced_ + own_slice.begin, own_slice.count(), chunk_,
                        sums_.data() + own_slice.begin / chunk_);
    if (ranks() > 1) comm_->all_gather(sums_.data(), sum_slices_);
    double total = 0;
    for (const double sum : sums_) total += sum;
    return total;
}

void Shards::all_gather(Stream &stream, const float *part, float *block, float *scratch) {
    const Range own_slice = slice();
    if (lane_ != nullptr) {
        sends_.clear(), receives_.clear();
        for (int r = 0; r < ranks(); ++r) {
            const Range &of = slices_[static_cast<size_t>(r)];
            if (r == rank()) continue;
            if (own_slice.count() > 0) sends_.push_back({r, const_cast<float *>(part), bytes_of(own_slice.count())});
            if (of.count() > 0) receives_.push_back({r, scratch + of.begin, bytes_of(of.count())});
        }
        pass(stream);
        lane_->check(stream);
        math_.copy(stream, scratch + own_slice.begin, part, own_slice.count());
        math_.copy(stream, block, scratch, total_);
        return;
    }
    float *const landing = direct_ ? scratch : whole();
    stream.download(landing + own_slice.begin, part, bytes_of(own_slice.count()));
    if (ranks() > 1) comm_->all_gather(landing, byte_slices_);
    if (direct_)
        math_.copy(stream, block, landing, total_);
    else
        stream.upload(block, landing, bytes_of(total_));
}

void Shards::gather(Stream &stream, const float *part, float *block) {
    float *const landing = direct_ ? block : whole();
    const float *own = part;
    if (!direct_) {
        stream.download(landing + slice().begin, part, bytes_of(slice().count()));
        own = landing + slice().begin;
    }
    comm_->gather(0, own, landing, byte_slices_);
    if (rank() == 0 && !direct_) stream.upload(block, landing, bytes_of(total_));
}

std::string Shards::hear(const std::string &text, const Error *error) {
    struct Letter {
        int32_t status;
        char message[184], text[72];
    };
    std::vector<Letter> letters(static_cast<size_t>(ranks()), Letter{});
    Letter &mine = letters[static_cast<size_t>(rank())];
    if (error != nullptr) {
        mine.status = error->status();
        std::snprintf(mine.message, sizeof mine.message, "%s", error->what());
    }
    std::snprintf(mine.text, sizeof mine.text, "%s", text.c_str());
    if (ranks() > 1) comm_->all_gather(letters.data(), sizeof(Letter));
    const Letter &said = letters.front();
    if (rank() != 0 && said.status != XF_OK)
        fail(XF_ERROR_PEER, "rank 0: %.*s", static_cast<int>(sizeof said.message - 1), said.message);
    return std::string(said.text, strnlen(said.text, sizeof said.text));
}

}  // namespace xf
