// What is checked of every case on every backend. Each function returns the number of failures and prints them.
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
// On a bf16 stream, whose numbers have 8 bits: results are rounded once, weights of attention before they are used too.
constexpr double kToleranceBf16 = 2e-2;

// One call of the case list with what ref makes of it.
struct Tested {
    Problem problem;
    Words expected;
};

// Checks that compare bits make again what check_parity has made of every case. Where a call is dear, they make one of
// so many: on the emulated GPU, and under a sanitizer, which looks at memory and sees no bits. XF_TEST_EVERY in the
// environment makes them all.
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

// Results against ref, and memory that is no output. Includes that top_k's choice is the definition's.
int check_parity(const Backend &backend);
// That the case list calls every operation that each backend has.
int check_listed(const Backend &backend);
// Forward passes against the words of plugin_abi.h, without any code of ref.
int check_definition(const Backend &backend);
// Central differences of the forward pass against the backward pass, for every differentiable input.
int check_gradients(const Backend &backend);
// Same bits with 1, 2, 3 and 61 workers, which take turns, for a repeated call, for memory at another address.
int check_workers(const Backend &backend);
// Same bits with AVX2 and with AVX-512, products of denormal numbers in bf16 included.
int check_instructions(const Backend &backend);
// Same bits for a row alone, among others, at another place, where plugin_abi.h promises it.
int check_rows(const Backend &backend);
// The same for products of the shapes of a base model, for every number of rows: check_sweep.cpp.
int check_sweep(const Backend &backend);
// Masks of dropout against Philox, forward and backward.
int check_dropout(const Backend &backend);
// How near GELU, swish and their derivatives come to the true ones, for numbers large and small: check_functions.cpp.
int check_functions(const Backend &backend);
// NaN and Inf: found by sum_squares, kept in their row, let through by ReLU, minus infinity for top_k.
int check_nan(const Backend &backend);
// The bf16 copies that adam and to_bf16 make, to the bit.
int check_copies(const Backend &backend);
// With no memory to be had an operation fails cleanly or succeeds, and works again afterwards.
int check_no_memory(const Backend &backend);

// Prints and counts. Prints the first 20 only.
class Failures {
public:
    explicit Failures(const Backend &backend) : backend_(backend.name()) {}
    void add(const Problem &problem, const std::string &what);
    int count() const { return count_; }

private:
    std::string backend_;
    int count_ = 0;
};

// The reference, for results that a backward pass needs.
Words reference(const Problem &problem);

float as_float(uint32_t word);

// The first buffer in which two results of one problem differ, or "".
std::string difference(const Problem &problem, const Words &a, const Words &b);

int speed(const std::string &op);

}  // namespace xf_test
