// Encoded corpora on disk: the batches are those of the same texts in memory or, in chunks, contain every pair once;
// encoding continues after an interruption; damaged, missing, and exchanged files are errors.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <filesystem>
#include <set>

#include "core/atomic_file.h"
#include "core/safetensors.h"
#include "data/batcher.h"
#include "data/corpus_folder.h"
#include "support/temp_folder.hpp"

namespace {

using namespace xf;
using xf_test::TempFolder;

std::string many_pairs(int64_t count) {
    std::string tsv;
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i)
        for (const char end : {'\t', '\n'}) {
            state = state * 1664525u + 1013904223u;
            tsv.append(1 + state / 150000000u, static_cast<char>('a' + i % 26));
            tsv += end;
        }
    return tsv;
}

// Encodes each letter as `first` plus its number.
Encoders letters(ThreadPool *pool, const std::string &name = "letters", int32_t first = 100) {
    Encoders encoders{pool, {}, [name] { return Metadata{{"tokenizer_sha256", name}}; }};
    encoders.of_worker.assign(static_cast<size_t>(pool->workers()),
                              [first](const TextKey &, std::string_view text, std::vector<int32_t> *ids) {
                                  for (const char c : text)
                                      if (c != '-') ids->push_back(first + c);
                                  ids->push_back(1);
                              });
    return encoders;
}

struct World {
    TempFolder files;
    std::string text, folder = files / "corpus";
    ThreadPool pool{1, {}};
    CorpusOptions corpus_options;
    BatcherOptions options;

    explicit World(const std::string &tsv = many_pairs(1000), int64_t part_pairs = 100)
        : text(files.write("pairs.tsv", tsv)) {
        corpus_options.part_pairs = part_pairs;
        options.batch_tokens = 200;
        options.chunk_pairs = 300;
    }

    CorpusStats encode(const Encoders &encoders) const {
        return CorpusFolder::encode(folder, {text, ""}, corpus_options, encoders, "{}", {}, {});
    }
    CorpusStats encode() { return encode(letters(&pool)); }
    std::unique_ptr<Batcher> batcher() {
        return Batcher::create(Corpus::from_folder(std::make_shared<CorpusFolder>(folder)), letters(&pool), options,
                               nullptr, {}, {});
    }
    std::unique_ptr<Batcher> batcher_in_memory() {
        return Batcher::create(Corpus::open_tsv(text, {}), letters(&pool), options, nullptr, {}, {});
    }
    std::string part(int i) const { return folder + "/part-0000" + std::to_string(i) + ".safetensors"; }
    std::string index() const { return folder + "/corpus.safetensors"; }
};

std::string bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::map<std::string, std::string> contents(const std::string &folder) {
    std::map<std::string, std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        files[entry.path().filename().string()] = bytes_of(entry.path().string());
    return files;
}

struct Batches {
    std::vector<std::vector<int64_t>> pairs;
    std::vector<std::vector<int32_t>> src, tgt;
    bool operator==(const Batches &) const = default;
};

Batches epoch_of(Batcher *batcher) {
    Batches batches;
    for (Batch batch; batcher->next(&batch);) {
        batches.pairs.push_back(batch.pair_index);
        batches.src.push_back(batch.src_ids);
        batches.tgt.push_back(batch.tgt_ids);
    }
    return batches;
}

template <class Function>
xf_status status_of(const Function &function) {
    try {
        function();
    } catch (const Error &error) {
        return error.status();
    }
    return XF_OK;
}

}  // namespace

XF_TEST(one_chunk_has_the_batches_of_the_same_texts_in_memory) {
    World world;
    world.options.chunk_pairs = 1000;
    world.options.max_tokens = 12;  // skips some pairs
    const CorpusStats stats = world.encode();
    CHECK_EQ(stats.kept, 1000);
    for (const bool shuffle : {true, false}) {
        world.options.shuffle = shuffle;
        const auto disk = world.batcher(), memory = world.batcher_in_memory();
        CHECK_EQ(disk->fingerprint(), memory->fingerprint());
        CHECK_EQ(disk->corpus().skipped_too_long, memory->corpus().skipped_too_long);
        for (int epoch = 0; epoch < 2; ++epoch) CHECK(epoch_of(disk.get()) == epoch_of(memory.get()));
    }
}

XF_TEST(wide_ids_and_empty_sides_are_kept) {
    World world("a\tb\n-\tc\nd\te\n", 2);
    const Encoders encoders = letters(&world.pool, "wide", 70000);
    world.encode(encoders);
    const EncodedCorpus read = CorpusFolder(world.folder).read({0, 1}, 10, nullptr, {});
    CHECK_EQ(read.size(), 2);
    CHECK_EQ(read.skipped_empty, 1);
    CHECK_EQ(read.corpus_index[1], 2);
    CHECK_EQ(read.src_ids[0], 70000 + 'a');
    CHECK_EQ(read.tgt_ids[2], 70000 + 'e');
}

XF_TEST(an_epoch_in_chunks_has_every_pair_once) {
    World world;
    world.encode();
    const auto batcher = world.batcher();
    std::vector<Batches> epochs;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const Batches batches = epoch_of(batcher.get());
        std::multiset<int64_t> seen;
        for (const auto &pairs : batches.pairs) seen.insert(pairs.begin(), pairs.end());
        CHECK_EQ(seen.size(), 1000u);
        CHECK_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 1000u);
        for (const auto &ids : batches.src) CHECK(ids.size() <= 200u);
        epochs.push_back(batches);
    }
    CHECK(epochs[0] != epochs[1] && epochs[1] != epochs[2]);
    // The chunks of an epoch have different parts in different epochs, and the pairs of several parts are mixed.
    std::set<int64_t> parts;
    for (size_t i = 0; i < 5; ++i)
        for (const int64_t pair : epochs[0].pairs[i]) parts.insert(pair / 100);
    CHECK(parts.size() >= 2 && parts.size() <= 3);
}

XF_TEST(every_position_can_be_restored) {
    World world;
    world.encode();
    const auto batcher = world.batcher();
    std::vector<std::pair<Batcher::Position, std::vector<int64_t>>> batches;
    Batch batch;
    for (int epoch = 0; epoch < 2; ++epoch)
        for (;;) {
            if (batcher->at_end_of_chunk() && !batcher->next_chunk({})) break;
            const Batcher::Position at = batcher->position();
            CHECK(batcher->next(&batch));
            batches.emplace_back(at, batch.pair_index);
        }
    const auto other = world.batcher();
    for (size_t i = 0; i < batches.size(); i += 7) {
        const auto &[at, pairs] = batches[batches.size() - 1 - i];
        other->seek(at);
        CHECK(other->next(&batch));
        CHECK(batch.pair_index == pairs);
        if (i % 5 != 0) continue;
        other->seek_in_epoch(at.epoch, at.batch_in_epoch(), {});
        CHECK(other->position() == at);
    }
    const int64_t last = batches.back().first.batch_in_epoch() + 1;
    other->seek_in_epoch(1, 3, {});
    CHECK(!other->at_end_of_epoch());
    other->seek_end_of_epoch({});
    CHECK(other->at_end_of_epoch());
    CHECK_EQ(other->position().batch_in_epoch(), last);
    other->seek_in_epoch(1, last, {});
    CHECK_EQ(other->batches_in_epoch(), last);
    CHECK(!other->next(&batch));
    CHECK_FAILS((other->seek_in_epoch(1, last + 1, {})), XF_ERROR_OUT_OF_RANGE);
    CHECK_FAILS((other->seek({0, 0, 4})), XF_ERROR_OUT_OF_RANGE);
    CHECK_FAILS((other->seek({0, 0, -1})), XF_ERROR_OUT_OF_RANGE);
}

XF_TEST(a_prepared_chunk_is_the_next_one) {
    World world;
    world.encode();
    const auto batcher = world.batcher(), prepared = world.batcher();
    for (int chunk = 0; chunk < 6; ++chunk) {
        prepared->seek_in_chunk(prepared->batches_in_chunk());
        batcher->seek_in_chunk(batcher->batches_in_chunk());
        prepared->prepare_chunk({});
        CHECK_EQ(prepared->next_chunk({}), batcher->next_chunk({}));
        CHECK(prepared->position() == batcher->position());
        Batch one, other;
        CHECK(prepared->next(&one) && batcher->next(&other));
        CHECK(one.pair_index == other.pair_index);
    }
}

XF_TEST(the_files_do_not_depend_on_threads) {
    World one, three;
    ThreadPool pool(3, {});
    one.encode();
    three.encode(letters(&pool));
    CHECK(contents(one.folder) == contents(three.folder));
}

XF_TEST(encoding_continues_after_an_interruption) {
    World world;
    world.encode();
    const auto complete = contents(world.folder);
    std::filesystem::remove(world.index());
    CHECK_FAILS(CorpusFolder::exists(world.folder), XF_ERROR_DATA);
    std::filesystem::remove(world.part(8));
    put(world.part(5), bytes_of(world.part(5)).substr(0, 1000));
    const auto before = std::filesystem::last_write_time(world.part(3));
    std::vector<std::string> warnings;
    CorpusFolder::encode(world.folder, {world.text, ""}, world.corpus_options, letters(&world.pool), "{}",
                         [&](const std::string &line) { warnings.push_back(line); }, {});
    auto again = contents(world.folder);
    CHECK_EQ(again.erase("part-00005.safetensors.prev"), 1u);
    CHECK(again == complete);
    CHECK(std::filesystem::last_write_time(world.part(3)) == before);
    CHECK_EQ(warnings.size(), 1u);
    CHECK(warnings[0].find("part-00005") != std::string::npos);
}

XF_TEST(a_folder_of_other_texts_is_not_overwritten) {
    World world;
    world.encode();
    const auto complete = contents(world.folder);
    CHECK_FAILS((world.encode(letters(&world.pool, "another tokenizer"))), XF_ERROR_STATE);
    CHECK_FAILS((CorpusFolder::encode(world.folder, {world.text, ""}, world.corpus_options, letters(&world.pool),
                                      "{\"another\":1}", {}, {})),
                XF_ERROR_STATE);
    put(world.text, "x" + bytes_of(world.text));
    CHECK_FAILS(world.encode(), XF_ERROR_STATE);
    CHECK(contents(world.folder) == complete);
    CHECK_FAILS(
        (CorpusFolder::encode(world.text, {world.text, ""}, world.corpus_options, letters(&world.pool), "{}", {}, {})),
        XF_ERROR_IO);
    CHECK_FAILS((CorpusFolder::encode(world.files / "no/corpus", {world.text, ""}, world.corpus_options,
                                      letters(&world.pool), "{}", {}, {})),
                XF_ERROR_NOT_FOUND);
}

XF_TEST(another_tokenizer_is_refused) {
    World world;
    world.encode();
    const auto corpus = Corpus::from_folder(std::make_shared<CorpusFolder>(world.folder));
    CHECK_FAILS((Batcher::create(corpus, letters(&world.pool, "another"), world.options, nullptr, {}, {})),
                XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS((Batcher::create(corpus, Encoders{}, world.options, nullptr, {}, {})), XF_ERROR_INVALID_ARGUMENT);
    world.options.sampling = 0.1;
    CHECK_FAILS(world.batcher(), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(corpus->check_text(), XF_ERROR_STATE);
    CHECK_FAILS((corpus->split(10, 1)), XF_ERROR_STATE);
    const int64_t first = 0;
    CHECK_FAILS((corpus->subset(&first, 1)), XF_ERROR_STATE);
}

XF_TEST(every_changed_byte_is_detected) {
    World world(many_pairs(20), 10);
    world.encode();
    for (const std::string &path : {world.index(), world.part(0), world.part(1)}) {
        const std::string good = bytes_of(path);
        for (size_t i = 0; i < good.size(); ++i) {
            std::string bad = good;
            bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
            put(path, bad);
            const xf_status status = status_of([&] { world.batcher(); });
            CHECK(status == XF_ERROR_CORRUPT || status == XF_ERROR_VERSION || status == XF_ERROR_LIMIT);
        }
        put(path, good.substr(0, good.size() - 1));
        CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
        put(path, good);
    }
    CHECK_EQ(world.batcher()->corpus().size(), 20);
}

XF_TEST(a_missing_or_exchanged_part_is_detected_when_it_is_read) {
    World world;
    world.encode();
    const auto batcher = world.batcher();
    const std::string second = bytes_of(world.part(1));
    for (int i = 0; i < 10; ++i) put(world.part(i), second);
    Batch batch;
    batcher->seek_in_chunk(batcher->batches_in_chunk());
    const Batcher::Position end = batcher->position();
    CHECK_FAILS(batcher->next(&batch), XF_ERROR_CORRUPT);
    CHECK(batcher->position() == end);
    std::filesystem::remove(world.part(4));
    CHECK_FAILS(CorpusFolder(world.folder), XF_ERROR_NOT_FOUND);
}

// Pairs of one length: only checksums distinguish two parts, and only the order of the pairs two chunks.
XF_TEST(parts_and_chunks_of_equal_pairs_differ) {
    std::string tsv;
    for (int i = 0; i < 400; ++i) tsv += format("%03d\tx\n", i);
    World world(tsv, 200);
    world.options.chunk_pairs = 200;
    world.options.shuffle = true;
    world.encode();
    const auto batcher = world.batcher();
    std::vector<std::vector<int64_t>> orders;
    for (const auto &batch : epoch_of(batcher.get()).pairs) {
        if (orders.empty() || orders.back().size() == 200) orders.emplace_back();
        for (const int64_t pair : batch) orders.back().push_back(pair % 200);
    }
    CHECK_EQ(orders.size(), 2u);
    CHECK(orders[0] != orders[1]);

    std::filesystem::copy_file(world.part(0), world.part(1), std::filesystem::copy_options::overwrite_existing);
    CHECK_REFUSED(epoch_of(world.batcher().get()), XF_ERROR_CORRUPT, "is not the part with which");
}

XF_TEST(a_chunk_may_have_no_pairs_but_an_epoch_must) {
    World world("aaa\tbbb\na\tb\nccc\tddd\n", 1);
    world.options.max_tokens = 2;
    world.options.chunk_pairs = 1;
    world.encode();
    const auto batcher = world.batcher();
    for (int epoch = 0; epoch < 3; ++epoch)
        CHECK(epoch_of(batcher.get()).pairs == std::vector<std::vector<int64_t>>{{1}});
    World empty("aaa\tbbb\nccc\tddd\n", 1);
    empty.options = world.options;
    empty.options.max_tokens = 2;
    empty.encode();
    const auto none = empty.batcher();
    Batch batch;
    CHECK_FAILS(none->next(&batch), XF_ERROR_DATA);
}

// A part or an index that another program wrote, with a valid checksum.
XF_TEST(hostile_numbers_are_refused) {
    World world("a\tb\n", 1);
    world.encode();
    const auto numbers = [](const auto &values) {
        return [&values](uint64_t offset, void *dst, size_t bytes) {
            std::memcpy(dst, reinterpret_cast<const char *>(values.data()) + offset, bytes);
        };
    };
    const auto index_of = [&](std::vector<int64_t> row, const std::string &digest, int64_t kept,
                              const std::string &names = {"a\0", 2}, const std::vector<int64_t> &firsts = {0}) {
        const std::vector<int64_t> lines = {kept, kept, 0, 0, 0, 0, 0, 0};
        SafetensorsWriter writer;
        writer.set_metadata("format", "xformer-corpus");
        writer.set_metadata("format_version", "1");
        writer.set_metadata("tokenizer_sha256", "letters");
        writer.add("parts", "I64", {1, 3}, numbers(row));
        writer.add("part_sha256", "U8", {1, 64}, numbers(digest));
        writer.add("lines", "I64", {8}, numbers(lines));
        writer.add("file_names", "U8", {std::ssize(names)}, numbers(names));
        writer.add("file_first_pairs", "I64", {std::ssize(firsts)}, numbers(firsts));
        AtomicFile file(world.index());
        writer.write(&file, "index");
        file.commit();
    };
    const std::string digest(64, '0');
    for (const int64_t number : {int64_t{-1}, int64_t{1} << 54, std::numeric_limits<int64_t>::min()}) {
        index_of({1, number, 2}, digest, 1);
        CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
        index_of({number, 2, 2}, digest, number);
        CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
    }
    index_of({2, 2, 2}, digest, 1);
    CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
    // Lists of files: the names and the numbers of their first pairs.
    const std::string two{"a\0b\0", 4};
    index_of({2, 2, 2}, digest, 2, two, {0, 2});
    CHECK_EQ(CorpusFolder(world.folder).files()[1].first, 2);
    const std::pair<std::string, std::vector<int64_t>> lists[] = {{two, {0, 3}},    {two, {1, 2}}, {two, {0, -1}},
                                                                  {two, {0, 1, 2}}, {"ab", {0}},   {"", {0}}};
    for (const auto &[names, firsts] : lists) {
        index_of({2, 2, 2}, digest, 2, names, firsts);
        CHECK_REFUSED(CorpusFolder(world.folder), XF_ERROR_CORRUPT, "has an invalid list of files");
    }

    const auto part_of = [&](std::vector<int32_t> lengths, std::vector<int32_t> ids) {
        SafetensorsWriter writer;
        writer.set_metadata("format", "xformer-corpus");
        writer.set_metadata("format_version", "1");
        for (const char *side : {"source", "target"}) {
            writer.add(std::string(side) + "_lengths", "I32", {std::ssize(lengths)}, numbers(lengths));
            writer.add(std::string(side) + "_ids", "I32", {std::ssize(ids)}, numbers(ids));
        }
        const std::vector<int32_t> more(100, 7);
        writer.add("another", "I32", {100}, numbers(more));
        AtomicFile file(world.part(0));
        const std::string sum = writer.write(&file, "part");
        file.commit();
        index_of({std::ssize(lengths), std::ssize(ids), std::ssize(ids)}, sum, std::ssize(lengths));
    };
    part_of({2, 3}, {5, 1, 6, 7, 1});
    CHECK_EQ(world.batcher()->corpus().size(), 2);  // the additional tensor is ignored
    for (const std::vector<int32_t> &lengths :
         {std::vector<int32_t>{2, 4}, {2, 2}, {-1, 6}, {6, -1}, {std::numeric_limits<int32_t>::min(), 5}}) {
        part_of(lengths, {5, 1, 6, 7, 1});
        CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
    }
    part_of({2, 3}, {5, 1, -6, 7, 1});
    CHECK_FAILS(world.batcher(), XF_ERROR_CORRUPT);
}

XF_TEST(parallel_files_have_the_parts_of_pairs) {
    World pairs("a\tb\nc\td\ne\tf\n", 2), two("", 2);
    pairs.encode();
    const TextFiles files{two.files.write("s", "a\nc\ne\n"), two.files.write("t", "b\nd\nf\n")};
    const CorpusStats stats =
        CorpusFolder::encode(two.folder, files, two.corpus_options, letters(&two.pool), "{}", {}, {});
    CHECK_EQ(stats.lines, 3);
    auto one = contents(pairs.folder), other = contents(two.folder);
    for (auto *const each : {&one, &other}) CHECK_EQ(each->erase("corpus.safetensors"), 1u);  // has the names of files
    CHECK(one == other);
}

XF_TEST(a_sample_is_a_function_of_the_seed_and_keeps_the_order) {
    World world(many_pairs(1000));
    const auto all = Corpus::open_tsv(world.text, {});
    std::set<std::string> samples;
    for (const int64_t count : {1, 10, 300, 499, 999, 1000, 2000}) {
        CorpusOptions options;
        options.sample = count;
        const auto sample = Corpus::open_tsv(world.text, options), again = Corpus::open_tsv(world.text, options);
        CHECK_EQ(sample->size(), std::min<int64_t>(count, 1000));
        CHECK_EQ(sample->stats().kept, 1000);
        CHECK_EQ(sample->text_sha256(), again->text_sha256());
        int64_t next = 0;
        for (int64_t i = 0; i < sample->size(); ++i, ++next)
            while (next < 1000 && (all->source(next) != sample->source(i) || all->target(next) != sample->target(i)))
                ++next;
        CHECK(next <= 1000);
        options.seed = 2;
        CHECK(count >= 1000 || Corpus::open_tsv(world.text, options)->text_sha256() != sample->text_sha256());
    }
    // A larger sample contains the smaller one, whatever was dropped on the way.
    const auto texts = [&](int64_t count) {
        CorpusOptions options;
        options.sample = count;
        const auto sample = Corpus::open_tsv(world.text, options);
        std::multiset<std::string> set;
        for (int64_t i = 0; i < sample->size(); ++i)
            set.insert(std::string(sample->source(i)) + "\t" + std::string(sample->target(i)));
        return set;
    };
    const auto small = texts(50), large = texts(600);
    CHECK(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}
