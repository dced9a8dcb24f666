/*
 * attention.c - collects attention weights and writes them as a page; see attention.h and pages/attention.js.
 *
 * Weights are rounded to thousandths, which is precise enough for a drawing and needs a fifth of the size of exact
 * numbers. 30 tokens in 6 layers of 8 heads have 130,000 weights, which are less than half a megabyte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attention.h"

#include <stdlib.h>
#include <string.h>

#include <xformer/experimental.h>

#include "files.h"

/* A page with this many weights has about 12 MB, which browsers still open quickly. */
enum { MOST_WEIGHTS = 4000000 };

/* A pair as an xf_batch. Each side includes its end token. */
struct pair {
    int32_t *ids[2];
    int64_t offsets[2][2];
    xf_batch batch;
};

static int64_t option_of(const xf_model *model, const char *key) {
    int64_t value = 0;
    get_integer(xf_model_config(model), key, &value, NULL);
    return value;
}

static xf_tokenizer_info target_tokenizer(const xf_model *model) {
    xf_tokenizer_info info = XF_TOKENIZER_INFO_INIT;
    xf_tokenizer_get_info(xf_tokenizer_side(xf_model_tokenizer(model), XF_SIDE_TARGET), &info, NULL);
    return info;
}

/* The start and end tokens of the model, or those of its tokenizer if the model does not set them. */
static int32_t start_token(const xf_model *model) {
    const int64_t token = option_of(model, "model.start_token");
    return token >= 0 ? (int32_t)token : target_tokenizer(model).start_token;
}

static int32_t end_token(const xf_model *model) {
    const int64_t token = option_of(model, "model.end_token");
    return token >= 0 ? (int32_t)token : target_tokenizer(model).end_token;
}

static int64_t tokens_of(const struct pair *pair, enum side side) { return pair->offsets[side][1]; }

static bool make_pair(struct pair *pair, const xf_model *model, const xf_config *config, const char *source,
                      size_t length, const xf_hypothesis *answer, xf_error *err) {
    size_t count = 0;
    const xf_status status = xf_model_encode(model, XF_SIDE_SOURCE, source, length, config, NULL, 0, &count, err);
    if (status != XF_OK && status != XF_ERROR_BUFFER_TOO_SMALL) return false;
    const size_t counts[2] = {count, answer->id_count + 1};
    for (int side = 0; side < 2; ++side) {
        pair->ids[side] = allocate(counts[side] * sizeof(int32_t));
        pair->offsets[side][1] = (int64_t)counts[side];
    }
    if (answer->id_count > 0) memcpy(pair->ids[SIDE_TARGET], answer->ids, answer->id_count * sizeof(int32_t));
    pair->ids[SIDE_TARGET][answer->id_count] = end_token(model);
    pair->batch = (xf_batch){.struct_size = sizeof pair->batch,
                             .sentences = 1,
                             .src_ids = pair->ids[SIDE_SOURCE],
                             .src_offsets = pair->offsets[SIDE_SOURCE],
                             .tgt_ids = pair->ids[SIDE_TARGET],
                             .tgt_offsets = pair->offsets[SIDE_TARGET]};
    return xf_model_encode(model, XF_SIDE_SOURCE, source, length, config, pair->ids[SIDE_SOURCE], count, &count, err) ==
           XF_OK;
}

static void free_pair(struct pair *pair) {
    free(pair->ids[0]);
    free(pair->ids[1]);
}

/* Writes the pieces of one side as a JSON array. */
static bool put_pieces(struct text *json, const xf_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                       xf_error *err) {
    text_add(json, "[", 1);
    for (int64_t i = 0; i < count; ++i) {
        char room[256], *piece = room;
        size_t length = 0;
        xf_status status = xf_tokenizer_get_piece(tokenizer, ids[i], room, sizeof room, &length, err);
        if (status == XF_ERROR_BUFFER_TOO_SMALL) {
            piece = allocate(length + 1);
            status = xf_tokenizer_get_piece(tokenizer, ids[i], piece, length + 1, &length, err);
        }
        if (status == XF_OK) {
            if (i > 0) text_add(json, ",", 1);
            text_json(json, piece, length);
        }
        if (piece != room) free(piece);
        if (status != XF_OK) return false;
    }
    text_add(json, "]", 1);
    return true;
}

/* One layer's weights: [head][query][key]. */
struct layer {
    const float *weights;
    int64_t heads, queries, keys;
    bool looks_back; /* a query attends only to keys up to its own position; the others, all 0, are left out */
};

static void put_layer(struct text *json, const struct layer *layer) {
    const float *row = layer->weights;
    for (int64_t head = 0; head < layer->heads; ++head) {
        text_print(json, head > 0 ? "],\n[" : "[[");
        for (int64_t query = 0; query < layer->queries; ++query, row += layer->keys) {
            const int64_t seen = layer->looks_back ? query + 1 : layer->keys;
            text_print(json, query > 0 ? ",[" : "[");
            for (int64_t key = 0; key < seen; ++key)
                text_print(json, "%s%d", key > 0 ? "," : "", (int)(1000 * row[key] + 0.5F));
            text_print(json, "]");
        }
    }
    text_print(json, "]]");
}

/* Writes ",name:" and all layers of one kind of attention. */
static bool put_kind(struct text *json, xf_decoder *decoder, const struct pair *pair, int32_t kind, int64_t layers,
                     xf_error *err) {
    static const char *const names[] = {"encoder", "decoder", "cross"};
    struct layer layer = {.queries = tokens_of(pair, kind == XF_ATTENTION_ENCODER ? SIDE_SOURCE : SIDE_TARGET),
                          .keys = tokens_of(pair, kind == XF_ATTENTION_DECODER ? SIDE_TARGET : SIDE_SOURCE),
                          .looks_back = kind == XF_ATTENTION_DECODER};
    size_t count = 0;
    if (xf_attention_weights(decoder, &pair->batch, kind, 0, NULL, 0, &count, err) != XF_ERROR_BUFFER_TOO_SMALL)
        return false;
    float *weights = allocate(count * sizeof *weights); /* the same count for every layer of a kind */
    layer.weights = weights;
    layer.heads = (int64_t)count / (layer.queries * layer.keys);
    bool good = true;
    for (int64_t at = 0; at < layers && good; ++at) {
        good = xf_attention_weights(decoder, &pair->batch, kind, (int32_t)at, weights, count, &count, err) == XF_OK;
        if (!good) break;
        text_print(json, at > 0 ? "," : ",\"%s\":[", names[kind - XF_ATTENTION_ENCODER]);
        put_layer(json, &layer);
    }
    free(weights);
    text_print(json, "]");
    return good;
}

static bool put_sentence(struct text *json, xf_decoder *decoder, const xf_model *model, const struct pair *pair,
                         const char *source, size_t length, const xf_hypothesis *answer, xf_error *err) {
    const xf_tokenizer *tokenizer = xf_model_tokenizer(model);
    text_print(json, "{\"text\":");
    text_json(json, source, length);
    text_print(json, ",\"answer\":");
    text_json(json, answer->text, answer->text_length);
    text_print(json, ",\"source\":");
    if (!put_pieces(json, xf_tokenizer_side(tokenizer, XF_SIDE_SOURCE), pair->ids[SIDE_SOURCE],
                    tokens_of(pair, SIDE_SOURCE), err))
        return false;
    text_print(json, ",\"target\":");
    if (!put_pieces(json, xf_tokenizer_side(tokenizer, XF_SIDE_TARGET), pair->ids[SIDE_TARGET],
                    tokens_of(pair, SIDE_TARGET), err))
        return false;
    const int64_t encoder = option_of(model, "model.encoder_layers"),
                  decoders = option_of(model, "model.decoder_layers");
    if (!put_kind(json, decoder, pair, XF_ATTENTION_ENCODER, encoder, err) ||
        !put_kind(json, decoder, pair, XF_ATTENTION_DECODER, decoders, err) ||
        !put_kind(json, decoder, pair, XF_ATTENTION_CROSS, decoders, err))
        return false;
    text_print(json, "}");
    return true;
}

/* Returns the number of weights of a pair, in all layers and heads. */
static int64_t weights_of(const xf_model *model, int64_t source, int64_t target) {
    return option_of(model, "model.heads") * (option_of(model, "model.encoder_layers") * source * source +
                                              option_of(model, "model.decoder_layers") * target * (target + source));
}

/* Returns whether a pair fits into the page. If not, prints the reason, except for an empty source. */
static bool fits(const struct attention *page, const xf_model *model, const struct pair *pair, long long number) {
    const int64_t source = tokens_of(pair, SIDE_SOURCE), target = tokens_of(pair, SIDE_TARGET);
    const int64_t weights = page->weights + weights_of(model, source, target);
    if (source <= 1) return false;                       /* an empty source */
    if (target > option_of(model, "model.max_length")) { /* truncated there, plus the end token */
        complain("line %lld is not in %s: its translation has %lld tokens; the maximum is model.max_length, %lld",
                 number, page->path, (long long)target, (long long)option_of(model, "model.max_length"));
        return false;
    }
    if (weights <= MOST_WEIGHTS) return true;
    complain("line %lld is not in %s: it would raise the number of weights to %lld; the maximum is %d", number,
             page->path, (long long)weights, (int)MOST_WEIGHTS);
    return false;
}

/* Adds a pair to the page. */
static bool draw(struct attention *page, xf_decoder *decoder, const xf_model *model, const struct pair *pair,
                 const char *source, size_t length, const xf_hypothesis *answer, xf_error *err) {
    const size_t before = page->json.length;
    if (page->sentences > 0) text_print(&page->json, ",\n");
    if (!put_sentence(&page->json, decoder, model, pair, source, length, answer, err)) {
        page->json.length = before;
        return false;
    }
    page->sentences++;
    page->weights += weights_of(model, tokens_of(pair, SIDE_SOURCE), tokens_of(pair, SIDE_TARGET));
    return page->changed = true;
}

int attention_add(struct attention *page, xf_decoder *decoder, const xf_model *model, const xf_config *config,
                  const char *source, size_t length, const xf_hypothesis *answer, long long number) {
    if (page->path == NULL || page->sentences == page->limit) return -1;
    struct pair pair = {0};
    xf_error err;
    bool good = make_pair(&pair, model, config, source, length, answer, &err);
    if (good && fits(page, model, &pair, number))
        good = draw(page, decoder, model, &pair, source, length, answer, &err);
    free_pair(&pair);
    return good ? -1 : fail(&err);
}

int attention_write(struct attention *page, const xf_model *model, const char *model_path) {
    if (!page->changed) return -1;
    const char *name = base_name(model_path);
    const xf_tokenizer *tokenizer = xf_tokenizer_side(xf_model_tokenizer(model), XF_SIDE_TARGET);
    const int32_t start = start_token(model);
    struct text json = {0};
    xf_error err;
    text_print(&json, "{\"model\":");
    text_json(&json, name, strlen(name));
    text_print(&json, ",\"heads\":%lld,\"start\":", (long long)option_of(model, "model.heads"));
    int status = put_pieces(&json, tokenizer, &start, 1, &err) ? -1 : fail(&err);
    text_print(&json, ",\"sentences\":[\n");
    text_add(&json, page->json.bytes, page->json.length);
    text_print(&json, "\n]}");
    if (status < 0) status = write_page(page->path, &attention_page, &json);
    page->changed = false;
    text_free(&json);
    return status;
}
