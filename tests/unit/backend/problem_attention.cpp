// Problems of attention over packed sequences, and of one decoding step over a cache.
//
// Rows that belong to no sentence hold poison. The data of a sentence depend on its number and not on its place, so
// that the same sentences can be laid out in another order and must give the same bits.
//
// SPDX-License-Identifier: Apache-2.0

#include "backend/problem.h"

namespace xf_test {
namespace {

// The positions of the sentences of one side.
struct Layout {
    std::vector<int32_t> begin, length;
    int64_t rows = 0;

    Layout(const std::vector<int32_t> &lengths, bool gaps, bool reversed) : begin(lengths.size()), length(lengths) {
        const size_t B = lengths.size();
        for (size_t i = 0; i < B; ++i) {
            const size_t b = reversed ? B - 1 - i : i;
            if (gaps) ++rows;
            begin[b] = static_cast<int32_t>(rows);
            rows += lengths[b];
        }
        if (gaps) ++rows;
    }

    int32_t longest() const { return length.empty() ? 0 : *std::max_element(length.begin(), length.end()); }
};

// Gives each row of a sentence the noise of (sentence, row within it); other rows keep what they have.
void fill(Buffer &buffer, const Layout &layout, float size) {
    for (size_t b = 0; b < layout.begin.size(); ++b)
        for (int64_t i = 0; i < layout.length[b]; ++i)
            for (int64_t column = 0; column < buffer.width; ++column)
                buffer.set(layout.begin[b] + i, column,
                           size * noise(seed_of(buffer.name), static_cast<int64_t>(b) * 100000 + i, column));
}

Buffer rows_in(const std::string &name, const Layout &layout, int64_t width, int64_t ld, float size = 1.0f) {
    Buffer buffer{.name = name, .rows = layout.rows, .width = width, .ld = ld};
    buffer.words.assign(static_cast<size_t>(layout.rows * ld), kPoison);
    fill(buffer, layout, size);
    return buffer;
}

Buffer rows_out(const std::string &name, const Layout &layout, int64_t width, int64_t ld) {
    Buffer buffer = output(name, layout.rows, width, ld);
    buffer.writes.assign(static_cast<size_t>(layout.rows), Write::kNo);
    for (size_t b = 0; b < layout.begin.size(); ++b)
        for (int64_t i = 0; i < layout.length[b]; ++i)
            buffer.writes[static_cast<size_t>(layout.begin[b] + i)] = Write::kYes;
    return buffer;
}

struct Shape {
    Case c;
    Layout q, k;
    int64_t B;

    Shape(const Case &from, bool reversed)
        : c(from),
          q(from.T, from.has(kGaps), reversed),
          k(from.S.empty() ? from.T : from.S, from.has(kGaps), reversed),
          B(static_cast<int64_t>(from.T.size())) {}

    xf_attention args(const Args &a) const {
        xf_attention args{};
        args.B = a.rows, args.H = c.H, args.dk = c.dk, args.dv = c.dv, args.max_q_len = q.longest(),
        args.max_k_len = k.longest(), args.ld_q = c.H * c.dk + c.pad, args.ld_k = c.H * c.dk + c.pad,
        args.ld_v = c.H * c.dv + c.pad, args.scale = 1.0f / std::sqrt(static_cast<float>(c.dk)),
        args.causal = c.has(kCausal) ? 1u : 0u, args.window = c.window,
        args.drop_stride = (static_cast<int64_t>(k.longest()) + 7) / 8 * 8 + 8, args.dropout = dropout_of(c, a, 4),
        args.ld_dst = c.H * c.dv + c.pad;
        args.q_begin = a.i("q_begin"), args.q_len = a.i("q_len"), args.k_begin = a.i("k_begin"),
        args.k_len = a.i("k_len"), args.q = a.f("q"), args.k = a.f("k"), args.v = a.f("v"), args.dst = a.f("dst"),
        args.lse = a.f("lse");
        return args;
    }

    std::vector<Buffer> inputs() const {
        return {per_row(integers("q_begin", q.begin)),
                per_row(integers("q_len", q.length)),
                per_row(integers("k_begin", k.begin)),
                per_row(integers("k_len", k.length)),
                rows_in("q", q, c.H * c.dk, c.H * c.dk + c.pad, 3.0f),
                rows_in("k", k, c.H * c.dk, c.H * c.dk + c.pad),
                rows_in("v", k, c.H * c.dv, c.H * c.dv + c.pad),
                when()};
    }

    double pairs() const {
        double sum = 0.0;
        for (size_t b = 0; b < q.length.size(); ++b) sum += static_cast<double>(q.length[b]) * k.length[b];
        return sum * static_cast<double>(c.H * (c.dk + c.dv));
    }
};

Problem forward(const Shape &s) {
    Problem p{.name = "attention_fwd", .c = s.c, .rows = s.B, .row_invariant = s.c.rate == 0.0f};
    p.buffers = s.inputs();
    p.buffers.push_back(rows_out("dst", s.q, s.c.H * s.c.dv, s.c.H * s.c.dv + s.c.pad));
    if (!s.c.has(kNoLse)) {
        Buffer lse = fp32(rows_out("lse", s.q, s.c.H, s.c.H));
        for (size_t b = 0; b < s.q.begin.size(); ++b)  // the log-sum-exp of no key isn't defined
            for (int64_t i = 0; s.k.length[b] == 0 && i < s.q.length[b]; ++i)
                lse.writes[static_cast<size_t>(s.q.begin[b] + i)] = Write::kMay;
        p.buffers.push_back(lse);
    }
    p.flops = 2.0 * s.pairs();
    p.call = calling(&xf_backend_v1::attention_fwd, [s](const Args &a, xf_attention &args) { args = s.args(a); });
    return p;
}

Problem backward(const Shape &shape, const Reference &reference) {
    Shape s = shape;
    s.c.flags &= ~static_cast<uint32_t>(kNoLse);
    const Problem fwd = forward(s);
    const Words results = reference(fwd);
    const int64_t wide_k = s.c.H * s.c.dk, wide_v = s.c.H * s.c.dv, pad = 2 * s.c.pad;
    Problem p{.name = "attention_bwd", .c = s.c, .rows = s.B};
    p.buffers = s.inputs();
    p.buffers.push_back(copied(fwd, results, "dst", "dst"));
    p.buffers.push_back(copied(fwd, results, "lse", "lse"));
    p.buffers.push_back(rows_in("diff_dst", s.q, wide_v, wide_v + pad));
    p.buffers.push_back(rows_out("diff_q", s.q, wide_k, wide_k + pad));
    p.buffers.push_back(rows_out("diff_k", s.k, wide_k, wide_k + pad));
    p.buffers.push_back(rows_out("diff_v", s.k, wide_v, wide_v + pad));
    // With one key ds = p (dp - sum p dp) is exactly 0 on paper and rounding noise in fact: hence the floor.
    p.at("diff_q").floor = p.at("diff_k").floor = 0.1;
    p.flops = 5.0 * s.pairs();
    p.call = calling(&xf_backend_v1::attention_bwd, [s, wide_k, wide_v, pad](const Args &a, xf_attention_bwd &args) {
        args.fwd = s.args(a), args.ld_diff_dst = wide_v + pad, args.ld_diff_q = wide_k + pad,
        args.ld_diff_k = wide_k + pad, args.ld_diff_v = wide_v + pad;
        args.diff_dst = a.f("diff_dst"), args.diff_q = a.f("diff_q"), args.diff_k = a.f("diff_k"),
        args.diff_v = a.f("diff_v");
    });
    return p;
}

ProblemSet make_attention(const Case &c, const Reference &reference, bool reversed) {
    const Shape shape(c, reversed);
    ProblemSet set;
    set.problems = {forward(shape), backward(shape, reference)};
    set.forward = "attention_fwd";
    set.projections = {{"dst", "diff_dst"}};
    for (const std::string name : {"q", "k", "v"}) set.gradients.push_back({name, "attention_bwd", "diff_" + name});
    return set;
}
const Builder attention("attention", make_attention);

ProblemSet make_attention_step(const Case &c, const Reference &, bool) {
    const int64_t slots = c.M + 3, steps = c.t + 2, wide_k = c.H * c.dk, wide_v = c.H * c.dv, ld_cells = c.t + 2;
    const bool multi = c.has(kMultiStep);
    std::vector<int32_t> slot_of_row, steps_of_row, cells;
    std::vector<int64_t> slot_of_cells(static_cast<size_t>(slots));  // of the first row of the hypothesis
    for (int64_t slot = 0; slot < slots; ++slot) slot_of_cells[static_cast<size_t>(slot)] = slot;
    for (int64_t r = 0; r < c.M; ++r) {
        slot_of_row.push_back(static_cast<int32_t>(slots % 5 == 0 ? c.M - 1 - r : (r * 5 + 2) % slots));
        steps_of_row.push_back(static_cast<int32_t>(std::max<int64_t>(0, c.t - r % 3)));  // not all at the same step
        if (multi) slot_of_cells[static_cast<size_t>(slot_of_row.back())] = slot_of_row[static_cast<size_t>(r - r % 3)];
    }
    for (const int64_t slot : slot_of_cells)
        for (int64_t u = 0; u < ld_cells; ++u) {  // hypotheses share cells; the last entry is not read
            const float from = (noise(9, slot, u) + 1.0f) / 2.01f * static_cast<float>(slots);
            // The cells of the last steps are not shared: no row reads what this call writes.
            const int64_t cell = u * slots + (u >= c.t - 2 ? slot : static_cast<int64_t>(from));
            cells.push_back(u > c.t ? -1 : static_cast<int32_t>(cell));
        }
    // A row of several steps depends on the rows of earlier steps: check_steps() compares it with single steps.
    Problem p{.name = "attention_step", .c = c, .rows = c.M, .row_invariant = !multi};
    p.buffers = {per_row(integers("slot_of_row", slot_of_row)),
                 per_row(integers("steps", steps_of_row)),
                 integers("cells", cells, ld_cells),
                 per_row(input("q", c.M, wide_k, wide_k + c.pad)),
                 per_row(input("k", c.M, wide_k, wide_k + c.pad)),
                 per_row(input("v", c.M, wide_v, wide_v + c.pad)),
                 sum("k_cache", steps * slots, wide_k, wide_k),
                 sum("v_cache", steps * slots, wide_v, wide_v),
                 per_row(output("dst", c.M, wide_v, wide_v + c.pad))};
    for (const char *name : {"k_cache", "v_cache"}) {
        Buffer &cache = p.at(name);
        cache.writes.assign(static_cast<size_t>(cache.rows), Write::kNo);
        for (size_t r = 0; r < slot_of_row.size(); ++r)
            cache.writes[static_cast<size_t>(steps_of_row[r] * slots +
                                             slot_of_cells[static_cast<size_t>(slot_of_row[r])])] = Write::kYes;
        const int64_t made = multi ? c.t - 2 : c.t;  // later steps have not been made
        std::fill(cache.words.begin() + made * slots * cache.ld, cache.words.end(), kPoison);
    }
    p.bytes = 4.0 * static_cast<double>(c.M * (c.t + 1) * (wide_k + wide_v));
    p.flops = p.bytes / 2.0;
    p.call = calling(&xf_backend_v1::attention_step, [=](const Args &a, xf_attention_step &args) {
        args.rows = a.rows, args.H = c.H, args.dk = c.dk, args.dv = c.dv, args.max_step = c.t, args.ld_cells = ld_cells,
        args.ld_q = wide_k + c.pad, args.ld_k = wide_k + c.pad, args.ld_v = wide_v + c.pad, args.scale = 0.7f,
        args.window = c.window, args.ld_dst = wide_v + c.pad, args.multi_step = multi ? 1 : 0;
        args.steps = a.i("steps"), args.slot_of_row = a.i("slot_of_row"), args.cells = a.i("cells"), args.q = a.f("q"),
        args.k = a.f("k"), args.v = a.f("v"), args.k_cache = a.f("k_cache"), args.v_cache = a.f("v_cache"),
        args.dst = a.f("dst");
    });
    return {.problems = {p}};
}
const Builder attention_step("attention_step", make_attention_step);

}  // namespace
}  // namespace xf_test
