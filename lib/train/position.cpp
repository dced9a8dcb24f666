// SPDX-License-Identifier: Apache-2.0
#include "train/position.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "core/error.h"

namespace xf {
namespace {

// Not std::string: an allocation while the library is loaded could not report an error.
constexpr std::string_view kPrefix = "position.";
constexpr const char *kBatchTokens = "data.batch_tokens";

std::string prefixed(std::string_view name) { return std::string(kPrefix).append(name); }

template <class T>
T parse_number(const ModelFile &file, const std::string &key, int base) {
    const std::string &text = file.require(key);
    T value{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    XF_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size(), XF_ERROR_CORRUPT,
             "'%s': metadata '%s' is '%.32s', expected a number", file.path().c_str(), key.c_str(), text.c_str());
    return value;
}

}  // namespace

int64_t read_count(const ModelFile &file, const std::string &key) {
    constexpr int64_t kMax = int64_t{1} << 53;  // later additions do not overflow
    const auto value = parse_number<int64_t>(file, key, 10);
    XF_CHECK(value >= 0 && value <= kMax, XF_ERROR_CORRUPT,
             "'%s': metadata '%s' is %" PRId64 ", expected 0 to %" PRId64, file.path().c_str(), key.c_str(), value,
             kMax);
    return value;
}

DataPosition DataPosition::of(const Batcher &batcher) {
    return {batcher.position(), batcher.batches_in_chunk(), batcher.fingerprint(), batcher.order()};
}

void DataPosition::write(Metadata *metadata) const {
    Metadata &to = *metadata;
    to[prefixed("epoch")] = std::to_string(at.epoch);
    to[prefixed("batch")] = std::to_string(at.batch);
    if (at.chunk > 0) {
        to[prefixed("chunk")] = std::to_string(at.chunk);
        to[prefixed("before")] = std::to_string(at.before);
    }
    to[prefixed("batches")] = std::to_string(batches);
    to[prefixed("fingerprint")] = format("%016" PRIx64, fingerprint);
    for (const auto &[key, value] : order) to[prefixed(key)] = value;
}

DataPosition DataPosition::read(const ModelFile &file) {
    DataPosition position;
    Batcher::Position &at = position.at;
    at.epoch = read_count(file, prefixed("epoch"));
    at.batch = read_count(file, prefixed("batch"));
    if (file.contents().extra.contains(prefixed("chunk"))) {
        at.chunk = read_count(file, prefixed("chunk"));
        at.before = read_count(file, prefixed("before"));
    }
    position.batches = read_count(file, prefixed("batches"));
    XF_CHECK(at.batch <= position.batches, XF_ERROR_CORRUPT,
             "'%s' is at batch %" PRId64 " of %" PRId64 ", expected at most the last one", file.path().c_str(),
             at.batch, position.batches);
    position.fingerprint = parse_number<uint64_t>(file, prefixed("fingerprint"), 16);
    for (const auto &[key, value] : file.contents().extra)
        if (key.starts_with(prefixed("data."))) position.order[key.substr(kPrefix.size())] = value;
    return position;
}

bool DataPosition::seek(Batcher *batcher, const Call &call) const {
    const Metadata order_now = batcher->order();
    XF_CHECK(fingerprint != 0, XF_ERROR_STATE,
             "the checkpoint has no position of a batcher, expected one that was saved with a batcher");
    bool same = true;  // options are checked first, because some of them change the pairs
    for (const auto &[key, value] : order) {
        const auto now = order_now.find(key);
        if (now != order_now.end() && now->second == value) continue;
        same = false;
        XF_CHECK(now != order_now.end() && key == kBatchTokens, XF_ERROR_DATA,
                 "option '%s' is '%s', expected '%.32s' as in the checkpoint", key.c_str(),
                 now != order_now.end() ? now->second.c_str() : "", value.c_str());
    }
    for (const auto &[key, value] : order_now)
        XF_CHECK(order.contains(key), XF_ERROR_DATA, "option '%s' is '%.32s', expected '' as in the checkpoint",
                 key.c_str(), value.c_str());
    XF_CHECK(fingerprint == batcher->fingerprint(), XF_ERROR_DATA,
             "the batcher has different pairs than the one of the checkpoint: use the corpus and the tokenizer of the "
             "saved run");
    if (same || batches == 0) {
        batcher->seek(at, call);
        return same;
    }
    batcher->seek({at.epoch, 0, at.chunk, at.before}, call);
    const double fraction = 1.0 * at.batch / batches;
    batcher->seek_in_chunk(std::llround(fraction * batcher->batches_in_chunk()));
    return false;
}

}  // namespace xf
