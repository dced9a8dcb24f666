// The matrix products of cuda/gemm_cublaslt.cu on a fake cuBLASLt (fake_cublaslt.cpp) that checks its arguments: the
// requests, the choice of the algorithm, and the behavior if the library has no algorithm, fails, or is missing.
//
// SPDX-License-Identifier: Apache-2.0

#include "fake_cublaslt_fixture.h"

namespace {

using fake_cublaslt::Found;
using fake_cublaslt::Question;
using xf::cuda::gemm;
using xf::cuda::Gemm;

constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

bool says(const std::string &text, const char *word) { return text.find(word) != std::string::npos; }

// Row-major is passed as column-major, in every form. The fake refuses inconsistent sizes, and NaNs separate the rows.
XF_TEST(products_are_correct_in_every_form) {
    struct Types {
        uint32_t operands, result;
    };
    struct Form {
        float beta;
        bool bias, relu;
    };
    Session session;
    for (const Types types : {Types{XF_FP32, XF_FP32}, Types{XF_BF16, XF_BF16}, Types{XF_BF16, XF_FP32}})
        for (const Form form : {Form{0, false, false}, Form{0, true, false}, Form{0, false, true}, Form{0, true, true},
                                Form{1, false, false}, Form{1, false, true}})
            for (const int64_t step : {8, 2, 1})
                for (int which = 0; which < 16; ++which) {
                    Shape shape{19, 21, 50, (which & 1) != 0, (which & 2) != 0};
                    shape.operands = types.operands, shape.result = types.result;
                    shape.beta = form.beta, shape.bias = form.bias, shape.relu = form.relu;
                    // Rows that are no rows in memory can't be invariant: 256 don't fit the distance of the terms.
                    shape.row_invariant = (which & 4) != 0 && !shape.a_transposed;
                    shape.step = step, shape.shift = which / 8;
                    const Product product(shape);
                    const size_t before = fake().multiplied.size();
                    const int64_t launches = xf_cuda_host_get("launches");
                    product.run_and_check(session.stream);
                    // The fake has nothing for bf16 rows of odd distance; all else is its work.
                    const bool plain = types.operands == XF_BF16 && step == 1;
                    CHECK_EQ(fake().multiplied.size() - before, plain ? size_t{0} : size_t{1});
                    // Aligned operands are never copied.
                    if (!plain && step == 8 && product.s.shift == 0)
                        CHECK_EQ(xf_cuda_host_get("launches") - launches, 1);
                }
    CHECK_EQ(fake().broken, std::string());
}

XF_TEST(arguments_of_the_library_are_correct) {
    const Setting guard("guard", 1);  // the wrapper itself touches no memory of the device
    Session session;
    Product({40, 24, 64, false, true, XF_BF16, XF_BF16, 0, true, true}).run_and_check(session.stream);
    CHECK_EQ(fake().asked.size(), size_t{1});
    const auto [q, wish] = fake().asked.back();
    CHECK_EQ(q.compute, CUBLAS_COMPUTE_32F);
    CHECK(q.op_a == CUBLAS_OP_T && q.op_b == CUBLAS_OP_N && q.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS);
    CHECK(q.m == 24 && q.n == 40 && q.k == 64);
    CHECK(q.a.type == CUDA_R_16BF && q.b.type == CUDA_R_16BF && q.c.type == CUDA_R_16BF);
    CHECK(q.a.rows == 64 && q.a.columns == 24 && q.a.ld == 72);
    CHECK(q.b.rows == 64 && q.b.columns == 40 && q.b.ld == 72);
    CHECK(q.c.rows == 24 && q.c.columns == 40 && q.c.ld == 32);
    CHECK_EQ(wish.workspace, static_cast<size_t>(kWorkspaceBytes));
    CHECK_EQ(wish.schemes, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const uint32_t alignment : wish.alignment) CHECK_EQ(alignment, 16u);
    // Alignments follow from the row distances: the library's A is b.
    Shape shape{40, 24, 64};
    shape.step = 2;
    Product product(shape);
    product.args.M = 30, product.args.lda = 65, product.args.ldb = 26, product.args.ldc = 28;
    CHECK_EQ(gemm(session.stream, product.args, nullptr), int32_t{XF_OK});
    const uint32_t *alignment = fake().asked.back().second.alignment;
    CHECK(alignment[0] == 8 && alignment[1] == 4 && alignment[2] == 16 && alignment[3] == 16);
}

XF_TEST(empty_products_need_no_library) {
    Session session;
    Product product({3, 5, 4, false, false, XF_FP32, XF_FP32, 0, true});
    for (int64_t Gemm::*size : {&Gemm::M, &Gemm::N}) {
        Gemm none = product.args;
        none.*size = 0;
        CHECK_EQ(gemm(session.stream, none, nullptr), int32_t{XF_OK});
    }
    CHECK(product.read(session.stream) == product.c.bytes);
    product.args.K = product.s.K = 0;
    product.run_and_check(session.stream);
    CHECK(fake().asked.empty() && fake().multiplied.empty());
}

const std::vector<Shape> &training() {
    static const std::vector<Shape> shapes = {
        {1000, 9, 70},
        {1010, 9, 70},
        {1023, 9, 70},
        {31, 9, 70},
        {32, 9, 70},
        {33, 9, 70},
        {12, 9, 1010, true, false, XF_FP32, XF_FP32, 1},
        {12, 9, 1001, true, false, XF_FP32, XF_FP32, 1},
        {12, 9, 1001, true, true},
        {1000, 9, 70, false, true, XF_BF16, XF_BF16, 0, true, true},
        {1001, 9, 70, false, true, XF_BF16, XF_BF16, 0, true, true},
        {40, 9, 70, false, false, XF_FP32, XF_FP32, 0, false, false, true},
    };
    return shapes;
}

std::vector<Bytes> run_training(const std::vector<size_t> &order) {
    Session session;
    std::vector<Bytes> got(training().size());
    for (const size_t i : order) CHECK_EQ(Product(training()[i]).run(session.stream, &got[i]), int32_t{XF_OK});
    return got;
}

XF_TEST(results_do_not_depend_on_earlier_calls) {
    std::vector<size_t> order;
    for (size_t i = 0; i < training().size(); ++i) order.push_back(i);
    const std::vector<Bytes> first = run_training(order);
    std::reverse(order.begin(), order.end());
    CHECK(run_training(order) == first);
    for (size_t i = 0; i < first.size(); ++i) Product(training()[i]).check(first[i]);
    for (size_t i = 0; i < first.size(); ++i) CHECK(run_training({i})[i] == first[i]);
    order.insert(order.end(), order.begin(), order.end());
    CHECK(run_training(order) == first);
}

XF_TEST(an_algorithm_is_selected_once) {
    Session session;
    const auto asked_by = [&](const Shape &shape) {
        const size_t before = fake().asked.size();
        CHECK_EQ(Product(shape).run(session.stream), int32_t{XF_OK});
        return fake().asked.size() - before;
    };
    CHECK_EQ(asked_by({1000, 9, 70}), size_t{1});
    CHECK_EQ(fake().asked.back().first.n, 1024);
    CHECK_EQ(asked_by({1000, 9, 70}), size_t{0});
    CHECK_EQ(asked_by({1024, 9, 70}), size_t{0});
    CHECK_EQ(asked_by({993, 9, 70}), size_t{0});
    CHECK_EQ(asked_by({992, 9, 70}), size_t{1});
    CHECK_EQ(asked_by({1000, 9, 71}), size_t{1});  // all other properties are passed unchanged
    CHECK_EQ(asked_by({1000, 10, 70}), size_t{1});
    CHECK_EQ(asked_by({1000, 9, 70, false, true}), size_t{1});
    CHECK_EQ(asked_by({1000, 9, 70, false, false, XF_FP32, XF_FP32, 0, true}), size_t{1});
    CHECK_EQ(asked_by({1000, 9, 70, false, false, XF_FP32, XF_FP32, 0, false, true}), size_t{1});
    CHECK_EQ(asked_by({1000, 9, 70, false, false, XF_BF16, XF_FP32}), size_t{1});
    CHECK_EQ(asked_by({9, 9, 1001, true}), size_t{1});  // rows that are summed over
    CHECK_EQ(fake().asked.back().first.k, 1024);
    CHECK_EQ(asked_by({9, 9, 1010, true}), size_t{0});
    CHECK_EQ(asked_by({9, 9, 1001, true, true}), size_t{1});
    CHECK_EQ(fake().asked.back().first.k, 1001);
    for (const auto &[q, wish] : fake().asked) CHECK(wish.schemes == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

XF_TEST(more_products_than_table_entries) {
    Session session;
    const Product product({1, 3000, 33});
    Bytes first, again;
    CHECK_EQ(product.run(session.stream, &first), int32_t{XF_OK});
    for (int64_t N = 1; N < product.s.N; ++N) {
        Gemm part = product.args;
        part.N = N;
        CHECK_EQ(gemm(session.stream, part, nullptr), int32_t{XF_OK});
    }
    CHECK_EQ(product.run(session.stream, &again), int32_t{XF_OK});
    CHECK(again == first);
    product.check(again);
}

XF_TEST(a_row_does_not_depend_on_other_rows) {
    Session session;
    const Product product({1000, 24, 70, false, true, XF_BF16, XF_FP32, 0, true, true, true});
    Bytes all;
    CHECK_EQ(product.run(session.stream, &all), int32_t{XF_OK});
    product.check(all);
    for (const int64_t rows : {1, 2, 3, 16, 17, 100, 255, 256, 257, 999}) {
        Gemm some = product.args;
        const int64_t first = product.s.M - rows;
        some.M = rows, some.a = product.a.ptr(first), some.c = product.c.ptr(first);
        CHECK_EQ(cudaMemsetAsync(product.c.device.ptr, 0, all.size(), session.stream->stream), cudaSuccess);
        CHECK_EQ(gemm(session.stream, some, nullptr), int32_t{XF_OK});
        const Bytes got = product.read(session.stream);
        for (int64_t i = first; i < product.s.M; ++i)
            CHECK_EQ(std::memcmp(&got[product.c.at(i, 0)], &all[product.c.at(i, 0)], size_t{24} * 4), 0);
    }
    // One algorithm, chosen once: no part of a sum apart from the rest, and tried with few rows and with many.
    CHECK_EQ(fake().asked.size(), size_t{1});
    CHECK_EQ(fake().asked[0].second.schemes, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    CHECK_EQ(fake().asked[0].first.n, 256);
    CHECK_EQ(fake().multiplied.size(), size_t{11});
    for (const auto &[q, algo] : fake().multiplied)
        CHECK_EQ(std::memcmp(&algo, &fake().multiplied[0].second, sizeof algo), 0);
    int64_t fewest = INT64_MAX, most = 0;
    for (const Question &q : fake().checked) fewest = std::min(fewest, q.n), most = std::max(most, q.n);
    CHECK(fewest == 1 && most >= 65536);
}

XF_TEST(a_row_invariant_algorithm_accepts_all_rows_or_none) {
    Session session;
    Shape shape{300, 24, 70};
    shape.row_invariant = true;
    fake().algo_check = [](const Question &q, const cublasLtMatmulAlgo_t &algo, cublasLtMatmulHeuristicResult_t *) {
        if (algo.data[fake_cublaslt::kRank] == 0 && q.n == 1) return CUBLAS_STATUS_NOT_SUPPORTED;
        return q.n == 333 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    };
    Product(shape).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.back().second.data[fake_cublaslt::kRank], uint64_t{1});
    // Another algorithm or the own kernel would have other bits. The same algorithm computes parts of the rows.
    for (const int64_t shift : {0, 1}) {
        shape.M = 333, shape.shift = shift;
        const Product refused(shape);
        Bytes got, row;
        const size_t before = fake().multiplied.size();
        refused.run_and_check(session.stream);
        CHECK_EQ(refused.run(session.stream, &got), int32_t{XF_OK});
        CHECK_EQ(fake().multiplied.size() - before, size_t{2 * 9});  // 255, 64, 7 times 2
        shape.M = 1;
        const Product one(shape);
        CHECK_EQ(one.run(session.stream, &row), int32_t{XF_OK});
        CHECK_EQ(std::memcmp(&got[refused.c.at(0, 0)], &row[one.c.at(0, 0)], 24 * sizeof(float)), 0);
        for (const auto &[question, algorithm] : fake().multiplied)
            CHECK_EQ(algorithm.data[fake_cublaslt::kRank], uint64_t{1});
    }
    CHECK_EQ(fake().asked.size(), size_t{1});
    CHECK_EQ(session.logged, 0);
    shape.shift = 0;
    // A library that runs out of memory meanwhile fails the call.
    shape.M = 333;
    fake().algo_check = [](const Question &q, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *) {
        return q.n == 333  ? CUBLAS_STATUS_NOT_SUPPORTED
               : q.n == 64 ? CUBLAS_STATUS_ALLOC_FAILED
                           : CUBLAS_STATUS_SUCCESS;
    };
    xf_error err{};
    CHECK_EQ(Product(shape).run(session.stream, nullptr, &err), int32_t{XF_ERROR_NO_MEMORY});
    // One that now refuses every number of rows fails it, too.
    fake().algo_check = [](const Question &, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    };
    CHECK_EQ(Product(shape).run(session.stream, nullptr, &err), int32_t{XF_ERROR_BACKEND});
    CHECK(says(err.message, "refuses 333 x 24 x 70"));
    fake().multiplied.resize(1);
    // None that serves all: the own kernel, which is row-invariant.
    fake().algo_check = [](const Question &q, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *found) {
        if (q.n == 4096) found->workspaceSize = size_t{1} << 40;
        return CUBLAS_STATUS_SUCCESS;
    };
    shape.N = 25;
    Product(shape).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.size(), size_t{1});
    CHECK_EQ(session.logged, 1);
}

// The scores of a vocabulary: 65,536 rows of them are more numbers than a library may count.
XF_TEST(trials_stay_within_the_limits_of_the_library) {
    constexpr int64_t kMost = int64_t{1} << 31;
    fake_cublaslt::Matrix Question::*const matrices[] = {&Question::b, &Question::c};
    for (const auto wide : matrices) {
        Session session;
        fake().algo_check = [](const Question &q, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *) {
            return q.n * std::max(q.b.ld, q.c.ld) < kMost ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
        };
        Product product({1, 24, 70, false, true, XF_BF16, XF_FP32, 0, false, false, true});
        (wide == &Question::c ? product.args.ldc : product.args.lda) = 37000;
        product.run_and_check(session.stream);
        CHECK_EQ(fake().multiplied.size(), size_t{1});
        CHECK_EQ(session.logged, 0);
        int64_t most = 0;
        for (const Question &q : fake().checked) {
            CHECK_EQ((q.*wide).ld, 37000);
            most = std::max(most, q.n);
        }
        CHECK_EQ(most, 4096);
    }
}

// The heuristic receives the properties that each bias has: the algorithms of the fake rely on them.
XF_TEST(a_bias_has_its_declared_alignment) {
    Session session;
    for (const uint32_t type : {XF_FP32, XF_BF16})
        for (const int64_t shift : {0, 4, 8, 16, 32, 1}) {
            Shape shape{20, 24, 64, false, true, type, type, 0, true};
            shape.shift = shift;
            const size_t before = fake().multiplied.size();
            Product(shape).run_and_check(session.stream);
            CHECK_EQ(fake().multiplied.size(), before + 1);
        }
    for (const auto &[q, algo] : fake().multiplied) CHECK_EQ(algo.data[fake_cublaslt::kBias], uint64_t{16});
}

XF_TEST(a_kernel_of_the_plugin_replaces_an_algorithm_for_other_rows) {
    Session session;
    fake().algo_check = [](const Question &q, const cublasLtMatmulAlgo_t &, cublasLtMatmulHeuristicResult_t *found) {
        if (q.n == 1000) found->workspaceSize = static_cast<size_t>(kWorkspaceBytes) + 1;
        if (q.n == 1001) found->state = CUBLAS_STATUS_NOT_SUPPORTED;
        return q.n == 1002 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    };
    for (const int64_t rows : {1000, 1001, 1002, 1003}) {
        Product({rows, 9, 70}).run_and_check(session.stream);
        CHECK_EQ(fake().asked.back().first.n, rows == 1003 ? 1002 : rows);
    }
    CHECK_EQ(fake().asked.size(), size_t{4});
    CHECK_EQ(fake().multiplied.size(), size_t{4});
    Product({1000, 9, 70}).run_and_check(session.stream);
    CHECK_EQ(fake().asked.size(), size_t{4});
    // And when there is none for the very number: the own kernel.
    fake().heuristic = [](const Question &q, Found &found) {
        if (q.n == 1002) found.clear();
        return CUBLAS_STATUS_SUCCESS;
    };
    Product({1002, 10, 70}).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.size(), size_t{5});
    CHECK_EQ(session.logged, 1);
    CHECK(says(session.said, "fp32 1002 x 10 x 70"));
}

XF_TEST(products_without_an_algorithm_are_computed) {
    const std::function<cublasStatus_t(const Question &, Found &)> refusals[] = {
        [](const Question &, Found &found) {
            found.clear();
            return CUBLAS_STATUS_NOT_SUPPORTED;
        },
        [](const Question &, Found &found) {
            found.clear();
            return CUBLAS_STATUS_INVALID_VALUE;
        },
        [](const Question &, Found &found) {
            for (auto &result : found) result.state = CUBLAS_STATUS_NOT_SUPPORTED;
            return CUBLAS_STATUS_SUCCESS;
        },
        [](const Question &, Found &found) {
            for (auto &result : found) result.workspaceSize = static_cast<size_t>(kWorkspaceBytes) + 1;
            return CUBLAS_STATUS_SUCCESS;
        },
    };
    for (const auto &refusal : refusals)
        for (const bool row_invariant : {false, true}) {
            Session session;
            fake().heuristic = refusal;
            const Product product({20, 9, 70, false, true, XF_FP32, XF_FP32, 0, true, true, row_invariant});
            product.run_and_check(session.stream);
            product.run_and_check(session.stream);
            CHECK_EQ(fake().asked.size(), size_t{1});
            CHECK(fake().multiplied.empty());
            CHECK_EQ(session.logged, 1);  // once for each kind of product
        }
    Session session;
    fake().heuristic = [](const Question &, Found &found) {
        found[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
        return CUBLAS_STATUS_SUCCESS;
    };
    Product({20, 9, 70}).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.back().second.data[fake_cublaslt::kRank], uint64_t{1});
    CHECK_EQ(session.logged, 0);
}

// The same while the algorithm of a row-invariant product is tried with different numbers of rows: nothing is chosen
// then, in particular no other algorithm, which would change results permanently.
XF_TEST(a_failure_during_the_trials_selects_no_algorithm) {
    constexpr int64_t step = XF_TEST_SANITIZED ? 5 : 1;
    for (const cublasStatus_t failure : {CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INTERNAL_ERROR}) {
        int64_t reached = 0;
        for (int64_t n = 1; n < 400; n += step) {
            Session session;
            Shape shape{20, 9, 70, false, true, XF_BF16, XF_BF16};
            shape.row_invariant = true;
            const Product product(shape);
            fake().failure = failure;
            fake().fail_after = n;
            xf_error err{};
            const int32_t status = product.run(session.stream, nullptr, &err);
            if (fake().fail_after != 0) break;
            ++reached;
            CHECK_EQ(status, int32_t{failure == CUBLAS_STATUS_ALLOC_FAILED ? XF_ERROR_NO_MEMORY : XF_ERROR_BACKEND});
            CHECK(fake().multiplied.empty());
            CHECK_EQ(session.logged, 0);  // no "own, slower kernel"
            fake().forget();
            product.run_and_check(session.stream);
            CHECK_EQ(fake().multiplied.size(), size_t{1});
        }
        CHECK(reached * step > 60);  // the trials make a description each
    }
}

// The n-th call of the library fails, for each n that the product gets to.
XF_TEST(each_call_of_the_library_may_fail) {
    for (const cublasStatus_t failure : {CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INTERNAL_ERROR}) {
        std::map<std::string, int> failed;
        for (int64_t n = 1; n < 100; ++n) {
            Session session;
            const Product product({20, 9, 70, false, true, XF_BF16, XF_BF16, 0, true, true});
            fake().failure = failure;
            fake().fail_after = n;
            xf_error err{};
            const int32_t status = product.run(session.stream, nullptr, &err);
            const bool reached = fake().fail_after == 0;
            ++failed[fake().failed];
            CHECK_EQ(fake().live_descriptions, 0);
            const bool memory = failure == CUBLAS_STATUS_ALLOC_FAILED;
            CHECK_EQ(status, int32_t{!reached ? XF_OK : memory ? XF_ERROR_NO_MEMORY : XF_ERROR_BACKEND});
            if (reached) {
                CHECK_EQ(err.status, status);
                CHECK_EQ(err.native_code, memory ? 0 : int32_t{CUBLAS_STATUS_INTERNAL_ERROR});
                CHECK(says(err.message, memory ? "out of memory" : "the fake is broken"));
                CHECK(fake().multiplied.empty());
                fake().forget();
                product.run_and_check(session.stream);  // it works on
                CHECK_EQ(fake().multiplied.size(), size_t{1});
            }
            CHECK_EQ(session.logged, 0);
            if (!reached) break;
        }
        CHECK_EQ(failed["cublasLtMatmulDescCreate"], 2);
        CHECK_EQ(failed["cublasLtMatrixLayoutCreate"], 6);
        CHECK_EQ(failed["cublasLtMatmulDescSetAttribute"], 9);
        CHECK_EQ(failed["cublasLtMatmulPreferenceCreate"], 1);
        CHECK_EQ(failed["cublasLtMatmulPreferenceSetAttribute"], 6);
        CHECK_EQ(failed["cublasLtMatmulAlgoGetHeuristic"], 1);
        CHECK_EQ(failed["cublasLtMatmul"], 1);
        CHECK_EQ(failed[""], 1);
    }
}

XF_TEST(a_fault_of_an_earlier_kernel_is_reported_as_such) {
    const Faults faults;
    Session session;
    const Product product({20, 9, 70});
    product.run_and_check(session.stream);
    xf_cuda_host_set("launch_fault_after", 1);
    CHECK_EQ(gemm(session.stream, product.args, nullptr), int32_t{XF_OK});  // runs later
    CHECK_EQ(cudaStreamSynchronize(session.stream->stream), cudaErrorIllegalAddress);
    xf_error err{};
    CHECK_EQ(gemm(session.stream, product.args, &err), int32_t{XF_ERROR_BACKEND});
    CHECK_EQ(err.native_code, int32_t{cudaErrorIllegalAddress});
    CHECK_EQ(session.device->lost.load(), int32_t{cudaErrorIllegalAddress});
}

XF_TEST(the_workspace_is_counted) {
    const int64_t capabilities[][2] = {{90, kWorkspaceBytes}, {89, kWorkspaceBytes / 8}};
    for (const auto &[capability, bytes] : capabilities) {
        const Setting setting("capability", capability);
        Session session;
        const Product product({20, 9, 70});
        const int64_t before = session.held, live = xf_cuda_host_get("live_bytes");
        session.budget = before + bytes - 1;
        xf_error err{};
        CHECK_EQ(product.run(session.stream, nullptr, &err), int32_t{XF_ERROR_NO_MEMORY});
        CHECK_EQ(product.run(session.stream), int32_t{XF_ERROR_NO_MEMORY});
        CHECK(fake().multiplied.empty());
        CHECK_EQ(session.held, before);
        session.budget = before + bytes + bytes / 8;
        product.run_and_check(session.stream);
        CHECK(session.held - before >= bytes);
        CHECK_EQ(session.held - before, xf_cuda_host_get("live_bytes") - live);
        CHECK_EQ(fake().asked[0].second.workspace, static_cast<size_t>(bytes));
    }
}

XF_TEST(products_are_recorded_and_replayed) {
    Session session;
    // One whose operands are all copied; then one whose algorithm is chosen while it is recorded.
    const Product product({20, 9, 70, false, true, XF_BF16, XF_BF16, 0, true, true, false, 8, 1}), other({1000, 9, 70});
    xf_graph *graph = nullptr;
    xf_error err{};
    CHECK_EQ(table().graph_begin(session.stream, &err), int32_t{XF_OK});  // a recording can't take a workspace
    const int32_t status = gemm(session.stream, product.args, &err);
    CHECK_EQ(status, int32_t{XF_ERROR_STATE});
    xf::cuda::settle(session.stream, status, &err);
    CHECK_EQ(table().graph_end(session.stream, &graph, &err), int32_t{XF_ERROR_STATE});

    Bytes want;
    CHECK_EQ(product.run(session.stream, &want), int32_t{XF_OK});
    CHECK_EQ(table().graph_begin(session.stream, &err), int32_t{XF_OK});
    CHECK_EQ(gemm(session.stream, product.args, &err), int32_t{XF_OK});
    CHECK_EQ(gemm(session.stream, other.args, &err), int32_t{XF_OK});
    CHECK_EQ(table().graph_end(session.stream, &graph, &err), int32_t{XF_OK});
    const size_t asked = fake().asked.size();
    for (int run = 0; run < 3; ++run) {
        for (const Product *each : {&product, &other})
            CHECK_EQ(cudaMemsetAsync(each->c.device.ptr, 0xFF, each->c.bytes.size(), session.stream->stream),
                     cudaSuccess);
        CHECK_EQ(table().graph_run(session.stream, graph, &err), int32_t{XF_OK});
        CHECK(product.read(session.stream) == want);
        other.check(other.read(session.stream));
    }
    CHECK_EQ(fake().asked.size(), asked);

    // A failure while recording is reported without waiting for the stream, which is not allowed while recording.
    CHECK_EQ(table().graph_begin(session.stream, &err), int32_t{XF_OK});
    fake().fail_after = 1;
    fake().failure = CUBLAS_STATUS_INTERNAL_ERROR;
    CHECK_EQ(gemm(session.stream, product.args, &err), int32_t{XF_ERROR_BACKEND});
    CHECK_EQ(err.native_code, int32_t{CUBLAS_STATUS_INTERNAL_ERROR});
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    CHECK_EQ(cudaStreamIsCapturing(session.stream->stream, &capture), cudaSuccess);
    CHECK_EQ(capture, cudaStreamCaptureStatusActive);
    xf::cuda::settle(session.stream, XF_ERROR_BACKEND, &err);
    CHECK_EQ(table().graph_end(session.stream, &graph, &err), int32_t{XF_ERROR_BACKEND});
    product.run_and_check(session.stream);
}

XF_TEST(two_threads_share_the_choices) {
    std::vector<std::unique_ptr<Product>> products[2];
    std::vector<Bytes> want;
    {
        const Session alone;
        for (int64_t N = 1; N <= 40; ++N) {
            for (auto &list : products) list.push_back(std::make_unique<Product>(Shape{20, N, 33}));
            want.emplace_back();
            CHECK_EQ(products[0].back()->run(alone.stream, &want.back()), int32_t{XF_OK});
        }
    }
    Session session;
    xf_stream *const streams[] = {session.stream, session.another()};
    fake().heuristic = [](const Question &, Found &) {  // long enough for both to come for the same
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return CUBLAS_STATUS_SUCCESS;
    };
    int wrong[2] = {0, 0};
    const auto work = [&](size_t thread) {
        const size_t count = want.size();
        for (size_t turn = 0; turn < 5 * count; ++turn) {
            const size_t i = thread == 0 || turn < count ? turn % count : count - 1 - turn % count;
            Bytes got;
            wrong[thread] += products[thread][i]->run(streams[thread], &got) != XF_OK || got != want[i];
        }
    };
    std::thread second(work, 1);
    work(0);
    second.join();
    CHECK(wrong[0] == 0 && wrong[1] == 0);
    CHECK_EQ(fake().asked.size(), want.size());
    CHECK_EQ(fake().multiplied.size(), 10 * want.size());
    table().stream_free(streams[1]);
}

XF_TEST(a_library_that_fails_at_the_start_fails_the_device) {
    CHECK_EQ(table().device_count(nullptr), 1);
    {
        Session session;
        CHECK_EQ(fake().live_handles, 1);
        CHECK(says(table().device_info(session.device), "cuBLASLt 9901.2"));
    }
    for (const cublasStatus_t failure : {CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INTERNAL_ERROR}) {
        Device device;
        fake().fail_after = 1;
        fake().failure = failure;
        xf_error err{};
        const bool memory = failure == CUBLAS_STATUS_ALLOC_FAILED;
        CHECK_EQ(device.open(&err), int32_t{memory ? XF_ERROR_NO_MEMORY : XF_ERROR_BACKEND});
        CHECK(says(err.message, memory ? "the fake has no memory" : "the fake is broken"));
        CHECK(device.device == nullptr);
    }
    for (const bool budget : {false, true}) {
        Device device;
        if (budget)
            device.budget = (int64_t{16} << 20) - 1;  // what is on the account for the library's kernels
        else
            device.allocs_left = 1;
        xf_error err{};
        CHECK_EQ(device.open(&err), int32_t{XF_ERROR_NO_MEMORY});
        CHECK(device.device == nullptr);
    }
}

}  // namespace
