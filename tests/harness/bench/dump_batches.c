/*
 * dump_batches.c - writes what a training run sees, so that another program can make the very same run.
 *
 *     dump_batches train=FILE.tsv dev=FILE.tsv model=FILE batches=FILE dev_batches=FILE [count=1000]
 *                  [tokenizer=FILE] [save_tokenizer=FILE] [preset=base] [key=value ...]
 *
 * Learns a tokenizer from the training text (or loads one), makes a model with fresh parameters and writes it, then
 * writes the first `count` batches in the order of training and all dev batches in the order of the file (format:
 * common.h). train_curve and compare_training.py read all three.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "../../support/api.h"
#include "common.h"

static void dump(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config, int64_t limit,
                 const char *path) {
    OWNED(batcher) *batcher = NULL;
    xf_batch batch = XF_BATCH_INIT;
    CHECK(xf_batcher_create, corpus, tokenizer, config, NULL, &batcher);
    FILE *file = fopen(path, "wb");
    if (file == NULL) die("cannot write %s", path);
    int32_t count = 0;
    fwrite("XFB1", 1, 4, file);
    fwrite(&count, sizeof count, 1, file);
    while (limit == 0 || count < limit) {
        xf_error err;
        const xf_status status = xf_batcher_next(batcher, NULL, &batch, &err);
        check(status, &err, "xf_batcher_next");
        if (status == XF_DONE && limit == 0) break;
        if (status == XF_DONE) continue; /* the next call begins the next epoch */
        write_batch(file, &batch);
        ++count;
    }
    fseek(file, 4, SEEK_SET);
    fwrite(&count, sizeof count, 1, file);
    if (fclose(file) != 0) die("writing %s failed", path);
    xf_batcher_stats stats = {.struct_size = sizeof stats};
    CHECK(xf_batcher_get_stats, batcher, &stats);
    printf("%s: %d batches; an epoch has %lld batches, %lld pairs, %lld + %lld tokens\n", path, count,
           (long long)stats.batches, (long long)stats.pairs, (long long)stats.src_tokens, (long long)stats.tgt_tokens);
}

int main(int argc, char **argv) {
    const args a = {argc - 1, argv + 1};
    OWNED(config) *config = config_from(a);
    OWNED(context) *context = NULL;
    OWNED(corpus) *train = NULL;
    OWNED(corpus) *dev = NULL;
    OWNED(tokenizer) *tokenizer = NULL;
    OWNED(model) *model = NULL;
    CHECK(xf_context_create, config, NULL, &context);
    CHECK(xf_corpus_open, context, arg_text(a, "train", NULL), NULL, config, NULL, &train);
    CHECK(xf_corpus_open, context, arg_text(a, "dev", NULL), NULL, config, NULL, &dev);
    const char *path = arg_text(a, "tokenizer", "");
    if (*path != '\0') {
        CHECK(load_tokenizer, context, path, &tokenizer);
    } else {
        CHECK(xf_tokenizer_train, context, train, config, NULL, &tokenizer);
    }
    if (*arg_text(a, "save_tokenizer", "") != '\0')
        CHECK(save_tokenizer, tokenizer, arg_text(a, "save_tokenizer", NULL));
    printf("vocabulary: %d\n", vocab_size_of(tokenizer));
    CHECK(xf_model_create, context, tokenizer, config, &model);
    CHECK(save_model, model, NULL, arg_text(a, "model", NULL));
    const int64_t count = arg_number(a, "count", 1000);
    if (count == 0) die("count=0: expected at least 1");
    dump(train, tokenizer, config, count, arg_text(a, "batches", NULL));
    CHECK(xf_config_set, config, "data.shuffle", "false");
    dump(dev, tokenizer, config, 0, arg_text(a, "dev_batches", NULL));
    return EXIT_SUCCESS;
}
