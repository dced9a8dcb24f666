/*
 * A short life of a host, for strace.sh to break from outside: trains on from a checkpoint and saves it, loads a model,
 * translates, saves the model.
 *
 *     fault_life FOLDER DEVICE make    makes the files
 *     fault_life FOLDER DEVICE         uses them
 *     fault_life                       does nothing, to record the system calls before main()
 *
 * Prints "fine" or "STATUS: message" and ends with 0 or 3. The output is its last action and is one write.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/api.h"
#include "../../support/small_model.h"
#include "xformer/xformer.h"

static xf_error err;
static char model_path[300], checkpoint_path[300], corpus_path[300];

#define TRY(call)                                        \
    do {                                                 \
        if (call != XF_OK) return (xf_status)err.status; \
    } while (0)

static xf_status settings(xf_config *config, const char *device) {
    static const char *const values[][2] = {
        XF_TEST_SMALL_MODEL,      {"tokenizer.vocab_size", "290"},  {"data.batch_tokens", "40"},
        {"context.threads", "2"}, {"decode.max_extra_tokens", "4"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        TRY(xf_config_set(config, values[i][0], values[i][1], &err));
    TRY(xf_config_set(config, "context.device", device, &err));
    return XF_OK;
}

static xf_status make(xf_context *context, const xf_config *config) {
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    TRY(xf_corpus_open(context, corpus_path, NULL, config, NULL, &corpus, &err));
    TRY(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    TRY(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    TRY(xf_model_create(context, tokenizer, config, &model, &err));
    TRY(xf_trainer_create(model, config, &trainer, &err));
    TRY(xf_train_next(trainer, batcher, NULL, NULL, &err));
    TRY(save_trainer(trainer, batcher, checkpoint_path, &err));
    TRY(save_model(model, config, model_path, &err));
    return XF_OK;
}

static xf_status live(xf_context *context, const xf_config *config) {
    static const char *const texts[] = {"one two three", "four"};
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    TRY(xf_corpus_open(context, corpus_path, NULL, config, NULL, &corpus, &err));
    TRY(resume_trainer(context, checkpoint_path, NULL, &trainer, &err));
    TRY(xf_batcher_create(corpus, xf_model_tokenizer(xf_trainer_model(trainer)), config, NULL, &batcher, &err));
    TRY(xf_batcher_resume(batcher, trainer, NULL, &err));
    TRY(xf_train_next(trainer, batcher, NULL, NULL, &err));
    TRY(save_trainer(trainer, batcher, checkpoint_path, &err));
    TRY(load_model(context, model_path, &model, &err));
    TRY(xf_decoder_create(model, config, &decoder, &err));
    TRY(xf_translate(decoder, texts, NULL, 2, NULL, NULL, &answers, &err));
    TRY(save_model(model, config, model_path, &err));
    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_corpus_free(corpus);
    return XF_OK;
}

static xf_status run(const char *device, int makes) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    TRY(xf_config_create(&config, &err));
    TRY(settings(config, device));
    TRY(xf_context_create(config, NULL, &context, &err));
    TRY((makes ? make : live)(context, config));
    xf_context_free(context);
    xf_config_free(config);
    return XF_OK;
}

int main(int argc, char **argv) {
    if (argc < 3) return 0;
    snprintf(model_path, sizeof model_path, "%s/model", argv[1]);
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s/checkpoint", argv[1]);
    snprintf(corpus_path, sizeof corpus_path, "%s/corpus", argv[1]);
    const xf_status status = run(argv[2], argc > 3);
    if (status == XF_OK) return puts("fine"), 0;
    if (err.message[0] == 0) return 4;
    printf("%s: %.247s\n", xf_status_name(status), err.message);
    return 3;
}
