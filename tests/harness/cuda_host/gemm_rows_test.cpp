// The own row-invariant products (cuda/gemm_rows.h): right by sums in double for every form, and the same bits for a
// row among any number of rows, on any number of multiprocessors, wherever the operands lie. Which calls they serve
// knows no M.
//
// SPDX-License-Identifier: Apache-2.0
#include "gemm_rows.h"

#include "fake_cublaslt_fixture.h"

namespace {

using xf::cuda::gemm;
using xf::cuda::Gemm;
using xf::cuda::gemm_rows;
using xf::cuda::rows_are_own;

struct Types {
    uint32_t operands, result;
};
constexpr Types kTypes[] = {{XF_BF16, XF_BF16}, {XF_BF16, XF_FP32}, {XF_FP32, XF_FP32}};

Shape shape_of(Types types, int64_t M, int64_t N, int64_t K) {
    Shape shape{M, N, K, false, true};
    shape.operands = types.operands, shape.result = types.result;
    shape.row_invariant = true;
    return shape;
}

Bytes run(const Session &session, const Product &product, const Gemm &args) {
    CHECK_EQ(cudaMemcpyAsync(product.c.device.ptr, product.c.bytes.data(), product.c.bytes.size(),
                             cudaMemcpyHostToDevice, session.stream->stream),
             cudaSuccess);
    xf_error err{};
    CHECK_EQ(gemm_rows(session.stream, args, &err) == XF_OK ? "" : std::string(err.message), "");
    return product.read(session.stream);
}

// Each length of K cuts it otherwise: one piece, several, a last chunk and a last piece that are not full.
XF_TEST(row_invariant_products_of_the_plugin_are_correct) {
    const Setting few("multiprocessors", 2);  // so that all widths of a block and both tiles are met
    const Setting guard("guard", 1);          // what is touched before its time isn't there (dependent.cuh)
    Session session;
    int which = 0, call = 0;  // under a sanitizer each third
    for (const Types types : kTypes)
        for (const int64_t K : {8, 32, 40, 264, 520})
            for (const int64_t M : {1, 8, 11, 16, 30, 33, 64, 130})
                for (const int64_t N : {1, 12, 40, 70, 130}) {
                    if (M * N > 5000 && K > 300) continue;
                    if (++call % (XF_TEST_SANITIZED ? 3 : 1) != 0) continue;
                    Shape shape = shape_of(types, M, N, K);
                    shape.bias = ++which % 2 == 0, shape.relu = which % 3 == 0;
                    shape.shift = which % 5 == 0, shape.step = which % 7 == 0 ? 1 : 8;
                    const Product product(shape);
                    product.check(run(session, product, product.args));
                }
}

// Rows of a product with `most` rows, one by one, then in every number of rows: of base's shapes and of odd ones.
void check_rows(const Types types, int64_t N, int64_t K, const std::vector<int64_t> &counts) {
    const int64_t most = counts.back();
    Shape shape = shape_of(types, most, N, K);
    shape.bias = true, shape.relu = N % 3 == 0;
    const Product product(shape);
    Bytes all;
    for (const int64_t multiprocessors : {132, 3}) {
        const Setting size("multiprocessors", multiprocessors);
        Session session;
        if (all.empty()) {
            all = run(session, product, product.args);
            if (most * N * K < int64_t{1} << 24) product.check(all);
        }
        for (const int64_t M : counts) {
            if (multiprocessors == 132 && M > 17 && M < 64) continue;
            const int64_t first = M == most ? 0 : (M * 37) % (most - M);
            Gemm args = product.args;
            args.M = M, args.a = product.a.ptr(first), args.c = product.c.ptr(first);
            const Bytes got = run(session, product, args);
            for (int64_t i = first; i < first + M; ++i)
                if (std::memcmp(&got[product.c.at(i, 0)], &all[product.c.at(i, 0)],
                                static_cast<size_t>(N) * size_of(types.result)) != 0) {
                    CHECK_EQ(std::to_string(N) + " x " + std::to_string(K) + ": row of " + std::to_string(M) + ", " +
                                 std::to_string(multiprocessors) + " multiprocessors",
                             "its bits among " + std::to_string(most));
                    break;
                }
        }
    }
    // Nor does it matter where the operands lie.
    Shape moved = shape;
    moved.shift = 3, moved.M = 17;
    const Product elsewhere(moved);  // drawn in the same order: its rows are the first 17
    Session session;
    const Bytes got = run(session, elsewhere, elsewhere.args);
    for (int64_t i = 0; i < 17; ++i)
        CHECK_EQ(std::memcmp(&got[elsewhere.c.at(i, 0)], &all[product.c.at(i, 0)],
                             static_cast<size_t>(N) * size_of(types.result)),
                 0);
}

XF_TEST(a_row_has_the_same_bits_with_any_number_of_rows) {
    std::vector<int64_t> counts;
    for (int64_t M = 1; M <= 17; ++M) counts.push_back(M);
    counts.insert(counts.end(), {32, 33, 64, 255});
    if (XF_TEST_SANITIZED) counts = {1, 7, 9, 17, 255};  // accesses at the edges of tiles
    for (const Types types : kTypes)
        for (const auto &[N, K] : {std::pair<int64_t, int64_t>{24, 40}, {71, 1000}, {130, 264}, {1, 8}})
            check_rows(types, N, K, counts);
}

XF_TEST(a_row_is_invariant_at_the_shapes_of_a_base_model) {
    if (XF_TEST_SANITIZED) return;  // bits, of the tiles that the small shapes above have met
    const std::vector<int64_t> counts = {1, 4, 8, 9, 16, 17, 64, 255};
    for (const auto &[N, K] : {std::pair<int64_t, int64_t>{512, 512}, {1536, 512}, {512, 2048}})
        check_rows(kTypes[0], N, K, counts);
    check_rows(kTypes[1], 4300, 512, {1, 4, 17, 40});  // of the vocabulary's kind
    check_rows(kTypes[2], 512, 512, {1, 4, 16, 17, 64});
}

XF_TEST(nonfinite_values_stay_in_their_row_or_column) {
    Session session;
    for (const Types types : kTypes)
        for (const int64_t M : {3, 12, 40}) {
            Shape shape = shape_of(types, M, 20, 72);
            shape.relu = true;
            Product product(shape);
            const xf::cuda::bf16 nan = std::numeric_limits<float>::quiet_NaN();
            const float wide = std::numeric_limits<float>::quiet_NaN();
            const auto put = [&](Tensor &tensor, int64_t i, int64_t j) {
                const bool narrow = types.operands == XF_BF16;
                std::memcpy(&tensor.bytes[tensor.at(i, j)], narrow ? static_cast<const void *>(&nan) : &wide,
                            size_of(types.operands));
                CHECK_EQ(
                    cudaMemcpy(tensor.device.ptr, tensor.bytes.data(), tensor.bytes.size(), cudaMemcpyHostToDevice),
                    cudaSuccess);
            };
            const Bytes clean = run(session, product, product.args);
            put(product.a, 1, 71), put(product.b, 19, 0);
            const Bytes got = run(session, product, product.args);
            for (int64_t i = 0; i < M; ++i)
                for (int64_t j = 0; j < 20; ++j) {
                    if (i == 1 || j == 19)
                        CHECK(std::isnan(product.c.get(got, i, j)));
                    else
                        CHECK_EQ(product.c.get(got, i, j), product.c.get(clean, i, j));
                }
        }
}

XF_TEST(the_selection_of_kernels_does_not_depend_on_rows) {
    const Shape shape = shape_of(kTypes[0], 4, 24, 72);
    for (const int64_t M : {1, 4, 1000, 100000}) {
        Session session;
        Gemm g = Product(shape).args;
        g.M = M;
        const auto own = [&](int32_t level, const auto &change) {
            Gemm other = g;
            change(other);
            return rows_are_own(session.device, other, level);
        };
        const auto same = [](Gemm &) {};
        CHECK(!own(0, same) && own(1, same) && own(2, same));
        const auto full = [](Gemm &o) { o.operand_type = o.result_type = XF_FP32; };
        CHECK(!own(0, full) && !own(1, full) && own(2, full));
        CHECK(own(1, [](Gemm &o) { o.a = static_cast<const char *>(o.a) + 2, o.lda = 73; }));
        CHECK(!own(2, [](Gemm &o) { o.K = 70; }));
        CHECK(!own(2, [](Gemm &o) { o.row_invariant = false; }));
        CHECK(!own(2, [](Gemm &o) { o.b_transposed = false; }));
        CHECK(!own(2, [](Gemm &o) { o.beta = 1; }));
    }
    {
        const Setting old("capability", 75);
        Session turing;
        CHECK(!rows_are_own(turing.device, Product(shape).args, 2));
    }
    // And gemm() obeys, as far as this build goes.
    Session session;
    Product(shape).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.size(), XF_CUDA_STEP_PRODUCTS >= 1 ? size_t{0} : size_t{1});
}

}  // namespace
