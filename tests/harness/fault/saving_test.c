/*
 * Saving where there is no room: a sentence, the old file as it was, nothing left beside it, and the next save works.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The old file exists; `limit` is the largest size of the new one. */
static void refused_full(int which, const char *folder, const char *path, const char *old) {
    const int before = entries(folder);
    xf_error error;
    memset(&error, 0, sizeof error);
    const xf_status status = save_file(which, path, &error);
    check_refusal(XF_ERROR_IO, status, &error, __FILE__, __LINE__);
    assert_true(error.native_code == EFBIG || error.native_code == ENOSPC);
    assert_same_files(path, old);
    assert_int_equal(entries(folder), before);
}

TEST(file_size_limit) {
    assert_ptr_equal(signal(SIGXFSZ, SIG_DFL), SIG_DFL); /* which would end the process */
    char path[160];
    const char *const folder = scratch_path("limited"), *const old = scratch_path("old");
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/file", folder);
    for (int which = 0; which < WRITTEN_FILES; ++which) {
        ACCEPTED(save_file(which, path, err));
        ACCEPTED(save_file(which, old, err));
        size_t size;
        free(file_bytes(path, &size));
        struct rlimit before, limited;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        const rlim_t limits[] = {0, 1, 100, size / 2, size - 1};
        for (int i = 0; i < 5; ++i) {
            limited = before;
            limited.rlim_cur = limits[i];
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
            refused_full(which, folder, path, old);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        }
        assert_int_equal(load_file(which, path, NULL, NULL), XF_OK);
        ACCEPTED(save_file(which, path, err));
        assert_same_files(path, old);
        sigset_t pending;
        sigpending(&pending);
        assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
        unlink(path);
    }
    char previous[180];
    snprintf(previous, sizeof previous, "%s.prev", path);
    unlink(previous);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left */
}

TEST(full_disk) {
    char path[160], filler[160];
    const char *const folder = scratch_path("disk"), *const old = scratch_path("old");
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(filler, sizeof filler, "%s/filler", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=512k") != 0) {
        print_message("NOT TESTED: a full disk, because no file system can be mounted here: %s\n", strerror(errno));
        rmdir(folder);
        skip();
    }
    for (int which = 0; which < WRITTEN_FILES; ++which) {
        ACCEPTED(save_file(which, path, err));
        ACCEPTED(save_file(which, old, err));
        FILE *file = fopen(filler, "wb");
        assert_non_null(file);
        setvbuf(file, NULL, _IONBF, 0);
        static char block[4096];
        while (fwrite(block, 1, sizeof block, file) == sizeof block) continue;
        fclose(file);
        refused_full(which, folder, path, old);
        assert_int_equal(load_file(which, path, NULL, NULL), XF_OK);
        unlink(filler);
        ACCEPTED(save_file(which, path, err));
        assert_same_files(path, old);
        char previous[180];
        snprintf(previous, sizeof previous, "%s.prev", path);
        assert_same_files(previous, old); /* the one before stays under its own name */
        unlink(path);
        unlink(previous);
        assert_int_equal(entries(folder), 0);
        print_message("%s: a full disk\n", written_names[which]);
    }
    umount(folder);
    rmdir(folder);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
