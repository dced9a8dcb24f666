// Projection + log-softmax + top-k without storing the logits: the last step of decoding.
//
// A task projects rows onto a panel of kPanel columns (dot.inl), which stays in its cache, and reduces it: maximum, sum
// of e^(x - maximum), and the candidates that are better than the k best that its worker has seen in this row. Panels
// have a fixed size and their sums are combined in increasing order. Candidates are ordered by value and id, so it does
// not matter which worker saw them. A row's result therefore depends only on that row. NaN counts as minus infinity;
// equal values are ordered by increasing id.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kPanel = 512;
constexpr int64_t kSpare = 8;        // candidates kept beyond k
constexpr int64_t kPanelRows = 256;  // rows whose logits of a panel are stored at a time

struct PanelSums {
    float max, sum, total;  // total: the sum of the logits themselves, for the smoothed loss
};

// Sums of one panel. clean: replaces NaN in x by -inf.
static PanelSums panel_sums(float *x, int64_t n, bool clean) {
    VF best = splat(-__builtin_inff());
    Lanes total{}, sum{};
    each_part(n, [&](int64_t i, int64_t count, int part) {
        VF y = get(x + i, count);
        if (clean) {
            y = y == y ? y : splat(-__builtin_inff());  // NOLINT(misc-redundant-expression): a NaN is not itself
            put(x + i, y, count);
        }
        total.part[part] += y;
        if (count < kW)
            for (int lane = static_cast<int>(max64(0, count)); lane < kW; ++lane) y[lane] = -__builtin_inff();
        best = vmax(y, best);
    });
    PanelSums s{hmax(best), 0.0f, hsum(total)};
    if (s.max == -__builtin_inff() && clean) return s;
    each_part(n, [&](int64_t i, int64_t count, int part) {
        sum.part[part] += keep_n(vexp(get(x + i, count) - s.max), count);
    });
    s.sum = hsum(sum);
    return s;
}

struct Candidate {
    float value;
    int32_t id;
};

// Returns whether a ranks before b.
XF_INLINE bool before(Candidate a, Candidate b) { return a.value > b.value || (a.value == b.value && a.id < b.id); }

// Inserts c into a sorted list of `count` candidates, which must have space for one more.
static void insert(Candidate c, Candidate *list, int64_t count) {
    int64_t at = count;
    for (; at > 0 && before(c, list[at - 1]); --at) list[at] = list[at - 1];
    list[at] = c;
}

// Replaces the top of a heap of `count` candidates by c and restores the heap. The top is the worst candidate.
static void replace_top(Candidate c, Candidate *heap, int64_t count) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(heap[child], heap[child + 1])) ++child;
        if (!before(c, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = c;
}

// Adds c to a heap of the `most` best candidates if it is one of them. Returns the new size.
XF_INLINE int64_t keep_best(Candidate c, Candidate *heap, int64_t count, int64_t most) {
    if (count == most) {
        if (before(c, heap[0])) replace_top(c, heap, count);
        return count;
    }
    int64_t at = count;
    for (; at > 0 && before(heap[(at - 1) / 2], c); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = c;
    return count + 1;
}

// Sorts a heap in place, best first.
static void sort_heap(Candidate *heap, int64_t count) {
    while (count > 1) {
        const Candidate worst = heap[0];
        --count;
        replace_top(heap[count], heap, count);
        heap[count] = worst;
    }
}

// Adds x[0 .. n), whose ids begin at `first` (a multiple of 32), to the heap of the `most` best candidates of the row.
// Returns the new size. allowed: one bit for each element of x, or NULL.
static int64_t panel_best(const float *x, int64_t n, int32_t first, int64_t most, const uint8_t *banned,
                          const uint32_t *allowed, Candidate *heap, int64_t count) {
    float bar = count == most ? heap[0].value : -__builtin_inff();
    for (int64_t i = 0; i < n; i += kW) {
        if (!any_lane(get(x + i, n - i) >= bar)) continue;
        for (int64_t j = i; j < min64(n, i + kW); ++j) {
            if (!(x[j] >= bar) || banned[j]) continue;
            if (allowed && (allowed[j / 32] >> (j % 32) & 1) == 0) continue;
            count = keep_best({x[j], first + static_cast<int32_t>(j)}, heap, count, most);
            if (count == most) bar = heap[0].value;
        }
    }
    return count;
}

// The log-probability of a logit. NaN, the result of infinity minus infinity, becomes minus infinity.
XF_INLINE float log_probability(float logit, float lse) {
    const float value = logit - lse;
    return value == value ? value : -__builtin_inff();
}

// Replaces the logits of a row by log-probabilities, and by minus infinity for ids that cannot be selected.
static void finish_row(float *x, int64_t n, float lse, const uint8_t *banned, const uint32_t *allowed) {
    for (int64_t v = 0; v < n; ++v) x[v] = log_probability(x[v], lse);
    for (int64_t v = 0; v < n; ++v)
        if (banned[v] || (allowed && (allowed[v / 32] >> (v % 32) & 1) == 0)) x[v] = -__builtin_inff();
}

// The candidates that each worker found in a row: lists of `most` candidates, `next` apart, and their counts, `rows`
// apart.
struct WorkerLists {
    const Candidate *lists;
    const int32_t *counts;
    int64_t workers, next, rows;
};

// Combines the panels of a row: computes the log-sum-exp, then merges the candidates of the workers. Ranks are those of
// the returned values: different logits can round to one value, so kSpare extra candidates are merged and sorted by
// (value, id). Returns false, with *log_sum_exp set, if that is not enough: candidate k and the last one have the same
// value, so candidates that were dropped may have it, too.
static bool join_panels(const PanelSums *sums, int64_t panels, int64_t rows, const WorkerLists &met, int64_t k,
                        Candidate *chosen, int64_t *found, float *log_sum_exp) {
    float top = -__builtin_inff();
    for (int64_t p = 0; p < panels; ++p) top = sums[p * rows].max > top ? sums[p * rows].max : top;
    float total = 0.0f;
    for (int64_t p = 0; p < panels; ++p) {
        const PanelSums &s = sums[p * rows];
        if (s.sum > 0.0f) total += s.sum * static_cast<float>(exp_of(static_cast<double>(s.max - top)));
    }
    const float lse = *log_sum_exp = top + static_cast<float>(log_of(static_cast<double>(total)));
    int64_t count = 0;
    for (int64_t w = 0; w < met.workers; ++w)
        for (int64_t i = 0; i < met.counts[w * met.rows]; ++i)
            count = keep_best(met.lists[w * met.next + i], chosen, count, k + kSpare);
    sort_heap(chosen, count);
    for (int64_t i = 0; i < count; ++i) insert({log_probability(chosen[i].value, lse), chosen[i].id}, chosen, i);
    *found = count;
    return count < k + kSpare || chosen[count - 1].value < chosen[k - 1].value;
}

// The k best of a row by value, from all its logits, which are computed again panel by panel. The logits have the same
// bits, because a logit depends only on its row and column.
static int64_t rank_row(const xf_stream *stream, const xf_linear_fwd &map, const Prepared &prepared, int64_t row,
                        int64_t k, const uint8_t *banned, const uint32_t *allowed, float lse, float *logits,
                        Candidate *chosen) {
    int64_t count = 0;
    for (int64_t n0 = 0; n0 < map.N; n0 += kPanel) {
        const int64_t n1 = min64(map.N, n0 + kPanel);
        dot_block(stream, map, prepared, row, row + 1, n0, n1, nullptr, logits, kPanel);
        for (int64_t n = n0; n < n1; ++n) {
            if (banned[n] || (allowed && (allowed[n / 32] >> (n % 32) & 1) == 0)) continue;
            const Candidate c{log_probability(logits[n - n0], lse), static_cast<int32_t>(n)};
            if (count == k && !before(c, chosen[k - 1])) continue;
            insert(c, chosen, count < k ? count++ : k - 1);
        }
    }
    return count;
}

// Calls body(r, worker) for each row below count, `tile` rows per task.
template <class Body>
static void each_row(const xf_stream *stream, int64_t count, int64_t tile, const Body &body) {
    parallel(stream, ceil_div(count, tile), [&](int64_t task, int32_t worker) {
        for (int64_t r = task * tile; r < min64(count, (task + 1) * tile); ++r) body(r, worker);
    });
}

// Number of row ranges per panel: more than one if there are fewer than two panels per worker.
XF_INLINE int64_t row_parts(const xf_stream *stream, int64_t panels, int64_t rows) {
    return max64(1, min64(ceil_div(2 * int64_t{stream->workers}, panels), rows / 16));
}

template <class T>
static int32_t top_k(xf_stream *stream, const xf_top_k *args, xf_error *err) {
    const xf_top_k a = *args;
    if (a.rows <= 0 || a.k <= 0) return XF_OK;
    constexpr int64_t kCandidate = sizeof(Candidate), kMostLists = 1 << 26;
    const int64_t panels = ceil_div(a.V, kPanel), workers = stream->workers, most = a.k + kSpare;
    const int64_t step = min64(a.rows, max64(8, min64(kPanelRows, kMostLists / (workers * most * kCandidate))));
    const int64_t sums_at = padded(a.V);
    const int64_t lists_at = sums_at + padded(panels * step * static_cast<int64_t>(sizeof(PanelSums)));
    const int64_t counts_at = lists_at + padded(workers * step * most * kCandidate);
    const int64_t rows_at = counts_at + padded(workers * step * 4);
    const uint32_t type = sizeof(T) == 2 ? uint32_t{XF_WEIGHTS_BF16} : a.weights_type;
    const int64_t prepared_at = rows_at + padded(sizeof(T) == 2 ? step * a.D * 4 : 0);
    const int64_t all = prepared_at + prepared_bytes(stream, type, step, a.D);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(all), err)) return rc;
    const int64_t extra = wide_bytes(type, step), joined = kPanel * 4 + most * kCandidate;
    const int64_t bytes = max64(step * kPanel * 4 + extra, joined);
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    char *base = static_cast<char *>(stream->shared.ptr);
    uint8_t *banned = reinterpret_cast<uint8_t *>(base);
    PanelSums *sums = reinterpret_cast<PanelSums *>(base + sums_at);
    Candidate *lists = reinterpret_cast<Candidate *>(base + lists_at);
    int32_t *counts = reinterpret_cast<int32_t *>(base + counts_at);
    __builtin_memset(banned, 0, static_cast<size_t>(a.V));
    for (int64_t i = 0; i < a.banned_count; ++i)
        if (a.banned[i] >= 0 && a.banned[i] < a.V) banned[a.banned[i]] = 1;
    xf_linear_fwd map{};
    map.N = a.V, map.K = a.D, map.ld_src = a.D, map.weights = a.weights;
    map.weights_type = type, map.scales = a.scales, map.bias = a.bias;
    for (int64_t m0 = 0; m0 < a.rows; m0 += step) {
        const int64_t rows = min64(step, a.rows - m0), parts = row_parts(stream, panels, rows);
        map.src = source_rows(stream, num<T>(a.src) + m0 * a.D, a.D, rows, base + rows_at);
        const Prepared prepared = prepare(stream, map, rows, base + prepared_at);
        __builtin_memset(counts, 0, static_cast<size_t>(workers * step * 4));
        parallel(stream, panels * parts, [&](int64_t task, int32_t worker) {
            float *logits = local(stream, bytes, worker), *wide = extra > 0 ? logits + step * kPanel : nullptr;
            const int64_t p = task / parts, n0 = p * kPanel, n1 = min64(a.V, n0 + kPanel);
            const int64_t part = task % parts;
            const int64_t first = chunk_begin(rows, parts, part, kRowUnit),
                          end = chunk_begin(rows, parts, part + 1, kRowUnit);
            dot_block(stream, map, prepared, first, end, n0, n1, wide, logits, kPanel);
            for (int64_t r = first; a.all_values && r < end; ++r)
                __builtin_memcpy(a.all_values + (m0 + r) * a.V + n0, logits + (r - first) * kPanel,
                                 static_cast<size_t>(n1 - n0) * 4);
            for (int64_t r = first; r < end; ++r, logits += kPanel) {
                sums[p * rows + r] = panel_sums(logits, n1 - n0, true);
                const uint32_t *allowed = a.allowed ? a.allowed + (m0 + r) * ceil_div(a.V, 32) + n0 / 32 : nullptr;
                const int64_t at = worker * step + r;
                counts[at] = static_cast<int32_t>(panel_best(logits, n1 - n0, static_cast<int32_t>(n0), most,
                                                             banned + n0, allowed, lists + at * most, counts[at]));
            }
        });
        each_row(stream, rows, max64(1, 128 / most), [&](int64_t r, int32_t worker) {
            const int64_t row = m0 + r;
            float *logits = local(stream, bytes, worker);
            Candidate *chosen = reinterpret_cast<Candidate *>(logits + kPanel);
            int64_t count = 0;
            float lse = 0.0f;
            const WorkerLists met{lists + r * most, counts + r, workers, step * most, step};
            if (!join_panels(sums + r, panels, rows, met, a.k, chosen, &count, &lse))
                count = rank_row(stream, map, prepared, r, a.k, banned,
                                 a.allowed ? a.allowed + row * ceil_div(a.V, 32) : nullptr, lse, logits, chosen);
            for (int64_t i = 0; i < a.k; ++i) {
                a.values[row * a.k + i] = i < count ? chosen[i].value : -__builtin_inff();
                a.ids[row * a.k + i] = i < count ? chosen[i].id : -1;
            }
            if (a.all_values)
                finish_row(a.all_values + row * a.V, a.V, lse, banned,
                           a.allowed ? a.allowed + row * ceil_div(a.V, 32) : nullptr);
        });
    }
    return XF_OK;
}
