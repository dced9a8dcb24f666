// A step cut into shards, and shards dealt to ranks: how gradients become one sum, and updated parts one model.
//
// Each rank computes some shards, one behind the other, and adds up what the tree (comm/tree.h) lets it. Every rank
// gets its slice (slices.h) of all ranks' sums, adds these up to the root, updates that slice, and gives it to the
// others: of the moments it holds its slice alone. Norms are sums over chunks that depend on the model alone. So
// nothing in the result knows how many ranks there are. Without a comm one rank does it all.
//
// Where device memory is the host's, gradients leave bucket by bucket while the backward pass of the last own shard is
// still at those before, by a thread that does nothing else. From the first bucket on nothing may fail on one rank
// alone, so the ranks agree on the step before that pass and not behind it: all that can fail comes earlier.
//
// Sums are made where the gradients are (block_math.h). A device with memory of its own exchanges by a lane, where the
// context has one, else by way of the host: what goes to others is downloaded, what comes is uploaded.
//
// Narrow (train.reduce_precision=bf16): every number that the tree adds is rounded to bf16 before, whether it comes
// from another rank or not; so it may travel as bf16, and the result still doesn't know who computed what. Sums are
// fp32. The root is added to nothing, and where no sum is made it travels as it is.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/context.h"
#include "backend/device.h"
#include "backend/lane.h"
#include "comm/tree.h"
#include "core/background.h"
#include "core/heap_vector.h"
#include "train/block_math.h"
#include "train/slices.h"

namespace xf {

// What a shard added to a step; sums over batches and over shards.
struct ShardStats {
    int64_t sentences = 0, src_tokens = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;

    void add(const ShardStats &other) {
        sentences += other.sentences;
        src_tokens += other.src_tokens;
        tgt_tokens += other.tgt_tokens;
        loss_sum += other.loss_sum;
        nll_sum += other.nll_sum;
    }
};

class Shards {
public:
    // shards: a multiple of the number of ranks, 0 for that number. total: numbers of the block of gradients.
    // narrow: addends are rounded to bf16. XF_ERROR_INVALID_ARGUMENT when they can't be dealt.
    Shards(const std::shared_ptr<Context> &context, int64_t shards, int64_t total, bool narrow);
    ~Shards();

    int64_t count() const { return count_; }
    Range own() const { return share(count_, rank(), ranks()); }
    int rank() const { return comm_ != nullptr ? comm_->rank() : 0; }
    int ranks() const { return comm_ != nullptr ? comm_->size() : 1; }
    int64_t slice_count() const { return slices_.slice(rank()).count(); }
    // work(numbers of the block, where they begin in the slice), for each piece of this rank's slice.
    template <class Work>
    void each_own_piece(const Work &work) const {
        const int64_t first = slices_.slice(rank()).begin;
        for (int64_t b = 0; b < slices_.buckets(); ++b)
            work(slices_.piece(b, rank()), slices_.packed_at(b, rank()) - first);
    }
    // The numbers of a block that are this rank's, one behind the other.
    void take_slice(Stream &stream, float *slice, const float *block);
    // Whether a step's gradients leave while its last backward pass runs; the same on all ranks.
    bool overlaps() const { return early_ && slices_.buckets() > 1; }

    // What makes two ranks train the same thing, by name: XF_ERROR_DESYNC names what differs. What `own` could not do
    // is thrown, that of another rank as XF_ERROR_PEER.
    struct Trait {
        const char *name;
        uint64_t hash = 0;
    };
    using Traits = std::array<Trait, 8>;
    void compare(const Telling &own, const Traits &traits);
    uint64_t hash_of(Stream &stream, const float *block);
    // Once, where the context has a lane, and before the first step. Every rank makes this call.
    void open_lane(Stream &stream);

    // How the computation of the own shards ended. An error of another rank is thrown as XF_ERROR_PEER, the own one is
    // the caller's; XF_ERROR_DESYNC when the ranks do not make the same step.
    struct Report {
        Word word;
        int64_t step = 0;
        uint64_t data = 0;      // a hash of what the step reads, and of where
        int64_t per_shard = 0;  // batches
        int64_t present = 0;    // shards, of all ranks
    };
    // Sums over all shards, in their order. stats: of the own shards, at most [own().count()].
    ShardStats agree(const Report &report, const std::vector<ShardStats> &stats);

    // Begins a step of so many shards.
    void begin(int64_t present);
    // grads: the gradient of the next own shard, on the device. Afterwards it may be overwritten.
    void add(Stream &stream, float *grads);
    // Instead of the last add(), where overlaps() and the ranks have agreed: the gradient of the last own shard is
    // about to be made in grads. done(): its numbers from offset on are final; they may leave, until reduce() has
    // returned.
    void add_while_made(Stream &stream, float *grads);
    void done(Stream &stream, int64_t offset);
    // Behind add_while_made(): the gradient will never be final. The ranks lose each other.
    void break_off() noexcept;
    // The slice of the sum over all shards, to where it belongs in grads.
    void reduce(Stream &stream, float *grads);
    // The sum of squares of the whole sum; non-finite when that is. After reduce().
    double squares(Stream &stream);

    // The ranks' slices of a block together, on every rank; part: [slice_count()]. Nothing is written to block before
    // all is there; scratch is of its size, and overwritten. All are on the device.
    void all_gather(Stream &stream, const float *part, float *block, float *scratch);
    // The same on rank 0 alone; elsewhere block is not used.
    void gather(Stream &stream, const float *part, float *block, float *scratch);
    // Each rank could do its part or not; as compare() throws. What rank 0 has to say comes to all in *text, where that
    // is not null: at most kMostText bytes, for which a string that has room needs no memory.
    static constexpr size_t kMostText = 71;
    void hear(const Telling &own, std::string *text);
    // What gather() and all_gather() need in host memory.
    void make_room() {
        if (!direct_) whole();
    }
    // What the ranks are in the middle of can't go on here: it ends on all of them, for good.
    void lose(const char *why) noexcept;

private:
    struct Part {
        Range leaves;
        float *numbers;
    };

    // Who adds up which nodes of the tree.
    struct Plan {
        std::vector<std::vector<Range>> covers;            // [ranks]
        size_t rounds = 0;                                 // the most nodes that a rank has
        std::vector<std::pair<size_t, size_t>> additions;  // of the nodes of all ranks
        std::vector<float *> at;                           // a piece of each of these
    };

    static size_t bytes_of(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }
    size_t letter_bytes() const { return sizeof(Report) + static_cast<size_t>(own().count()) * sizeof(ShardStats); }
    char *letters(size_t bytes);
    Plan make_plan(int64_t present);
    float *spare();
    float *whole();
    void place(Stream &stream, float *grads);
    void sum(Stream &stream, int64_t begin, int64_t end);
    void pass(Stream &stream);
    void exchange_bucket(Stream &stream, BlockMath &math, int64_t bucket);
    void reduce_bucket(Stream &stream, BlockMath &math, int64_t bucket);
    void carry() noexcept;
    void unpack(Stream &stream, float *block, const float *packed, bool in_host_memory);

    Context &context_;
    std::shared_ptr<Heap> heap_;  // and the context
    ThreadPool &pool_;
    Device &device_;
    Comm *comm_;
    BlockMath math_;
    std::unique_ptr<Lane> made_lane_;  // null: none is wanted
    Lane *lane_ = nullptr;             // the same, once it is open
    bool direct_;                      // device memory is the host's
    bool early_;                       // gradients may leave before the backward pass has ended
    bool narrow_;
    int64_t count_, total_;
    Slices slices_;
    std::vector<Range> byte_slices_, sum_slices_;  // [ranks], of the packed block and of sums_, in bytes
    std::map<int64_t, Plan> plans_;                // by how many shards are present
    Plan *plan_ = nullptr;
    std::vector<Comm::Message> sends_, receives_;  // of memory of the device
    std::vector<void *> landings_;                 // of receives_, while these are of host memory
    int64_t present_ = 1, next_ = 0;               // shards of the step; the next own one
    std::vector<Part> parts_;                      // what the own shards came to so far, from the left
    std::vector<float *> chain_;                   // sums that the last shard is added to, one to the next
    std::vector<float *> free_;                    // of spares_
    std::vector<Buffer> spares_;                   // blocks
    Buffer arrived_;                               // pieces of others' parts
    Buffer outgoing_, incoming_;                   // the same in bf16, and what goes to others
    HeapVector<float> whole_;                      // a block in host memory
    HeapVector<char> stage_;                       // pieces on their way between device and ranks
    float *reduced_ = nullptr;                     // the block that has the slice
    std::vector<double> sums_;                     // of chunks, in the order of the packed block
    std::vector<char> letters_;                    // what ranks say; room for each kind

    // While gradients leave. What others read and write of the above is then the thread's.
    enum class Leaving { kNot, kByThread, kLater };
    Leaving leaving_ = Leaving::kNot;
    Stream *stream_ = nullptr;
    int64_t left_ = 0;               // buckets that are not final yet
    std::atomic<int64_t> ready_{0};  // the same for the thread; kBroken: no more of them
    static constexpr int64_t kBroken = -1;
    std::exception_ptr failure_;  // of the thread
    ThreadPool alone_{1};         // the pool's threads are at the backward pass
    BlockMath math_beside_;
    std::unique_ptr<Background> carrier_;  // null: none is allowed
};

}  // namespace xf
