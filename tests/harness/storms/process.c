/*
 * Strange processes: descriptors 0 to 2 are closed, and the host prints to them all the same; sixteen descriptors in
 * all; a locale with a decimal comma, or where I is no capital i, that changes between the calls, and whose messages
 * are translated; rounding modes, flushed denormals and short x87 numbers. Each gives the bytes of a plain process,
 * and nothing is printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libintl.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "battery.h"
#include "storm.h"

static const char *device;
static uint64_t plain[RESULTS];
static char path[64], folder[64];

/* The status of a child that runs `what`: what() ends it with a line number when something does not hold. */
static int run_child(void (*what)(void)) {
    fflush(NULL);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(60);
        what();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}
#define WANT(condition) \
    if (!(condition)) _exit(__LINE__ % 200 + 1)

static void same_work(void (*between)(void)) {
    uint64_t found[RESULTS];
    work(device, path, found, between);
    WANT(memcmp(found, plain, sizeof plain) == 0);
}

/* The library's calls come here. A host prints to descriptor 0, 1, or 2 at the worst moment: when it has become one of
 * a file or pipe of the library. Such a write may also happen late, when the number already belongs to something else.
 */
#define SHARED __attribute__((visibility("default")))
static int late[256], late_count, open_count, old_opened;
static bool no_root;        /* the host's sandbox refuses to open "/" */
static time_t seconds_late; /* of the clock */
static void host_prints(int fd) {
    ++open_count;
    if (fd < 0 || fd > 2 || write(fd, "a line of the host\n", 19) < 0) return;
    const int copy = fcntl(fd, F_DUPFD, 64); /* fails where a test limits the numbers */
    if (copy >= 0 && late_count < 256) late[late_count++] = copy;
}
static void host_prints_late(void) {
    for (int i = 0; i < late_count; ++i) (void)!write(late[i], "a late line\n", 12);
}
SHARED int openat(int at, const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const int fd = (int)syscall(SYS_openat, at, name, flags, va_arg(rest, int));
    va_end(rest);
    old_opened += strstr(name, ".old.") != NULL;
    host_prints(fd);
    return fd;
}
SHARED int open(const char *name, int flags, ...) {
    va_list rest;
    if (no_root && strcmp(name, "/") == 0) return errno = EACCES, -1;
    va_start(rest, flags);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags, va_arg(rest, int));
    va_end(rest);
    return fd;
}
SHARED time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += seconds_late;
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}
SHARED int fsync(int fd) {
    host_prints_late();
    return (int)syscall(SYS_fsync, fd);
}
SHARED int pipe2(int ends[2], int flags) {
    const int status = (int)syscall(SYS_pipe2, ends, flags);
    if (status == 0) host_prints(ends[1]);
    return status;
}

static void closed_descriptors(void) {
    xf_error err;
    char other[160], found[16] = "";
    OWNED(context) *context = context_on(device, "1");
    OWNED(model) *model = model_on(context, device);
    xf_engine *engine = NULL;
    for (int fd = 0; fd < 3; ++fd) close(fd);
    open_count = 0;
    same_work(NULL);

    no_root = true;
    same_work(NULL);
    no_root = false;

    /* Files of other processes that write the same file: a second link, and one that is being written, young and old.
     * Only old ones are opened, and those that are locked are kept. */
    static const char *const kinds[] = {".%s.old.1.0", ".%s.tmp.1.0"};
    for (int i = 0; i < 3; ++i) {
        seconds_late = i == 2 ? 3600 : 0;
        snprintf(other, sizeof other, kinds[i > 0], path);
        FILE *file = fopen(other, "w+");
        WANT(file != NULL && fputs("a saved model", file) >= 0 && fflush(file) == 0);
        WANT(flock(fileno(file), LOCK_EX) == 0);
        WANT(save_model(model, NULL, path, &err) == XF_OK);
        rewind(file);
        WANT(fgets(found, sizeof found, file) != NULL && strcmp(found, "a saved model") == 0);
        WANT(fclose(file) == 0 && remove(other) == 0);
    }
    seconds_late = 0;
    WANT(old_opened == 0);

    WANT(open_count > 0);
    open_count = 0;
    xf_engine_info info = XF_ENGINE_INFO_INIT;
    WANT(xf_engine_create(model, NULL, NULL, &engine, &err) == XF_OK);
    WANT(xf_engine_get_info(engine, &info, &err) == XF_OK && open_count > 0);
    host_prints_late();
    struct pollfd readable = {info.descriptor, POLLIN, 0};
    WANT(poll(&readable, 1, 0) == 0);
    xf_engine_free(engine);
    for (int fd = 0; fd < 3; ++fd) WANT(fcntl(fd, F_GETFD) < 0);
}

/* Three descriptors and no more, of which none may be used: an error, and no file is left. */
static void no_descriptors(void) {
    char file[160];
    xf_error err;
    xf_model *none = NULL;
    snprintf(file, sizeof file, "%s/model", folder);
    OWNED(context) *context = context_on(device, "1");
    OWNED(model) *model = model_on(context, device);
    WANT(save_model(model, NULL, file, &err) == XF_OK);
    const int before = count_entries(folder);
    for (int fd = 0; fd < 3; ++fd) close(fd);
    struct rlimit limit;
    WANT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const struct rlimit three = {3, limit.rlim_max};
    WANT(setrlimit(RLIMIT_NOFILE, &three) == 0);
    WANT(save_model(model, NULL, file, &err) == XF_ERROR_IO && err.native_code == EMFILE);
    WANT(load_model(context, file, &none, &err) == XF_ERROR_IO && err.native_code == EMFILE);
    const struct rlimit five = {5, limit.rlim_max}; /* the folder can be opened, and the file beside it can not */
    const int taken = fcntl(open("/dev/null", O_RDONLY), F_DUPFD, 2);
    WANT(taken == 2 && setrlimit(RLIMIT_NOFILE, &five) == 0);
    WANT(dup2(taken, 3) == 3);
    WANT(save_model(model, NULL, file, &err) == XF_ERROR_IO && err.native_code == EMFILE);
    WANT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    WANT(count_entries(folder) == before);
    WANT(save_model(model, NULL, file, &err) == XF_OK);
}

static void few_descriptors(void) {
    const struct rlimit few = {16, 16};
    WANT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    same_work(NULL);
}

static void prints_nothing(void) {
    const int file = open(folder, O_RDWR | O_TMPFILE, 0600);
    WANT(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
    same_work(NULL);
    struct stat status;
    WANT(fstat(file, &status) == 0 && status.st_size == 0);
}

static const char *locale_name;
static int turn;

static void change_locale(void) { (void)setlocale(LC_ALL, ++turn % 2 == 0 ? locale_name : "C"); }

/* A catalogue of one message, as msgfmt would write it. */
static void write_catalogue(const char *from, const char *to) {
    char name[160];
    const uint32_t from_size = (uint32_t)strlen(from), to_size = (uint32_t)strlen(to);
    const uint32_t head[11] = {0x950412de, 0, 1, 28, 36, 0, 44, from_size, 44, to_size, 44 + from_size + 1};
    snprintf(name, sizeof name, "%s/%s", folder, locale_name);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "%s/%s/LC_MESSAGES", folder, locale_name);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "%s/%s/LC_MESSAGES/libc.mo", folder, locale_name);
    FILE *file = fopen(name, "wb");
    WANT(file != NULL && fwrite(head, sizeof head, 1, file) == 1 && fwrite(from, from_size + 1, 1, file) == 1 &&
         fwrite(to, to_size + 1, 1, file) == 1 && fclose(file) == 0);
}

static void other_locale(void) {
    xf_error err;
    OWNED(config) *config = NULL;
    const char *text = NULL;
    double value = 0;
    xf_error plain_err;
    WANT(xf_config_create(&config, &err) == XF_OK);
    WANT(xf_config_set(config, "train.dropout", "1.5", &plain_err) == XF_ERROR_OUT_OF_RANGE);
    WANT(setlocale(LC_ALL, locale_name) != NULL);
    WANT(strcmp(localeconv()->decimal_point, ",") == 0);
    WANT(xf_config_set(config, "train.dropout", "0.25", &err) == XF_OK);
    WANT(xf_config_get_number(config, "train.dropout", &value, &err) == XF_OK && value == 0.25);
    WANT(xf_config_get(config, "train.dropout", &text, &err) == XF_OK && strcmp(text, "0.25") == 0);
    WANT(xf_config_set(config, "train.dropout", "0,25", &err) == XF_ERROR_INVALID_ARGUMENT);
    WANT(xf_config_set(config, "train.dropout", "1.5", &err) == XF_ERROR_OUT_OF_RANGE);
    WANT(strcmp(err.message, plain_err.message) == 0);

    write_catalogue("No such file or directory", "Diese Datei gibt es nicht");
    setenv("LANGUAGE", "", 1);
    WANT(bindtextdomain("libc", folder) != NULL);
    WANT(strcmp(strerror(ENOENT), "Diese Datei gibt es nicht") == 0); /* the host's own messages */
    OWNED(context) *context = context_on(device, "1");
    OWNED(model) *model = NULL;
    WANT(load_model(context, "there is none", &model, &err) == XF_ERROR_NOT_FOUND);
    WANT(strstr(err.message, "No such file or directory") != NULL);

    same_work(NULL);
    WANT(strcmp(setlocale(LC_ALL, NULL), locale_name) == 0);
    same_work(change_locale);
    const locale_t own = newlocale(LC_ALL_MASK, locale_name, (locale_t)0);
    WANT(own != (locale_t)0 && uselocale(own) != (locale_t)0);
    same_work(NULL);
    WANT(uselocale((locale_t)0) == own);
}

static void has_locale(void) { WANT(setlocale(LC_ALL, locale_name) != NULL); }

static int make_locale(const char *name, const char *charset) {
    char command[320];
    snprintf(command, sizeof command, "localedef -i %s -f %s %s/%s >/dev/null 2>&1", name, charset, folder, name);
    setenv("LOCPATH", folder, 1);
    const int status = system(command);
    locale_name = name; /* in a child: what the C library keeps of a LOCPATH looks like a leak */
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1 && run_child(has_locale) == 0; /* 1: made, with warnings */
}

#if defined(__SSE__)
static unsigned state;
static unsigned short control;

static void check_state(void) {
    unsigned short word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    /* The test's own code may raise a flag; what is set must not change. */
    WANT(word == control && (_mm_getcsr() & ~0x3Fu) == (state & ~0x3Fu));
}

static void strange_numbers(void) {
    _mm_setcsr(state);
    __asm__ volatile("fldcw %0" : : "m"(control));
    same_work(check_state);
    check_state();
}
#endif

static int failures;
static void report(const char *what, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    printf("%s, %s: %s %d\n", device, what, WIFEXITED(status) ? "status" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    ++failures;
}

static const char *const locales[][2] = {{"de_DE", "ISO-8859-1"}, {"tr_TR", "UTF-8"}};
static int here[2];

static void storm_on(const char *name, xf_context *context) {
    (void)context;
    device = name;
    work(device, path, plain, NULL);
    report("closed descriptors", run_child(closed_descriptors));
    report("no descriptors", run_child(no_descriptors));
    report("sixteen descriptors", run_child(few_descriptors));
    report("printing", run_child(prints_nothing));
    for (int i = 0; i < 2; ++i) {
        locale_name = locales[i][0];
        if (here[i])
            report(locale_name, run_child(other_locale));
        else
            printf("NOT TESTED: localedef makes no locale %s here\n", locale_name);
    }
#if defined(__SSE__)
    /* Flush to zero and denormals are zero; the three other roundings; three traps enabled; every flag raised. Of the
     * x87 unit: 24 bits, and roundings. */
    static const unsigned states[] = {0x9FC0, 0x3F80, 0x5F80, 0x7F80, 0x1F80, 0x1C00, 0x1FBF};
    static const unsigned short controls[] = {0x037F, 0x047F, 0x0B7F, 0x0F7F, 0x007F, 0x037F, 0x037F};
    for (int i = 0; i < (XF_TEST_SANITIZED ? 1 : 7); ++i) {
        state = states[i];
        control = controls[i];
        report("floating-point state", run_child(strange_numbers));
    }
#endif
}

int main(void) {
    char command[120];
    snprintf(path, sizeof path, "xf_storm_%ld", (long)getpid());
    strcpy(folder, "xf_locale_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < 2; ++i) here[i] = make_locale(locales[i][0], locales[i][1]);
    on_each_device("1", storm_on);
    remove_files(path);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
    return failures > 0;
}
