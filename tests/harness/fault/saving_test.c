/*
 * Saving where it can't be: a sentence, the old file as it was, nothing left beside it, and the next save works.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "../../support/api.h"
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SAVES = 3 };
static const char *const names[SAVES] = {"model", "checkpoint", "tokenizer"};

static xf_status save(int which, const char *path, xf_error *err) {
    switch (which) {
        case 0:
            return save_model(world.model, NULL, path, err);
        case 1:
            return save_trainer(world.trainer, world.batcher, path, err);
        default:
            return save_tokenizer(world.tokenizer, path, err);
    }
}

static xf_status load(int which, const char *path) {
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_status status;
    switch (which) {
        case 0:
            status = load_model(world.context, path, &model, NULL);
            break;
        case 1:
            status = resume_trainer(world.context, path, NULL, &trainer, NULL);
            break;
        default:
            status = load_tokenizer(world.context, path, &tokenizer, NULL);
    }
    xf_model_free(model);
    xf_trainer_free(trainer);
    xf_tokenizer_free(tokenizer);
    return status;
}

static int entries(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = -2;
    while (readdir(dir) != NULL) ++count;
    closedir(dir);
    return count;
}

static void test_no_place(void **state) {
    (void)state;
    static char long_name[400], long_path[9000];
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_path, '/', sizeof long_path - 1);
    for (size_t i = 1; i < sizeof long_path - 1; i += 2) long_path[i] = 'p';
    char folder[128], fifo[128], dangling[128], device[128], loop[128];
    strcpy(folder, scratch_path("folder"));
    strcpy(fifo, scratch_path("fifo"));
    strcpy(dangling, scratch_path("dangling"));
    strcpy(device, scratch_path("full"));
    strcpy(loop, scratch_path("loop"));
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("nowhere/at/all", dangling), 0);
    assert_int_equal(symlink("loop", loop), 0);
    /* A separate /dev/full: a library that replaced it would damage the machine. */
    const int have_device = mknod(device, S_IFCHR | 0600, makedev(1, 7)) == 0;
    if (!have_device) print_message("NOT TESTED: saving to a device, because none could be made\n");
    for (int which = 0; which < SAVES; ++which) {
        REFUSED(XF_ERROR_IO, nothing, save(which, folder, err));
        REFUSED(XF_ERROR_IO, nothing, save(which, "/", err));
        REFUSED(XF_ERROR_IO, nothing, save(which, fifo, err));
        REFUSED(XF_ERROR_IO, nothing, save(which, loop, err));
        if (have_device) REFUSED(XF_ERROR_IO, nothing, save(which, device, err));
        REFUSED(XF_ERROR_NOT_FOUND, nothing, save(which, "nowhere/at/all", err));
        REFUSED(XF_ERROR_NOT_FOUND, nothing, save(which, dangling, err));
        REFUSED(XF_ERROR_IO, nothing, save(which, long_name, err));
        REFUSED(XF_ERROR_IO, nothing, save(which, long_path, err));
        REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, save(which, "", err));
        char inside[160];
        snprintf(inside, sizeof inside, "%s/file", folder);
        assert_int_equal(chmod(folder, 0555), 0);
        drop_rights();
        REFUSED(XF_ERROR_IO, nothing, save(which, inside, err));
        regain_rights();
        assert_int_equal(chmod(folder, 0700), 0);
    }
    struct stat status;
    if (have_device) assert_true(stat(device, &status) == 0 && S_ISCHR(status.st_mode));
    assert_int_equal(entries(folder), 0);
    rmdir(folder);
}

/* The old file exists; `limit` is the largest size of the new one. */
static void refused_full(int which, const char *folder, const char *path, const char *old) {
    const int before = entries(folder);
    xf_error error;
    memset(&error, 0, sizeof error);
    const xf_status status = save(which, path, &error);
    check_refusal(XF_ERROR_IO, status, &error, __FILE__, __LINE__);
    assert_true(error.native_code == EFBIG || error.native_code == ENOSPC);
    assert_same_files(path, old);
    assert_int_equal(entries(folder), before);
}

static void test_file_size_limit(void **state) {
    (void)state;
    assert_ptr_equal(signal(SIGXFSZ, SIG_DFL), SIG_DFL); /* which would end the process */
    char folder[128], path[160], old[128];
    strcpy(folder, scratch_path("limited"));
    strcpy(old, scratch_path("old"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/file", folder);
    for (int which = 0; which < SAVES; ++which) {
        ACCEPTED(save(which, path, err));
        ACCEPTED(save(which, old, err));
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
        assert_int_equal(load(which, path), XF_OK);
        ACCEPTED(save(which, path, err));
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

static void test_full_disk(void **state) {
    (void)state;
    char folder[128], path[160], old[128], filler[160];
    strcpy(folder, scratch_path("disk"));
    strcpy(old, scratch_path("old"));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(filler, sizeof filler, "%s/filler", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=512k") != 0) {
        print_message("NOT TESTED: a full disk, because no file system can be mounted here: %s\n", strerror(errno));
        rmdir(folder);
        skip();
    }
    for (int which = 0; which < SAVES; ++which) {
        ACCEPTED(save(which, path, err));
        ACCEPTED(save(which, old, err));
        FILE *file = fopen(filler, "wb");
        assert_non_null(file);
        setvbuf(file, NULL, _IONBF, 0);
        static char block[4096];
        while (fwrite(block, 1, sizeof block, file) == sizeof block) continue;
        fclose(file);
        refused_full(which, folder, path, old);
        assert_int_equal(load(which, path), XF_OK);
        unlink(filler);
        ACCEPTED(save(which, path, err));
        assert_same_files(path, old);
        char previous[180];
        snprintf(previous, sizeof previous, "%s.prev", path);
        assert_same_files(previous, old); /* the one before stays under its own name */
        unlink(path);
        unlink(previous);
        assert_int_equal(entries(folder), 0);
        print_message("%s: a full disk\n", names[which]);
    }
    umount(folder);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_place), cmocka_unit_test(test_file_size_limit),
                                       cmocka_unit_test(test_full_disk)};
    return RUN(tests, world_open, world_close);
}
