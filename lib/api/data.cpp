// data.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/data.h"

#include "api/guard.h"

using namespace xf;

namespace {

template <class Open>
xf_status open_corpus(xf_context *context, const xf_config *config, xf_corpus **out, xf_error *err,
                      Open open) noexcept {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(out, "out");
        const OptionsOf options(config);
        CorpusOptions corpus_options;
        corpus_options.max_bytes_per_side = options->i64("data.max_bytes");
        corpus_options.strict = options->boolean("data.strict");
        auto handle = std::make_unique<xf_corpus>();
        handle->context = use->context;
        const Call call = use->context->call();
        const Corpus::Warn warn = [&](const std::string &line) { handle->context->log(XF_LOG_WARNING, "data", line); };
        handle->corpus = open(corpus_options, warn, call);
        *out = handle.release();
    });
}

}  // namespace

extern "C" {

xf_status xf_corpus_open(xf_context *context, const xf_config *config, const char *path, xf_corpus **out,
                         xf_error *err) {
    return open_corpus(context, config, out, err,
                       [&](const CorpusOptions &options, const Corpus::Warn &warn, const Call &call) {
                           check_pointer(path, "path");
                           return Corpus::open_tsv(path, options, warn, call);
                       });
}

xf_status xf_corpus_open_parallel(xf_context *context, const xf_config *config, const char *source_path,
                                  const char *target_path, xf_corpus **out, xf_error *err) {
    return open_corpus(context, config, out, err,
                       [&](const CorpusOptions &options, const Corpus::Warn &warn, const Call &call) {
                           check_pointer(source_path, "source_path");
                           check_pointer(target_path, "target_path");
                           return Corpus::open_pair(source_path, target_path, options, warn, call);
                       });
}

xf_status xf_corpus_from_memory(xf_context *context, const xf_config *config, const char *name, const char *text,
                                size_t length, xf_corpus **out, xf_error *err) {
    return open_corpus(context, config, out, err,
                       [&](const CorpusOptions &options, const Corpus::Warn &warn, const Call &call) {
                           check_pointer(name, "name");
                           XF_CHECK(text != nullptr || length == 0, XF_ERROR_INVALID_ARGUMENT,
                                    "text is NULL with a length of %zu", length);
                           return Corpus::from_memory(name, std::string_view(text, length), options, warn, call);
                       });
}

void xf_corpus_free(xf_corpus *corpus) { free_handle(corpus); }

int64_t xf_corpus_pair_count(const xf_corpus *corpus) { return is_handle(corpus) ? corpus->corpus->size() : 0; }

xf_status xf_corpus_get_stats(const xf_corpus *corpus, xf_corpus_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(corpus, "corpus");
        check_struct(stats, "stats");
        const CorpusStats &s = use->corpus->stats();
        put_struct(stats, xf_corpus_stats{0, s.lines, s.kept, s.no_tab + s.many_tabs, s.empty_side, s.too_long,
                                          s.invalid_utf8, s.nul_byte});
    });
}

xf_status xf_corpus_get_pair(const xf_corpus *corpus, int64_t index, const char **source, size_t *source_length,
                             const char **target, size_t *target_length, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(corpus, "corpus");
        check_pointer(source, "source");
        check_pointer(source_length, "source_length");
        check_pointer(target, "target");
        check_pointer(target_length, "target_length");
        const Corpus &pairs = *use->corpus;
        XF_CHECK(index >= 0 && index < pairs.size(), XF_ERROR_OUT_OF_RANGE, "pair %lld, expected 0 to %lld",
                 static_cast<long long>(index), static_cast<long long>(pairs.size() - 1));
        *source = pairs.source(index).data();
        *source_length = pairs.source(index).size();
        *target = pairs.target(index).data();
        *target_length = pairs.target(index).size();
    });
}

xf_status xf_batcher_create(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config,
                            xf_batcher **out, xf_error *err) {
    return guard(err, [&] {
        const auto pairs = shared(corpus, "corpus");
        const auto words = shared(tokenizer, "tokenizer");
        check_pointer(out, "out");
        const OptionsOf options(config);
        BatcherOptions batcher_options;
        batcher_options.batch_tokens = options->i64("data.batch_tokens");
        batcher_options.shuffle = options->boolean("data.shuffle");
        batcher_options.seed = static_cast<uint64_t>(options->i64("data.seed"));
        const int64_t longest = std::min(options->i64("data.max_tokens"), batcher_options.batch_tokens);
        auto handle = std::make_unique<xf_batcher>();
        handle->context = pairs->context;
        const Call call = pairs->context->call();
        const Encode encode = [&](std::string_view text, std::vector<int32_t> *ids) {
            words->tokenizer->encode(text, ids);
        };
        handle->corpus = std::make_shared<EncodedCorpus>(encode_corpus(*pairs->corpus, encode, longest, call));
        handle->fingerprint = handle->corpus->fingerprint();
        for (const char *key : {"data.batch_tokens", "data.shuffle", "data.seed"})
            handle->order[key] = options->text(key);
        const int64_t skipped = handle->corpus->skipped_too_long + handle->corpus->skipped_empty;
        if (skipped > 0)
            handle->context->log(
                XF_LOG_WARNING, "data",
                format("%lld of %lld pairs are left out: %lld have a side of more than %lld tokens, %lld an empty one",
                       static_cast<long long>(skipped), static_cast<long long>(pairs->corpus->size()),
                       static_cast<long long>(handle->corpus->skipped_too_long), static_cast<long long>(longest),
                       static_cast<long long>(handle->corpus->skipped_empty)));
        handle->batcher = std::make_unique<Batcher>(handle->corpus, batcher_options);
        *out = handle.release();
    });
}

void xf_batcher_free(xf_batcher *batcher) { free_handle(batcher); }

xf_status xf_batcher_next(xf_batcher *batcher, xf_batch *batch, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(batcher, "batcher");
        check_struct(batch, "batch");
        const bool more = use->batcher->next(&use->batch);
        const Batch &b = use->batch;
        put_struct(batch, more ? xf_batch{0, b.size(), b.src_ids.data(), b.src_offsets.data(), b.tgt_ids.data(),
                                          b.tgt_offsets.data(), b.pair_index.data()}
                               : xf_batch{});
        return more ? XF_OK : XF_DONE;
    });
}

xf_status xf_batcher_get_stats(const xf_batcher *batcher, xf_batcher_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(batcher, "batcher");
        check_struct(stats, "stats");
        const EncodedCorpus &corpus = *use->corpus;
        const Batcher::Position position = use->batcher->position();
        put_struct(stats, xf_batcher_stats{0, position.epoch, position.batch, use->batcher->batches_in_epoch(),
                                           corpus.size(), corpus.skipped_too_long, corpus.skipped_empty,
                                           static_cast<int64_t>(corpus.src_ids.size()),
                                           static_cast<int64_t>(corpus.tgt_ids.size())});
    });
}

xf_status xf_batcher_seek(xf_batcher *batcher, int64_t epoch, int64_t batch, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(batcher, "batcher");
        use->batcher->seek({epoch, batch});
    });
}

}  // extern "C"
