// Compares the character map with a list of rules, where the longest key applies, and tests all kinds of corrupt maps.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece/character_map.h"

#include "support/test.hpp"
#include "text/json/format.h"

using namespace xf;
using namespace xf::tokenizer_json;

namespace {

using Rules = std::map<std::string, std::string>;

// Builds the bytes of a map. Every node has its own block of 256 units; the root has the second block.
struct MapMaker {
    std::vector<uint32_t> units = std::vector<uint32_t>(512);
    std::string replacements;

    static uint32_t offset(uint32_t from, uint32_t to) { return (from ^ to) << 10; }  // below 2^21

    uint32_t block_of(uint32_t base, char c) {
        const uint32_t byte = static_cast<unsigned char>(c);
        uint32_t &unit = units[base ^ byte];
        if (unit == 0) {
            const auto block = static_cast<uint32_t>(units.size());
            unit = offset(base ^ byte, block) | byte;
            units.resize(units.size() + 256);
        }
        return (base ^ byte) ^ (units[base ^ byte] >> 10);
    }
    void add(const std::string &key, const std::string &value) {
        uint32_t base = 256, last = 0;
        for (const char c : key) {
            last = base ^ static_cast<unsigned char>(c);
            base = block_of(base, c);
        }
        units[last] |= 1u << 8;
        units[base] = static_cast<uint32_t>(replacements.size()) | 1u << 31;
        replacements += value + '\0';
    }
    explicit MapMaker(const Rules &rules) {
        units[0] = offset(0, 256);
        for (const auto &[key, value] : rules) add(key, value);
    }
    std::string bytes() const {
        std::string out;
        const auto put = [&](uint32_t v) {
            for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(v >> (8 * i) & 0xFF));
        };
        put(static_cast<uint32_t>(units.size() * 4));
        for (const uint32_t unit : units) put(unit);
        return out + replacements;
    }
};

const Rules kRules = {{"a", "b"}, {"aa\xCC\x81", "long"}, {"\xC2\xA0", " "}, {"\xE2\x80\x8B", ""}, {"ac", "\xC3\xA9"}};

}  // namespace

XF_TEST(the_longest_key_is_replaced) {
    const CharacterMap map(MapMaker(kRules).bytes());
    const struct {
        std::string text;
        size_t size;
        std::string replacement;
    } cases[] = {
        {"a", 1, "b"},        {"ab", 1, "b"},      {"aa\xCC\x81z", 4, "long"},   {"aa\xCC", 1, "b"},    {"aab", 1, "b"},
        {"\xC2\xA0", 2, " "}, {"\xC2", 0, ""},     {"\xE2\x80\x8Bx", 3, ""},     {"ac", 2, "\xC3\xA9"}, {"c", 0, ""},
        {"", 0, ""},          {"\xC3\xA9", 0, ""}, {std::string(1, '\0'), 0, ""}};
    for (const auto &c : cases) {
        std::string_view replacement;
        CHECK_EQ(map.match(c.text, &replacement), c.size);
        CHECK_EQ(std::string(replacement), c.replacement);
    }
    CHECK(map.is_plain('c') && map.is_plain(' ') && !map.is_plain('a') && !map.is_plain('\xC2'));
    std::string_view replacement;
    const CharacterMap none;
    CHECK_EQ(none.match("a", &replacement), size_t{0});
    CHECK(none.is_plain('a'));
}

XF_TEST(an_invalid_map_is_rejected) {
    const std::string good = MapMaker(kRules).bytes();
    const auto refused = [](const MapMaker &maker) { CHECK_FAILS(CharacterMap(maker.bytes()), XF_ERROR_CORRUPT); };
    for (size_t size = 1; size < good.size(); size += size < 16 ? 1 : 97)
        CHECK_FAILS(CharacterMap(good.substr(0, size)), XF_ERROR_CORRUPT);
    CHECK_FAILS(CharacterMap(std::string(CharacterMap::kMaxBytes + 1, 'x')), XF_ERROR_LIMIT);
    for (const uint32_t size : {0u, 2u, 6u, static_cast<uint32_t>(good.size()), 0xFFFFFFFFu}) {
        std::string other = good;
        for (size_t i = 0; i < 4; ++i) other[i] = static_cast<char>(size >> (8 * i) & 0xFF);
        CHECK_FAILS(CharacterMap(other), XF_ERROR_CORRUPT);
    }
    MapMaker far(kRules);
    far.units[0] |= 1u << 9;  // the offset is 256 times as large
    refused(far);
    MapMaker outside(kRules);
    outside.units[256 ^ 'x'] = MapMaker::offset(256 ^ 'x', static_cast<uint32_t>(outside.units.size())) | 'x';
    refused(outside);
    MapMaker loop(kRules);
    loop.units[256 ^ 'x'] = MapMaker::offset(256 ^ 'x', 256) | 'x';
    refused(loop);
    MapMaker deep(kRules);
    deep.add(std::string(CharacterMap::kMaxKeyBytes + 1, 'y'), "z");
    refused(deep);
    // A key of maximum length that shares its last nodes with another key.
    MapMaker shared(Rules{{"y" + std::string(CharacterMap::kMaxKeyBytes - 1, 'z'), "z"}});
    const uint32_t below = (256 ^ 'y') ^ (shared.units[256 ^ 'y'] >> 10);
    shared.units[256 ^ 'x'] = MapMaker::offset(256 ^ 'x', below) | 'x';
    std::string_view replacement;
    const std::string key = "x" + std::string(CharacterMap::kMaxKeyBytes - 1, 'z');
    CHECK_EQ(CharacterMap(shared.bytes()).match(key, &replacement), key.size());
    shared.add("w", "w");
    const uint32_t first = (256 ^ 'w') ^ (shared.units[256 ^ 'w'] >> 10);
    shared.units[first ^ 'w'] = MapMaker::offset(first ^ 'w', below) | 'w';
    refused(shared);
    MapMaker unended(kRules);
    unended.replacements.back() = 'x';
    refused(unended);
    MapMaker beyond(kRules);
    beyond.replacements.resize(2);
    refused(beyond);
    refused(MapMaker(Rules{{"a", "\xC3"}}));
    refused(MapMaker(Rules{{"a", std::string(CharacterMap::kMaxReplacementBytes + 1, 'x')}}));
    CharacterMap(MapMaker(Rules{{"a", std::string(CharacterMap::kMaxReplacementBytes, 'x')}}).bytes());
}

XF_TEST(base64_round_trips) {
    std::string bytes, read;
    for (int i = 0; i < 300; ++i) {
        CHECK(from_base64(to_base64(bytes), &read));
        CHECK(read == bytes);
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(i * 7)));
    }
    CHECK_EQ(to_base64("fooba"), "Zm9vYmE=");
    for (const char *text :
         {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm-v", "Zm9vYmE", "=m9v"})
        CHECK(!from_base64(text, &read));
}
