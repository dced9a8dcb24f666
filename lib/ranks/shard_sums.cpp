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
    const Communicator &communicator = exchange_.communicator();
    const ShardTree tree(count_, present);
    Plan plan;
    size_t most_nodes = 0, staging = 0;
    // shards_of(i): those whose sums rank i of the stage has before it.
    const auto add_stage = [&](const RankSet &ranks, bool joint, const auto &shards_of) {
        Stage stage;
        stage.ranks = ranks, stage.joint = joint;
        for (int64_t b = 0; b < slices_.buckets(); ++b)
            for (int i = 0; i < ranks.count; ++i)
                stage.longest = std::max(stage.longest, part(stage, b, ranks[i]).count());
        std::vector<Range> nodes;
        for (int i = 0; i < ranks.count; ++i) {
            const std::vector<Range> cover = tree.cover(shards_of(i));
            nodes.insert(nodes.end(), cover.begin(), cover.end());
            stage.nodes.push_back(cover.size());
            stage.rounds = std::max(stage.rounds, cover.size());
            if (ranks[i] != communicator.rank()) stage.received += stage.longest * cover.size();
        }
        most_nodes = std::max(most_nodes, nodes.size());
        staging = std::max(staging, sums_bytes((ranks.count - 1) * stage.longest));
        stage.addends = !(nodes.size() == 1 && nodes[0] == Range{0, present});
        stage.additions = tree.add_siblings(std::move(nodes));
        plan.push_back(std::move(stage));
    };
    const auto shards_of_rank = [&](int rank) { return even_chunk(count_, rank, communicator.size()); };
    const auto shards_of_machine = [&](int machine) {
        const RankSet ranks = communicator.machine(machine);
        return Range{shards_of_rank(ranks[0]).begin, shards_of_rank(ranks[ranks.count - 1]).end};
    };
    const RankSet machine = communicator.own_machine();
    if (machine.count > 1) add_stage(machine, true, [&](int i) { return shards_of_rank(machine[i]); });
    if (communicator.machines() > 1) add_stage(communicator.counterparts(), false, shards_of_machine);
    int64_t received = 0;
    for (Stage &stage : plan) received += std::exchange(stage.received, received);
    received_.reserve(device_, sums_bytes(received));
    if (bf16_)
        for (Buffer *buffer : {&outgoing_, &incoming_}) buffer->reserve(device_, staging / 2);
    exchange_.reserve_staging(staging);
    addends_.reserve(most_nodes), sums_.reserve(std::max(most_nodes, tree.cover(own()).size()));
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

// The part of a bucket whose sums this rank of the stage receives.
Range ShardSums::part(const Stage &stage, int64_t bucket, int rank) const {
    return stage.joint ? slices_.joint_segment(bucket, rank) : slices_.segment(bucket, rank);
}

// Exchanges one sum of each rank per round: every rank receives its own part.
void ShardSums::exchange_sums(Stream &stream, const Stage &stage, int64_t bucket) {
    const int rank = exchange_.rank();
    const bool bf16 = bf16_ && stage.addends;
    const auto bytes = [&](Range range) { return bf16 ? bf16_bytes_of(range.count()) : sums_bytes(range.count()); };
    const Range own = part(stage, bucket, rank);
    for (size_t round = 0; round < stage.rounds; ++round) {
        sends_.clear(), receives_.clear();
        char *out = outgoing_.as<char>(), *in = incoming_.as<char>();
        // Calls receive(r, place in received_) for each rank r that sends a sum in this round.
        const auto for_each_sender = [&](const auto &receive) {
            float *first = received_.floats() + stage.received;
            for (int i = 0; i < stage.ranks.count; ++i) {
                if (stage.ranks[i] == rank) continue;
                if (round < stage.nodes[i] && own.count() > 0) receive(stage.ranks[i], first + round * stage.longest);
                first += stage.nodes[i] * stage.longest;
            }
        };
        for (int i = 0; i < stage.ranks.count; ++i) {
            const Range other = part(stage, bucket, stage.ranks[i]);
            if (stage.ranks[i] == rank || round >= sums_.size() || other.count() == 0) continue;
            float *const sum = sums_[round].at(other.begin);
            Communicator::Message message{stage.ranks[i], sum, bytes(other)};
            if (bf16) {
                math_.to_bf16(stream, out, sum, other.count());
                message.data = std::exchange(out, out + bf16_bytes_of(stage.longest));
            }
            sends_.push_back(message);
        }
        for_each_sender([&](int r, float *place) {
            Communicator::Message message{r, place, bytes(own)};
            if (bf16) message.data = std::exchange(in, in + bf16_bytes_of(stage.longest));
            receives_.push_back(message);
        });
        exchange_.exchange(stream, &sends_, &receives_);
        if (!bf16) continue;
        in = incoming_.as<char>();
        for_each_sender([&](int, float *place) {
            math_.from_bf16(stream, place, in, own.count());
            in += bf16_bytes_of(stage.longest);
        });
    }
}

// Adds the sums of all ranks of the stage for the part of this rank; sums_ then has the results.
void ShardSums::add_sums(Stream &stream, const Stage &stage, int64_t bucket) {
    const Range own = part(stage, bucket, exchange_.rank());
    float *received = received_.floats() + stage.received;
    addends_.clear();
    for (int i = 0; i < stage.ranks.count; ++i)
        for (size_t node = 0; node < stage.nodes[i]; ++node) {
            if (stage.ranks[i] == exchange_.rank()) {
                addends_.push_back({sums_[node].at(own.begin), own.begin});
            } else {
                addends_.push_back({received, own.begin});
                received += stage.longest;
            }
        }
    if (own.count() > 0)
        for (const auto &[left, right] : stage.additions.pairs)
            math_.add(stream, addends_[left].data, addends_[right].data, own.count(), bf16_);
    sums_.clear();
    for (const size_t sum : stage.additions.sums) sums_.push_back(addends_[sum]);
}

void ShardSums::reduce_bucket(Stream &stream, int64_t bucket, float *grads) {
    sums_.clear();
    for (const Node &node : nodes_) sums_.push_back({node.sum, 0});
    for (const Stage &stage : *plan_) {
        exchange_sums(stream, stage, bucket);
        add_sums(stream, stage, bucket);
    }
    const Range own = slices_.segment(bucket, exchange_.rank());
    if (own.count() == 0) return;
    const float *const root = sums_[0].at(own.begin);
    if (root != grads + own.begin) math_.copy(stream, grads + own.begin, root, own.count());
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
        for (int place = 0; place < exchange_.ranks(); ++place) {
            const int r = slices_.rank_at(place);
            const int64_t first = slices_.packed_offset(b, r) / chunk, count = slices_.segment(b, r).count();
            for (int64_t i = 0; i * chunk < count; ++i) total += chunk_squares_[first + i];
        }
    return total;
}

}  // namespace xf
