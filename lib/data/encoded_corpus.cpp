// Encoding all pairs of a corpus; see encoded_corpus.h.
//
// Text is encoded in waves. A wave consists of a few tasks per worker, each of about 32 KB of text. Every
// task stores its ids in its own buffer, and the caller then appends the buffers in the order of the corpus. The extra
// memory is therefore bounded by the size of a wave.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/encoded_corpus.h"

#include <exception>
#include <string_view>

#include "core/error.h"

namespace xf {
namespace {

void append(std::span<const int32_t> sentence, HeapVector<int32_t> *ids, HeapVector<int64_t> *offsets) {
    ids->insert(ids->end(), sentence.begin(), sentence.end());
    offsets->push_back(ids->size());
}

// FNV-1a on 64-bit words, with a fold so that high bits influence low bits.
void absorb(uint64_t *hash, uint64_t word) {
    *hash = (*hash ^ word) * 0x100000001B3u;
    *hash ^= *hash >> 32;
}

void check_tokenizer(const Corpus &corpus, bool tokenizer) {
    XF_CHECK(corpus.has_text() || !tokenizer, XF_ERROR_INVALID_ARGUMENT,
             "a tokenizer was given for a corpus of token ids, expected NULL");
    XF_CHECK(!corpus.has_text() || tokenizer, XF_ERROR_INVALID_ARGUMENT,
             "the tokenizer is NULL, expected one for a corpus of text");
}

// A range of pairs and their encoded ids.
struct Task {
    int64_t begin = 0, end = 0;
    std::vector<int32_t> ids;
    std::vector<size_t> ends;  // end offset of each side in ids: source, target, source, ...
    std::exception_ptr error;  // at the pair that follows those in ends

    void encode(const Corpus &corpus, const Encode &encode, int64_t epoch, const Call &call) noexcept {
        ids.clear();
        ends.clear();
        error = nullptr;
        try {
            std::vector<int32_t> buffer;
            for (int64_t i = begin; i < end; ++i) {
                call.check();
                for (const Side side : {Side::kSource, Side::kTarget}) {
                    buffer.clear();
                    encode({side, i, epoch}, side == Side::kSource ? corpus.source(i) : corpus.target(i), &buffer);
                    ids.insert(ids.end(), buffer.begin(), buffer.end());
                    ends.push_back(ids.size());
                }
            }
        } catch (...) {
            error = std::current_exception();
        }
    }
};

struct Wave {
    const Corpus &corpus;
    const Encoders &encoders;
    int64_t epoch;
    const Call &call;
    std::vector<Task> tasks;
    size_t count = 0;

    // Assigns the pairs from i on to the tasks; returns the first pair of the next wave.
    int64_t plan(int64_t i) {
        constexpr size_t kBytes = 1 << 15;
        for (count = 0; count < tasks.size() && i < corpus.size(); ++count) {
            tasks[count].begin = i;
            for (size_t bytes = 0; bytes < kBytes && i < corpus.size(); ++i)
                bytes += corpus.source(i).size() + corpus.target(i).size() + 16;
            tasks[count].end = i;
        }
        return i;
    }

    void run() {
        encoders.pool->run(
            count,
            [](void *arg, int64_t task, int32_t worker) {
                auto &self = *static_cast<Wave *>(arg);
                self.tasks[task].encode(self.corpus, self.encoders.of_worker[worker], self.epoch, self.call);
            },
            this);
    }
};

}  // namespace

EncodedCorpus::EncodedCorpus(const std::shared_ptr<Heap> &heap)
    : src_ids(HeapAllocator<int32_t>(heap)),
      tgt_ids(src_ids.get_allocator()),
      src_offsets(1, 0, HeapAllocator<int64_t>(heap)),
      tgt_offsets(src_offsets),
      corpus_index(src_offsets.get_allocator()) {}

void EncodedCorpus::take(std::span<const int32_t> src, std::span<const int32_t> tgt, int64_t index,
                         int64_t max_tokens_per_side) {
    const size_t limit = max_tokens_per_side;
    if (max_tokens_per_side != kEveryPair && (src.size() < 2 || tgt.size() < 2)) {
        ++skipped_empty;
    } else if (src.size() > limit || tgt.size() > limit) {
        ++skipped_too_long;
    } else {
        append(src, &src_ids, &src_offsets);
        append(tgt, &tgt_ids, &tgt_offsets);
        corpus_index.push_back(index);
    }
}

EncodedCorpus encode_corpus(const Corpus &corpus, const Encoders &encoders, int64_t max_tokens_per_side,
                            const Call &call, const std::shared_ptr<Heap> &heap, int64_t epoch) {
    check_tokenizer(corpus, !encoders.of_worker.empty());
    constexpr size_t kTasksPerWorker = 4;
    EncodedCorpus encoded(heap);
    Wave wave{corpus, encoders, epoch, call, std::vector<Task>(encoders.of_worker.size() * kTasksPerWorker)};
    for (int64_t next = 0; next < corpus.size();) {
        call.progress("encode", next, corpus.size());
        if (!corpus.has_text()) {
            encoded.take(corpus.source_ids(next), corpus.target_ids(next), next, max_tokens_per_side);
            ++next;
            continue;
        }
        next = wave.plan(next);
        wave.run();
        for (size_t t = 0; t < wave.count; ++t) {
            const Task &task = wave.tasks[t];
            const int32_t *const ids = task.ids.data();
            for (size_t side = 0, at = 0; side + 1 < task.ends.size(); side += 2) {
                const size_t middle = task.ends[side], end = task.ends[side + 1];
                encoded.take({ids + at, middle - at}, {ids + middle, end - middle}, task.begin + side / 2,
                             max_tokens_per_side);
                at = end;
            }
            if (task.error != nullptr) std::rethrow_exception(task.error);
        }
    }
    call.progress("encode", corpus.size(), corpus.size());
    return encoded;
}

uint64_t EncodedCorpus::fingerprint() const {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const auto *offsets : {&src_offsets, &tgt_offsets})
        for (int64_t offset : *offsets) absorb(&hash, offset);
    for (const auto *ids : {&src_ids, &tgt_ids})
        for (int32_t id : *ids) absorb(&hash, uint32_t(id));
    return hash;
}

}  // namespace xf
