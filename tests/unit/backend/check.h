// The checks of every case on every backend. Each function prints its failures and returns their number.
//
// Error measure of an output: max |a - b| / (max |b| + floor) <= 2e-5 over the whole buffer, b from ref; floor is
// 1e-3, or the buffer's own where cancellation leaves only noise; 2e-2 on a bf16 stream. "Same bits" means the words
// are compared.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "backend/opened.h"

namespace xf_test {

constexpr double kTolerance = 2e-5;
// bf16 has 8 bits: results are rounded once, attention weights also before they are used.
constexpr double kToleranceBf16 = 2e-2;

// One call of the case list with the result of ref.
struct Tested {
    Problem problem;
    Words expected;
};

// Checks that compare bits repeat the calls of check_parity. If calls are slow (on the emulated GPU, or under a
// sanitizer, which checks memory and not bits), they repeat only one of several. XF_TEST_EVERY in the environment
// repeats all.
class Sparing {
public:
    Sparing(const Backend &backend, size_t emulated, size_t sanitized, size_t released = 1)
        : every_(std::getenv("XF_TEST_EVERY") != nullptr
                     ? 1
                     : (backend.emulated() ? emulated : released) * (XF_TEST_SANITIZED ? sanitized : 1)) {}
    bool spares() { return ++turn_ % every_ != 0; }

private:
    size_t every_, turn_ = 0;
};

// The whole list, built once for each number type.
const std::vector<Tested> &all_tested(bool bf16);

// Compares results with ref, checks that other memory is unchanged, and checks the selection of top_k by definition.
int check_parity(const Backend &backend);
// Checks that the case list calls every operation of each backend.
int check_listed(const Backend &backend);
// Compares forward passes with the definitions of plugin_abi.h, without code of ref.
int check_definition(const Backend &backend);
// Compares finite differences of the forward pass with the backward pass, for every differentiable input.
int check_gradients(const Backend &backend);
// Same bits with 1, 2, 3, and 61 workers, for a repeated call, and for memory at another address.
int check_workers(const Backend &backend);
// Same bits with AVX2 and AVX-512, or with all sets of NEON instructions, also for products of denormal numbers in
// bf16.
int check_instructions(const Backend &backend);
// In products of bf16 on the CPU, a sum is denormal if it is so after rounding.
int check_flush(const Backend &backend);
// Same bits for a single row, among other rows, and at another position, for row-invariant operations.
int check_rows(const Backend &backend);
// Same bits of rows for products with the shapes of a base model and every number of rows.
int check_sweep(const Backend &backend);
// Same bits for several steps of a hypothesis in one call of attention_step and in one call each.
int check_steps(const Backend &backend);
// Compares dropout masks with Philox, forward and backward.
int check_dropout(const Backend &backend);
// Accuracy of GELU, swish, and their derivatives for large and small numbers.
int check_functions(const Backend &backend);
// NaN and infinity: detected by sum_squares, confined to their row, passed by ReLU, minus infinity for top_k.
int check_nan(const Backend &backend);
// Exact bits of the bf16 copies of adam and to_bf16.
int check_copies(const Backend &backend);
// Without memory an operation fails cleanly or succeeds, and works again afterwards.
int check_no_memory(const Backend &backend);

// Counts a failure, and prints the first 20.
class Failures {
public:
    explicit Failures(const Backend &backend) : backend_(backend.name()) {}
    void add(const Problem &problem, const std::string &what);
    int count() const { return count_; }

private:
    std::string backend_;
    int count_ = 0;
};

// The reference backend, for results that a backward pass needs.
Words reference(const Problem &problem);

float as_float(uint32_t word);

// One number of a result.
float value_of(const Problem &problem, const Words &words, const std::string &name, int64_t row, int64_t column);

// The first buffer in which two results of one problem differ, or "".
std::string difference(const Problem &problem, const Words &a, const Words &b);

int speed(const std::string &op);

}  // namespace xf_test
