// See fuzz.hpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "../../support/api.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/utf8.h"

namespace fuzz {

bool (*take_one)(size_t bytes) = nullptr;

void defect(const char *format, ...) {
    Shortage::end();
    va_list args;
    va_start(args, format);
    std::fputs("DEFECT: ", stderr);
    std::vfprintf(stderr, format, args);
    std::fputc('\n', stderr);
    va_end(args);
    std::abort();
}

uint8_t Choices::byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
}

uint64_t Choices::number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(byte()) << (8 * i);
    return value;
}

int64_t Choices::integer() {
    static constexpr int64_t kEdges[] = {0,          1,         -1,        2,         255,       256,
                                         32767,      32768,     65535,     65536,     INT32_MAX, INT32_MIN,
                                         UINT32_MAX, 1ll << 40, 1ll << 53, INT64_MAX, INT64_MIN, INT64_MAX - 7};
    const uint8_t kind = byte();
    if (kind < 128) return kind % 64;
    if (kind < 224) return kEdges[kind % (sizeof kEdges / sizeof *kEdges)];
    return static_cast<int64_t>(number(8));
}

std::string_view Choices::bytes(size_t count) {
    if (count > left_) count = left_;
    const std::string_view part(reinterpret_cast<const char *>(at_), count);
    at_ += count;
    left_ -= count;
    return part;
}

xf_error *Judge::fresh() {
    std::memset(&error_, 0x5a, sizeof error_);
    return &error_;
}

xf_status Judge::of(xf_status status, const char *call) {
    if (status >= 0) {
        if (status > XF_DONE) defect("%s: status %d", call, status);
        return status;
    }
    const char *const end = static_cast<const char *>(std::memchr(error_.message, 0, sizeof error_.message));
    if (end == nullptr) defect("%s: a message without an end", call);
    const std::string_view message(error_.message, static_cast<size_t>(end - error_.message));
    if (error_.status != status) defect("%s: %d, but %d in the error: %s", call, status, error_.status, end);
    if (message.empty()) defect("%s: %s without a sentence", call, xf_status_name(status));
    if (xf::find_invalid_utf8(message) != std::string_view::npos) defect("%s: a message that is no UTF-8", call);
    for (const char c : message)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            defect("%s: a message with a control character: %s", call, error_.message);
    switch (status) {
        case XF_ERROR_INTERNAL:
        case XF_ERROR_BACKEND:
        case XF_ERROR_FORKED:
            defect("%s: %s: %s", call, xf_status_name(status), error_.message);
        default:
            return status;
    }
}

thread_local Judge judge;

void run(const Host &host, const uint8_t *data, size_t size, const std::function<void()> &body) {
    const size_t before = host.held();
    {
        const Shortage shortage(data, size);
        try {
            body();
        } catch (const std::bad_alloc &) {
            if (!Shortage::happened()) throw;  // the target's own memory; the library's would be a status
        }
    }
    if (host.held() != before) defect("%zu bytes are held after the input", host.held() - before);
}

struct HostCalls {
    static void *alloc(void *user, size_t size, size_t alignment) {
        if (size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
            defect("the host is asked for %zu bytes, aligned to %zu", size, alignment);
        if (take_one != nullptr && !take_one(size)) return nullptr;
        void *memory = nullptr;
        if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0) return nullptr;
        static_cast<Host *>(user)->held_ += size;
        return memory;
    }
    static void free(void *user, void *memory, size_t size) {
        Host &host = *static_cast<Host *>(user);
        if (memory == nullptr) return;
        if (size > host.held_) defect("%zu bytes are freed, %zu were held", size, host.held());
        host.held_ -= size;
        std::free(memory);
    }
    static void log(void *, const xf_log_line *line) {
        if (line->level < XF_LOG_ERROR || line->level > XF_LOG_DEBUG || line->component == nullptr ||
            line->message == nullptr)
            defect("a log line of level %d without a word", line->level);
        if (xf::find_invalid_utf8(line->message) != std::string_view::npos ||
            std::strpbrk(line->message, "\n\r\x1b") != nullptr)
            defect("a log message is not one line of UTF-8: %s", line->message);
    }
    static int32_t progress(void *, const xf_progress *progress) {
        if (progress->task == nullptr || progress->done < 0 || progress->done > progress->total)
            defect("progress of %s: %ld of %ld", progress->task, progress->done, progress->total);
        return 0;
    }
};

const xf_call watched{sizeof watched, nullptr, 0, HostCalls::progress, nullptr};

Host::Host() : host_ XF_HOST_INIT {
    host_.alloc_user = this;
    host_.alloc = HostCalls::alloc;
    host_.free = HostCalls::free;
    host_.log = HostCalls::log;
    host_.log_level = XF_LOG_DEBUG;
}

Host::~Host() {
    if (held_ != 0) defect("%zu bytes of the host's memory were not freed", held());
}

void set_small(xf_config *config) {
    const char *const values[][2] = {{"context.device", "cpu:ref"},
                                     {"context.threads", "1"},
                                     {"context.memory_budget", "67108864"},
                                     {"tokenizer.vocab_size", "300"},
                                     {"model.encoder_layers", "1"},
                                     {"model.decoder_layers", "1"},
                                     {"model.d_model", "4"},
                                     {"model.d_ff", "4"},
                                     {"model.heads", "2"},
                                     {"model.d_k", "2"},
                                     {"model.d_v", "2"},
                                     {"model.max_length", "64"},
                                     {"train.warmup_steps", "4"}};
    for (const auto &[key, value] : values)
        if (xf_config_set(config, key, value, nullptr) != XF_OK && !Shortage::happened())
            defect("%s can't be %s", key, value);
}

World::World(const char *memory_budget) {
    JUDGED(xf_config_create, config.out());
    set_small(config);
    JUDGED(xf_config_set, config, "context.memory_budget", memory_budget);
    if (JUDGED(xf_context_create, config, host.get(), context.out()) != XF_OK)
        defect("no context: %s", judge.message());
}

TextWorld::TextWorld() {
    if (JUDGED(corpus_from_text, context, nullptr, kPairs, sizeof kPairs - 1, corpus.out()) ||
        JUDGED(xf_tokenizer_train, context, corpus, config, &watched, tokenizer.out()))
        defect("no world: %s", judge.message());
}

ScratchFile::ScratchFile(const char *name) {
    const char *const other = std::getenv("TMPDIR");
    const char *const folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : other != nullptr ? other : "/tmp";
    path_ = std::string(folder) + "/xf_fuzz_" + std::to_string(getpid()) + "_" + name;
}

ScratchFile::~ScratchFile() {
    unlink(path_.c_str());
    unlink((path_ + ".prev").c_str());
}

void ScratchFile::write(std::string_view bytes) const {
    std::FILE *const file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file) != 0)
        defect("%s can't be written", path_.c_str());
}

std::string ScratchFile::read() const {
    std::string bytes;
    std::FILE *const file = std::fopen(path_.c_str(), "rb");
    if (file == nullptr) return bytes;
    char part[4096];
    for (size_t n; (n = std::fread(part, 1, sizeof part, file)) > 0;) bytes.append(part, n);
    std::fclose(file);
    return bytes;
}

}  // namespace fuzz
