// text.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/text.h"

#include "api/guard.h"
#include "core/atomic_file.h"
#include "text/word_tokenizer.h"

using namespace xf;

namespace {

constexpr uint64_t kMaxTokenizerFile = uint64_t{1} << 28;

// Gives text to a caller's buffer: the length always, the text and a NUL when they fit.
xf_status put_text(const std::string &value, char *text, size_t capacity, size_t *length, xf_error *err) {
    *length = value.size();
    if (capacity <= value.size())
        return report(err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                      format("the text needs %zu bytes, the buffer has %zu", value.size() + 1, capacity).c_str());
    std::memcpy(text, value.c_str(), value.size() + 1);
    return XF_OK;
}

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

void check_buffer(const void *buffer, size_t capacity, const char *name) {
    XF_CHECK(buffer != nullptr || capacity == 0, XF_ERROR_INVALID_ARGUMENT, "%s is NULL with a capacity of %zu", name,
             capacity);
}

}  // namespace

extern "C" {

xf_status xf_tokenizer_train(xf_context *context, const xf_config *config, const xf_corpus *corpus, xf_tokenizer **out,
                             xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        const auto texts = shared(corpus, "corpus");
        check_pointer(out, "out");
        texts->corpus->check_text();
        const auto options = TokenizerOptions::from(*OptionsOf(config));
        auto handle = std::make_unique<xf_tokenizer>();
        handle->tokenizer = WordTokenizer::train(options, lines_of(*texts->corpus), use->context->call());
        use->context->log(XF_LOG_INFO, "text", "a tokenizer of %d pieces", handle->tokenizer->size());
        *out = handle.release();
    });
}

xf_status xf_tokenizer_load(xf_context *context, const char *path, xf_tokenizer **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(path, "path");
        check_pointer(out, "out");
        auto handle = std::make_unique<xf_tokenizer>();
        const std::string json = read_file(path, kMaxTokenizerFile);
        XF_CHECK(
            !begins_as_model(json), XF_ERROR_CORRUPT,
            "'%s' is a model or checkpoint, not a tokenizer: xf_model_load() and xf_model_tokenizer() give its own",
            path);
        try {
            handle->tokenizer = Tokenizer::parse(json);
        } catch (const Error &error) {
            throw Error(error.status(), format("'%s': %s", path, error.what()), error.native_code());
        }
        *out = handle.release();
    });
}

xf_status xf_tokenizer_save(const xf_tokenizer *tokenizer, const char *path, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_pointer(path, "path");
        const std::string json = use->tokenizer->serialize();
        AtomicFile file(path);
        file.write(json.data(), json.size());
        file.commit();
    });
}

void xf_tokenizer_free(xf_tokenizer *tokenizer) { free_handle(tokenizer); }

int32_t xf_tokenizer_vocab_size(const xf_tokenizer *tokenizer) {
    return is_handle(tokenizer) ? tokenizer->tokenizer->size() : 0;
}

int32_t xf_tokenizer_start_token(const xf_tokenizer *tokenizer) {
    return is_handle(tokenizer) ? tokenizer->tokenizer->start_id() : -1;
}

int32_t xf_tokenizer_end_token(const xf_tokenizer *tokenizer) {
    return is_handle(tokenizer) ? tokenizer->tokenizer->end_id() : -1;
}

xf_status xf_tokenizer_encode(const xf_tokenizer *tokenizer, const char *text, size_t length, int32_t *ids,
                              size_t capacity, size_t *count, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_buffer(text, length, "text");
        check_buffer(ids, capacity, "ids");
        check_pointer(count, "count");
        std::vector<int32_t> encoded;
        use->tokenizer->encode(std::string_view(text, length), &encoded);
        *count = encoded.size();
        if (encoded.size() > capacity)
            return report(err, XF_ERROR_BUFFER_TOO_SMALL, 0,
                          format("the text has %zu tokens, the buffer room for %zu", encoded.size(), capacity).c_str());
        std::copy(encoded.begin(), encoded.end(), ids);
        return XF_OK;
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
        return put_text(use->tokenizer->decode(ids, count), text, capacity, length, err);
    });
}

xf_status xf_tokenizer_get_piece(const xf_tokenizer *tokenizer, int32_t id, char *text, size_t capacity, size_t *length,
                                 xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(tokenizer, "tokenizer");
        check_buffer(text, capacity, "text");
        check_pointer(length, "length");
        return put_text(use->tokenizer->piece(id), text, capacity, length, err);
    });
}

}  // extern "C"
