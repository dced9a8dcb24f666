// How the gradients of shards become one sum: on the rank, between the ranks, at once or while they are made. See
// shards.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "train/shards.h"

namespace xf {

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
    const size_t piece = bytes_of(slices_.longest_piece()), pieces = static_cast<size_t>(ranks() - 1) * piece;
    arrived_.reserve(device_, others * piece);
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
    chain_.clear();
    make_room();  // here no memory is an error of all; later the others would wait for this rank
    free_.clear();
    for (const Buffer &block : spares_) free_.push_back(block.floats());
}

// The next own shard's place in the tree: what is in chain_ is added to, from the first to the last.
void Shards::place(Stream &stream, float *grads) {
    const ShardTree tree(count_, present_);
    Part part{{next_, next_ + 1}, grads};
    ++next_;
    chain_.clear();
    while (!parts_.empty() && tree.siblings(parts_.back().leaves, part.leaves)) {
        const Part left = parts_.back();
        parts_.pop_back();
        chain_.push_back(left.numbers);
        if (part.numbers != grads) free_.push_back(part.numbers);
        part = {{left.leaves.begin, part.leaves.end}, left.numbers};
    }
    if (part.numbers == grads && next_ < std::min(own().end, present_)) {
        part.numbers = spare();
        math_.copy(stream, part.numbers, grads, total_);
    }
    parts_.push_back(part);
}

// Adds these numbers of the last shard, which are in reduced_, to what place() has found.
void Shards::sum(Stream &stream, int64_t begin, int64_t end) {
    const float *from = reduced_;
    for (float *const to : chain_) {
        math_.add(stream, to + begin, from + begin, end - begin, narrow_);
        from = to;
    }
}

void Shards::add(Stream &stream, float *grads) {
    reduced_ = grads;
    place(stream, grads);
    sum(stream, 0, total_);
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

// Every rank's piece, from every other rank's parts.
void Shards::exchange_bucket(Stream &stream, BlockMath &math, int64_t bucket) {
    const bool narrow = narrow_ && !plan_->additions.empty();
    const auto bytes = [&](Range range) { return bytes_of(range.count()) / (narrow ? 2 : 1); };
    const Range mine = slices_.piece(bucket, rank());
    const int64_t longest = slices_.longest_piece();
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
                    place(r, arrived_.floats() + static_cast<int64_t>(at + round) * longest);
                at += parts;
            }
        };
        for (int r = 0; r < ranks(); ++r) {
            const Range to = slices_.piece(bucket, r);
            if (r == rank() || round >= parts_.size() || to.count() == 0) continue;
            float *const numbers = parts_[round].numbers + to.begin;
            if (narrow) math.to_bf16(stream, out, numbers, to.count());
            sends_.push_back({r, narrow ? static_cast<void *>(out) : numbers, bytes(to)});
            if (narrow) out += bytes_of(longest) / 2;
        }
        each_receive([&](int r, float *numbers) {
            receives_.push_back({r, narrow ? static_cast<void *>(in) : numbers, bytes(mine)});
            if (narrow) in += bytes_of(longest) / 2;
        });
        pass(stream);
        if (!narrow) continue;
        in = static_cast<char *>(incoming_.data());
        each_receive([&](int, float *numbers) {
            math.from_bf16(stream, numbers, in, mine.count());
            in += bytes_of(longest) / 2;
        });
    }
}

void Shards::reduce_bucket(Stream &stream, BlockMath &math, int64_t bucket) {
    if (ranks() > 1) exchange_bucket(stream, math, bucket);
    const auto [begin, end] = slices_.piece(bucket, rank());
    if (begin == end) return;
    size_t node = 0;
    int64_t arrived = 0;
    for (int r = 0; r < ranks(); ++r)
        for (size_t i = 0; i < plan_->covers[static_cast<size_t>(r)].size(); ++i)
            plan_->at[node++] =
                r == rank() ? parts_[i].numbers + begin : arrived_.floats() + arrived++ * slices_.longest_piece();
    for (const auto &[low, high] : plan_->additions)
        math.add(stream, plan_->at[low], plan_->at[high], end - begin, narrow_);
    if (plan_->at[0] != reduced_ + begin) math.copy(stream, reduced_ + begin, plan_->at[0], end - begin);
}

void Shards::add_while_made(Stream &stream, float *grads) {
    reduced_ = grads;
    place(stream, grads);
    left_ = slices_.buckets();
    stream_ = &stream;
    leaving_ = carrier_ != nullptr && carrier_->alive() ? Leaving::kByThread : Leaving::kLater;
    if (leaving_ == Leaving::kLater) return;
    failure_ = nullptr;
    ready_.store(left_, std::memory_order_relaxed);
    carrier_->start([](void *self) { static_cast<Shards *>(self)->carry(); }, this);
}

// The backward pass comes from the end of the block to its beginning, and so do the buckets.
void Shards::done(Stream &stream, int64_t offset) {
    const int64_t before = left_;
    for (; left_ > 0 && slices_.bucket_begin(left_ - 1) >= offset; --left_)
        sum(stream, slices_.bucket_begin(left_ - 1), slices_.bucket_end(left_ - 1));
    if (left_ == before || leaving_ != Leaving::kByThread) return;
    ready_.store(left_, std::memory_order_seq_cst);  // as in thread_pool.cpp
    ready_.notify_all();
}

// On the thread.
void Shards::carry() noexcept {
    try {
        for (int64_t bucket = slices_.buckets(); bucket-- > 0;) {
            int64_t ready = ready_.load(std::memory_order_acquire);
            for (; ready > bucket; ready = ready_.load(std::memory_order_acquire))
                ready_.wait(ready, std::memory_order_acquire);
            if (ready == kBroken) comm_->give_up("the step broke off while its gradients were under way");
            reduce_bucket(*stream_, math_beside_, bucket);
        }
    } catch (...) {
        failure_ = std::current_exception();
    }
}

void Shards::break_off() noexcept {
    if (leaving_ == Leaving::kByThread) {
        ready_.store(kBroken, std::memory_order_seq_cst);
        ready_.notify_all();
        carrier_->wait();
    } else if (leaving_ == Leaving::kLater) {
        comm_->lose("the step broke off while its gradients were under way");
    }
    leaving_ = Leaving::kNot;
}

void Shards::reduce(Stream &stream, float *grads) {
    if (leaving_ == Leaving::kNot)
        reduced_ = grads;
    else
        done(stream, 0);
    if (leaving_ == Leaving::kByThread) {
        carrier_->wait();
        leaving_ = Leaving::kNot;
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        return;
    }
    leaving_ = Leaving::kNot;
    for (int64_t bucket = slices_.buckets(); bucket-- > 0;) reduce_bucket(stream, math_, bucket);
    if (lane_ != nullptr) lane_->check(stream);
}

}  // namespace xf
