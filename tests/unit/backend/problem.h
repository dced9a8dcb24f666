// A case made into calls: named buffers with their content, what may be written, and the call itself.
//
// All memory of an operation is a Buffer. Elements that it must not read (columns between the width and ld, rows
// without a sentence, the old content of an output) contain NaN, which appears in the results. Elements that it must
// not write are compared after the call (opened.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "backend/cases.h"
#include "backend/plugin_abi.h"

namespace xf_test {

constexpr uint32_t kPoison = 0x7FC0BEEFu;  // a quiet NaN

enum class Write : char {
    kNo,   // must not change
    kYes,  // is compared with the reference
    kMay,  // undefined by the contract
};

enum class Type : char { kFloat, kInt, kDouble };

struct Buffer {
    std::string name;
    Type type = Type::kFloat;
    bool out = false;      // an output; an input must come back unchanged
    bool host = false;     // host memory, not device memory
    bool num = true;       // of the stream's number type (xf_num); false: fp32 on every stream
    bool per_row = false;  // row i belongs to row i of the call: may be taken out and put elsewhere
    int64_t rows = 0, width = 0, ld = 0;
    std::vector<uint32_t> words = {};  // [rows * ld] floats or integers; a double takes two
    std::vector<Write> writes = {};    // [rows] for an output
    double floor = 1e-3;               // added to max |b| in the error measure

    float get(int64_t row, int64_t column) const;
    void set(int64_t row, int64_t column, float value);
    int32_t integer(int64_t row, int64_t column) const { return static_cast<int32_t>(words[row * ld + column]); }
};

using Words = std::vector<std::vector<uint32_t>>;  // the content of each buffer after a call

// The pointers of one call. A name without a buffer is NULL.
struct Args {
    int64_t rows;
    std::map<std::string, void *> pointers;

    float *f(const char *name) const { return static_cast<float *>(find(name)); }
    int32_t *i(const char *name) const { return static_cast<int32_t *>(find(name)); }
    void *find(const char *name) const {
        const auto at = pointers.find(name);
        return at == pointers.end() ? nullptr : at->second;
    }
};

using OperationCall = std::function<int32_t(const xf_backend_v1 &, xf_stream *, const Args &, xf_error *)>;

struct Problem {
    std::string name;
    Case c;
    int64_t rows = 0;
    bool row_invariant = false;
    double flops = 0.0, bytes = 0.0;  // for the speed mode
    std::vector<Buffer> buffers = {};
    OperationCall call = {};

    int index(const std::string &buffer) const;  // -1: none
    Buffer &at(const std::string &buffer) { return buffers[static_cast<size_t>(index(buffer))]; }
    const Buffer &at(const std::string &buffer) const { return buffers[static_cast<size_t>(index(buffer))]; }
};

// diff is the gradient of sum(projection * output) by input: input of forward, diff of backward.
struct Gradient {
    std::string input, backward, diff;
};

// All calls of one case. forward is the problem that finite differences are taken of.
struct ProblemSet {
    std::vector<Problem> problems = {};
    std::string forward = {};
    std::vector<std::pair<std::string, std::string>> projections = {};  // {output of forward, input of backward}; "": 1
    std::vector<Gradient> gradients = {};

    const Problem *find(const std::string &name) const;
};

// Runs a problem on the reference backend: results of a forward pass are inputs of the backward one.
using Reference = std::function<Words(const Problem &)>;

// x rounded to bf16, to nearest even.
uint32_t to_bf16(uint32_t word);
// A matrix as a case's type has it, made of the fp32 one that problems show: what a call gives a backend whose memory
// is the host's. Packed by the backend where it packs.
class Matrix {
public:
    Matrix(const Case &c, const xf_backend_v1 &table, xf_stream *stream, const float *values, int64_t N, int64_t K);

    int32_t status() const { return status_; }  // of packing
    const float *data() const { return static_cast<const float *>(data_); }
    const float *scales() const { return scales_.empty() ? nullptr : scales_.data(); }

private:
    int32_t status_ = XF_OK;
    const void *data_;
    std::vector<uint8_t> bytes_;
    std::vector<float> scales_;
};

template <class T>
using Operation = int32_t (*xf_backend_v1::*)(xf_stream *, const T *, xf_error *);

// The call of an operation with the arguments that set(a, args) stores in args, which are 0 before.
template <class T, class Set>
OperationCall calling(Operation<T> operation, Set set) {
    return [=](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        T args{};
        set(a, args);
        return (table.*operation)(stream, &args, err);
    };
}

// The same for an operation whose weights are a matrix of the case's type.
template <class T, class Set>
OperationCall calling_with_matrix(const Case &c, int64_t rows, int64_t columns, Operation<T> operation, Set set) {
    return [=](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const Matrix weights(c, table, stream, a.f("weights"), rows, columns);
        if (weights.status() != XF_OK) return weights.status();
        T args{};
        args.weights = weights.data(), args.weights_type = c.weights, args.scales = weights.scales();
        set(a, args);
        return (table.*operation)(stream, &args, err);
    };
}

// Rounds the numbers of a matrix to what the case's 16-bit type can hold.
void round_matrix(const Case &c, Buffer *weights);
// By the definition of plugin_abi.h, in double but where it asks for fp32: src[m] . weights[n] of a problem.
double product_of(const Problem &problem, int64_t m, int64_t n);

// With every number of the stream's type rounded to bf16 where the case is one of a bf16 stream: what such a stream
// can be given. As it is otherwise.
Problem rounded(const Problem &problem);

// Data are functions of (case, buffer, row, column). reversed: attention places its sentences in reverse order.
ProblemSet make_problems(const Case &c, const Reference &reference, bool reversed = false);

// The problem restricted to these rows of the call, in this order.
Problem take_rows(const Problem &problem, const std::vector<int64_t> &rows);

// Building blocks for problem_*.cpp.
float noise(uint32_t seed, int64_t row, int64_t column);  // uniform in (-1, 1)
uint32_t seed_of(const std::string &text);
Buffer input(const std::string &name, int64_t rows, int64_t width, int64_t ld);  // noise
Buffer integers(const std::string &name, const std::vector<int32_t> &values, int64_t width = 1);
Buffer output(const std::string &name, int64_t rows, int64_t width, int64_t ld);  // poison, written everywhere
Buffer sum(const std::string &name, int64_t rows, int64_t width, int64_t ld);     // noise, written everywhere
Buffer per_row(Buffer buffer);
Buffer fp32(Buffer buffer);  // fp32 on every stream
Buffer when();               // {step, batch} of dropout
Buffer copied(const Problem &problem, const Words &words, const std::string &name, const std::string &as);
constexpr int32_t kDropoutStep = 7, kDropoutBatch = 3;
xf_dropout dropout_of(const Case &c, const Args &args, uint32_t site);

// Builds the calls of a case of this operation. Each builder in problem_*.cpp registers itself with one of these.
using Build = ProblemSet (*)(const Case &, const Reference &, bool reversed);
struct Builder {
    Builder(const char *op, Build build);
};

}  // namespace xf_test
