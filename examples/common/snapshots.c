/*
 * snapshots.c - the last models of a run and their average; see snapshots.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "snapshots.h"

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "signals.h"
#include "system.h"

enum { NAME_SIZE = 4096 + 32 };

static const char *name_of(const struct snapshots *list, int64_t step, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "%s.avg-%lld", list->model, (long long)step);
    return name;
}

bool snapshot_is_due(const struct snapshots *list, int64_t step) {
    return list->wanted > 1 && list->every > 0 && step % list->every == 0;
}

static void remove_oldest(struct snapshots *list) {
    char name[NAME_SIZE];
    if (!list->reads_only) unlink(name_of(list, list->steps[0], name));
    memmove(list->steps, list->steps + 1, --list->count * sizeof list->steps[0]);
}

xf_status snapshot_save(struct snapshots *list, const xf_model *model, int64_t step, xf_error *err) {
    if (list->count > 0 && list->steps[list->count - 1] == step) return XF_OK;
    char name[NAME_SIZE];
    const xf_sink sink = XF_SINK_PATH(name_of(list, step, name));
    const xf_status status = list->reads_only ? XF_OK : xf_model_save(model, NULL, NULL, &sink, err);
    while (list->count > 0 && list->steps[0] <= step - list->wanted * list->every) remove_oldest(list);
    if (status != XF_OK) return status;
    if (!list->reads_only) forget_previous(name); /* a resumed run writes some snapshots again */
    list->steps[list->count++] = step;
    return XF_OK;
}

void snapshots_find(struct snapshots *list, int64_t step) {
    if (list->wanted <= 1 || list->every <= 0) return;
    const int64_t newest = step - step % list->every;
    char name[NAME_SIZE];
    const int64_t too_old = newest - list->wanted * list->every;
    if (too_old > 0 && !list->reads_only) unlink(name_of(list, too_old, name));
    for (int64_t at = newest - (list->wanted - 1) * list->every; at <= newest; at += list->every)
        if (at > 0 && access(name_of(list, at, name), R_OK) == 0) list->steps[list->count++] = at;
}

xf_status snapshots_average(const struct snapshots *list, xf_context *context, xf_model **out, xf_error *err) {
    static char names[MOST_SNAPSHOTS][NAME_SIZE];
    xf_source sources[MOST_SNAPSHOTS];
    *out = NULL;
    if (list->count < 2) return XF_OK;
    for (size_t i = 0; i < list->count; ++i)
        sources[i] = (xf_source)XF_SOURCE_PATH(name_of(list, list->steps[i], names[i]));
    return xf_model_average(context, sources, list->count, &until_interrupted, out, err);
}

void print_average(const struct snapshots *list) {
    printf("%-12s %zu snapshots, steps %lld to %lld\n", "averaged", list->count, (long long)list->steps[0],
           (long long)list->steps[list->count - 1]);
}

void snapshots_remove(struct snapshots *list) {
    while (list->count > 0) remove_oldest(list);
}
