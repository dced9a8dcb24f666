// Corpus: valid pairs, the handling of invalid lines, and files that cannot be read.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "data/corpus.h"
#include "data/text_corpus.hpp"

namespace {

using xf::Corpus;
using xf::CorpusOptions;
using xf_test::TempFolder;

CorpusOptions strict() {
    CorpusOptions options;
    options.strict = true;
    return options;
}

std::shared_ptr<const Corpus> parse(const std::string &bytes, const CorpusOptions &options = {},
                                    std::vector<std::string> *said = nullptr) {
    const TempFolder folder;
    const std::string path = folder.write("m.tsv", bytes);
    const auto without_folder = [&](const std::string &sentence) {
        return sentence.starts_with(path) ? sentence.substr(path.size() - std::strlen("m.tsv")) : sentence;
    };
    try {
        return Corpus::open_tsv(path, options, [&](const std::string &sentence) {
            if (said != nullptr) said->push_back(without_folder(sentence));
        });
    } catch (const xf::Error &error) {
        throw xf::Error(error.status(), without_folder(error.what()));
    }
}

// "source=target" of each pair, joined by bars.
std::string shown(const Corpus &corpus) {
    std::string text;
    for (int64_t i = 0; i < corpus.size(); ++i)
        (text += i > 0 ? "|" : "").append(corpus.source(i)).append("=").append(corpus.target(i));
    return text;
}

template <class F>
std::string error_of(F &&body) {
    const std::string message = xf_test::outcome_of(body).message;
    return message.empty() ? "no error" : message;
}

// The error message of strict reading.
std::string complaint(const std::string &bytes, CorpusOptions options = {}) {
    options.strict = true;
    return error_of([&] { parse(bytes, options); });
}

}  // namespace

XF_TEST(pairs_are_kept_in_order) {
    const auto corpus = parse("ein Haus\ta house\nzwei\ttwo\n", strict());
    CHECK_EQ(shown(*corpus), "ein Haus=a house|zwei=two");
    CHECK_EQ(corpus->stats().lines, 2);
}

XF_TEST(line_ends_and_byte_order_marks_are_not_text) {
    for (const char *text : {"a\tb\nc\td", "a\tb\nc\td\n", "a\tb\r\nc\td\r\n", "a\tb\r\nc\td", "\ufeffa\tb\nc\td\n"})
        CHECK_EQ(shown(*parse(text, strict())), "a=b|c=d");
}

XF_TEST(a_corpus_without_pairs_is_an_error) {
    for (const char *text : {"", "\ufeff", "\n\n", "no tab\n"}) CHECK_FAILS(parse(text), XF_ERROR_DATA);
    CHECK_EQ(complaint(""), "m.tsv: no valid sentence pair in 0 lines");
    CHECK_EQ(error_of([] { parse("no tab\nno tab\n\tb\n"); }),
             "m.tsv: no valid sentence pair in 3 lines: 2 without a tab, 1 with an empty side");
}

XF_TEST(strict_names_file_line_and_fault) {
    CHECK_EQ(complaint("a\tb\nno tab\n"), "m.tsv:2: no tab between source and target");
    CHECK_EQ(complaint("a\tb\tc\td\n"), "m.tsv:1: 4 columns, expected 2: source, tab, target");
    CHECK_EQ(complaint("a\tb\n\tb\n"), "m.tsv:2: the source is empty");
    CHECK_EQ(complaint("a\t \r\n"), "m.tsv:1: the target is empty");
    CHECK_EQ(complaint("ab\xC3\t\n"), "m.tsv:1: not valid UTF-8 at byte 3 of the line");
    CHECK_EQ(complaint(std::string("a\0\tb", 4)), "m.tsv:1: a NUL byte at byte 2 of the line");
    CorpusOptions few;
    few.max_bytes_per_side = 4;
    CHECK_EQ(complaint("abcde\tb\n", few), "m.tsv:1: the source has 5 bytes; the maximum is 4 (data.max_bytes)");
    CHECK_EQ(complaint("abcd\tabcd\r\n", few), "no error");
    CHECK_EQ(complaint("abcde\tabcde\n", few), "m.tsv:1: the line has more than 4 bytes per side (data.max_bytes)");
    CHECK_FAILS(parse("x", strict()), XF_ERROR_DATA);
}

XF_TEST(skipped_lines_are_counted_once_each) {
    std::vector<std::string> said;
    const std::string text = std::string("a\tb\nno\na\tb\tc\n\tb\na\t\n\xFF\t\n\xED\xA0\x80\tb\n\xC0\x80\tb\n") +
                             std::string("x\0\t\n", 4) + std::string(200000, 'x') + "\ty\nlast\tpair";
    const auto corpus = parse(text, {}, &said);
    const xf::CorpusStats &s = corpus->stats();
    CHECK_EQ(s.kept, 2);
    CHECK_EQ(s.kept + s.skipped(), s.lines);
    CHECK_EQ(shown(*corpus), "a=b|last=pair");
    CHECK_EQ(said.size(), 10u);
    CHECK_EQ(said.back(),
             "m.tsv: skipped 9 of 11 lines: 1 without a tab, 1 with more than two columns, 2 with an empty side, "
             "1 too long, 3 not valid UTF-8, 1 with a NUL byte");
}

XF_TEST(at_most_ten_sentences_and_a_summary) {
    std::vector<std::string> said;
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "bad\n";
    text += "good\tpair\n";
    CHECK_EQ(parse(text, {}, &said)->stats().no_tab, 5000);
    CHECK_EQ(said.size(), 11u);
    CHECK_EQ(said[9], "m.tsv:10: no tab between source and target");
    CHECK_EQ(said[10], "m.tsv: skipped 5000 of 5001 lines: 5000 without a tab");
    CHECK_EQ(xf_test::corpus_of(text)->size(), 1);  // no callback for warnings
}

XF_TEST(a_million_words_and_endless_lines) {
    std::string words;
    for (int i = 0; i < 1000000; ++i) words += "w ";
    CHECK_EQ(parse(words + "\tx\na\tb\n")->stats().too_long, 1);
    CHECK_EQ(parse(words + "\tx\na\tb\n")->size(), 1);
    CHECK_EQ(parse("a\tb\n" + std::string(20000000, 'x'))->stats().too_long, 1);  // no newline at all
    CorpusOptions wide;
    wide.max_bytes_per_side = 1 << 28;
    // Longer than the reader's first buffer.
    CHECK_EQ(shown(*parse(words + "\tx\na\tb\n", wide)), words + "=x|a=b");
}

XF_TEST(two_files_give_pairs) {
    const TempFolder dir;
    const std::string src = dir.write("s", "\ufeffeins\nmit\ttab\n\nvier\n");
    const std::string tgt = dir.write("t", "\ufeffone\r\nwith tab\r\nthree\r\nfour");
    std::vector<std::string> said;
    const auto corpus = Corpus::open_pair(src, tgt, {}, [&](const std::string &sentence) { said.push_back(sentence); });
    CHECK_EQ(shown(*corpus), "eins=one|mit\ttab=with tab|vier=four");
    CHECK_EQ(corpus->stats().empty_side, 1);
    CHECK_EQ(said.at(0), src + ":3: the source is empty");
    const std::string bad = dir.write("b", "one\nwith tab\nthree\n\xFF\n");
    CHECK_EQ(error_of([&] { Corpus::open_pair(tgt, bad, strict()); }),
             bad + ":4: not valid UTF-8 at byte 1 of the line");
}

XF_TEST(files_of_different_length_are_an_error_with_both_counts) {
    const TempFolder dir;
    const std::string three = dir.write("three", "a\nb\nc\n"), two = dir.write("two", "a\nb");
    CHECK_EQ(error_of([&] { Corpus::open_pair(three, two, {}); }),
             "'" + three + "' has 3 lines and '" + two + "' has 2, expected the same number");
    CHECK_EQ(error_of([&] { Corpus::open_pair(two, three, {}); }),
             "'" + two + "' has 2 lines and '" + three + "' has 3, expected the same number");
    CHECK_FAILS(Corpus::open_pair(two, dir.write("empty", ""), {}), XF_ERROR_DATA);
}

XF_TEST(a_folder_is_the_concatenation_of_its_files) {
    const TempFolder dir;
    const std::string folder = dir.folder("pairs");
    CHECK_FAILS(Corpus::open_tsv(folder, {}), XF_ERROR_DATA);
    CHECK_EQ(error_of([&] { Corpus::open_tsv(folder, {}); }), "the folder '" + folder + "' has no files");
    // A file without a final newline is not joined with the next one. Files are sorted by bytes in any locale.
    dir.write("pairs/part-2", "\ufeffc\tC\nbad\nd\tD");
    dir.write("pairs/part-10", "b\tB\n");
    dir.write("pairs/part-B", "e\tE\n");
    dir.write("pairs/part-a", "");
    dir.write("pairs/_SUCCESS", "no\tpair\n");
    dir.write("pairs/.part-2.crc", "no\tpair\n");
    std::vector<std::string> said;
    for (const std::string &path : {folder, folder + "/"}) {
        said.clear();
        const auto corpus = Corpus::open_tsv(path, {}, [&](const std::string &sentence) { said.push_back(sentence); });
        CHECK_EQ(shown(*corpus), "b=B|c=C|d=D|e=E");
        CHECK_EQ(corpus->stats().lines, 5);
        CHECK_EQ(said.at(0), folder + "/part-2:2: no tab between source and target");
        CHECK_EQ(said.back().find(path + ": skipped 1 of 5 lines"), 0u);
    }
    CHECK_EQ(error_of([&] { Corpus::open_tsv(folder, strict()); }),
             folder + "/part-2:2: no tab between source and target");
    dir.folder("pairs/sub");
    CHECK_EQ(error_of([&] { Corpus::open_tsv(folder, {}); }), "cannot open '" + folder + "/sub': Is a directory");

    const std::string src = dir.folder("src"), tgt = dir.folder("tgt");
    dir.write("src/1.en", "a\nb\n"), dir.write("tgt/1.de", "A\nB");
    dir.write("src/2.en", "c\n"), dir.write("tgt/2.de", "C\n");
    CHECK_EQ(shown(*Corpus::open_pair(src, tgt, {})), "a=A|b=B|c=C");
    // Each pair of files must have the same number of lines; equal totals are not enough.
    dir.write("src/1.en", "a\n"), dir.write("src/2.en", "b\nc\n");
    CHECK_EQ(error_of([&] { Corpus::open_pair(src, tgt, {}); }),
             "'" + src + "/1.en' has 1 lines and '" + tgt + "/1.de' has 2, expected the same number");
    CHECK_EQ(error_of([&] { Corpus::open_pair(src, tgt + "/1.de", {}); }),
             "'" + src + "' has 2 files and '" + tgt + "/1.de' has 1, expected the same number");
}

XF_TEST(unusable_paths_are_errors_of_one_sentence) {
    const TempFolder dir;
    const std::string missing = dir / "missing.tsv";
    CHECK_EQ(error_of([&] { Corpus::open_tsv(missing, {}); }),
             "cannot open '" + missing + "': No such file or directory");
    CHECK_FAILS(Corpus::open_tsv("", {}), XF_ERROR_NOT_FOUND);
    CHECK_FAILS(Corpus::open_tsv(std::string("a\0b", 3), {}), XF_ERROR_INVALID_ARGUMENT);
}

XF_TEST(pipes_are_read_and_idle_pipes_do_not_block) {
    const TempFolder dir;
    const std::string path = dir / "fifo";
    const int made = ::mkfifo(path.c_str(), 0600);
    CHECK_EQ(made, 0);
    if (made != 0) return;                                   // Windows
    CHECK_FAILS(Corpus::open_tsv(path, {}), XF_ERROR_DATA);  // a pipe without a writer is empty
    const int both = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    std::thread writer([&] {
        const std::string pair = "a\tb\n";
        for (int i = 0; i < 20000; ++i)
            if (::write(both, pair.data(), pair.size()) != 4) break;
        // Closing the pipe ends the input only after the reader has read everything.
        ::close(both);
    });
    CHECK_EQ(Corpus::open_tsv(path, strict())->size(), 20000);
    writer.join();
}

XF_TEST(failures_close_all_files) {
    const TempFolder dir;
    const std::string bad = dir.write("bad.tsv", "bad\n");
    dir.folder("sub");
    const auto lowest_free = [] {
        const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(fd);
        return fd;
    };
    const int before = lowest_free();
    for (int i = 0; i < 3; ++i) {
        CHECK_FAILS(Corpus::open_tsv(bad, strict()), XF_ERROR_DATA);
        CHECK_FAILS(Corpus::open_tsv(dir / ".", {}), XF_ERROR_IO);
        CHECK_FAILS(Corpus::open_pair(bad, dir / "none", {}), XF_ERROR_NOT_FOUND);
    }
    CHECK_EQ(lowest_free(), before);
}

// Cancellation is checked for every block, also within an endless line and while counting lines after a mismatch.
XF_TEST(a_long_line_can_be_cancelled) {
    const TempFolder dir;
    const std::string pair = dir.write("pair", "a\n"), endless = dir.write("endless", ""),
                      second = dir.write("second", "a\n");
    for (const std::string &path : {endless, second}) CHECK_EQ(::truncate(path.c_str(), off_t{1} << 36), 0);  // sparse
    const auto cancelled = [&](auto &&read) {
        xf::CancelSource source;
        const xf::Call call(source, XF_CALL_INIT);  // before the thread: a call does not see earlier cancellations
        std::thread host([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            source.cancel();
        });
        CHECK_FAILS(read(call), XF_ERROR_CANCELLED);
        host.join();
    };
    const CorpusOptions options = strict();
    cancelled([&](const xf::Call &call) { return Corpus::open_tsv(endless, options, {}, call); });
    cancelled([&](const xf::Call &call) { return Corpus::open_pair(pair, endless, options, {}, call); });
    cancelled([&](const xf::Call &call) { return Corpus::open_pair(pair, second, options, {}, call); });
    cancelled([&](const xf::Call &call) { return Corpus::open_pair(second, pair, options, {}, call); });
}

XF_TEST(long_paths_keep_their_end) {
    const TempFolder folder;
    const std::string path = folder.write(std::string(200, 'd') + "/train.tsv", "bad");
    const std::string text = error_of([&] { Corpus::open_tsv(path, strict()); });
    CHECK(text.size() < XF_ERROR_MESSAGE_SIZE);
    CHECK(text.find("/train.tsv:1: no tab") != std::string::npos);
}

// Pairs from memory are counted and reported like lines, but tabs and line ends are part of their text.
XF_TEST(pairs_in_memory) {
    const char *sources[] = {"a\tb", "", "c\nd", "\xC3", "long text", "e"};
    const char *targets[] = {"1", "2", "3\r", "4", "5", "6"};
    CorpusOptions options;
    options.max_bytes_per_side = 4;
    std::vector<std::string> said;
    const auto hear = [&](const std::string &sentence) { said.push_back(sentence); };
    const auto corpus = Corpus::from_pairs({sources, nullptr}, {targets, nullptr}, 6, options, hear);
    CHECK_EQ(shown(*corpus), "a\tb=1|c\nd=3\r|e=6");
    CHECK_EQ(said.size(), 4u);
    CHECK_EQ(said[0], "pairs:2: the source is empty");
    CHECK_EQ(said[3], "pairs: skipped 3 of 6 lines: 1 with an empty side, 1 too long, 1 not valid UTF-8");
    const size_t two[] = {1, 1}, nul[] = {3, 1};
    const auto cut = Corpus::from_pairs({sources, two}, {targets, two}, 1, options);
    CHECK_EQ(cut->source(0), "a");
    const char *with_nul[] = {"a\0b", "c"};
    CHECK_EQ(Corpus::from_pairs({with_nul, nul}, {targets, nullptr}, 2, options)->stats().nul_byte, 1);
    options.strict = true;
    CHECK_FAILS(Corpus::from_pairs({sources, nullptr}, {targets, nullptr}, 6, options), XF_ERROR_DATA);
}

namespace {

std::shared_ptr<const Corpus> ids_corpus(std::vector<int32_t> src, std::vector<int64_t> src_offsets,
                                         std::vector<int32_t> tgt, std::vector<int64_t> tgt_offsets) {
    xf_batch batch = XF_BATCH_INIT;
    batch.sentences = static_cast<int64_t>(src_offsets.size()) - 1;
    batch.src_ids = src.data();
    batch.src_offsets = src_offsets.data();
    batch.tgt_ids = tgt.data();
    batch.tgt_offsets = tgt_offsets.data();
    return Corpus::from_ids(batch, nullptr);
}

}  // namespace

XF_TEST(ids_in_memory) {
    const auto corpus = ids_corpus({5, 6, 1, 7, 1}, {0, 3, 5}, {8, 1, 9, 1, 1}, {0, 2, 5});
    CHECK_EQ(corpus->size(), 2);
    CHECK(!corpus->has_text());
    CHECK_FAILS(corpus->check_text(), XF_ERROR_STATE);
    CHECK_EQ(corpus->source_ids(0).size(), 3u);
    CHECK_EQ(corpus->source_ids(0)[1], 6);
    CHECK_EQ(corpus->target_ids(1).size(), 3u);
    CHECK_EQ(corpus->target_ids(1)[1], 1);  // an end token at another position is an ordinary token
    CHECK_EQ(corpus->stats().kept, 2);
    CHECK_FAILS(ids_corpus({5, 1}, {0, 2}, {1}, {0, 1}), XF_ERROR_INVALID_ARGUMENT);     // no token
    CHECK_FAILS(ids_corpus({5, 6}, {0, 2}, {5, 1}, {0, 2}), XF_ERROR_INVALID_ARGUMENT);  // two end tokens
    CHECK_EQ(ids_corpus({5, 0, 1, 0}, {0, 2, 4}, {5, 0, 6, 0}, {0, 2, 4})->size(), 2);   // an end token other than 1
    // Language tokens after the end token: one for each sentence, and none.
    CHECK_EQ(ids_corpus({5, 1, 3, 5, 6, 1, 4}, {0, 3, 7}, {6, 1, 7, 1, 4}, {0, 2, 5})->size(), 2);
    CHECK_EQ(ids_corpus({5, 1}, {0, 2}, {6, 1, 4}, {0, 3})->size(), 1);
    CHECK_FAILS(ids_corpus({5, 1, 3}, {0, 3}, {1, 4}, {0, 2}), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(ids_corpus({5, 1, 3, 4}, {0, 4}, {6, 1}, {0, 2}), XF_ERROR_INVALID_ARGUMENT);  // two of them
    CHECK_FAILS(ids_corpus({5, 1}, {1, 2}, {5, 1}, {0, 2}), XF_ERROR_INVALID_ARGUMENT);        // not from 0
}

XF_TEST(subsets_share_the_text_and_outlive_the_corpus) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += xf::format("s%d\tt%d\n", i, i);
    auto corpus = parse(text);
    const int64_t wanted[] = {7, 99, 7};
    const auto some = corpus->subset(wanted, 3);
    const int64_t last[] = {1};
    const auto of_some = some->subset(last, 1);
    const char *where = corpus->source(99).data();
    CHECK_FAILS(some->subset(wanted, 1), XF_ERROR_OUT_OF_RANGE);
    corpus.reset();
    CHECK_EQ(shown(*some), "s7=t7|s99=t99|s7=t7");
    CHECK_EQ(some->stats().lines, 3);
    CHECK_EQ(shown(*of_some), "s99=t99");
    CHECK(of_some->source(0).data() == where);
}

XF_TEST(a_split_depends_on_the_seed_and_keeps_the_order) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += xf::format("%d\tt\n", i);
    const auto corpus = parse(text);
    const auto numbers = [](const Corpus &part) {
        std::vector<int> all;
        for (int64_t i = 0; i < part.size(); ++i) all.push_back(std::stoi(std::string(part.source(i))));
        return all;
    };
    const auto one = corpus->split(100, 1), again = corpus->split(100, 1), other = corpus->split(100, 2);
    const std::vector<int> held = numbers(*one.held_out), rest = numbers(*one.rest);
    CHECK_EQ(held.size(), 100u);
    CHECK(std::is_sorted(held.begin(), held.end()));
    CHECK(std::is_sorted(rest.begin(), rest.end()));
    std::vector<int> all;
    std::merge(held.begin(), held.end(), rest.begin(), rest.end(), std::back_inserter(all));
    CHECK_EQ(all.size(), 1000u);
    for (int i = 0; i < 1000; ++i) CHECK_EQ(all[static_cast<size_t>(i)], i);
    CHECK(numbers(*again.held_out) == held);
    CHECK(numbers(*other.held_out) != held);
    CHECK(held.front() < 100 && held.back() >= 900);  // not only from the beginning
    const auto parts = one.rest->split(899, 3);       // parts can be split again
    CHECK_EQ(parts.rest->size(), 1);
}
