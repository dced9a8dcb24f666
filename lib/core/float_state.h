// Default floating-point behaviour while the library computes, whatever the host has set.
//
// Some programs (and libraries linked with -ffast-math) flush denormals, change the rounding mode or unmask traps. The
// same call must give the same bits there, and must leave the host's setting as it was.
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
        _mm_setcsr(saved_);  // with the flags the host had: ours are no business of its
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
