// Dropout with the counter-based generator, kW counters at a time; xf_dropout in plugin_abi.h defines it.
//
// Philox4x32-10 (Salmon et al. 2011) produces eight 16-bit numbers per counter, so kW counters produce 8 kW of them.
// The four output words are interleaved so that 16-bit number i of the buffer belongs to element i of the tensor.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kDrawn = 8 * kW;

// High and low words of the 32 x 32 bit products of a with a constant.
XF_INLINE void multiply_wide(VU a, uint32_t factor, VU *high, VU *low) {
    const VU f = VU{} + factor;
    const VU64 even = mul_even(a, f), odd = mul_even(reinterpret_cast<VU>(reinterpret_cast<VU64>(a) >> 32), f);
    const VU64 lower = VU64{} + 0xFFFFFFFFu;
    *low = reinterpret_cast<VU>((even & lower) | (odd << 32));
    *high = reinterpret_cast<VU>((even >> 32) | (odd & ~lower));
}

// Draws the 8 kW 16-bit numbers of the Philox blocks first .. first + kW - 1.
static void draw(const Dropout &d, uint64_t first, uint16_t *out) {
    VU c0, c1;
    for (int i = 0; i < kW; ++i) c0[i] = static_cast<uint32_t>(i);
    const uint32_t base = static_cast<uint32_t>(first);
    c0 += base;
    c1 = VU{} + static_cast<uint32_t>(first >> 32);
    c1 -= reinterpret_cast<VU>(c0 < base);  // a true comparison is -1: adds the carry
    c1 ^= d.high;
    VU c2 = VU{} + d.site, c3 = VU{} + d.step;
    uint32_t k0 = d.key0, k1 = d.key1;
    for (int round = 0; round < 10; ++round) {
        VU high0, low0, high1, low1;
        multiply_wide(c0, 0xD2511F53u, &high0, &low0);
        multiply_wide(c2, 0xCD9E8D57u, &high1, &low1);
        c0 = high1 ^ c1 ^ k0;
        c2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const VU a = zip_low(c0, c2), b = zip_low(c1, c3), e = zip_high(c0, c2), f = zip_high(c1, c3);
    VUMem *words = reinterpret_cast<VUMem *>(out);
    words[0] = zip_low(a, b);
    words[1] = zip_high(a, b);
    words[2] = zip_low(e, f);
    words[3] = zip_high(e, f);
}

// Applies dropout to x[0 .. n), which are elements index .. index + n - 1 of the tensor.
static void drop(const Dropout &d, uint64_t index, int64_t n, float *x) {
    uint16_t drawn[kDrawn + kW];
    const VI threshold = VI{} + static_cast<int32_t>(d.threshold);
    uint64_t block = index / 8;
    int64_t offset = static_cast<int64_t>(index % 8);
    while (n > 0) {
        draw(d, block, drawn);
        const int64_t count = min64(n, kDrawn - offset);
        for (int64_t i = 0; i < count; i += kW) {
            const VH half = *reinterpret_cast<const VHMem *>(drawn + offset + i);
            const VI keep = __builtin_convertvector(half, VI) >= threshold;
            const int64_t left = count - i;
            const VF y = (left >= kW ? load(x + i) : load_n(x + i, left)) * d.scale;
            const VF kept = keep ? y : VF{};
            if (left >= kW)
                store(x + i, kept);
            else
                store_n(x + i, kept, left);
        }
        x += count;
        n -= count;
        block += kW;
        offset = 0;
    }
}
