// SPDX-License-Identifier: Apache-2.0
#include "html_entities.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace serve {
namespace {

struct Name {
    const char *name;
    uint16_t value;
};

// In the order of bytes.
constexpr Name kNames[] = {
    {"AElig", 198},   {"Aacute", 193},  {"Acirc", 194},    {"Agrave", 192},  {"Alpha", 913},    {"Aring", 197},
    {"Atilde", 195},  {"Auml", 196},    {"Beta", 914},     {"Ccedil", 199},  {"Chi", 935},      {"Dagger", 8225},
    {"Delta", 916},   {"ETH", 208},     {"Eacute", 201},   {"Ecirc", 202},   {"Egrave", 200},   {"Epsilon", 917},
    {"Eta", 919},     {"Euml", 203},    {"Gamma", 915},    {"Iacute", 205},  {"Icirc", 206},    {"Igrave", 204},
    {"Iota", 921},    {"Iuml", 207},    {"Kappa", 922},    {"Lambda", 923},  {"Mu", 924},       {"Ntilde", 209},
    {"Nu", 925},      {"OElig", 338},   {"Oacute", 211},   {"Ocirc", 212},   {"Ograve", 210},   {"Omega", 937},
    {"Omicron", 927}, {"Oslash", 216},  {"Otilde", 213},   {"Ouml", 214},    {"Phi", 934},      {"Pi", 928},
    {"Prime", 8243},  {"Psi", 936},     {"Rho", 929},      {"Scaron", 352},  {"Sigma", 931},    {"THORN", 222},
    {"Tau", 932},     {"Theta", 920},   {"Uacute", 218},   {"Ucirc", 219},   {"Ugrave", 217},   {"Upsilon", 933},
    {"Uuml", 220},    {"Xi", 926},      {"Yacute", 221},   {"Yuml", 376},    {"Zeta", 918},     {"aacute", 225},
    {"acirc", 226},   {"acute", 180},   {"aelig", 230},    {"agrave", 224},  {"alefsym", 8501}, {"alpha", 945},
    {"amp", 38},      {"and", 8743},    {"ang", 8736},     {"apos", 39},     {"aring", 229},    {"asymp", 8776},
    {"atilde", 227},  {"auml", 228},    {"bdquo", 8222},   {"beta", 946},    {"brvbar", 166},   {"bull", 8226},
    {"cap", 8745},    {"ccedil", 231},  {"cedil", 184},    {"cent", 162},    {"chi", 967},      {"circ", 710},
    {"clubs", 9827},  {"cong", 8773},   {"copy", 169},     {"crarr", 8629},  {"cup", 8746},     {"curren", 164},
    {"dArr", 8659},   {"dagger", 8224}, {"darr", 8595},    {"deg", 176},     {"delta", 948},    {"diams", 9830},
    {"divide", 247},  {"eacute", 233},  {"ecirc", 234},    {"egrave", 232},  {"empty", 8709},   {"emsp", 8195},
    {"ensp", 8194},   {"epsilon", 949}, {"equiv", 8801},   {"eta", 951},     {"eth", 240},      {"euml", 235},
    {"euro", 8364},   {"exist", 8707},  {"fnof", 402},     {"forall", 8704}, {"frac12", 189},   {"frac14", 188},
    {"frac34", 190},  {"frasl", 8260},  {"gamma", 947},    {"ge", 8805},     {"gt", 62},        {"hArr", 8660},
    {"harr", 8596},   {"hearts", 9829}, {"hellip", 8230},  {"iacute", 237},  {"icirc", 238},    {"iexcl", 161},
    {"igrave", 236},  {"image", 8465},  {"infin", 8734},   {"int", 8747},    {"iota", 953},     {"iquest", 191},
    {"isin", 8712},   {"iuml", 239},    {"kappa", 954},    {"lArr", 8656},   {"lambda", 955},   {"lang", 9001},
    {"laquo", 171},   {"larr", 8592},   {"lceil", 8968},   {"ldquo", 8220},  {"le", 8804},      {"lfloor", 8970},
    {"lowast", 8727}, {"loz", 9674},    {"lrm", 8206},     {"lsaquo", 8249}, {"lsquo", 8216},   {"lt", 60},
    {"macr", 175},    {"mdash", 8212},  {"micro", 181},    {"middot", 183},  {"minus", 8722},   {"mu", 956},
    {"nabla", 8711},  {"nbsp", 160},    {"ndash", 8211},   {"ne", 8800},     {"ni", 8715},      {"not", 172},
    {"notin", 8713},  {"nsub", 8836},   {"ntilde", 241},   {"nu", 957},      {"oacute", 243},   {"ocirc", 244},
    {"oelig", 339},   {"ograve", 242},  {"oline", 8254},   {"omega", 969},   {"omicron", 959},  {"oplus", 8853},
    {"or", 8744},     {"ordf", 170},    {"ordm", 186},     {"oslash", 248},  {"otilde", 245},   {"otimes", 8855},
    {"ouml", 246},    {"para", 182},    {"part", 8706},    {"permil", 8240}, {"perp", 8869},    {"phi", 966},
    {"pi", 960},      {"piv", 982},     {"plusmn", 177},   {"pound", 163},   {"prime", 8242},   {"prod", 8719},
    {"prop", 8733},   {"psi", 968},     {"quot", 34},      {"rArr", 8658},   {"radic", 8730},   {"rang", 9002},
    {"raquo", 187},   {"rarr", 8594},   {"rceil", 8969},   {"rdquo", 8221},  {"real", 8476},    {"reg", 174},
    {"rfloor", 8971}, {"rho", 961},     {"rlm", 8207},     {"rsaquo", 8250}, {"rsquo", 8217},   {"sbquo", 8218},
    {"scaron", 353},  {"sdot", 8901},   {"sect", 167},     {"shy", 173},     {"sigma", 963},    {"sigmaf", 962},
    {"sim", 8764},    {"spades", 9824}, {"sub", 8834},     {"sube", 8838},   {"sum", 8721},     {"sup", 8835},
    {"sup1", 185},    {"sup2", 178},    {"sup3", 179},     {"supe", 8839},   {"szlig", 223},    {"tau", 964},
    {"there4", 8756}, {"theta", 952},   {"thetasym", 977}, {"thinsp", 8201}, {"thorn", 254},    {"tilde", 732},
    {"times", 215},   {"trade", 8482},  {"uArr", 8657},    {"uacute", 250},  {"uarr", 8593},    {"ucirc", 251},
    {"ugrave", 249},  {"uml", 168},     {"upsih", 978},    {"upsilon", 965}, {"uuml", 252},     {"weierp", 8472},
    {"xi", 958},      {"yacute", 253},  {"yen", 165},      {"yuml", 255},    {"zeta", 950},     {"zwj", 8205},
    {"zwnj", 8204},
};
constexpr size_t kLongestName = 8;

const Name *find_name(std::string_view name) {
    const Name *const found = std::lower_bound(std::begin(kNames), std::end(kNames), name,
                                               [](const Name &a, std::string_view b) { return a.name < b; });
    return found != std::end(kNames) && found->name == name ? found : nullptr;
}

bool is_alphanumeric(char c) { return is_ascii_letter(c) || is_digit(c); }

int digit_of(char c, bool hexadecimal) {
    if (is_digit(c)) return c - '0';
    if (hexadecimal && lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
    return -1;
}

Decoded decode_number(std::string_view text) {
    const bool hexadecimal = text.size() > 2 && lower(text[2]) == 'x';
    const size_t begin = hexadecimal ? 3 : 2;
    size_t at = begin;
    char32_t value = 0;
    for (int digit; at < text.size() && (digit = digit_of(text[at], hexadecimal)) >= 0; ++at)
        value = std::min<char32_t>(value * (hexadecimal ? 16 : 10) + static_cast<char32_t>(digit), 0x110000);
    const bool control =
        (value < 32 && value != '\t' && value != '\n' && value != '\r') || (value > 126 && value < 160);
    if (at == begin || control || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
    return {value, at + (at < text.size() && text[at] == ';')};
}

struct Range {
    char32_t first, last;
};

// Characters beyond ASCII that are not letters.
constexpr Range kSymbols[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},     {0xBB, 0xBF},     {0xD7, 0xD7},       {0xF7, 0xF7},
    {0x2000, 0x206F}, {0x20A0, 0x20CF}, {0x2190, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004},   {0x3007, 0x3030},
    {0xD800, 0xF8FF}, {0xFE00, 0xFE6F}, {0xFEFF, 0xFF20}, {0xFFF0, 0xFFFF}, {0x1F000, 0x1FAFF},
};

bool without_spaces(char32_t c) {
    return (c >= 0x0E00 && c < 0x1000) || (c >= 0x1780 && c < 0x1800) || (c >= 0x2E80 && c < 0xA000) ||
           (c >= 0x20000 && c < 0x32000);
}

}  // namespace

Decoded decode_reference(std::string_view text, bool in_attribute) {
    if (text.size() < 3) return {};
    if (text[1] == '#') return decode_number(text);
    size_t end = 1;
    while (end < text.size() && end <= kLongestName && is_alphanumeric(text[end])) ++end;
    if (end < text.size() && text[end] == ';')
        if (const Name *const found = find_name(text.substr(1, end - 1))) return {found->value, end + 1};
    for (; end > 2; --end) {
        const Name *const found = find_name(text.substr(1, end - 1));
        if (found == nullptr || found->value > 255 || found->value == '\'') continue;
        if (in_attribute && end < text.size() && (is_alphanumeric(text[end]) || text[end] == '=')) return {};
        return {found->value, end};
    }
    return {};
}

void append_escaped(std::string_view text, char quote, std::string *out) {
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const char next = i + 1 < text.size() ? text[i + 1] : ' ';
        if (c == '<') {
            *out += "&lt;";
        } else if (c == '>') {
            *out += "&gt;";
        } else if (c == '\xC2' && next == '\xA0') {
            *out += "&nbsp;";
            ++i;
        } else if (c == quote && quote != 0) {
            *out += quote == '"' ? "&quot;" : "&#39;";
        } else if (c == '&' && ((next != '#' && !is_ascii_letter(next)) ||
                                decode_reference(text.substr(i), quote != 0).size != 0)) {
            *out += "&amp;";
        } else {
            *out += c;
        }
    }
}

Decoded decode_utf8(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const size_t size = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size == 1 || size > text.size()) return {first, 1};
    char32_t value = first & (0x7Fu >> size);
    for (size_t i = 1; i < size; ++i) value = value << 6 | (byte(i) & 0x3Fu);
    return {value, size};
}

void append_utf8(char32_t value, std::string *out) {
    const auto put = [&](char32_t byte) { *out += static_cast<char>(byte); };
    if (value < 0x80) return put(value);
    if (value < 0x800) {
        put(0xC0 | value >> 6);
    } else {
        if (value < 0x10000) {
            put(0xE0 | value >> 12);
        } else {
            put(0xF0 | value >> 18);
            put(0x80 | (value >> 12 & 0x3F));
        }
        put(0x80 | (value >> 6 & 0x3F));
    }
    put(0x80 | (value & 0x3F));
}

bool is_letter(char32_t c) {
    if (c < 0x80) return is_ascii_letter(static_cast<char>(c));
    const Range *const range = std::lower_bound(std::begin(kSymbols), std::end(kSymbols), c,
                                                [](const Range &a, char32_t b) { return a.last < b; });
    return range == std::end(kSymbols) || c < range->first;
}

bool has_letter(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const Decoded c = decode_utf8(text.substr(i));
        if (is_letter(c.value)) return true;
        i += c.size;
    }
    return false;
}

bool is_word_boundary(std::string_view text, size_t offset) {
    if (offset == 0 || offset >= text.size()) return true;
    size_t before = offset - 1;
    while (before > 0 && offset - before < 4 && (text[before] & 0xC0) == 0x80) --before;
    for (const size_t at : {before, offset}) {
        const char32_t c = decode_utf8(text.substr(at)).value;
        const bool in_word = is_letter(c) || (c < 0x80 && is_digit(static_cast<char>(c)));
        if (!in_word || without_spaces(c)) return true;
    }
    return false;
}

}  // namespace serve
