/*
 * Everything that can fail, fails in turn: allocation number i, thread number i, and system call number i with each
 * errno it can have, once and from there on, for every i of every scenario, on each backend of this build.
 *
 *     fault_injected             some of each, for every run of the tests
 *     fault_injected all         every one; minutes
 *     fault_injected all NAME    of the scenarios whose names begin so
 *
 * A call that fails returns the right status and a message, leaks no memory, descriptor, thread, or file, and has
 * exactly the undisturbed result when it is repeated. So has a call that succeeds in spite of the failure.
 *
 * Each scenario and device runs in a separate process, which records its progress: if it dies or hangs, this is
 * reported, and another process continues after that point.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <dirent.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_FOR_ONE = 20 };

static const struct place places[] = {
    {"ref", "cpu:ref", "auto"},
    {"openblas", "cpu:openblas", "auto"},
    {"blas", "cpu:openblas", "base"}, /* OpenBLAS itself multiplies */
    {"cuda", "cuda", "auto"},
};
static const struct scenario *const groups[] = {object_scenarios, data_scenarios,   text_scenarios, model_scenarios,
                                                train_scenarios,  decode_scenarios, rank_scenarios};
static const char *const kind_names[] = {"memory", "threads", "calls"};

struct progress *progress;

static bool all_points;
static const char *only = "", *only_place = "";
static struct bench bench;

static struct state {
    int descriptors, threads, files;
    long blocks;
} base;

static int entries(const char *path, bool hidden) {
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *const name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && (!hidden || name[0] == '.')) ++count;
    }
    closedir(dir);
    return count;
}

static const char *scratch_folder(void) {
    static char folder[128];
    if (folder[0] == 0) {
        strcpy(folder, scratch_path("x"));
        *strrchr(folder, '/') = 0;
    }
    return folder;
}

/* A thread that has been joined is in the list for another instant. */
static int threads_now(int expected) {
    int found = 0;
    for (int i = 0; i < 20000; ++i) {
        if ((found = entries("/proc/self/task", false)) == expected) break;
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    return found;
}

static struct state state_now(int threads) {
    return (struct state){entries("/proc/self/fd", false), threads_now(threads), entries(scratch_folder(), true),
                          fault_live_blocks()};
}

static const char old_text[] = "the file that was there before";

static void check_old_file(const xf_error *error) {
    if (strstr(error->message, "now in place") != NULL) return;
    size_t size;
    unsigned char *bytes = file_bytes(SAVED_FILE, &size);
    if (size != sizeof old_text || memcmp(bytes, old_text, size) != 0) fail_msg("%s, but another file", error->message);
    free(bytes);
}

/* The scenario from its beginning, with this failure. */
static xf_status run_armed(const struct scenario *s, const struct fault_plan *plan, digest *found, xf_error *err) {
    if (s->reset != NULL) s->reset(&bench);
    if (s->saves) write_file(SAVED_FILE, old_text, sizeof old_text);
    memset(err, 0, sizeof *err);
    *found = XF_TEST_FNV_INIT;
    alarm(SECONDS_FOR_ONE);
    fault_arm(plan);
    const xf_status status = s->act(&bench, found, err);
    progress->seen = fault_disarm();
    if (s->saves && status < 0) check_old_file(err);
    return status;
}

/* One point. False when the scenario makes no such call. */
static bool attempt(const struct scenario *s, const struct fault_plan *plan, digest expected, bool again) {
    xf_error err;
    digest found;
    xf_status status = run_armed(s, plan, &found, &err);
    if (!progress->seen.fired) return false;
    if (!again) {
        ++progress->points;
        ++*(status == XF_OK ? &progress->coped : &progress->failed);
        if (status != XF_OK) check_refused(s, plan->kind, status, &err);
    }
    if (status != XF_OK) {
        found = XF_TEST_FNV_INIT;
        status = s->act(&bench, &found, &err);
        if (status != XF_OK) complain("the next call: %s: %.200s", xf_status_name(status), err.message);
    }
    if (status == XF_OK && found != expected) complain("another answer than undisturbed");
    return true;
}

static bool can_stay(const struct fault_plan *plan) {
    return plan->kind == FAULT_CALLS && plan->for_ever; /* its deletion may have failed, too */
}

static void remove_hidden(void) {
    DIR *dir = opendir(scratch_folder());
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] == '.' && entry->d_name[1] != 0 && entry->d_name[1] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static bool point(const struct scenario *s, const struct fault_plan *plan, digest expected) {
    if (++progress->point <= progress->resume_behind) return true;
    snprintf(progress->what, sizeof progress->what, "%s on %s, %s %ld %s, way %d", s->name, bench.place->name,
             kind_names[plan->kind], plan->at, plan->for_ever ? "and on" : "once", plan->way);
    if (!attempt(s, plan, expected, false)) return false;
    struct state now = state_now(base.threads);
    if (now.descriptors != base.descriptors) complain("%d descriptors, were %d", now.descriptors, base.descriptors);
    if (now.threads != base.threads) complain("%d threads, were %d", now.threads, base.threads);
    if (now.files != base.files && !can_stay(plan)) complain("%d temporary files are left", now.files - base.files);
    if (now.files != base.files) remove_hidden();
    /* Memory that grows only once is a cache; memory that grows each time is a leak. */
    bool grows = now.blocks > base.blocks;
    for (int i = 0; i < 3 && grows; ++i) {
        const long before = fault_live_blocks();
        attempt(s, plan, expected, true);
        grows = fault_live_blocks() > before;
    }
    if (grows) complain("%ld blocks of memory more than before", fault_live_blocks() - base.blocks);
    now.blocks = fault_live_blocks();
    base = now;
    base.files = 0;
    return true;
}

/* The points of one kind: in a short run a few, spread over all; fewer with other kernels or a sanitizer. */
static void points_of(const struct scenario *s, enum fault_kind kind, long calls, digest expected) {
    const bool first = bench.place == places;
    const long few = (kind == FAULT_MEMORY ? (first ? 16 : 4) : (first ? 40 : 6)) / (XF_TEST_SANITIZED ? 2 : 1);
    const long wanted = all_points ? LONG_MAX : few;
    const long step = calls > wanted ? calls / wanted : 1;
    for (int for_ever = 0; for_ever < 2; ++for_ever) {
        for (long at = 0; at < calls; at += all_points || at < wanted / 2 ? 1 : step) {
            struct fault_plan plan = {kind, at, for_ever != 0, 0};
            if (kind != FAULT_CALLS) {
                (void)point(s, &plan, expected);
                continue;
            }
            /* Short of some, of each call another error. */
            for (plan.way = all_points ? 0 : (int)(at % 3); point(s, &plan, expected) && !progress->seen.no_more;
                 ++plan.way)
                if (!all_points) plan.way += 4;
        }
    }
}

static void run_scenario(const struct scenario *s) {
    digest expected = 0;
    progress->complaints_here = 0;
    long calls[FAULT_KINDS] = {0};
    snprintf(progress->what, sizeof progress->what, "%s on %s, undisturbed", s->name, bench.place->name);
    memset(&progress->seen, 0, sizeof progress->seen);
    for (int i = 0; i < 2 * FAULT_KINDS; ++i) { /* twice, to grow what grows once */
        const struct fault_plan none = {(enum fault_kind)(i % FAULT_KINDS), LONG_MAX, false, 0};
        digest found;
        xf_error err;
        const xf_status status = run_armed(s, &none, &found, &err);
        calls[none.kind] = progress->seen.calls;
        if (status != XF_OK) complain("%s: %.200s", xf_status_name(status), err.message);
        if (i > 0 && found != expected) complain("not the same twice");
        expected = found;
    }
    base = state_now(3);
    const long points = progress->points, failed = progress->failed;
    for (int kind = 0; kind < FAULT_KINDS; ++kind) points_of(s, (enum fault_kind)kind, calls[kind], expected);
    alarm(0);
    ++progress->scenarios;
    printf("%-26s %-9s %6ld allocations, %2ld threads, %3ld system calls: %6ld points, %6ld failed\n", s->name,
           bench.place->name, calls[FAULT_MEMORY], calls[FAULT_THREADS], calls[FAULT_CALLS], progress->points - points,
           progress->failed - failed);
    fflush(stdout);
}

static void work(const struct place *place) {
    progress->point = 0;
    snprintf(progress->what, sizeof progress->what, "the bench on %s", place->name);
    alarm(60);
    if (!bench_open(&bench, place)) {
        progress->absent = progress->finished = true;
        return;
    }
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        /* A search on the emulated GPU takes a tenth of a second, as do the first steps of two ranks. */
        const bool slow = groups[g] == decode_scenarios || groups[g] == rank_scenarios;
        if (!all_points && slow && strcmp(place->device, "cuda") == 0) continue;
        for (const struct scenario *s = groups[g]; s->name != NULL; ++s)
            if ((s->everywhere || place == places) && strncmp(s->name, only, strlen(only)) == 0) run_scenario(s);
    }
    bench_close(&bench);
    progress->finished = true;
}

int main(int argc, char **argv) {
    static char printed[1 << 12]; /* no block of memory that processes hold once something was printed */
    setvbuf(stdout, printed, _IOFBF, sizeof printed);
    all_points = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 2) only = argv[2];
    if (argc > 3) only_place = argv[3];
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    (void)scratch_folder(); /* this process deletes it */
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        if (XF_TEST_SANITIZED && !all_points && p > 0) break; /* the others are other kernels, and slow */
        if (strncmp(places[p].name, only_place, strlen(only_place)) != 0) continue;
        progress->resume_behind = 0;
        progress->absent = progress->finished = false;
        while (!progress->finished) {
            const pid_t child = fork();
            if (child == 0) {
                work(&places[p]);
                fflush(stdout);
                _exit(0);
            }
            int status = 0;
            assert_int_equal(waitpid(child, &status, 0), child);
            if (progress->finished) break;
            complain("the process %s", WIFSIGNALED(status)
                                           ? WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status))
                                           : "left");
            if (progress->point <= progress->resume_behind) return 1; /* not even the bench */
            progress->resume_behind = progress->point;
        }
        remove_hidden();
        if (!progress->absent && (*only == 0 || strcmp(only, "first_use") == 0))
            first_use(&places[p], all_points ? LONG_MAX : 8);
    }
    printf("%ld scenarios, %ld points: %ld calls failed, %ld coped; %ld complaints\n", progress->scenarios,
           progress->points, progress->failed, progress->coped, progress->complaints);
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", CORPUS_FOLDER);
    if (system(command) != 0) return 1;
    return progress->complaints == 0 ? 0 : 1;
}
