/*
 * Shared by the tests of files: those that the library writes, each saved from the world and loaded again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_FAULT_FILES_H
#define XF_TEST_FAULT_FILES_H

#include <dirent.h>

#include "../../support/api.h"
#include "support.h"

enum { MODEL_FILE, CHECKPOINT_FILE, TOKENIZER_FILE, WRITTEN_FILES };
static const char *const written_names[WRITTEN_FILES] = {"model", "checkpoint", "tokenizer"};

static inline xf_status save_file(int kind, const char *path, xf_error *err) {
    switch (kind) {
        case MODEL_FILE:
            return save_model(world.model, NULL, path, err);
        case CHECKPOINT_FILE:
            return save_trainer(world.trainer, world.batcher, path, err);
        default:
            return save_tokenizer(world.tokenizer, path, err);
    }
}

/* Uses of what was loaded, which must work; NULL: none. */
static inline xf_status load_file(int kind, const char *path, void (*use)(const xf_tokenizer *), xf_error *err) {
    OWNED(model) *model = NULL;
    OWNED(trainer) *trainer = NULL;
    OWNED(tokenizer) *tokenizer = NULL;
    const xf_status status = kind == MODEL_FILE        ? load_model(world.context, path, &model, err)
                             : kind == CHECKPOINT_FILE ? resume_trainer(world.context, path, NULL, &trainer, err)
                                                       : load_tokenizer(world.context, path, &tokenizer, err);
    if (status != XF_OK) assert_true(!model && !trainer && !tokenizer);
    if (tokenizer && use) use(tokenizer);
    return status;
}

static inline int entries(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = -2;
    while (readdir(dir) != NULL) ++count;
    closedir(dir);
    return count;
}

#endif
