// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "html_entities.h"
#include "html_tokens.h"

namespace serve {
namespace {

struct Element {
    const char *name;
    unsigned flags;
};

// In the order of names.
constexpr Element kElements[] = {
    {"address", kBlock},
    {"area", kVoid},
    {"article", kBlock},
    {"aside", kBlock},
    {"base", kBlock | kVoid},
    {"blockquote", kBlock},
    {"body", kBlock},
    {"br", kBlock | kVoid},
    {"button", kBlock},
    {"caption", kBlock},
    {"center", kBlock},
    {"code", kOpaque},
    {"col", kBlock | kVoid},
    {"colgroup", kBlock},
    {"dd", kBlock},
    {"details", kBlock},
    {"dialog", kBlock},
    {"dir", kBlock},
    {"div", kBlock},
    {"dl", kBlock},
    {"dt", kBlock},
    {"embed", kVoid},
    {"fieldset", kBlock},
    {"figcaption", kBlock},
    {"figure", kBlock},
    {"footer", kBlock},
    {"form", kBlock},
    {"frame", kBlock | kVoid},
    {"frameset", kBlock},
    {"h1", kBlock},
    {"h2", kBlock},
    {"h3", kBlock},
    {"h4", kBlock},
    {"h5", kBlock},
    {"h6", kBlock},
    {"head", kBlock},
    {"header", kBlock},
    {"hgroup", kBlock},
    {"hr", kBlock | kVoid},
    {"html", kBlock},
    {"iframe", kRaw | kOpaque | kHidden},
    {"img", kVoid},
    {"input", kVoid},
    {"kbd", kOpaque},
    {"legend", kBlock},
    {"li", kBlock},
    {"link", kBlock | kVoid},
    {"main", kBlock},
    {"math", kOpaque | kHidden},
    {"menu", kBlock},
    {"meta", kBlock | kVoid},
    {"nav", kBlock},
    {"noembed", kRaw | kOpaque | kHidden},
    {"noframes", kRaw | kOpaque | kHidden},
    {"noscript", kBlock},
    {"ol", kBlock},
    {"optgroup", kBlock},
    {"option", kBlock},
    {"p", kBlock},
    {"param", kVoid},
    {"pre", kBlock | kOpaque},
    {"samp", kOpaque},
    {"script", kRaw | kOpaque | kHidden},
    {"search", kBlock},
    {"section", kBlock},
    {"select", kBlock},
    {"source", kVoid},
    {"style", kRaw | kOpaque | kHidden},
    {"summary", kBlock},
    {"svg", kOpaque | kHidden},
    {"table", kBlock},
    {"tbody", kBlock},
    {"td", kBlock},
    {"template", kOpaque | kHidden},
    {"textarea", kRaw | kOpaque | kHidden},
    {"tfoot", kBlock},
    {"th", kBlock},
    {"thead", kBlock},
    {"title", kBlock | kRaw},
    {"tr", kBlock},
    {"track", kVoid},
    {"ul", kBlock},
    {"var", kOpaque},
    {"wbr", kVoid},
    {"xmp", kBlock | kRaw | kOpaque},
};

}  // namespace

unsigned element_flags(std::string_view name) {
    char folded[12];
    if (name.size() > sizeof folded) return 0;
    std::transform(name.begin(), name.end(), folded, lower);
    const std::string_view key(folded, name.size());
    const Element *const found = std::lower_bound(std::begin(kElements), std::end(kElements), key,
                                                  [](const Element &a, std::string_view b) { return a.name < b; });
    return found != std::end(kElements) && found->name == key ? found->flags : 0;
}

}  // namespace serve
