// data.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/data.h"

#include <optional>

#include "api/guard.h"
#include "data/corpus_folder.h"
#include "decode/encoding.h"
#include "train/trainer.h"

using namespace xf;

namespace {

std::shared_ptr<Heap> heap_of(const std::shared_ptr<Context> &context) { return {context, &context->heap()}; }

Corpus::Warn warnings_to(const Context &context) {
    return [&context](const std::string &line) { context.log(XF_LOG_WARNING, "data", "%s", line.c_str()); };
}

xf_corpus *make_handle(const std::shared_ptr<Context> &context, std::shared_ptr<const Corpus> corpus) {
    auto handle = std::make_unique<xf_corpus>();
    handle->context = context;
    handle->corpus = std::move(corpus);
    return handle.release();
}

template <class Open>
xf_status open_corpus(xf_context *context, const xf_config *config, const xf_call *params, xf_corpus **out,
                      xf_error *err, Open open) noexcept {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(out, "out");
        CorpusOptions options = CorpusOptions::from(*OptionsOf(config));
        options.heap = heap_of(use->context);
        const Call call = begin_call(*use->context, params);
        auto corpus = open(options, warnings_to(*use->context), call);
        const CorpusStats &stats = corpus->stats();
        use->context->log(XF_LOG_INFO, "data", "a corpus of %" PRId64 " pairs, from %" PRId64 " lines", stats.kept,
                          stats.lines);
        *out = make_handle(use->context, std::move(corpus));
    });
}

}  // namespace

extern "C" {

xf_status xf_corpus_open(xf_context *context, const char *source_path, const char *target_path, const xf_config *config,
                         const xf_call *call, xf_corpus **out, xf_error *err) {
    return open_corpus(context, config, call, out, err,
                       [&](const auto &options, const auto &warn, const Call &running) {
                           check_pointer(source_path, "source_path");
                           running.check();
                           if (target_path != nullptr)
                               return Corpus::open_pair(source_path, target_path, options, warn, running);
                           if (CorpusFolder::exists(source_path))
                               return Corpus::from_folder(std::make_shared<CorpusFolder>(source_path));
                           return Corpus::open_tsv(source_path, options, warn, running);
                       });
}

xf_status xf_corpus_encode(xf_context *context, const char *source_path, const char *target_path,
                           const xf_tokenizer *tokenizer, const xf_config *config, const xf_call *call,
                           const char *folder, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(source_path, "source_path");
        check_pointer(folder, "folder");
        const auto own = shared(tokenizer, "tokenizer");
        const OptionsOf options(config);
        BatcherOptions::from(*options).check_encoded();
        CorpusOptions corpus_options = CorpusOptions::from(*options);
        corpus_options.heap = heap_of(use->context);
        const Encoders encoders = batch_encoders(own->tokenizer, own->model.get(), *options, &use->context->pool());
        const TextFiles texts{source_path, target_path != nullptr ? target_path : ""};
        const CorpusStats stats =
            CorpusFolder::encode(folder, texts, corpus_options, encoders, own->tokenizer->serialize(),
                                 warnings_to(*use->context), begin_call(*use->context, call));
        use->context->log(XF_LOG_INFO, "data", "encoded %" PRId64 " pairs, from %" PRId64 " lines", stats.kept,
                          stats.lines);
    });
}

xf_status xf_corpus_from_pairs(xf_context *context, const char *const *sources, const size_t *source_lengths,
                               const char *const *targets, const size_t *target_lengths, size_t count,
                               const xf_config *config, const xf_call *call, xf_corpus **out, xf_error *err) {
    return open_corpus(context, config, call, out, err, [&](const auto &...rest) {
        XF_CHECK(count == 0 || (sources != nullptr && targets != nullptr), XF_ERROR_INVALID_ARGUMENT,
                 "sources or targets is NULL with a count of %zu", count);
        check_size(count, sizeof *sources, "count");
        return Corpus::from_pairs({sources, source_lengths}, {targets, target_lengths}, count, rest...);
    });
}

xf_status xf_corpus_from_ids(xf_context *context, const xf_batch *pairs, const xf_call *call, xf_corpus **out,
                             xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        begin_call(*use->context, call).check();
        const xf_batch batch = get_batch(pairs);
        check_pointer(out, "out");
        *out = make_handle(use->context, Corpus::from_ids(batch, heap_of(use->context)));
    });
}

xf_status xf_corpus_subset(const xf_corpus *corpus, const int64_t *indices, size_t count, xf_corpus **out,
                           xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(corpus, "corpus");
        check_pointer(indices, "indices");
        XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
        check_pointer(out, "out");
        *out = make_handle(use->context, use->corpus->subset(indices, count));
    });
}

xf_status xf_corpus_split(const xf_corpus *corpus, int64_t held_out_count, int64_t seed, xf_corpus **rest,
                          xf_corpus **held_out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(corpus, "corpus");
        check_pointer(rest, "rest");
        check_pointer(held_out, "held_out");
        const Corpus::Parts parts = use->corpus->split(held_out_count, seed);
        std::unique_ptr<xf_corpus> first(make_handle(use->context, parts.rest));
        *held_out = make_handle(use->context, parts.held_out);
        *rest = first.release();
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
        pairs.check_text();
        pairs.check_index(index);
        *source = pairs.source(index).data();
        *source_length = pairs.source(index).size();
        *target = pairs.target(index).data();
        *target_length = pairs.target(index).size();
    });
}

xf_status xf_batcher_create(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config,
                            const xf_call *call, xf_batcher **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(corpus, "corpus");
        check_pointer(out, "out");
        const OptionsOf options(config);
        const auto batcher_options = BatcherOptions::from(*options);
        std::optional<Use<const xf_tokenizer>> own;
        if (tokenizer != nullptr) own.emplace(tokenizer, "tokenizer", false);
        const Encoders encoders = batch_encoders(own ? (*own)->tokenizer : nullptr, own ? (*own)->model.get() : nullptr,
                                                 *options, &use->context->pool());
        const Call own_call = begin_call(*use->context, call);
        auto handle = std::make_unique<xf_batcher>();
        handle->context = use->context;
        handle->batch = std::make_shared<Batch>();
        handle->batcher = Batcher::create(use->corpus, encoders, batcher_options, heap_of(use->context),
                                          warnings_to(*use->context), own_call);
        *out = handle.release();
    });
}

void xf_batcher_free(xf_batcher *batcher) { free_handle(batcher); }

xf_status xf_batcher_next(xf_batcher *batcher, const xf_call *call, xf_batch *batch, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(batcher, "batcher");
        check_struct(batch, "batch");
        const bool more = use->batcher->next(use->batch.get(), begin_call(*use->context, call));
        put_struct(batch, more ? use->batch->view() : xf_batch{});
        return more ? XF_OK : XF_DONE;
    });
}

xf_status xf_batcher_get_stats(const xf_batcher *batcher, xf_batcher_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(batcher, "batcher");
        check_struct(stats, "stats");
        const Batcher &batches = *use->batcher;
        const EncodedCorpus &corpus = batches.corpus();
        const Batcher::Position position = batches.position();
        put_struct(stats, xf_batcher_stats{0, position.epoch, position.batch_in_epoch(), batches.batches_in_epoch(),
                                           batches.pairs(), corpus.skipped_too_long, corpus.skipped_empty,
                                           batches.src_tokens(), batches.tgt_tokens()});
    });
}

xf_status xf_batcher_seek(xf_batcher *batcher, int64_t epoch, int64_t batch, const xf_call *call, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(batcher, "batcher");
        use->batcher->seek_in_epoch(epoch, batch, begin_call(*use->context, call));
    });
}

xf_status xf_batcher_resume(xf_batcher *batcher, const xf_trainer *trainer, const xf_call *call, xf_error *err) {
    return guard(err, [&] {
        const auto data = exclusive(batcher, "batcher");
        const auto use = shared(trainer, "trainer");
        use->trainer->seek(data->batcher.get(), begin_call(*data->context, call));
    });
}

}  // extern "C"
