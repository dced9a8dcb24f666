// Which tokenizer a file holds; see tokenizer_json_kind.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_json_kind.h"

#include "text/tokenizer_json_events.h"
#include "text/tokenizer_json_keys.h"

namespace xf::tokenizer_json {
namespace {

constexpr int kMaxDepth = 3;          // the object, a list in it, a list in that
constexpr size_t kMaxKindBytes = 64;  // no kind is longer

// Stops at the kind, or at the first thing that no tokenizer has before it.
class Finder : public Events {
public:
    std::string kind;

    bool Null() { return plain(); }
    bool Bool(bool) { return plain(); }
    bool RawNumber(const Ch *, rapidjson::SizeType, bool) { return plain(); }
    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 1 && at_kind_ && size <= kMaxKindBytes) kind.assign(data, size);
        return plain();
    }
    bool StartObject() { return depth_++ == 0; }
    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        at_kind_ = std::string_view(data, size) == kKeyNames[kKindKey];
        return true;
    }
    bool EndObject(rapidjson::SizeType) { return false; }
    bool StartArray() { return !at_kind_ && depth_ > 0 && depth_++ < kMaxDepth; }
    bool EndArray(rapidjson::SizeType) {
        --depth_;
        return true;
    }

private:
    // A value that is no list: read on, except after the kind and outside the object.
    bool plain() const { return depth_ > 0 && !at_kind_; }

    int depth_ = 0;
    bool at_kind_ = false;
};

}  // namespace

std::string kind_of(std::string_view json) {
    Finder finder;
    read_events(json, &finder);
    return finder.kind;
}

}  // namespace xf::tokenizer_json
