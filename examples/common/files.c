/*
 * files.c - which files may be written, and how; see files.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _XOPEN_SOURCE 700

#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

const char *base_name(const char *path) {
    const char *name = last_name(path);
    return *name != '\0' ? name : path;
}

int check_apart(const struct named_file *written, const struct named_file *read, size_t count) {
    struct stat target;
    if (written->path == NULL || stat(written->path, &target) != 0 || !S_ISREG(target.st_mode)) return -1;
    for (size_t i = 0; i < count; ++i) {
        if (read[i].path == NULL || !is_same_file(read[i].path, written->path)) continue;
        complain("%s %s is the file of %s, which would be overwritten", written->option, written->path, read[i].option);
        return EXIT_USAGE;
    }
    return -1;
}

int64_t number_after(const char *file, const char *model, const char *ending) {
    const size_t length = strlen(model), more = strlen(ending);
    if (strncmp(file, model, length) != 0 || strncmp(file + length, ending, more) != 0) return -1;
    const char *digits = file + length + more;
    const size_t count = strspn(digits, "0123456789");
    return count > 0 && count < 19 && digits[count] == '\0' ? strtoll(digits, NULL, 10) : -1;
}

/* The folder of a file, which the caller frees. */
static char *folder_of(const char *path) {
    const size_t length = (size_t)(base_name(path) - path);
    char *folder = allocate(length + 2);
    strcpy(folder, ".");
    if (length > 0) memcpy(folder, path, length), folder[length] = '\0';
    return folder;
}

/* Returns whether the folders of both paths are the same. The files need not exist. */
static bool share_folder(const char *one, const char *other) {
    char *a = folder_of(one), *b = folder_of(other);
    const bool same = is_same_file(a, b);
    free(a);
    free(b);
    return same;
}

static int check_numbered(const char *model, const char *ending, const struct named_file *read, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (read[i].path == NULL || number_after(base_name(read[i].path), base_name(model), ending) < 0) continue;
        if (!share_folder(model, read[i].path)) continue;
        complain("%s %s has the name of a file that this run writes or deletes, expected another", read[i].option,
                 read[i].path);
        return EXIT_USAGE;
    }
    return -1;
}

int check_beside(const char *model, const char *const *endings, const struct named_file *read, size_t count) {
    int status = -1;
    for (; *endings != NULL && status < 0; ++endings) {
        const size_t size = strlen(model) + strlen(*endings) + 1;
        char *path = allocate(size);
        snprintf(path, size, "%s%s", model, *endings);
        const struct named_file written = {"the file", path};
        const bool numbered = path[size - 2] == '-';
        status = numbered ? check_numbered(model, *endings, read, count) : check_apart(&written, read, count);
        free(path);
    }
    return status;
}

/* Determines the target file and the name of the temporary file that will replace it. */
static struct output output_of(const char *path) {
    struct output out = {.path = path};
    struct stat there;
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISREG(there.st_mode)) {
        out.target = realpath(path, NULL);
        out.mode = there.st_mode & 07777;
    }
    out.direct = exists && !S_ISREG(there.st_mode);
    if (out.target == NULL) {
        out.target = allocate(strlen(path) + 1);
        strcpy(out.target, path);
    }
    const size_t size = strlen(out.target) + 32;
    out.beside = allocate(size);
    snprintf(out.beside, size, "%s.part-%ld", out.target, (long)getpid());
    return out;
}

static void forget(struct output *out) {
    free(out->target);
    free(out->beside);
}

/* Opens the temporary file, or a device or pipe. On failure, sets errno and returns NULL. The mode is preserved. */
static FILE *open_beside(const struct output *out) {
    const int how = out->direct ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
    const char *name = out->direct ? out->target : out->beside;
    const mode_t mode = out->mode != 0 ? out->mode & 0777 : 0666; /* never readable by more users than the old file */
    int fd = open(name, how | O_CLOEXEC, mode);
    /* A killed process with the same process id may have left this file: containers reuse process ids often. */
    if (fd < 0 && errno == EEXIST && remove(name) == 0) fd = open(name, how | O_CLOEXEC, mode);
    if (fd < 0) return NULL;
    FILE *file = fdopen(fd, "wb");
    if (file == NULL) close(fd);
    /* A failure is ignored: the file system may not support modes. */
    if (file != NULL && out->mode != 0) (void)!fchmod(fd, out->mode);
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
    struct output out = output_of(file->path);
    FILE *opened = open_beside(&out);
    const int status = opened != NULL ? -1 : cannot_write(file->path);
    if (opened != NULL) {
        fclose(opened);
        remove(out.beside);
    }
    forget(&out);
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

bool output_open(struct output *out, const char *path) {
    *out = output_of(path);
    out->file = open_beside(out);
    if (out->file != NULL) return true;
    cannot_write(path);
    forget(out);
    return false;
}

/* Flushes the file to disk. A file system without fsync() is not an error. */
static bool is_kept(const struct output *out) {
    return out->direct || fsync(fileno(out->file)) == 0 || errno == EINVAL || errno == ENOSYS;
}

/* Closes the file. `good` is false if writing failed; errno then has the reason. */
static bool finish(struct output *out, bool good) {
    good = good && fflush(out->file) == 0 && ferror(out->file) == 0 && is_kept(out);
    int why = errno; /* fclose() and remove() set it, too */
    if (fclose(out->file) != 0 && good) good = false, why = errno;
    if (good && !out->direct && rename(out->beside, out->target) != 0) good = false, why = errno;
    if (!good) {
        if (!out->direct) remove(out->beside);
        complain("writing %s failed: %s", out->path, strerror(why != 0 ? why : EIO));
    }
    forget(out);
    return good;
}

bool output_close(struct output *out) { return finish(out, true); }

int replace_file(const char *path, put_fn put, const void *user) {
    struct output out;
    if (!output_open(&out, path)) return EXIT_FAILED;
    return finish(&out, put(out.file, user)) ? -1 : EXIT_FAILED;
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
