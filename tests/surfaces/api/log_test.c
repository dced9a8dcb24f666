/*
 * The log of a complete run: context.h lists the messages of INFO, and DEBUG has one for each piece of work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

struct heard {
    char text[1 << 14];
    size_t size;
};

static void listen(void *user, const xf_log_line *line) {
    struct heard *heard = user;
    const int n = snprintf(heard->text + heard->size, sizeof heard->text - heard->size, "%d %s: %s\n", (int)line->level,
                           line->component, line->message);
    assert_true(n > 0 && (size_t)n < sizeof heard->text - heard->size);
    heard->size += (size_t)n;
}

/* Makes, trains, saves, loads and uses everything, on a context that logs up to a level. */
static void live(struct heard *heard, int32_t level) {
    const xf_host host = {.struct_size = sizeof host, .log_user = heard, .log = listen, .log_level = level};
    OWNED_CONFIG *config = small_config("cpu:ref");
    heard->size = 0;
    MAKE(context, context, xf_context_create(config, &host, &context, err));
    OWNED_CORPUS *corpus = small_corpus(context);
    MAKE(tokenizer, tokenizer, xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, err));
    MAKE(batcher, batcher, xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    MAKE(model, model, xf_model_create(context, tokenizer, config, &model, err));
    MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
    ACCEPTED(xf_train_next(trainer, batcher, NULL, NULL, err));
    ACCEPTED(save_trainer(trainer, NULL, scratch_path("log.ckpt"), err));
    MAKE(trainer, resumed, resume_trainer(context, scratch_path("log.ckpt"), NULL, &resumed, err));
    ACCEPTED(save_model(model, NULL, scratch_path("log.model"), err));
    MAKE(model, loaded, load_model(context, scratch_path("log.model"), &loaded, err));
    MAKE(decoder, decoder, xf_decoder_create(loaded, NULL, config, &decoder, err));
    const char *text = "one two";
    MAKE(hypotheses, answers, xf_translate(decoder, &text, NULL, 1, NULL, NULL, &answers, err));
}

TEST(a_life) {
    static const char *const info[] = {"3 context: ",
                                       "3 data: ",
                                       "3 text: trained a tokenizer with ",
                                       "3 file: saved the checkpoint '",
                                       "3 train: ",
                                       "3 file: saved the model '",
                                       "3 model: "};
    static const char *const detail[] = {"4 train: batch: ", "4 train: step 1: loss ",
                                         "4 decode: 1 sentences with sources of up to "};
    static struct heard heard;
    live(&heard, XF_LOG_WARNING);
    assert_int_equal(heard.size, 0);
    live(&heard, XF_LOG_INFO);
    for (size_t i = 0; i < sizeof info / sizeof *info; ++i)
        if (strstr(heard.text, info[i]) == NULL) fail_msg("no '%s' in\n%s", info[i], heard.text);
    assert_null(strstr(heard.text, "\n4 "));
    live(&heard, XF_LOG_DEBUG);
    for (size_t i = 0; i < sizeof detail / sizeof *detail; ++i)
        if (strstr(heard.text, detail[i]) == NULL) fail_msg("no '%s' in\n%s", detail[i], heard.text);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
