// text.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/text.h"

#include "api/io.h"
#include "api/model_handle.h"
#include "data/corpus.h"
#include "text/sentences/splitter.h"
#include "text/words/tokenizer.h"

using namespace xf;

namespace {

constexpr uint64_t kMaxTokenizerFile = uint64_t{1} << 28;

// The length of a JSON header of eight bytes, and the header: no tokenizer's file begins so.
bool begins_as_model(std::string_view bytes) {
    uint64_t header = 0;
    if (bytes.size() <= sizeof header || bytes[sizeof header] != '{') return false;
    for (size_t i = sizeof header; i-- > 0;) header = header << 8 | static_cast<unsigned char>(bytes[i]);
    return header <= bytes.size() - sizeof header;
}

// Both sides of each pair.
LineSource lines_of(const Corpus &corpus) {
    return [&corpus, next = int64_t{0}](std::string_view *line) mutable {
        if (next >= 2 * corpus.size()) return false;
        *line = next % 2 == 0 ? corpus.source(next / 2) : corpus.target(next / 2);
        ++next;
        return true;
    };
}

// The tokenizer of a handle, which must not be a pair.
const Tokenizer &single(const xf_tokenizer &handle) {
    XF_CHECK(handle.source == nullptr, XF_ERROR_STATE,
             "the tokenizer is a pair, one for sources and one for targets; select one with xf_tokenizer_side()");
    return *handle.tokenizer;
}

}  // namespace

extern "C" {

xf_status xf_tokenizer_train(xf_context *context, const xf_corpus *corpus, const xf_config *config, const xf_call *call,
                             xf_tokenizer **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const auto texts = shared(corpus, "corpus");
        check_pointer(out, "out");
        texts->corpus->check_text();
        const auto options = TokenizerOptions::from(*OptionsOf(config));
        auto handle =
            make_handle(WordTokenizer::train(options, lines_of(*texts->corpus), begin_call(*use->context, call)));
        use->context->log(XF_LOG_INFO, "text", "trained a tokenizer with %d tokens", handle->tokenizer->size());
        *out = handle.release();
    });
}

xf_status xf_tokenizer_load(xf_context *context, const xf_source *source, const xf_call *call, xf_tokenizer **out,
                            xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const auto input = open_source(source);
        check_pointer(out, "out");
        const Call running = begin_call(*use->context, call);
        running.check();
        const std::string json = read_all(*input, kMaxTokenizerFile);
        running.check();
        XF_CHECK(!begins_as_model(json), XF_ERROR_CORRUPT,
                 "'%s' is a model or a checkpoint, not a tokenizer; use xf_model_load() and xf_model_tokenizer()",
                 input->name().c_str());
        try {
            *out = make_handle(Tokenizer::parse(json)).release();
        } catch (const Error &error) {
            throw Error(error.status(), format("'%s': %s", input->name().c_str(), error.what()), error.native_code());
        }
    });
}

xf_status xf_tokenizer_save(const xf_tokenizer *tokenizer, const xf_call *call, const xf_sink *sink, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        const Sink to(sink);
        Call(CancelSource(), get_call(call)).check();
        const std::string json = use->tokenizer->serialize();
        to.save([&](Output *output) {
            output->reserve(json.size());
            output->write(json.data(), json.size());
            output->commit();
        });
    });
}

void xf_tokenizer_free(xf_tokenizer *tokenizer) { free_handle(tokenizer); }

const xf_tokenizer *xf_tokenizer_side(const xf_tokenizer *tokenizer, int32_t side) {
    if (!is_handle(tokenizer) || (side != XF_SIDE_SOURCE && side != XF_SIDE_TARGET)) return nullptr;
    if (tokenizer->source == nullptr) return tokenizer;
    return (side == XF_SIDE_SOURCE ? tokenizer->source : tokenizer->target).get();
}

xf_status xf_tokenizer_get_info(const xf_tokenizer *tokenizer, xf_tokenizer_info *info, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_struct(info, "info");
        const Tokenizer &t = *use->tokenizer;
        const bool pair = use->source != nullptr;
        put_struct(info, xf_tokenizer_info{0, t.kind(), pair ? 0 : t.size(), pair ? -1 : t.start_id(),
                                           pair ? -1 : t.end_id(), 0});
    });
}

xf_status xf_tokenizer_encode(const xf_tokenizer *tokenizer, const char *text, size_t length, int32_t *ids,
                              size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_buffer(text, length, "text");
        check_buffer(ids, capacity, "ids");
        check_pointer(count, "count");
        std::vector<int32_t> encoded;
        single(*use).encode(std::string_view(text, length), &encoded);
        return put_ids(encoded, ids, capacity, count, err);
    });
}

xf_status xf_tokenizer_decode(const xf_tokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                              size_t capacity, size_t *length, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_buffer(ids, count, "ids");
        check_size(count, sizeof *ids, "count");
        check_buffer(text, capacity, "text");
        check_pointer(length, "length");
        return put_text(single(*use).decode(ids, count), text, capacity, length, err);
    });
}

xf_status xf_tokenizer_get_piece(const xf_tokenizer *tokenizer, int32_t id, char *text, size_t capacity, size_t *length,
                                 xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_buffer(text, capacity, "text");
        check_pointer(length, "length");
        return put_text(single(*use).piece(id), text, capacity, length, err);
    });
}

xf_status xf_split_sentences(const char *text, size_t length, const char *language, size_t max_characters,
                             xf_span *sentences, size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&]() -> xf_status {
        check_buffer(text, length, "text");
        check_buffer(sentences, capacity, "sentences");
        check_pointer(count, "count");
        const std::vector<TextSpan> found = split_sentences(std::string_view(text, length), language, max_characters);
        *count = found.size();
        if (found.size() > capacity)
            return report(
                err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                format("the text has %zu sentences, the buffer room for %zu", found.size(), capacity).c_str());
        for (const TextSpan &span : found) *sentences++ = {span.begin, span.end};
        return XF_OK;
    });
}

}  // extern "C"
