// SPDX-License-Identifier: Apache-2.0
#include "ranks/shard_sums.h"

#include <algorithm>

namespace xf {
namespace {

size_t sums_bytes(int64_t count) { return count * sizeof(float); }
size_t bf16_bytes_of(int64_t count) { return sums_bytes(count) / 2; }

}  // namespace

ShardSums::ShardSums(Context &context, BlockExchange &exchange, int64_t shards, bool bf16)
    : device_(context.device()),
      exchange_(exchange),
      math_(exchange.math()),
      slices_(exchange.slices()),
      bf16_(bf16),
      count_(shards > 0 ? shards : exchange.ranks()) {
    XF_CHECK(count_ >= exchange.ranks(), XF_ERROR_INVALID_ARGUMENT,
             "train.shards is %" PRId64 ", expected at least %d, the number of ranks", count_, exchange.ranks());
    chunk_squares_.resize(slices_.chunks());
    for (auto *messages : {&sends_, &receives_}) messages->reserve(exchange.ranks());
    // One rank may fail to allocate later: no other rank waits for it. Its number of shards may come from a file.
    if (exchange.ranks() > 1) nodes_.reserve(own().count());
}

float *ShardSums::spare_block() {
    if (free_.empty()) {
        blocks_.emplace_back(device_, sums_bytes(slices_.total()));
        free_.reserve(blocks_.size());  // begin() then allocates nothing
        return blocks_.back().floats();
    }
    float *const block = free_.back();
    free_.pop_back();
    return block;
}

ShardSums::Plan ShardSums::make_plan(int64_t present) {
    const int ranks = exchange_.ranks();
    const ShardTree tree(count_, present);
    Plan plan;
    std::vector<Range> nodes;
    for (int r = 0; r < ranks; ++r) {
        plan.covers.push_back(tree.cover(even_chunk(count_, r, ranks)));
        const std::vector<Range> &cover = plan.covers.back();
        nodes.insert(nodes.end(), cover.begin(), cover.end());
        plan.rounds = std::max(plan.rounds, cover.size());
    }
    plan.additions = tree.fold(nodes);
    plan.addends.resize(nodes.size());
    const size_t others = nodes.size() - plan.covers[exchange_.rank()].size();
    const size_t segment = sums_bytes(slices_.longest_segment()), segments = (ranks - 1) * segment;
    received_.reserve(device_, others * segment);
    if (bf16_)
        for (Buffer *buffer : {&outgoing_, &incoming_}) buffer->reserve(device_, segments / 2);
    exchange_.reserve_staging(segments);
    return plan;
}

void ShardSums::begin(int64_t present) {
    auto plan = plans_.find(present);
    if (plan == plans_.end()) plan = plans_.emplace(present, make_plan(present)).first;
    plan_ = &plan->second;
    present_ = present;
    next_ = own().begin;
    nodes_.clear();
    exchange_.reserve_host_block();  // an error here is reported to all ranks; later the others would wait
    free_.clear();
    for (const Buffer &block : blocks_) free_.push_back(block.floats());
}

void ShardSums::add(Stream &stream, float *grads) {
    const ShardTree tree(count_, present_);
    Node node{{next_, next_ + 1}, grads};
    ++next_;
    while (!nodes_.empty() && tree.siblings(nodes_.back().leaves, node.leaves)) {
        const Node left = nodes_.back();
        nodes_.pop_back();
        math_.add(stream, left.sum, node.sum, slices_.total(), bf16_);
        if (node.sum != grads) free_.push_back(node.sum);
        node = {{left.leaves.begin, node.leaves.end}, left.sum};
    }
    if (node.sum == grads && next_ < std::min(own().end, present_)) {
        node.sum = spare_block();
        math_.copy(stream, node.sum, grads, slices_.total());
    }
    nodes_.push_back(node);
}

// Exchanges one node of each rank per round: every rank receives its own segment of the bucket.
void ShardSums::exchange_bucket(Stream &stream, int64_t bucket) {
    const int rank = exchange_.rank(), ranks = exchange_.ranks();
    const bool bf16 = bf16_ && !plan_->additions.empty();
    const auto bytes = [&](Range range) { return bf16 ? bf16_bytes_of(range.count()) : sums_bytes(range.count()); };
    const Range own = slices_.segment(bucket, rank);
    const int64_t longest = slices_.longest_segment();
    for (size_t round = 0; round < plan_->rounds; ++round) {
        sends_.clear(), receives_.clear();
        char *out = outgoing_.as<char>(), *in = incoming_.as<char>();
        // Calls receive(r, segment) for each rank r that sends a node in this round; segment: its place in received_.
        const auto for_each_sender = [&](const auto &receive) {
            int64_t first = 0;
            for (int r = 0; r < ranks; ++r) {
                if (r == rank) continue;
                const size_t nodes = plan_->covers[r].size();
                if (round < nodes && own.count() > 0) receive(r, received_.floats() + (first + round) * longest);
                first += nodes;
            }
        };
        for (int r = 0; r < ranks; ++r) {
            const Range segment = slices_.segment(bucket, r);
            if (r == rank || round >= nodes_.size() || segment.count() == 0) continue;
            float *const sum = nodes_[round].sum + segment.begin;
            Communicator::Message message{r, sum, bytes(segment)};
            if (bf16) {
                math_.to_bf16(stream, out, sum, segment.count());
                message.data = std::exchange(out, out + bf16_bytes_of(longest));
            }
            sends_.push_back(message);
        }
        for_each_sender([&](int r, float *segment) {
            Communicator::Message message{r, segment, bytes(own)};
            if (bf16) message.data = std::exchange(in, in + bf16_bytes_of(longest));
            receives_.push_back(message);
        });
        exchange_.exchange(stream, &sends_, &receives_);
        if (!bf16) continue;
        in = incoming_.as<char>();
        for_each_sender([&](int, float *segment) {
            math_.from_bf16(stream, segment, in, own.count());
            in += bf16_bytes_of(longest);
        });
    }
}

void ShardSums::reduce_bucket(Stream &stream, int64_t bucket, float *grads) {
    const int rank = exchange_.rank(), ranks = exchange_.ranks();
    if (ranks > 1) exchange_bucket(stream, bucket);
    const auto [begin, end] = slices_.segment(bucket, rank);
    if (begin == end) return;
    auto addend = plan_->addends.begin();
    float *received = received_.floats();
    for (int r = 0; r < ranks; ++r)
        for (size_t i = 0; i < plan_->covers[r].size(); ++i) {
            if (r == rank) {
                *addend++ = nodes_[i].sum + begin;
            } else {
                *addend++ = received;
                received += slices_.longest_segment();
            }
        }
    for (const auto &[left, right] : plan_->additions)
        math_.add(stream, plan_->addends[left], plan_->addends[right], end - begin, bf16_);
    const float *const root = plan_->addends[0];
    if (root != grads + begin) math_.copy(stream, grads + begin, root, end - begin);
}

void ShardSums::reduce(Stream &stream, float *grads) {
    for (int64_t bucket = slices_.buckets(); bucket-- > 0;) reduce_bucket(stream, bucket, grads);
    exchange_.check(stream);
    reduced_ = grads;
}

double ShardSums::squares(Stream &stream) {
    const int64_t chunk = slices_.chunk();
    for (int64_t b = 0; b < slices_.buckets(); ++b) {
        const Range segment = slices_.segment(b, exchange_.rank());
        const int64_t first = slices_.packed_offset(b, exchange_.rank()) / chunk;
        if (segment.count() > 0)
            math_.chunk_squares(stream, reduced_ + segment.begin, segment.count(), chunk, &chunk_squares_[first]);
    }
    exchange_.all_gather_chunks(chunk_squares_.data());
    double total = 0;  // in the order of the block
    for (int64_t b = 0; b < slices_.buckets(); ++b)
        for (int r = 0; r < exchange_.ranks(); ++r) {
            const int64_t first = slices_.packed_offset(b, r) / chunk, count = slices_.segment(b, r).count();
            for (int64_t i = 0; i * chunk < count; ++i) total += chunk_squares_[first + i];
        }
    return total;
}

}  // namespace xf
