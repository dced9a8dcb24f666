// Subnormal numbers count as 0 in products of bf16, before and after each fused multiply-add; see gemm_bf16.inl.
//
// x86 decides after rounding whether a result is subnormal: a sum that rounds up to 2^-126 remains. ARM decides before
// rounding and makes it 0, but also sets the underflow flag. A tile whose sums set that flag is therefore computed
// again by exact_tile(), which gives the bits of x86.
//
// SPDX-License-Identifier: Apache-2.0

// Flushes subnormals to zero for the calling thread during the lifetime of this object. On ARM64 an object with `on`
// equal to false keeps them.
class FlushDenormals {
public:
#if defined(__SSE__)
    FlushDenormals() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040u); }
    ~FlushDenormals() { __builtin_ia32_ldmxcsr(saved_); }

private:
    unsigned saved_;
#elif defined(__aarch64__)
    explicit FlushDenormals(bool on = true) {
        constexpr uint64_t kFlush = 1 << 24;
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_)::"memory");
        set(on ? saved_ | kFlush : saved_ & ~kFlush);
    }
    ~FlushDenormals() { set(saved_); }

private:
    static void set(uint64_t bits) { __asm__ volatile("msr fpcr, %0" ::"r"(bits) : "memory"); }
    uint64_t saved_;
#else
    FlushDenormals() {}
    ~FlushDenormals() {}
#endif
};

#if defined(XF_ISA_NEON)
XF_INLINE void clear_underflow() { __asm__ volatile("msr fpsr, xzr" ::: "memory"); }
XF_INLINE bool underflowed() {
    uint64_t flags;
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags)::"memory");
    return flags & 8u;
}

constexpr float kSmallestNormal = 0x1p-126f;

XF_INLINE VF size_of(VF x) { return reinterpret_cast<VF>(reinterpret_cast<VU>(x) & 0x7FFFFFFFu); }
// x, with subnormal numbers replaced by zeros of their sign.
XF_INLINE VF flushed(VF x) {
    const VU sign = reinterpret_cast<VU>(x) & 0x80000000u;
    return size_of(x) < kSmallestNormal ? reinterpret_cast<VF>(sign) : x;
}

// Returns whether a b + c, which rounds to +-2^-126 as a subnormal number does, still rounds there with 24 bits. a b
// and the difference are exact: the factors have 8 bits, and c is a multiple of 2^-149 near 2^-126.
XF_INLINE bool rounds_to_normal(float a, float b, float c, float sum) {
    const double sign = sum < 0.0f ? -1.0 : 1.0;
    return sign * a * b >= (0x1p-126 - 0x1p-151) - sign * c;
}

// The sums of a tile as gemm_tile() computes them, except that results are flushed after rounding.
static void exact_tile(int64_t height, int64_t depth, const float *a, const float *b, float *sums) {
    const FlushDenormals keep(false);
    for (int64_t i = 0; i < height; ++i)
        for (int64_t v = 0; v < kCols; v += kW) {
            VF sum{};
            for (int64_t k = 0; k < depth; ++k) {
                const VF x = flushed(splat(a[k * height + i])), y = flushed(load(b + k * kCols + v));
                VF next = fma(x, y, sum);
                for (int lane = 0; any_lane(size_of(next) == kSmallestNormal) && lane < kW; ++lane)
                    if (size_of(next)[lane] == kSmallestNormal &&
                        !rounds_to_normal(x[lane], y[lane], sum[lane], next[lane]))
                        next[lane] *= 0.5f;
                sum = flushed(next);
            }
            store(sums + i * kCols + v, sum);
        }
}
#endif
