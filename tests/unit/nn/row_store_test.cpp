// Rows on the device that grow with their contents, and the ranges of them that are in use.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/row_store.h"

#include "nn/fixture.hpp"

namespace {

using namespace xf_test;

XF_TEST(a_row_store_keeps_its_tensors_when_it_grows) {
    const auto context = any_device();
    xf::Stream stream(context->device());
    xf::RowStore store(stream, XF_FP32, {2, 5, 1});
    const int64_t columns[] = {2, 5, 1};
    store.reserve(3, true);
    for (int64_t i = 0; i < 3; ++i) {
        const std::vector<float> values(static_cast<size_t>(3 * columns[i]), static_cast<float>(i + 1));
        stream.upload(store.tensor(i), values.data(), values.size() * sizeof(float));
    }
    store.reserve(2, true);  // smaller: nothing changes
    CHECK_EQ(store.rows(), int64_t{3});
    store.reserve(10, true);
    CHECK_EQ(store.rows(), int64_t{10});
    for (int64_t i = 0; i < 3; ++i) {
        std::vector<float> values(static_cast<size_t>(3 * columns[i]));
        stream.download(values.data(), store.tensor(i), values.size() * sizeof(float));
        CHECK(values == std::vector<float>(values.size(), static_cast<float>(i + 1)));
    }
}

XF_TEST(ranges_do_not_overlap_and_are_reused) {
    xf::RangePool pool;
    Draw draw(3);
    std::map<int64_t, int64_t> used;  // first -> count
    int64_t rows = 0, most = 0;
    for (int i = 0; i < 4000; ++i) {
        if (used.empty() || draw.between(0, 99) < (i < 2000 ? 55 : 45)) {
            const int64_t count = draw.between(1, 40), first = pool.take(count);
            const auto next = used.lower_bound(first);
            CHECK(first >= 0 && first + count <= pool.size());
            CHECK(next == used.end() || first + count <= next->first);
            CHECK(next == used.begin() || std::prev(next)->first + std::prev(next)->second <= first);
            used[first] = count;
            most = std::max(most, rows += count);
        } else {
            const auto each = std::next(used.begin(), draw.between(0, std::ssize(used) - 1));
            pool.release(each->first, each->second);
            rows -= each->second;
            used.erase(each);
        }
    }
    CHECK(pool.size() <= most * 2);  // first fit: gaps are filled
    const int64_t size = pool.size();
    for (const auto &[first, count] : used) pool.release(first, count);
    CHECK_EQ(pool.take(size), int64_t{0});  // one range again
    pool.clear();
    CHECK_EQ(pool.take(1), int64_t{0});
    CHECK_EQ(pool.size(), int64_t{1});
}

}  // namespace
