/*
 * Every kind of file, truncated and with flipped bits: each gives a status and a message, and a good file still loads.
 * A model is also read through a descriptor and by its header.
 *
 * A model and a checkpoint have a checksum over all bytes, so all damage must be detected. A tokenizer and a corpus are
 * text without one: a file that is still valid is accepted and must then work.
 *
 *     fault_damaged        lengths and bits with a stride
 *     fault_damaged all    every length and every single bit: some millions of loads; for tests/harness/evidence
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

#include <fcntl.h>
#include <unistd.h>

/* After the written files: a checkpoint that is loaded as a model, a model through a descriptor, and corpora. */
enum { CHECKPOINT_AS_MODEL = WRITTEN_FILES, DESCRIPTOR, CORPUS_FILE, PARALLEL_FILE, FILE_KINDS };
static const char *const kind_names[] = {
    "model", "checkpoint", "tokenizer", "checkpoint as model", "model through a descriptor", "corpus", "parallel"};

static struct good {
    const char *path; /* the file that is damaged */
    unsigned char *bytes;
    size_t size;
} good[FILE_KINDS];
static const char *other_side;
static int all; /* no stride */

static void use_tokenizer(const xf_tokenizer *tokenizer) {
    int32_t ids[64];
    size_t count = 0, length = 0;
    char text[256];
    if (xf_tokenizer_encode(tokenizer, "one two \xC3\xA9", 10, ids, 64, &count, NULL) == XF_OK)
        assert_int_equal(xf_tokenizer_decode(tokenizer, ids, count, text, sizeof text, &length, NULL), XF_OK);
    const int32_t last = vocab_size_of(tokenizer) - 1;
    assert_int_equal(xf_tokenizer_get_piece(tokenizer, last, text, sizeof text, &length, NULL), XF_OK);
}

static void use_corpus(const xf_corpus *corpus) {
    assert_true(xf_corpus_pair_count(corpus) > 0);
    for (int64_t i = 0; i < xf_corpus_pair_count(corpus); ++i) {
        const char *source, *target;
        size_t source_length, target_length;
        assert_int_equal(xf_corpus_get_pair(corpus, i, &source, &source_length, &target, &target_length, NULL), XF_OK);
        assert_true(source_length > 0 && target_length > 0);
        assert_null(memchr(source, 0, source_length));
    }
}

/* The header does not detect damage of the data: it must be valid for a file that loads, and may be for others. */
static xf_status load_descriptor(const char *path, xf_model **model, xf_error *err) {
    xf_source source = XF_SOURCE_INIT;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    xf_error error;
    memset(&error, 0, sizeof error);
    source.kind = XF_IO_DESCRIPTOR;
    source.fd = open(path, O_RDONLY);
    assert_true(source.fd >= 0);
    const xf_status seen = xf_model_inspect(world.context, &source, NULL, &summary, &error);
    if (seen != XF_OK) check_refusal(seen, seen, &error, __FILE__, __LINE__);
    const xf_status status = xf_model_load(world.context, &source, NULL, NULL, model, err);
    if (status == XF_OK) assert_int_equal(seen, XF_OK);
    assert_int_equal(lseek(source.fd, 0, SEEK_CUR), 0);
    assert_int_equal(close(source.fd), 0); /* the host's, also after an error */
    return status;
}

static xf_status load(int kind, xf_error *err) {
    const char *const path = good[kind].path;
    OWNED(model) *model = NULL;
    OWNED(corpus) *corpus = NULL;
    if (kind < WRITTEN_FILES) return load_file(kind, path, use_tokenizer, err);
    if (kind == CHECKPOINT_AS_MODEL) return load_file(MODEL_FILE, path, NULL, err);
    const xf_status status =
        kind == DESCRIPTOR
            ? load_descriptor(path, &model, err)
            : xf_corpus_open(world.context, path, kind == PARALLEL_FILE ? other_side : NULL, NULL, NULL, &corpus, err);
    if (status != XF_OK) assert_true(!model && !corpus);
    if (corpus) use_corpus(corpus);
    return status;
}

/* A load of a damaged file: refused for one of the reasons that damage has, or taken where text may be. */
static int check(int kind, int may_load, const char *what, size_t where) {
    xf_error error;
    memset(&error, 0, sizeof error);
    const xf_status status = load(kind, &error);
    if (status == XF_OK) {
        if (!may_load) fail_msg("%s with %s %zu was taken for a good one", kind_names[kind], what, where);
        return 1;
    }
    check_refusal(status, status, &error, __FILE__, __LINE__);
    const int text = kind >= CORPUS_FILE;
    const int fits = text ? status == XF_ERROR_DATA
                          : status == XF_ERROR_CORRUPT || status == XF_ERROR_LIMIT || status == XF_ERROR_VERSION;
    if (!fits) fail_msg("%s with %s %zu: %s: %s", kind_names[kind], what, where, xf_status_name(status), error.message);
    return 0;
}

static int setup(void **state) {
    world_open(state);
    static char paths[FILE_KINDS + 1][128];
    for (int kind = 0; kind <= FILE_KINDS; ++kind)
        strcpy(paths[kind], scratch_path((const char *const[]){"m", "c", "t", "a", "d", "tsv", "src", "tgt"}[kind]));
    const xf_batch batch = next_batch(world.batcher);
    ACCEPTED(xf_train_step(world.trainer, &batch, 1, NULL, NULL, err));
    for (int kind = 0; kind < WRITTEN_FILES; ++kind) ACCEPTED(save_file(kind, paths[kind], err));
    ACCEPTED(save_file(CHECKPOINT_FILE, paths[CHECKPOINT_AS_MODEL], err));
    ACCEPTED(save_file(MODEL_FILE, paths[DESCRIPTOR], err));
    write_file(paths[CORPUS_FILE], corpus_text, strlen(corpus_text));
    write_file(paths[PARALLEL_FILE], "one\ntwo words\nthree \xC3\xA9\n", 23);
    other_side = paths[FILE_KINDS];
    write_file(other_side, "eins\nzwei\ndrei\n", 15);
    for (int kind = 0; kind < FILE_KINDS; ++kind) {
        good[kind].path = paths[kind];
        good[kind].bytes = file_bytes(paths[kind], &good[kind].size);
        ACCEPTED(load(kind, err));
    }
    return 0;
}

static int teardown(void **state) {
    for (int kind = 0; kind < FILE_KINDS; ++kind) free(good[kind].bytes);
    return world_close(state);
}

static void restore(int kind) {
    write_file(good[kind].path, good[kind].bytes, good[kind].size);
    assert_int_equal(load(kind, NULL), XF_OK);
}

/* The first 256 lengths, then each 64th, and the last ones: from the end, so that truncate() does it. */
TEST(truncated) {
    for (int kind = 0; kind < FILE_KINDS; ++kind) {
        int taken = 0, tried = 0;
        for (size_t length = good[kind].size; length-- > 0;) {
            if (!all && length >= 256 && length % 64 != 0 && length + 16 < good[kind].size) continue;
            assert_int_equal(truncate(good[kind].path, (off_t)length), 0);
            taken += check(kind, kind >= CORPUS_FILE, "length", length);
            ++tried;
        }
        print_message("%s: %zu bytes, %d truncations, %d taken\n", kind_names[kind], good[kind].size, tried, taken);
        restore(kind);
    }
}

TEST(flipped) {
    /* Odd, so that every bit of a byte has its turn; header and text closely, weights with a wider stride. */
    enum { CLOSE = XF_TEST_SANITIZED ? 61 : 7, WIDE = XF_TEST_SANITIZED ? 1531 : 191 };
    for (int kind = 0; kind < FILE_KINDS; ++kind) {
        if (kind == CHECKPOINT_AS_MODEL) continue;
        const int file = open(good[kind].path, O_WRONLY);
        assert_true(file >= 0);
        uint64_t header = good[kind].size;
        if (kind < TOKENIZER_FILE) memcpy(&header, good[kind].bytes, 8);
        if (kind == DESCRIPTOR) header = 0; /* the same reader, so less closely */
        int taken = 0, tried = 0;
        for (uint64_t bit = 0; bit < 8 * (uint64_t)good[kind].size; bit += all                      ? 1
                                                                           : bit < 8 * (header + 8) ? CLOSE
                                                                                                    : WIDE) {
            const size_t at = (size_t)(bit / 8);
            const unsigned char flipped = (unsigned char)(good[kind].bytes[at] ^ (1u << bit % 8));
            assert_int_equal(pwrite(file, &flipped, 1, (off_t)at), 1);
            taken += check(kind, kind == TOKENIZER_FILE || kind >= CORPUS_FILE, "bit", (size_t)bit);
            assert_int_equal(pwrite(file, &good[kind].bytes[at], 1, (off_t)at), 1);
            ++tried;
        }
        close(file);
        print_message("%s: %d bits flipped, %d taken\n", kind_names[kind], tried, taken);
        restore(kind);
    }
}

TEST(longer) {
    static const unsigned char tails[][8] = {{0}, "x", " ", "\n", {0, 0, 0, 0, 0, 0, 0, 0}, "{}", "]"};
    for (int kind = 0; kind < FILE_KINDS; ++kind) {
        for (size_t i = 0; i < sizeof tails / sizeof *tails; ++i) {
            const size_t more = i == 4 ? 8 : i == 0 ? 1 : strlen((const char *)tails[i]);
            unsigned char *longer = malloc(good[kind].size + more);
            memcpy(longer, good[kind].bytes, good[kind].size);
            memcpy(longer + good[kind].size, tails[i], more);
            write_file(good[kind].path, longer, good[kind].size + more);
            const int blank = i == 2 || i == 3;
            check(kind, kind >= CORPUS_FILE || (kind == TOKENIZER_FILE && blank), "tail", i);
            /* Twice the file is one file too many. */
            unsigned char *twice = malloc(2 * good[kind].size);
            memcpy(twice, good[kind].bytes, good[kind].size);
            memcpy(twice + good[kind].size, good[kind].bytes, good[kind].size);
            write_file(good[kind].path, twice, 2 * good[kind].size);
            check(kind, kind == CORPUS_FILE, "itself after it", 0);
            free(longer);
            free(twice);
        }
        restore(kind);
    }
}

int main(int argc, char **argv) {
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    return RUN_TESTS(setup, teardown);
}
