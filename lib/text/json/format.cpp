// Finding the kind of a tokenizer file; see format.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/format.h"

#include "text/json/reader.h"

namespace xf::tokenizer_json {
namespace {

constexpr int kMaxDepth = 3;  // the object, a list in it, a list in that list
constexpr size_t kMaxKindBytes = 64;

// Stops parsing at the kind, or at the first thing that no tokenizer file has before it.
class KindFinder : public Events {
public:
    std::string kind;

    bool Null() { return scalar(); }
    bool Bool(bool) { return scalar(); }
    bool RawNumber(const Ch *, rapidjson::SizeType, bool) { return scalar(); }
    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 1 && at_kind_ && size <= kMaxKindBytes) kind.assign(data, size);
        return scalar();
    }
    bool StartObject() { return depth_++ == 0; }
    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        at_kind_ = std::string_view(data, size) == "kind";
        return true;
    }
    bool EndObject(rapidjson::SizeType) { return false; }
    bool StartArray() { return !at_kind_ && depth_ > 0 && depth_++ < kMaxDepth; }
    bool EndArray(rapidjson::SizeType) {
        --depth_;
        return true;
    }

private:
    // Continues after a value that is not a list, except after the kind and outside the object.
    bool scalar() const { return depth_ > 0 && !at_kind_; }

    int depth_ = 0;
    bool at_kind_ = false;
};

}  // namespace

std::string kind_of(std::string_view json) {
    KindFinder finder;
    read_events(json, &finder);
    return finder.kind;
}

}  // namespace xf::tokenizer_json
