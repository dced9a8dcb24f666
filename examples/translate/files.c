/*
 * files.c - which files may be written, and how; see files.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _XOPEN_SOURCE 700

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

int check_apart(const struct named_file *written, const struct named_file *read, size_t count) {
    struct stat target, source;
    if (written->path == NULL || stat(written->path, &target) != 0 || !S_ISREG(target.st_mode)) return -1;
    for (size_t i = 0; i < count; ++i) {
        if (read[i].path == NULL || stat(read[i].path, &source) != 0) continue;
        if (source.st_dev != target.st_dev || source.st_ino != target.st_ino) continue;
        complain("%s %s is the file of %s, which would be overwritten", written->option, written->path, read[i].option);
        return EXIT_USAGE;
    }
    return -1;
}

/* Where a file is made that takes another's place at the end. */
struct replacement {
    char *target; /* the file itself, where the path is a link to it */
    char *beside;
    mode_t mode; /* of the file that is there, or 0 */
    bool direct; /* a device or a pipe: it is written as it is */
};

static struct replacement replacement_of(const char *path) {
    struct replacement made = {0};
    struct stat there;
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISREG(there.st_mode)) {
        made.target = realpath(path, NULL);
        made.mode = there.st_mode & 07777;
    }
    made.direct = exists && !S_ISREG(there.st_mode);
    if (made.target == NULL) {
        made.target = allocate(strlen(path) + 1);
        strcpy(made.target, path);
    }
    const size_t size = strlen(made.target) + 32;
    made.beside = allocate(size);
    snprintf(made.beside, size, "%s.part-%ld", made.target, (long)getpid());
    return made;
}

static void forget(struct replacement *made) {
    free(made->target);
    free(made->beside);
}

/* Opens what is written first; NULL: errno says why. An existing file keeps its mode. */
static FILE *open_replacement(const struct replacement *made) {
    const int how = made->direct ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
    const int fd = open(made->direct ? made->target : made->beside, how | O_CLOEXEC, 0666);
    if (fd < 0) return NULL;
    FILE *file = fdopen(fd, "wb");
    if (file == NULL) close(fd);
    /* A file system without modes has nothing to keep, so a failure is none. */
    if (file != NULL && made->mode != 0) (void)!fchmod(fd, made->mode);
    return file;
}

static int cannot_write(const char *path) {
    complain("can't write %s: %s", path, strerror(errno));
    return EXIT_FAILED;
}

int check_writable(const struct named_file *file) {
    if (file->path == NULL) return -1;
    struct stat there;
    const bool exists = stat(file->path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        complain("%s %s is a folder, expected the name of a file", file->option, file->path);
        return EXIT_USAGE;
    }
    if (exists && access(file->path, W_OK) != 0) return cannot_write(file->path);
    if (exists && !S_ISREG(there.st_mode)) return -1; /* opening a pipe would wait for its reader */
    struct replacement made = replacement_of(file->path);
    FILE *opened = open_replacement(&made);
    const int status = opened != NULL ? -1 : cannot_write(file->path);
    if (opened != NULL) {
        fclose(opened);
        remove(made.beside);
    }
    forget(&made);
    return status;
}

void forget_previous(const char *path) {
    static const char ending[] = ".prev";
    const size_t length = strlen(path);
    char *name = allocate(length + sizeof ending);
    memcpy(name, path, length);
    memcpy(name + length, ending, sizeof ending);
    remove(name);
    free(name);
}

int replace_file(const char *path, put_fn put, const void *user) {
    struct replacement made = replacement_of(path);
    FILE *file = open_replacement(&made);
    int status = -1;
    if (file == NULL) {
        status = cannot_write(path);
    } else {
        bool good = put(file, user) && fflush(file) == 0 && ferror(file) == 0;
        int why = errno; /* fclose() and remove() set it, too */
        if (fclose(file) != 0 && good) good = false, why = errno;
        if (good && !made.direct && rename(made.beside, made.target) != 0) good = false, why = errno;
        if (!good) {
            if (!made.direct) remove(made.beside);
            complain("writing %s failed: %s", path, strerror(why));
            status = EXIT_FAILED;
        }
    }
    forget(&made);
    return status;
}

static bool put_sentences(FILE *file, const void *user) {
    const struct sentences *texts = user;
    for (size_t i = 0; i < texts->count; ++i) {
        for (const char *c = texts->texts[i]; *c != '\0'; ++c) putc(*c == '\n' || *c == '\r' ? ' ' : *c, file);
        putc('\n', file);
    }
    return true;
}

int write_sentences(const char *path, const struct sentences *texts) {
    return replace_file(path, put_sentences, texts);
}
