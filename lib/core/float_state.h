// Sets the default floating-point environment while the library computes, and restores the host's.
//
// Some programs, and libraries that are linked with -ffast-math, flush denormals, change the rounding mode, or unmask
// traps. Results must not depend on that.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace xf {

class FloatState {
public:
    FloatState() noexcept {
#if defined(__SSE__)
        saved_ = _mm_getcsr();
        _mm_setcsr(kDefault);
#else
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
#endif
    }
    ~FloatState() {
#if defined(__SSE__)
        _mm_setcsr(saved_);  // restores the host's exception flags too
#else
        std::fesetenv(&saved_);
#endif
    }
    FloatState(const FloatState &) = delete;
    FloatState &operator=(const FloatState &) = delete;

private:
#if defined(__SSE__)
    static constexpr unsigned kDefault = 0x1F80;  // all traps masked, round to nearest, denormals kept
    unsigned saved_;
#else
    std::fenv_t saved_;
#endif
};

}  // namespace xf
