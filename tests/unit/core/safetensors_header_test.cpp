// Hostile headers: each is refused with the right status and little memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors_header.h"

#include "core/safetensors.h"
#include "support/test.hpp"

using namespace xf;

namespace {

SafetensorsHeader parse(const std::string &json, uint64_t data_bytes = 4) {
    return parse_safetensors_header(json, data_bytes, {}, "test");
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string object(const std::string &inside) {
    std::string json = "{";  // "{" + inside makes gcc 12 report an overlap that cannot occur
    json += inside;
    json += '}';
    return json;
}

std::string file_with(uint64_t length, const std::string &rest) {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<char>(length >> (8 * i));
    return bytes + rest;
}

const std::string kNul(1, '\0');
const std::string kGood = tensor("a", "F32", "[1]", "[0,4]");

}  // namespace

XF_TEST(good_headers_pass) {
    CHECK_EQ(parse("{" + kGood + "}").tensors.size(), size_t{1});
    CHECK_EQ(parse("{ \"a\" : { \"shape\":[ 1,1 ] ,\n\"data_offsets\":[0,4],\t\"dtype\":\"F32\"}}   ").tensors.size(),
             size_t{1});
    CHECK_EQ(parse("{}", 0).tensors.size(), size_t{0});
    CHECK_EQ(parse("{\"__metadata__\":{}," + tensor("a", "F32", "[]", "[0,4]") + "}").tensors.size(), size_t{1});
    const SafetensorsHeader out_of_order =
        parse("{" + tensor("b", "F16", "[1]", "[2,4]") + "," + tensor("a", "F16", "[1]", "[0,2]") + "," +
              tensor("nothing", "F32", "[0]", "[2,2]") + "}");
    CHECK_EQ(out_of_order.tensors[0].name, std::string("a"));
    CHECK_EQ(out_of_order.tensors[1].name, std::string("nothing"));
    CHECK_EQ(out_of_order.tensors[2].name, std::string("b"));
}

XF_TEST(broken_structure_is_corrupt) {
    const std::string good = "{" + kGood + "}";
    const auto refuses = [](const std::string &json) {
        xf_test::check_fails([&] { parse(json); }, XF_ERROR_CORRUPT, json.c_str(), __FILE__, __LINE__);
    };
    for (const char *json : {"", "x", "[]", "null", R"({"a":1})", R"({"a":[1]})", R"({"a":"x"})", R"({"a":null})",
                             R"({"a":true})", R"({"a":{}})"})
        refuses(json);
    for (const char *before : {" ", "\xef\xbb\xbf"}) refuses(before + good);
    for (const char *after : {"x", "\n", "{}"}) refuses(good + after);
    refuses("[" + kGood + "]");
    refuses("{" + kGood);
    refuses("{" + kGood + "," + kGood + "}");
    refuses(good + kNul);
    refuses("{" + kNul + kGood + "}");
    const xf_test::Changes cases[] = {
        {"}}", {"}},", "},}", ",\"more\":{}}}"}},
        {"\"a\"",
         {"\"\"", R"("\u0000")", R"("a\u0000b")", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", R"("\ud800")",
          R"("\x")"}},
        {R"("dtype":"F32",)",
         {"", R"("dtype":"F32","dtype":"F32",)", R"("dtype":1,)", R"("dtype":"F31",)", R"("dtype":"f32",)"}},
        {R"("shape":[1],)",
         {"", R"("shape":[1],"shape":[1],)", R"("shape":1,)", R"("shape":[[1]],)", R"("shape":["1"],)",
          R"("shape":[{}],)"}},
        {R"(,"data_offsets":[0,4])", {""}},
        {"[0,4]", {"[0]", "[0,4,4]", "[]"}},
        {"{",
         {R"({"__metadata__":{},"__metadata__":{},)", R"({"__metadata__":{"k":"1","k":"2"},)",
          R"({"__metadata__":{"k":1},)", R"({"__metadata__":{"k":{}},)", R"({"__metadata__":"k",)",
          R"({"__metadata__":[],)", R"({"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"}},
    };
    for (const auto &[from, all] : cases)
        for (const char *to : all) refuses(xf_test::replaced(good, from, to));
}

XF_TEST(hostile_numbers_are_rejected) {
    const auto refuses = [](const std::string &shape, const std::string &offsets, xf_status status) {
        const std::string json = object(tensor("a", "F32", shape, offsets));
        xf_test::check_fails([&] { parse(json); }, status, json.c_str(), __FILE__, __LINE__);
    };
    for (const char *number : {"-1", "-0", "1.0", "1e0", "1E1", "0x1", "01", "+1", "NaN", "Infinity", "",
                               "18446744073709551616", "99999999999999999999999999"}) {
        refuses(std::string("[") + number + ",]", "[0,4]", XF_ERROR_CORRUPT);
        if (*number) refuses(std::string("[") + number + "]", "[0,4]", XF_ERROR_CORRUPT);
        refuses("[1]", std::string("[") + number + ",4]", XF_ERROR_CORRUPT);
        refuses("[1]", std::string("[0,") + number + "]", XF_ERROR_CORRUPT);
    }
    for (const char *number : {"2", "0", "2147483648", "4294967296", "1073741825", "4398046511105"}) {
        refuses(std::string("[") + number + "]", "[0,4]", XF_ERROR_CORRUPT);
        if (*number != '0') refuses("[1]", std::string("[") + number + ",4]", XF_ERROR_CORRUPT);
        refuses("[1]", std::string("[0,") + number + "]", XF_ERROR_CORRUPT);
    }
    refuses("[9223372036854775808]", "[0,4]", XF_ERROR_LIMIT);
    refuses("[18446744073709551615]", "[0,4]", XF_ERROR_LIMIT);
    refuses("[4611686018427387905]", "[0,4]", XF_ERROR_LIMIT);      // 2^62+1 floats wrap to 4 bytes
    refuses("[4398046511105,4194304]", "[0,4]", XF_ERROR_LIMIT);    // (2^42+1) * 2^22
    refuses("[4294967296,4294967296,0]", "[0,0]", XF_ERROR_LIMIT);  // wraps before the 0
    refuses("[1,1,1,1,1,1,1,1,1]", "[0,4]", XF_ERROR_LIMIT);
    refuses("[1]", "[4,0]", XF_ERROR_CORRUPT);
    refuses("[1]", "[4,8]", XF_ERROR_CORRUPT);
    refuses("[1]", "[18446744073709551612,0]", XF_ERROR_CORRUPT);  // end - begin wraps to 4
    refuses("[1]", "[18446744073709551611,18446744073709551615]", XF_ERROR_CORRUPT);
    refuses("[1]", "[0." + std::string(1'000'000, '0') + "1e-2147483639,4]", XF_ERROR_CORRUPT);  // CVE-2024-38517
    refuses("[" + std::string(1'000'000, '9') + "]", "[0,4]", XF_ERROR_CORRUPT);
}

XF_TEST(gaps_overlaps_and_trailing_bytes_are_corrupt) {
    const auto two = [](const char *a, const char *b) {
        return object(tensor("a", "F16", "[1]", a) + "," + tensor("b", "F16", "[1]", b));
    };
    CHECK_EQ(parse(two("[0,2]", "[2,4]"), 4).tensors.size(), size_t{2});
    CHECK_FAILS(parse(two("[0,2]", "[2,4]"), 5), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse(two("[0,2]", "[2,4]"), 3), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse(two("[0,2]", "[3,5]"), 5), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse(two("[1,3]", "[3,5]"), 5), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse(two("[0,2]", "[1,3]"), 3), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse(two("[0,2]", "[0,2]"), 2), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse("{" + kGood + "," + tensor("z", "F32", "[0]", "[2,2]") + "}"), XF_ERROR_CORRUPT);
    CHECK_FAILS(parse("{}", 1), XF_ERROR_CORRUPT);
}

XF_TEST(counts_and_names_have_limits) {
    SafetensorsLimits limits;
    limits.tensors = 2;
    limits.metadata_keys = 1;
    const auto limited = [&](const std::string &json) { return parse_safetensors_header(json, 0, limits, "test"); };
    const auto empty = [](const char *name) { return tensor(name, "U8", "[0]", "[0,0]"); };
    CHECK_EQ(limited(object(empty("a") + "," + empty("b"))).tensors.size(), size_t{2});
    CHECK_FAILS(limited(object(empty("a") + "," + empty("b") + "," + empty("c"))), XF_ERROR_LIMIT);
    CHECK_FAILS(limited("{\"__metadata__\":{\"a\":\"\",\"b\":\"\"}}"), XF_ERROR_LIMIT);
    CHECK_EQ(parse(object(empty(std::string(1024, 'n').c_str())), 0).tensors.size(), size_t{1});
    CHECK_FAILS(parse(object(empty(std::string(1025, 'n').c_str())), 0), XF_ERROR_LIMIT);
    CHECK_FAILS(parse("{\"__metadata__\":{\"" + std::string(1025, 'n') + "\":\"\"}}", 0), XF_ERROR_LIMIT);
    std::string many = "{";
    for (size_t i = 0; i <= SafetensorsLimits().tensors; ++i) many += empty(std::to_string(i).c_str()) + ",";
    CHECK_FAILS(parse(many, 0), XF_ERROR_LIMIT);
}

XF_TEST(the_header_length_is_checked_before_allocation) {
    const auto open = [](const std::string &bytes, const SafetensorsLimits &limits = {}) {
        SafetensorsReader(std::make_shared<MemoryInput>(bytes.data(), bytes.size()), limits);
    };
    const std::string json = "{}      ";
    open(file_with(8, json));
    for (const uint64_t length : {uint64_t{9}, uint64_t{16}, uint64_t{100'000'001}, uint64_t{1} << 31,
                                  uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7})
        CHECK_FAILS(open(file_with(length, json)), XF_ERROR_CORRUPT);
    CHECK_FAILS(open(file_with(0, json)), XF_ERROR_CORRUPT);
    CHECK_FAILS(open(file_with(0, "")), XF_ERROR_CORRUPT);
    SafetensorsLimits limits;
    limits.header_bytes = 7;
    CHECK_FAILS(open(file_with(8, json), limits), XF_ERROR_LIMIT);
    limits = {};
    limits.file_bytes = 15;
    CHECK_FAILS(open(file_with(8, json), limits), XF_ERROR_LIMIT);
    CHECK_FAILS(open(file_with(100'000'001, std::string(100'000'001, ' '))), XF_ERROR_LIMIT);
}

XF_TEST(another_kind_of_file_is_named_in_the_error) {
    const auto complaint = [](uint64_t length) -> std::string {
        const std::string bytes = file_with(length, std::string(92, 'x'));
        const auto input = std::make_shared<MemoryInput>(bytes.data(), bytes.size(), "x.bin");
        return xf_test::outcome_of([&] { SafetensorsReader reader(input); }).message;
    };
    for (const uint64_t length : {uint64_t{17187564783953223497u}, uint64_t{100'000'001}})
        CHECK_EQ(complaint(length),
                 "'x.bin' is not a safetensors file: it begins with bytes that are not the length of a header");
    const auto beginning = [&](const char *text) {
        uint64_t length = 0;
        std::memcpy(&length, text, sizeof length);
        return complaint(length);
    };
    CHECK_EQ(beginning("Dear all"), "'x.bin' is not a safetensors file: it begins with text");
    CHECK_EQ(beginning("{\"format"),
             "'x.bin' is not a safetensors file: it begins with '{', like a JSON file, for example of a tokenizer");
    CHECK_EQ(complaint(500), "'x.bin' has 100 bytes, expected more: its header length is 500");
}

XF_TEST(the_digits_of_the_checksum_are_found_only_at_their_position) {
    const std::string digits(64, 'a');
    const std::string before = "{\"__metadata__\":{\"sha256\":\"";
    CHECK_EQ(parse(before + digits + "\"}}", 0).digest_at, before.size());
    CHECK_EQ(parse(before + "\\u0061" + digits.substr(1) + "\"}}", 0).digest_at, size_t{0});
    CHECK_EQ(parse(before + digits.substr(1) + "\"}}", 0).digest_at, size_t{0});
    CHECK_EQ(parse(before + "\\\"\\\"" + digits.substr(2) + "\"}}", 0).digest_at, size_t{0});
    CHECK_EQ(parse("{\"__metadata__\":{\"other\":\"" + digits + "\"}}", 0).digest_at, size_t{0});
}

XF_TEST(messages_show_hostile_names_in_one_line) {
    const std::string bad = object(tensor("\\u001b[2J\\n" + std::string(500, 'n'), "F32", "[2]", "[0,4]"));
    const std::string said = xf_test::outcome_of([&] { parse(bad); }).message;
    CHECK(!said.empty() && said.find_first_of("\n\x1b") == std::string::npos);
    CHECK(said.size() < 247);
}
