// data.mix: each pair of a file occurs in an epoch as often as its factor says, in memory and on disk, and after
// seeking.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "data/batcher.h"
#include "data/corpus_folder.h"
#include "support/temp_folder.hpp"

namespace {

using namespace xf;
using xf_test::TempFolder;

// Pairs of 1 to 20 letters.
std::string pairs_of(char letter, int64_t count) {
    std::string tsv;
    for (int64_t i = 0; i < count; ++i)
        tsv += std::string(static_cast<size_t>(1 + i % 20), letter) + "\t" + letter + "\n";
    return tsv;
}

Encoders letters(ThreadPool *pool) {
    Encoders encoders{pool, {}, [] { return Metadata{{"tokenizer_sha256", "letters"}}; }};
    encoders.of_worker.assign(static_cast<size_t>(pool->workers()),
                              [](const TextKey &, std::string_view text, std::vector<int32_t> *ids) {
                                  ids->assign(text.begin(), text.end());
                                  ids->push_back(1);
                              });
    return encoders;
}

struct World {
    TempFolder folder;
    ThreadPool pool{1, {}};
    CorpusOptions corpus_options;
    BatcherOptions options;

    // 200 pairs each in a.tsv and c.tsv, and 100 in b.tsv.
    World() {
        std::filesystem::create_directory(texts());
        folder.write("texts/a.tsv", pairs_of('a', 200));
        folder.write("texts/b.tsv", pairs_of('b', 100));
        folder.write("texts/c.tsv", pairs_of('c', 200));
        options.batch_tokens = 100;
        options.mix = "a.tsv=0.25,b.tsv=3";
    }
    std::string texts() const { return folder / "texts"; }
    std::shared_ptr<const Corpus> corpus() const { return Corpus::open_tsv(texts(), corpus_options); }
    std::unique_ptr<Batcher> batcher(const std::shared_ptr<const Corpus> &corpus) {
        return Batcher::create(corpus, letters(&pool), options, nullptr, {}, {});
    }
    std::shared_ptr<const Corpus> encoded() {
        corpus_options.part_pairs = 30;
        CorpusFolder::encode(folder / "encoded", {texts(), ""}, corpus_options, letters(&pool), "{}", {}, {});
        return Corpus::from_folder(std::make_shared<CorpusFolder>(folder / "encoded"));
    }
};

struct Epoch {
    std::map<int64_t, int> counts;    // of each pair
    std::map<char, int64_t> letters;  // pairs by the first source token
    int64_t tokens = 0, pairs = 0;
};

Epoch epoch_of(Batcher *batcher) {
    Epoch epoch;
    for (Batch batch; batcher->next(&batch);) {
        for (size_t i = 0; i < batch.pair_index.size(); ++i) {
            ++epoch.counts[batch.pair_index[i]];
            ++epoch.letters[static_cast<char>(batch.src_ids[static_cast<size_t>(batch.src_offsets[i])])];
        }
        epoch.tokens += std::ssize(batch.src_ids);
        epoch.pairs += batch.size();
    }
    return epoch;
}

void check_counts(const Epoch &epoch) {
    for (const auto &[pair, count] : epoch.counts) {
        if (pair < 200) CHECK_EQ(count, 1);
        if (pair >= 200 && pair < 300) CHECK_EQ(count, 3);
        if (pair >= 300) CHECK_EQ(count, 1);
    }
    CHECK_EQ(epoch.letters.at('b'), 300);
    CHECK_EQ(epoch.letters.at('c'), 200);
    CHECK(epoch.letters.at('a') > 25 && epoch.letters.at('a') < 80);  // 50 are expected, 6 is the standard deviation
}

}  // namespace

XF_TEST(factors_are_obeyed) {
    World world;
    for (const bool shuffle : {true, false}) {
        world.options.shuffle = shuffle;
        const auto batcher = world.batcher(world.corpus());
        std::set<std::map<int64_t, int>> epochs;
        for (int i = 0; i < 5; ++i) {
            const Epoch epoch = epoch_of(batcher.get());
            check_counts(epoch);
            epochs.insert(epoch.counts);
        }
        CHECK_EQ(epochs.size(), 5u);  // the quarter is drawn anew
        batcher->seek({2, 0});
        const int64_t pairs = batcher->pairs(), tokens = batcher->src_tokens();
        const Epoch epoch = epoch_of(batcher.get());
        CHECK(epochs.contains(epoch.counts));
        CHECK_EQ(epoch.pairs, pairs);
        CHECK_EQ(epoch.tokens, tokens);
    }
}

XF_TEST(an_encoded_corpus_has_the_same_mix) {
    World world;
    const auto whole = world.batcher(world.corpus()), encoded = world.batcher(world.encoded());
    for (int i = 0; i < 3; ++i) {
        Batch a, b;
        while (whole->next(&a)) {
            CHECK(encoded->next(&b));
            CHECK(a.src_ids == b.src_ids && a.pair_index == b.pair_index);
        }
        CHECK(!encoded->next(&b));
    }
    world.options.chunk_pairs = 100;
    const auto chunks = world.batcher(world.encoded());
    for (int i = 0; i < 3; ++i) check_counts(epoch_of(chunks.get()));
    CHECK_EQ(world.encoded()->files().size(), 3u);
    CHECK_EQ(world.encoded()->files()[1].name, "b.tsv");
    CHECK_EQ(world.encoded()->files()[1].first, 200);
}

XF_TEST(an_evaluation_sees_every_pair_once) {
    World world;
    const auto text = world.corpus(), folder = world.encoded();
    for (const int64_t chunk_pairs : {100, 1000})
        for (const auto &corpus : {text, folder}) {
            world.options.chunk_pairs = chunk_pairs;
            world.options.mix = "a.tsv=0.25,b.tsv=3";
            const auto batcher = world.batcher(corpus);
            batcher->seek({2, 1});
            const auto plain = batcher->unsampled(Call());
            CHECK(plain->position() == (Batcher::Position{2}));
            world.options.mix.clear();
            const auto other = world.batcher(corpus);
            other->seek({2});
            const Epoch a = epoch_of(plain.get()), b = epoch_of(other.get());
            CHECK(a.counts == b.counts && a.pairs == 500 && a.counts.size() == 500);
            CHECK(other->unsampled(Call()) == nullptr);
        }
}

XF_TEST(parts_and_samples_know_their_files) {
    World world;
    world.options.mix = "a.tsv=0,c.tsv=2";
    const auto corpus = world.corpus();
    const int64_t few[] = {450, 0, 250, 199};
    Epoch epoch = epoch_of(world.batcher(corpus->subset(few, 4)).get());
    CHECK(epoch.counts == (std::map<int64_t, int>{{0, 2}, {2, 1}}));
    const Corpus::Parts parts = corpus->split(100, 1);
    epoch = epoch_of(world.batcher(parts.rest).get());
    CHECK(!epoch.letters.contains('a'));
    CHECK_EQ(epoch.letters.at('c') % 2, 0);

    for (const int64_t sample : {1, 10, 120, 1000}) {
        world.corpus_options.sample = sample;
        const auto sampled = world.corpus();
        const auto file = sampled->file_of_pairs();
        CHECK_EQ(sampled->size(), std::min<int64_t>(sample, 500));
        for (int64_t i = 0; i < sampled->size(); ++i)
            CHECK_EQ(sampled->source(i)[0], static_cast<char>('a' + static_cast<int>(file(i))));
    }
}

XF_TEST(too_many_pairs_are_refused_before_they_are_stored) {
    const auto corpus = std::make_shared<EncodedCorpus>();
    const int32_t ids[] = {5, 1};
    for (int64_t i = 0; i < (int64_t{1} << 31) / 1000 + 1; ++i) corpus->take(ids, ids, i, 10);
    Mix mix{{1000}, [](int64_t) { return size_t{0}; }};
    CHECK_REFUSED(Batcher(corpus, BatcherOptions(), {}, mix), XF_ERROR_LIMIT, "the maximum is 2147483646");
    mix.factors = {0};
    CHECK_REFUSED(Batcher(corpus, BatcherOptions(), {}, mix), XF_ERROR_DATA, "leaves no pair");
}

XF_TEST(wrong_mixes) {
    World world;
    const auto corpus = world.corpus();
    const auto refused = [&](const char *mix, xf_status status, const char *message) {
        world.options.mix = mix;
        CHECK_REFUSED(world.batcher(corpus), status, message);
    };
    refused("d.tsv=1", XF_ERROR_INVALID_ARGUMENT, "'d.tsv', which is not in the corpus (its first file is 'a.tsv')");
    for (const char *mix : {"a.tsv", "a.tsv=", "a.tsv=x", "a.tsv=-1", "a.tsv=1001", "a.tsv=nan", "=1", "a.tsv=1 ", ",",
                            "a.tsv=1,,b.tsv=1"})
        refused(mix, XF_ERROR_INVALID_ARGUMENT, "expected a file of the corpus, '=', and a factor from 0 to 1000");
    refused("a.tsv=0,b.tsv=0,c.tsv=0", XF_ERROR_DATA, "data.mix leaves no pair of the corpus in epoch 0");

    refused("a.tsv=1,b.tsv=2,a.tsv=1", XF_ERROR_INVALID_ARGUMENT, "has the file 'a.tsv' twice");

    const char *const texts[] = {"a"};
    world.options.mix = "a.tsv=1";
    CHECK_REFUSED(world.batcher(Corpus::from_pairs({texts, nullptr}, {texts, nullptr}, 1, {})),
                  XF_ERROR_INVALID_ARGUMENT, "the corpus was not read from files");
    CHECK_EQ(world.batcher(corpus)->order().at("data.mix"), "a.tsv=1");
    world.options.mix.clear();
    CHECK(!world.batcher(corpus)->order().contains("data.mix"));
}
