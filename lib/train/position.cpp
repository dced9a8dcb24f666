// See position.h.
//
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
    XF_CHECK(value >= 0 && value <= kMax, XF_ERROR_CORRUPT, "'%s': metadata '%s' is %lld, expected 0 to %lld",
             file.path().c_str(), key.c_str(), static_cast<long long>(value), static_cast<long long>(kMax));
    return value;
}

DataPosition DataPosition::of(const Batcher &batcher, uint64_t fingerprint, const Metadata &order) {
    const Batcher::Position at = batcher.position();
    return {at.epoch, at.batch, batcher.batches_in_epoch(), fingerprint, order};
}

void DataPosition::write(Metadata *metadata) const {
    Metadata &to = *metadata;
    to[prefixed("epoch")] = std::to_string(epoch);
    to[prefixed("batch")] = std::to_string(batch);
    to[prefixed("batches")] = std::to_string(batches);
    to[prefixed("fingerprint")] = format("%016llx", static_cast<unsigned long long>(fingerprint));
    for (const auto &[key, value] : order) to[prefixed(key)] = value;
}

DataPosition DataPosition::read(const ModelFile &file) {
    DataPosition position;
    position.epoch = read_count(file, prefixed("epoch"));
    position.batch = read_count(file, prefixed("batch"));
    position.batches = read_count(file, prefixed("batches"));
    XF_CHECK(position.batch <= position.batches, XF_ERROR_CORRUPT,
             "'%s' is at batch %lld of %lld, expected at most the last one", file.path().c_str(),
             static_cast<long long>(position.batch), static_cast<long long>(position.batches));
    position.fingerprint = parse_number<uint64_t>(file, prefixed("fingerprint"), 16);
    for (const auto &[key, value] : file.contents().extra)
        if (key.starts_with(prefixed("data."))) position.order[key.substr(kPrefix.size())] = value;
    return position;
}

bool DataPosition::seek(Batcher *batcher, uint64_t fingerprint_now, const Metadata &order_now, const Call &call) const {
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
    XF_CHECK(fingerprint == fingerprint_now, XF_ERROR_DATA,
             "the batcher has different pairs than the one of the checkpoint: use the corpus and the tokenizer of the "
             "saved run");
    if (same || batches == 0) {
        batcher->seek({epoch, batch}, call);
        return same;
    }
    batcher->seek({epoch, 0}, call);
    const double fraction = static_cast<double>(batch) / static_cast<double>(batches);
    batcher->seek({epoch, std::llround(fraction * static_cast<double>(batcher->batches_in_epoch()))});
    return false;
}

}  // namespace xf
