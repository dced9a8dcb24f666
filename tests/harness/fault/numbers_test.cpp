// Hostile numbers: each number in the header of a checkpoint, and each pair of them, is set to every limit of an
// integer type.
//
// The JSON header, its length, and the tokenizer inside are changed as text and the checksum is corrected, so that the
// code that uses the numbers is reached. Such a file is refused with a message, in less than 10 ms of processor time
// and 1 MiB. Otherwise the checkpoint is usable, and training, decoding, and saving return a status. All memory is
// freed.
//
//     fault_numbers few_*    every single number, and one of 13 pairs
//     fault_numbers          every pair, too
//
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "core/sha256.h"
#include "handles.hpp"
#include "support/counted_memory.hpp"
#include "support/processor_time.hpp"
#include "support/test.hpp"
#include "xformer/xformer.h"

namespace {

using xf_test::PeakOfMemory;

const char *const kValues[] = {"0",
                               "1",
                               "-1",
                               "32768",
                               "65535",
                               "2147483647",
                               "2147483648",
                               "4294967295",
                               "4611686018427387904",
                               "9223372036854775807",
                               "18446744073709551615"};
constexpr size_t kValueCount = std::size(kValues);
constexpr char kDigest[] = "\"sha256\":\"";

// The position of a number: after `key` and this number of commas.
struct Number {
    const char *key;
    int commas = 0;
};
#define NUMBER(name) \
    Number { "\"" name "\":\"" }
#define SHAPE_OF_WEIGHT "\"encoder.0.feed_forward.in.weight\":{\"dtype\":\"F32\",\"shape\":["
// clang-format off
const Number kNumbers[] = {
    NUMBER("format_version"), NUMBER("model.d_ff"), NUMBER("model.d_k"), NUMBER("model.d_model"), NUMBER("model.d_v"),
    NUMBER("model.decoder_layers"), NUMBER("model.encoder_layers"), NUMBER("model.end_token"),
    NUMBER("model.first_token"), NUMBER("model.heads"), NUMBER("model.max_length"), NUMBER("model.source_vocab_size"),
    NUMBER("model.start_token"), NUMBER("model.vocab_size"), NUMBER("model.window"), NUMBER("position.batch"),
    NUMBER("position.batches"), NUMBER("position.epoch"), NUMBER("position.fingerprint"), NUMBER("step"),
    NUMBER("train.accumulate"), NUMBER("train.shards"), NUMBER("train.total_steps"), NUMBER("train.warmup_steps"),
    {"\\\"version\\\":"}, {"\\\"vocab_size\\\":"}, {"\\\"merges\\\":[["}, {"\\\"merges\\\":[[", 1},
    {SHAPE_OF_WEIGHT}, {SHAPE_OF_WEIGHT, 1}, {"\"adam.v.embedding.weight\":{\"dtype\":\"F32\",\"shape\":["},
    {SHAPE_OF_WEIGHT "2,2],\"data_offsets\":["}, {SHAPE_OF_WEIGHT "2,2],\"data_offsets\":[", 1},
};
// clang-format on
constexpr size_t kLength = std::size(kNumbers);  // the number of the header's length, which is no text
constexpr size_t kCount = kLength + 1;

struct Change {
    size_t number;
    const char *value;
};

struct World : xf_hostile::Handles {
    xf_host host = xf_test::counting_host();
    std::string json, data;  // of a good checkpoint
    struct Place {
        size_t at, size;
    } places[kLength];
    long refused = 0, used = 0;
    double slowest = 0;
    int64_t largest = 0;

    World() {
        configure({{"context.memory_budget", "268435456"},
                   {"model.d_model", "2"},
                   {"model.d_ff", "2"},
                   {"model.heads", "1"},
                   {"model.d_k", "1"},
                   {"model.d_v", "1"},
                   {"model.max_length", "8"},
                   {"tokenizer.vocab_size", "260"}});
        save_checkpoint(&host, "one one one\tone one\n");
        std::ifstream file(path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        uint64_t length = 0;
        std::memcpy(&length, bytes.data(), sizeof length);
        json = bytes.substr(8, length);
        data = bytes.substr(8 + length);
        for (size_t i = 0; i < kLength; ++i) {
            size_t at = json.find(kNumbers[i].key);
            if (at == std::string::npos) throw std::runtime_error(kNumbers[i].key);
            at += std::strlen(kNumbers[i].key);
            for (int comma = 0; comma < kNumbers[i].commas; ++comma) at = json.find(',', at) + 1;
            places[i] = {at, json.find_first_not_of("-0123456789abcdef", at) - at};
        }
    }
    // The file with these numbers replaced and a correct checksum.
    std::string file(std::vector<Change> changes) const {
        std::sort(changes.begin(), changes.end(), [&](const Change &a, const Change &b) {
            return (a.number < kLength ? places[a.number].at : 0) > (b.number < kLength ? places[b.number].at : 0);
        });
        std::string text = json;
        uint64_t length = 0;
        bool lies = false;
        for (const auto &[number, value] : changes) {
            if (number < kLength)
                text.replace(places[number].at, places[number].size, value);
            else
                lies = true, length = value[0] == '-' ? UINT64_MAX - 1 : std::strtoull(value, nullptr, 10);
        }
        if (!lies) length = text.size();
        std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
        bytes += text;
        bytes += data;
        const size_t digits = bytes.find(kDigest) + sizeof kDigest - 1;
        std::memset(bytes.data() + digits, '0', 64);
        xf::Sha256 hash;
        hash.update(bytes.data(), bytes.size());
        std::memcpy(bytes.data() + digits, hash.hex().data(), 64);
        return bytes;
    }

    void record(const std::vector<Change> &changes, const std::string &what) const {
        std::string list;
        for (const auto &[number, value] : changes)
            list += xf::format("%s %s (%d), ", number < kLength ? kNumbers[number].key : "length", value,
                               number < kLength ? kNumbers[number].commas : 0);
        xf_test::record(__FILE__, __LINE__, list + what);
    }
    bool told(xf_status status) const { return status == XF_OK || sentence(status); }

    // Every use of a model and trainer from a hostile file returns a status.
    void use(const std::vector<Change> &changes, const xf_model *from, xf_trainer *with) {
        const auto check = [&](const char *call, xf_status status) {
            if (!told(status)) record(changes, xf::format("%s gave %s", call, xf_status_name(status)));
        };
        OWNED(decoder) *asked = nullptr;
        OWNED(hypotheses) *found = nullptr;
        const char *texts[] = {"one"};
        xf_status status = xf_decoder_create(from, nullptr, nullptr, &asked, &error);
        check("xf_decoder_create", status);
        if (status == XF_OK)
            check("xf_translate", xf_translate(asked, texts, nullptr, 1, nullptr, nullptr, &found, &error));
        if (with == nullptr) return;
        status = step(with);
        check("xf_train_step", status);
        if (status == XF_OK) check("xf_trainer_save", save_trainer(with, nullptr, path.c_str(), &error));
    }

    void load(const std::vector<Change> &changes) {
        const std::string bytes = file(changes);
        // In place: a new file for each takes longer than all else.
        FILE *out = std::fopen(path.c_str(), "wb");
        std::fwrite(bytes.data(), 1, bytes.size(), out);
        std::fclose(out);
        for (const bool checkpoint : {false, true}) {
            xf_model *loaded = nullptr;
            xf_trainer *resumed = nullptr;
            const xf_source source = source_memory(bytes.data(), bytes.size());
            const PeakOfMemory memory;
            const double before = xf_test::processor_seconds();
            const xf_status status = checkpoint ? resume_trainer(context, path.c_str(), nullptr, &resumed, &error)
                                                : xf_model_load(context, &source, nullptr, nullptr, &loaded, &error);
            const double seconds = xf_test::processor_seconds() - before;
            if (!told(status)) record(changes, xf::format("status %s", xf_status_name(status)));
            slowest = std::max(slowest, seconds);
            largest = std::max(largest, memory.bytes());
            // The table of positions of a model of 65,535 is half of it.
            if (memory.bytes() > 1 << 20) record(changes, xf::format("%ld bytes", static_cast<long>(memory.bytes())));
            if (seconds > 0.01 * XF_TEST_SLOWNESS) record(changes, xf::format("%.1f ms", seconds * 1e3));
            (status == XF_OK ? used : refused) += 1;
            if (status == XF_OK) use(changes, checkpoint ? xf_trainer_model(resumed) : loaded, resumed);
            xf_trainer_free(resumed);
            xf_model_free(loaded);
            if (memory.left() != 0) record(changes, xf::format("%ld bytes kept", static_cast<long>(memory.left())));
        }
    }
    void say(const char *what) const {
        std::printf("%s: %ld refused, %ld used; at most %.2f ms, %ld bytes\n", what, refused, used, slowest * 1e3,
                    static_cast<long>(largest));
    }
};

XF_TEST(few_single_numbers) {
    World world;
    world.load({});
    CHECK_EQ(world.used, 2);  // as it is, it is good
    for (size_t number = 0; number < kCount; ++number)
        for (const char *value : kValues) world.load({{number, value}});
    CHECK(world.refused > 2 * world.used);
    world.say("each number");
}

void pairs(size_t stride) {
    World world;
    size_t turn = 0;
    for (size_t first = 0; first < kCount; ++first)
        for (size_t second = first + 1; second < kCount; ++second)
            for (size_t i = 0; i < kValueCount * kValueCount; ++i)
                if (turn++ % stride == 0)
                    world.load({{first, kValues[i / kValueCount]}, {second, kValues[i % kValueCount]}});
    world.say("each two numbers");
}

XF_TEST(few_pairs) { pairs(XF_TEST_SANITIZED ? 211 : 13); }
XF_TEST(all_pairs) { pairs(1); }

}  // namespace
