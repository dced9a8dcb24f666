// The header of a model file: the parser, and xf_model_inspect(), which reads only the header.
//
// The input is the JSON header and the size of the data after it. The file has the size that the header says, or a
// slightly wrong one. It takes no memory, because a callback returns zeros for it.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/error.h"
#include "core/safetensors_header.h"
#include "fuzz.hpp"

namespace {

// A file of a length, a header and zeros.
struct Virtual {
    std::string beginning;
    static int32_t read(void *user, uint64_t offset, void *dst, size_t bytes) {
        const std::string &beginning = static_cast<Virtual *>(user)->beginning;
        std::memset(dst, 0, bytes);
        if (offset < beginning.size())
            std::memcpy(dst, beginning.data() + offset, std::min<uint64_t>(bytes, beginning.size() - offset));
        return 0;
    }
};

// The parser, and that what it took is written and read again as the same.
void parse(std::string_view json, uint64_t data_bytes) {
    try {
        const xf::SafetensorsHeader header = xf::parse_safetensors_header(json, data_bytes, {}, "fuzz");
        uint64_t at = 0;
        for (const xf::TensorInfo &tensor : header.tensors) {
            if (tensor.begin != at || tensor.end < at) fuzz::defect("a hole or an overlap at %zu", size_t{at});
            at = tensor.end;
        }
        if (at != data_bytes) fuzz::defect("the tensors end at %zu of %zu bytes", size_t{at}, size_t{data_bytes});
        if (header.digest_at > 0 && header.digest_at + xf::kDigestDigits >= json.size())
            fuzz::defect("the checksum is outside of the header");
        const std::string again = xf::format_safetensors_header(header.metadata, header.tensors);
        const xf::SafetensorsHeader second = xf::parse_safetensors_header(again, data_bytes, {}, "fuzz");
        if (second.metadata != header.metadata || second.tensors.size() != header.tensors.size())
            fuzz::defect("a header that was read and written is another one");
        for (size_t i = 0; i < second.tensors.size(); ++i)
            if (second.tensors[i].name != header.tensors[i].name || second.tensors[i].shape != header.tensors[i].shape)
                fuzz::defect("tensor %zu of a header that was read and written is another one", i);
    } catch (const xf::Error &error) {
        if (error.status() != XF_ERROR_CORRUPT && error.status() != XF_ERROR_LIMIT)
            fuzz::defect("%s: %s", xf_status_name(error.status()), error.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fuzz::World world;
    fuzz::Choices choices(data, size);
    const uint64_t data_bytes = choices.number(choices.byte() % 9);
    const std::string_view json = choices.rest();
    parse(json, data_bytes);

    Virtual file;
    const uint64_t length = json.size();
    file.beginning.assign(reinterpret_cast<const char *>(&length), sizeof length);
    file.beginning += json;
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_CALLBACK;
    source.read = &Virtual::read;
    source.user = &file;
    if (__builtin_add_overflow(file.beginning.size(), data_bytes, &source.size)) return 0;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    const xf_status status = JUDGED(xf_model_inspect, world.context, &source, nullptr, &summary);
    if (status == XF_OK && (summary.parameters <= 0 || summary.vocab_size <= 0 || summary.decode_bytes <= 0 ||
                            summary.train_bytes <= 0 || summary.step < -1))
        fuzz::defect("a summary of nothing: %ld parameters", summary.parameters);
    if (world.host.held() > (1 << 20)) fuzz::defect("%zu bytes are held for a header", world.host.held());
    return 0;
}
