/*
 * Paths that are not regular files: folders, devices, FIFOs, broken links, invalid names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "../../support/api.h"
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static char blank[128], fifo[128], dangling[128], loop[128], closed_file[128], long_name[400], long_path[9000],
    lines[128], folder[128];

static int setup(void **state) {
    world_open(state);
    strcpy(blank, scratch_path("empty"));
    strcpy(fifo, scratch_path("fifo"));
    strcpy(dangling, scratch_path("dangling"));
    strcpy(loop, scratch_path("loop"));
    strcpy(closed_file, scratch_path("closed"));
    strcpy(lines, scratch_path("lines"));
    strcpy(folder, scratch_path("folder"));
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *file = fopen(blank, "w");
    assert_non_null(file);
    fclose(file);
    file = fopen(lines, "w");
    fputs("eins\nzwei\ndrei\n", file);
    fclose(file);
    file = fopen(closed_file, "w");
    fclose(file);
    assert_int_equal(chmod(closed_file, 0), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(symlink("loop", loop), 0);
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_path, '/', sizeof long_path - 1);
    for (size_t i = 1; i < sizeof long_path - 1; i += 2) long_path[i] = 'p';
    return 0;
}

/* Passes one name to every function that reads a file. Corpora return different statuses. */
static void refused(const char *path, xf_status binary, xf_status text) {
    xf_model *model = SENTINEL;
    xf_trainer *trainer = SENTINEL;
    xf_tokenizer *tokenizer = SENTINEL;
    xf_corpus *corpus = SENTINEL;
    const char *paths[] = {path};
    alarm(60); /* a read that never ends is killed, and seen */
    REFUSED(binary, model, load_model(world.context, path, &model, err));
    REFUSED(binary, model, average_files(world.context, paths, 1, &model, err));
    REFUSED(binary, trainer, resume_trainer(world.context, path, NULL, &trainer, err));
    REFUSED(binary, tokenizer, load_tokenizer(world.context, path, &tokenizer, err));
    REFUSED(text, corpus, xf_corpus_open(world.context, path, NULL, NULL, NULL, &corpus, err));
    REFUSED(text, corpus, xf_corpus_open(world.context, path, lines, NULL, NULL, &corpus, err));
    REFUSED(text, corpus, xf_corpus_open(world.context, lines, path, NULL, NULL, &corpus, err));
    alarm(0);
}

static void test_reading(void **state) {
    (void)state;
    refused(blank, XF_ERROR_CORRUPT, XF_ERROR_DATA);
    refused(folder, XF_ERROR_IO, XF_ERROR_DATA); /* a corpus may be one, with files in it */
    refused("/dev/zero", XF_ERROR_IO, XF_ERROR_IO);
    refused("/dev/full", XF_ERROR_IO, XF_ERROR_IO);
    refused("/dev/null", XF_ERROR_IO, XF_ERROR_IO);
    refused(fifo, XF_ERROR_IO, XF_ERROR_DATA); /* text may come through a pipe; this one has no writer */
    refused(dangling, XF_ERROR_NOT_FOUND, XF_ERROR_NOT_FOUND);
    refused(loop, XF_ERROR_IO, XF_ERROR_IO);
    refused("nowhere/at/all", XF_ERROR_NOT_FOUND, XF_ERROR_NOT_FOUND);
    refused(long_name, XF_ERROR_IO, XF_ERROR_IO);
    refused(long_path, XF_ERROR_IO, XF_ERROR_IO);
    refused("two\nlines\x1b[31m", XF_ERROR_NOT_FOUND, XF_ERROR_NOT_FOUND);
    refused("\xff\xfe", XF_ERROR_NOT_FOUND, XF_ERROR_NOT_FOUND);
    drop_rights();
    refused(closed_file, XF_ERROR_IO, XF_ERROR_IO);
    regain_rights();
    /* /proc says 0 bytes and has more. */
    refused("/proc/self/stat", XF_ERROR_CORRUPT, XF_ERROR_DATA);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, load_model(world.context, "", &(xf_model *){NULL}, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, load_tokenizer(world.context, "", &(xf_tokenizer *){NULL}, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, resume_trainer(world.context, "", NULL, &(xf_trainer *){NULL}, err));
}

/* A native code tells the program what the sentence tells its user. */
static void test_native_code(void **state) {
    (void)state;
    xf_error error;
    xf_model *model = NULL;
    xf_corpus *corpus = NULL;
    assert_int_equal(load_model(world.context, "nowhere", &model, &error), XF_ERROR_NOT_FOUND);
    assert_int_equal(error.native_code, 2); /* ENOENT */
    assert_int_equal(load_model(world.context, long_path, &model, &error), XF_ERROR_IO);
    assert_int_equal(error.native_code, 36); /* ENAMETOOLONG */
    /* A control character of two bytes is one mark. */
    assert_int_equal(load_model(world.context, "caf\xC2\x80.xf", &model, &error), XF_ERROR_NOT_FOUND);
    assert_string_equal(error.message, "cannot open 'caf?.xf': No such file or directory");
    assert_int_equal(load_model(world.context, long_path, &model, &error), XF_ERROR_IO);
    /* A long path is shortened in the middle: the message contains the failed operation and the reason. */
    assert_int_equal(strncmp(error.message, "cannot open '/p/p/p", 19), 0);
    assert_non_null(strstr(error.message, "\xE2\x80\xA6"));
    assert_non_null(strstr(error.message, "File name too long"));
    assert_int_equal(load_model(world.context, "/", &model, &error), XF_ERROR_IO);
    assert_int_equal(error.native_code, 21); /* EISDIR */
    assert_int_equal(xf_corpus_open(world.context, "/", NULL, NULL, NULL, &corpus, &error), XF_ERROR_IO);
    assert_int_equal(error.native_code, 21);
    assert_int_equal(save_model(world.model, NULL, "/nowhere/at/all", &error), XF_ERROR_NOT_FOUND);
    assert_int_equal(error.native_code, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading), cmocka_unit_test(test_native_code)};
    return RUN(tests, setup, world_close);
}
