// Reading and writing tokenizer files with failing allocations: always std::bad_alloc, never a crash. RapidJSON must
// use operator new, because it does not check the result of malloc.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failing_new.hpp"
#include "support/test.hpp"
#include "text/json/words.h"

using namespace xf;

namespace {

WordTable some_table() {
    WordTable table;
    for (uint32_t c = 0x4E00; c < 0x4F00; ++c) table.characters.push_back(c);
    for (int32_t i = 0; i < 200; ++i) table.merges.push_back({99, 100 + i});
    return table;
}

XF_TEST(any_allocation_may_fail) {
    const WordTable table = some_table();
    const TokenizerOptions options;
    const std::string expected = write_tokenizer_json(options, table);
    std::string json;
    const int writing = xf_test::fail_each_new([&] {
        const bool failed = xf_test::out_of_memory([&] { json = write_tokenizer_json(options, table); });
        CHECK_EQ(failed, xf_test::new_plan.failed);
    });
    CHECK(json == expected);
    TokenizerOptions read;
    WordTable found;
    const int reading = xf_test::fail_each_new([&] {
        found = {};
        const bool failed = xf_test::out_of_memory([&] { read_tokenizer_json(expected, &read, &found); });
        CHECK_EQ(failed, xf_test::new_plan.failed);
    });
    CHECK_EQ(found.merges.size(), table.merges.size());
    CHECK(found.characters == table.characters);
    CHECK(writing > 5 && reading > 5);
}

XF_TEST(the_parser_takes_its_memory_from_operator_new) {
    const std::string json = "{\"" + std::string(size_t{4} << 20, 'k') + "\":1}";
    TokenizerOptions options;
    WordTable table;
    xf_test::new_plan.too_large = size_t{1} << 20;
    const bool failed =
        xf_test::out_of_memory([&] { xf_test::outcome_of([&] { read_tokenizer_json(json, &options, &table); }); });
    xf_test::new_plan = {};
    CHECK(failed);
}

}  // namespace
