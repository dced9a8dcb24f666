/*
 * Paths that are not regular files: folders, devices, FIFOs, broken links, invalid names. None is read, or written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *blank, *fifo, *dangling, *loop, *closed_file, *lines, *folder;
static char long_name[400], long_path[9000];

static int setup(void **state) {
    world_open(state);
    blank = scratch_path("empty");
    fifo = scratch_path("fifo");
    dangling = scratch_path("dangling");
    loop = scratch_path("loop");
    closed_file = scratch_path("closed");
    lines = scratch_path("lines");
    folder = scratch_path("folder");
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(blank, "", 0);
    write_file(lines, "eins\nzwei\ndrei\n", 15);
    write_file(closed_file, "", 0);
    assert_int_equal(chmod(closed_file, 0), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(symlink("loop", loop), 0);
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_path, '/', sizeof long_path - 1);
    for (size_t i = 1; i < sizeof long_path - 1; i += 2) long_path[i] = 'p';
    return 0;
}

/* Passes one name to every function that reads or saves a file. Corpora return different statuses. */
static void refused(const char *path, xf_status binary, xf_status text, xf_status saved) {
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
    for (int which = 0; which < WRITTEN_FILES && saved != XF_OK; ++which)
        REFUSED(saved, nothing, save_file(which, path, err));
    alarm(0);
}

TEST(reading) {
    enum { IO = XF_ERROR_IO, MISSING = XF_ERROR_NOT_FOUND, DATA = XF_ERROR_DATA, CORRUPT = XF_ERROR_CORRUPT };
    refused(blank, CORRUPT, DATA, XF_OK);
    refused(folder, IO, DATA, IO); /* a corpus may be one, with files in it */
    refused("/dev/zero", IO, IO, XF_OK);
    refused("/dev/full", IO, IO, XF_OK);
    refused("/dev/null", IO, IO, XF_OK);
    refused(fifo, IO, DATA, IO); /* text may come through a pipe; this one has no writer */
    refused(dangling, MISSING, MISSING, MISSING);
    refused(loop, IO, IO, IO);
    refused("nowhere/at/all", MISSING, MISSING, MISSING);
    refused(long_name, IO, IO, IO);
    refused(long_path, IO, IO, IO);
    refused("two\nlines\x1b[31m", MISSING, MISSING, XF_OK);
    refused("\xff\xfe", MISSING, MISSING, XF_OK);
    drop_rights();
    refused(closed_file, IO, IO, XF_OK);
    regain_rights();
    refused("/proc/self/stat", CORRUPT, DATA, XF_OK); /* says 0 bytes and has more */
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, load_model(world.context, "", &(xf_model *){NULL}, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, load_tokenizer(world.context, "", &(xf_tokenizer *){NULL}, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, resume_trainer(world.context, "", NULL, &(xf_trainer *){NULL}, err));
}

TEST(saving) {
    const char *const device = scratch_path("full");
    char inside[160];
    snprintf(inside, sizeof inside, "%s/file", folder);
    /* A separate /dev/full: a library that replaced it would damage the machine. */
    const int have_device = mknod(device, S_IFCHR | 0600, makedev(1, 7)) == 0;
    if (!have_device) print_message("NOT TESTED: saving to a device, because none could be made\n");
    for (int which = 0; which < WRITTEN_FILES; ++which) {
        if (have_device) REFUSED(XF_ERROR_IO, nothing, save_file(which, device, err));
        REFUSED(XF_ERROR_IO, nothing, save_file(which, "/", err));
        REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, save_file(which, "", err));
        assert_int_equal(chmod(folder, 0555), 0);
        drop_rights();
        REFUSED(XF_ERROR_IO, nothing, save_file(which, inside, err));
        regain_rights();
        assert_int_equal(chmod(folder, 0700), 0);
    }
    struct stat status;
    if (have_device) assert_true(stat(device, &status) == 0 && S_ISCHR(status.st_mode));
    assert_int_equal(entries(folder), 0);
}

/* A native code tells the program what the sentence tells its user. */
TEST(native_code) {
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

int main(void) { return RUN_TESTS(setup, world_close); }
