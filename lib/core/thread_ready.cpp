// See thread_ready.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_ready.h"

#include <cxxabi.h>
#include <pthread.h>

#include <cstdlib>

namespace xf {
namespace {

// Not a thread_local variable, which would be made in the same way as the runtime's.
class Mark {
public:
    Mark() noexcept : made_(pthread_key_create(&key_, nullptr) == 0) {}
    ~Mark() {
        if (made_) pthread_key_delete(key_);
    }
    Mark(const Mark &) = delete;
    Mark &operator=(const Mark &) = delete;

    bool is_set() const noexcept { return made_ && pthread_getspecific(key_) != nullptr; }
    void set(const void *value) const noexcept {
        if (made_) (void)pthread_setspecific(key_, value);
    }

private:
    pthread_key_t key_{};
    bool made_;
};
const Mark mark;

}  // namespace

bool thread_ready() noexcept {
    if (mark.is_set()) return true;
    // More than the list of a thread's modules and the runtime's few words take; freed, it is what they are given.
    void *const list = std::malloc(4096), *const words = std::malloc(128);
    const bool has = list != nullptr && words != nullptr;
    std::free(words);
    std::free(list);
    if (!has) return false;
    mark.set(abi::__cxa_get_globals());  // a compiler drops the call where nobody needs what it gives
    return true;
}

}  // namespace xf
