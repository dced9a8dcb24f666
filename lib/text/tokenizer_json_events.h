// Reading JSON of tokenizers as a sequence of events, which the readers of all formats take.
//
// They build no tree: a hostile text cannot make them allocate more than a few times its own size, and neither nesting
// nor destruction recurses (the parser is rapidjson's iterative one, and a handler stops it at the first bracket too
// many).
//
// The trap: RapidJSON 1.1 reads out of bounds when it converts some numbers and ignores a failed
// allocation. So it hands over numbers as text, and its memory comes from operator new, which throws.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <string_view>

#include "core/error.h"
#include "core/json_allocator.h"
#include "text/tokenizer_json.h"

namespace xf::tokenizer_json {

// The parser's events; numbers come as text. Handlers derive from this and hide what they expect.
struct Events {
    using Ch = char;
    bool Int(int) { return false; }  // the parser asks for these, and never calls them
    bool Uint(unsigned) { return false; }
    bool Int64(int64_t) { return false; }
    bool Uint64(uint64_t) { return false; }
    bool Double(double) { return false; }
};

// True when the text was read to its end; false when the handler stopped it. XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
template <class Handler>
bool read_events(std::string_view json, Handler *handler) {
    XF_CHECK(json.size() <= kMaxTokenizerJsonBytes, XF_ERROR_LIMIT, "the tokenizer has %zu bytes, expected at most %zu",
             json.size(), kMaxTokenizerJsonBytes);
    // The parser takes a NUL byte for the end of the text, and would not see what follows it.
    XF_CHECK(json.find('\0') == std::string_view::npos, XF_ERROR_CORRUPT, "the tokenizer holds a NUL byte");
    rapidjson::MemoryStream bytes(json.data(), json.size());
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator> reader;
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(bytes, *handler);
    if (result.Code() == rapidjson::kParseErrorTermination) return false;
    XF_CHECK(!result.IsError(), XF_ERROR_CORRUPT, "the tokenizer is not JSON at byte %zu: %s", result.Offset(),
             rapidjson::GetParseError_En(result.Code()));
    return true;
}

}  // namespace xf::tokenizer_json
