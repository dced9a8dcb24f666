// Finding frequent strings inside words; see words/train.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/train.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "core/utf8.h"
#include "text/hash_index.h"

namespace xf {
namespace {

constexpr size_t kMaxChunkBytes = 32;
constexpr int kMaxPieceCharacters = 16;

}  // namespace

UnigramText::UnigramText(const WordCounts &words, const Call &call) {
    std::vector<size_t> order(words.words().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return words.bytes(words.words()[a]) < words.bytes(words.words()[b]); });
    for (const size_t i : order) {
        const std::string_view word = words.bytes(words.words()[i]);
        size_t begin = 0;
        for (size_t at = 0; at < word.size();) {
            const size_t size = decode_utf8(word, at).size;
            if (at + size - begin > kMaxChunkBytes) {
                call.check();
                chunks.push_back({bytes.size() + begin, at - begin, words.words()[i].count});
                begin = at;
            }
            at += size;
        }
        chunks.push_back({bytes.size() + begin, word.size() - begin, words.words()[i].count});
        bytes.append(word);
    }
    XF_CHECK(bytes.size() < (size_t{1} << 31), XF_ERROR_LIMIT,
             "the distinct words of the training text have %zu bytes, expected fewer than 2^31", bytes.size());
}

// Works length by length: a string of n characters can be frequent only if both of its substrings of n - 1 characters
// are frequent.
std::vector<UnigramSeed> find_seeds(const UnigramText &text, const std::vector<uint32_t> &characters, int64_t min_count,
                                    size_t max_count, const Call &call) {
    const std::unordered_set<uint32_t> known(characters.begin(), characters.end());
    const std::string_view bytes(text.bytes);
    // By byte offset: the size of the frequent string of the current length that begins there, or 0.
    std::vector<uint8_t> sizes(bytes.size() + 1, 0);
    for (size_t at = 0; at < bytes.size();) {
        const CodePoint c = decode_utf8(bytes, at);
        if (c.valid && (c.value < 0x80 || known.count(c.value) > 0)) sizes[at] = c.size;
        at += c.size;
    }
    call.check();
    const uint64_t hash_seed = random_hash_seed();  // does not influence the order of the strings
    std::vector<UnigramSeed> seeds;
    std::vector<int32_t> found(bytes.size(), -1);
    for (int length = 2; length <= kMaxPieceCharacters; ++length) {
        std::vector<UnigramSeed> level;
        HashIndex index;
        for (const UnigramText::Chunk &chunk : text.chunks) {
            call.check();
            const size_t end = chunk.offset + chunk.size;
            for (size_t at = chunk.offset; at < end;) {
                const CodePoint c = decode_utf8(bytes, at);
                const size_t next = at + c.size;
                found[at] = -1;
                if (sizes[at] > 0 && next < end && sizes[next] > 0 && next + sizes[next] <= end) {
                    const std::string_view piece = bytes.substr(at, c.size + sizes[next]);
                    const uint64_t hash = hash_bytes(piece, hash_seed);
                    int32_t i = index.find(hash, [&](int32_t k) { return level[k].text == piece; });
                    if (i < 0) {
                        i = level.size();
                        level.push_back({piece, 0, length});
                        index.insert(hash, i);
                    }
                    level[i].count += chunk.count;
                    found[at] = i;
                }
                at = next;
            }
        }
        call.check();
        bool any = false;
        for (size_t at = 0; at < bytes.size(); ++at) {
            const bool frequent = found[at] >= 0 && level[found[at]].count >= min_count;
            sizes[at] = frequent ? level[found[at]].text.size() : 0;
            any = any || frequent;
        }
        for (const UnigramSeed &seed : level)
            if (seed.count >= min_count) seeds.push_back(seed);
        if (!any) break;
    }
    call.check();
    std::sort(seeds.begin(), seeds.end(), [](const UnigramSeed &a, const UnigramSeed &b) {
        const int64_t left = a.count * a.characters, right = b.count * b.characters;
        return left != right ? left > right : a.text < b.text;
    });
    if (seeds.size() > max_count) seeds.resize(max_count);
    return seeds;
}

}  // namespace xf
