/*
 * train_ranks.c - `translate train` as one of several processes (ranks) that train one model, started by mpirun or
 * srun.
 *
 * Every rank runs the same program: it reads the same files and makes the same evaluations, in which each computes a
 * part. Only rank 0 prints and writes. A rank may have to stop because of its clock, a signal, or an error. At fixed
 * points, the ranks exchange their statuses and stop together, so that no rank waits for one that has left. At the
 * start, they compare their flags: different ones would end in a wait or in a result that no single process computes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xformer/experimental.h>

#include "system.h"
#include "train.h"

bool is_writer(const struct run *run) { return run->rank == 0; }

bool find_ranks(struct run *run) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    xf_error err;
    if (xf_context_get_info(run->context, &info, &err) != XF_OK) return fail(&err), false;
    run->rank = info.rank;
    run->ranks = info.rank_count;
    if (run->ranks == 1) return true;
    run->statuses = allocate((size_t)run->ranks * sizeof *run->statuses);
    set_rank(run->rank);
    run->terminal = false; /* mpirun gives each rank a terminal */
    if (is_writer(run)) return true;
    run->snapshots.reads_only = true;
    run->flags.report = NULL;
    if (freopen(NULL_DEVICE, "w", stdout) != NULL) return true;
    complain("cannot open %s", NULL_DEVICE);
    return false;
}

void print_ranks(const struct run *run) {
    const char *shards = "";
    if (run->ranks == 1) return;
    xf_config_get(xf_trainer_config(run->trainer), "train.shards", &shards, NULL);
    printf("%-12s %d, %s shards per step\n", "ranks", run->ranks, shards);
}

/* Returns the first rank whose number differs from that of rank 0, or 0. */
static int find_odd(const struct run *run) {
    for (int r = 1; r < run->ranks; ++r)
        if (run->statuses[r] != run->statuses[0]) return r;
    return 0;
}

/* Exchanges a number with all ranks, even after a signal. Stores the numbers in run->statuses. */
static xf_status exchange(struct run *run, int64_t number, xf_error *err) {
    return xf_context_all_gather(run->context, number, NULL, run->statuses, err);
}

xf_status find_same(struct run *run, int64_t number, bool *same, xf_error *err) {
    *same = false;
    if (run->ranks == 1) return XF_OK;
    const xf_status status = exchange(run, number, err);
    *same = status == XF_OK && find_odd(run) == 0;
    return status;
}

/* Sends the bytes of each rank to all, eight at a time. all: [ranks][*each], zeroed by this function; free it. */
static xf_status share_bytes(struct run *run, const char *own, size_t size, char **all, size_t *each, xf_error *err) {
    const size_t ranks = (size_t)run->ranks;
    *all = NULL;
    xf_status status = exchange(run, (int64_t)size, err);
    if (status != XF_OK) return status;
    *each = 0;
    for (size_t r = 0; r < ranks; ++r)
        if ((size_t)run->statuses[r] > *each) *each = (size_t)run->statuses[r];
    *each = (*each + 8) / 8 * 8; /* ends with 0 */
    char *bytes = allocate(ranks * *each);
    for (size_t at = 0; at < *each && status == XF_OK; at += 8) {
        int64_t number = 0;
        if (at < size) memcpy(&number, own + at, size - at < 8 ? size - at : 8);
        status = exchange(run, number, err);
        for (size_t r = 0; r < ranks && status == XF_OK; ++r) memcpy(bytes + r * *each + at, &run->statuses[r], 8);
    }
    if (status == XF_OK)
        *all = bytes;
    else
        free(bytes);
    return status;
}

xf_status share_sentences(struct run *run, struct sentences *list, xf_error *err) {
    /* Each text follows its length plus one; a zero, with which share_bytes() fills, ends the list. A text may contain
     * any character: an untrained model also generates line ends. */
    uint64_t length;
    size_t size = 0, each = 0, used = 0;
    for (size_t i = 0; i < list->count; ++i) size += sizeof length + list->lengths[i];
    char *own = allocate(size + 1), *all = NULL;
    for (size_t i = 0; i < list->count; ++i) {
        length = list->lengths[i] + 1;
        memcpy(own + used, &length, sizeof length);
        memcpy(own + used + sizeof length, list->texts[i], list->lengths[i]);
        used += sizeof length + list->lengths[i];
    }
    const xf_status status = share_bytes(run, own, size, &all, &each, err);
    free(own);
    if (status != XF_OK) return status;
    sentences_clear(list);
    for (int r = 0; r < run->ranks; ++r) {
        const char *text = all + (size_t)r * each, *const end = text + each;
        while ((size_t)(end - text) >= sizeof length) {
            memcpy(&length, text, sizeof length);
            text += sizeof length;
            if (length == 0 || length - 1 > (size_t)(end - text)) break;
            sentences_add(list, text, (size_t)length - 1);
            text += length - 1;
        }
    }
    free(all);
    return XF_OK;
}

/* Sends a text from one rank to all, a number at a time: for errors. Every rank makes this call. */
static xf_status share_text(struct run *run, int from, const char *own, char *text, size_t size, xf_error *err) {
    const bool sends = run->rank == from;
    xf_status status = exchange(run, sends ? (int64_t)strlen(own) : 0, err);
    if (status != XF_OK) return status;
    const int64_t length = run->statuses[from];
    *text = '\0';
    for (int64_t at = 0; at < length && at + 1 < (int64_t)size; at += (int64_t)sizeof at) {
        char word[sizeof at + 1] = "";
        int64_t number = 0;
        if (sends) memcpy(&number, own + at, strnlen(own + at, sizeof number));
        status = exchange(run, number, err);
        if (status != XF_OK) return status;
        memcpy(word, &run->statuses[from], sizeof at);
        snprintf(text + at, size - (size_t)at, "%s", word);
    }
    size_t end = strlen(text);
    if ((int64_t)end < length) { /* cut: not within a character */
        while (end > 0 && ((unsigned char)text[end - 1] & 0xC0) == 0x80) --end;
        if (end > 0 && (unsigned char)text[end - 1] >= 0x80) --end;
        text[end] = '\0';
    }
    return XF_OK;
}

xf_status agree(struct run *run, xf_status status, xf_error *err) {
    if (run->ranks == 1) return status;
    xf_error lost;
    if (exchange(run, status, &lost) != XF_OK) {
        if (status >= XF_OK) *err = lost;
        return status >= XF_OK ? lost.status : status;
    }
    int failed = -1, first = -1; /* first: its error is not that of another rank */
    for (int r = run->ranks; r-- > 0;) {
        if (run->statuses[r] == XF_ERROR_CANCELLED) return XF_ERROR_CANCELLED;
        if (run->statuses[r] < XF_OK) failed = r;
        if (run->statuses[r] < XF_OK && run->statuses[r] != XF_ERROR_PEER) first = r;
        if (run->statuses[r] == XF_DONE && status == XF_OK) status = XF_DONE;
    }
    if (failed < 0) return status;
    if (first < 0) first = failed;
    char reason[XF_ERROR_MESSAGE_SIZE - 24];
    if (share_text(run, first, status < XF_OK ? err->message : "", reason, sizeof reason, &lost) != XF_OK)
        snprintf(reason, sizeof reason, "failed");
    if (status < XF_OK) return status;
    err->status = XF_ERROR_PEER;
    err->native_code = 0;
    snprintf(err->message, sizeof err->message, "rank %d: %s", first, reason);
    return XF_ERROR_PEER;
}

/* Writes the name and the value of a flag or an option. Returns false if ranks may have different values. */
static bool flag_text(const struct run *run, size_t index, char name[64], char value[MAX_PATH_LENGTH]) {
    *name = *value = '\0';
    if (index >= run->flag_count) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        const char *text = NULL;
        if (xf_option_get(index - run->flag_count, &info, NULL) != XF_OK) return false;
        if (strncmp(info.key, "context.", 8) == 0 || xf_config_get(run->saving, info.key, &text, NULL) != XF_OK)
            return false;
        snprintf(name, 64, "%s", info.key);
        snprintf(value, MAX_PATH_LENGTH, "%s", text);
        return true;
    }
    const struct flag *flag = &run->known_flags[index];
    if (flag->kind == FLAG_OPTION || strcmp(flag->name, "quiet") == 0 || strcmp(flag->name, "report") == 0)
        return false;
    snprintf(name, 64, "%s", flag->name);
    if (flag->kind == FLAG_TEXT) {
        const char *text = *(const char *const *)flag->value;
        snprintf(value, MAX_PATH_LENGTH, "%s", text != NULL ? text : "not set");
    } else if (flag->kind == FLAG_COUNT) {
        snprintf(value, MAX_PATH_LENGTH, "%lld", (long long)*(const int64_t *)flag->value);
    } else if (flag->kind == FLAG_NUMBER) {
        snprintf(value, MAX_PATH_LENGTH, "%.17g", *(const double *)flag->value);
    } else {
        snprintf(value, MAX_PATH_LENGTH, "%s", *(const bool *)flag->value ? "set" : "not set");
    }
    return true;
}

/* FNV-1a */
static uint64_t hash_text(uint64_t hash, const char *text) {
    do hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    while (*text++ != '\0');
    return hash;
}

static uint64_t hash_flag(const struct run *run, uint64_t hash, size_t index) {
    char name[64], value[MAX_PATH_LENGTH];
    return flag_text(run, index, name, value) ? hash_text(hash_text(hash, name), value) : hash;
}

/* Prints a flag that differs. */
static xf_status report_flag(struct run *run, size_t index, int odd, xf_error *err) {
    static char own[MAX_PATH_LENGTH], first[MAX_PATH_LENGTH], other[MAX_PATH_LENGTH];
    char name[64];
    flag_text(run, index, name, own);
    xf_status status = share_text(run, 0, own, first, sizeof first, err);
    if (status == XF_OK) status = share_text(run, odd, own, other, sizeof other, err);
    if (status == XF_OK && is_writer(run))
        complain("--%s is %s on rank 0 and %s on rank %d, expected the same on all ranks", name, first, other, odd);
    return status;
}

int compare_flags(struct run *run) {
    const size_t count = run->flag_count + xf_option_count();
    uint64_t all = 0xCBF29CE484222325u;
    xf_error err = {.status = XF_OK};
    if (run->ranks == 1) return -1;
    for (size_t i = 0; i < count; ++i) all = hash_flag(run, all, i);
    xf_status status = exchange(run, (int64_t)all, &err);
    if (status == XF_OK && find_odd(run) == 0) return -1;
    if (status == XF_OK) status = exchange(run, (int64_t)count, &err);
    if (status == XF_OK && find_odd(run) != 0) {
        if (is_writer(run)) complain("rank %d runs another version of translate than rank 0", find_odd(run));
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < count && status == XF_OK; ++i) {
        status = exchange(run, (int64_t)hash_flag(run, 0, i), &err);
        if (status != XF_OK || find_odd(run) == 0) continue;
        status = report_flag(run, i, find_odd(run), &err);
        if (status == XF_OK) return EXIT_USAGE;
    }
    return fail(&err);
}

int agree_on_exit(struct run *run, int status) {
    xf_error err;
    if (run->ranks == 1) return status;
    if (exchange(run, status, &err) != XF_OK) return status < 0 ? fail(&err) : status;
    for (int r = 0; r < run->ranks && status < 0; ++r)
        status = (int)run->statuses[r]; /* that rank has printed the reason */
    return status;
}
