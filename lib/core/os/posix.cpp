// See process.h: what every POSIX system has.
//
// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/os/posix_differences.h"
#include "core/os/process.h"
#include "core/os/readable.h"
#include "core/os/standard_numbers.h"

#if defined(_LIBCPP_VERSION)
namespace __cxxabiv1 {
extern "C" void *__cxa_get_globals();  // not in the header of libc++
}
#endif

namespace xf {

void free_memory(void *ptr) { std::free(ptr); }

std::string reason_of(int error_number) {
#if defined(__GLIBC__)
    const char *const reason = strerrordesc_np(error_number);
    return reason != nullptr ? reason : format("error %d", error_number);
#else
    char buffer[128];
    return strerror_r(error_number, buffer, sizeof buffer) == 0 ? buffer : format("error %d", error_number);
#endif
}

void *load_library(const char *path, std::string *reason) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != nullptr) return library;
    const char *const message = dlerror();
    *reason = message != nullptr ? message : "out of memory";
    return nullptr;
}

void *library_symbol(void *library, const char *name) { return dlsym(library, name); }

std::string plugin_file_name(const std::string &name) { return "libxformer_" + name + ".so"; }  // on macOS too

SignalsBlocked::SignalsBlocked() {
    static_assert(sizeof(sigset_t) <= sizeof saved_);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::memcpy(saved_, &before, sizeof before);
}

SignalsBlocked::~SignalsBlocked() {
    sigset_t before;
    std::memcpy(&before, saved_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CancelState::CancelState() noexcept : saved_(PTHREAD_CANCEL_ENABLE) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_);
}

CancelState::~CancelState() { pthread_setcancelstate(saved_, nullptr); }

namespace {

// A thread_local variable would be allocated in the same way as the runtime's.
class ThreadFlag {
public:
    ThreadFlag() noexcept : created_(pthread_key_create(&key_, nullptr) == 0) {}
    ~ThreadFlag() {
        if (created_) pthread_key_delete(key_);
    }
    ThreadFlag(const ThreadFlag &) = delete;
    ThreadFlag &operator=(const ThreadFlag &) = delete;

    bool is_set() const noexcept { return created_ && pthread_getspecific(key_) != nullptr; }
    void set(const void *value) const noexcept {
        if (created_) (void)pthread_setspecific(key_, value);
    }

private:
    pthread_key_t key_{};
    bool created_;
};
const ThreadFlag ready_flag;

}  // namespace

bool thread_ready() noexcept {
    if (ready_flag.is_set()) return true;
    // More than the thread's module list and the runtime's state need. After free() they get this memory.
    void *const list = std::malloc(4096), *const state = std::malloc(128);
    const bool has_memory = list != nullptr && state != nullptr;
    std::free(state);
    std::free(list);
    if (!has_memory) return false;
    ready_flag.set(abi::__cxa_get_globals());  // using the result keeps the compiler from dropping the call
    return true;
}

Readable::Readable() {
    int error_number = 0;
    {
        const StandardNumbersTaken taken;
        if (open_pipe(ends_) != 0) error_number = errno;
    }
    if (error_number != 0)
        throw Error(XF_ERROR_IO, format("cannot create a pipe: %s", reason_of(error_number).c_str()), error_number);
}

Readable::~Readable() {
    ::close(ends_[0]);
    ::close(ends_[1]);
}

void Readable::set(bool readable) noexcept {
    if (readable == readable_) return;
    char byte = 0;
    ssize_t moved;
    do moved = readable ? ::write(ends_[1], &byte, 1) : ::read(ends_[0], &byte, 1);
    while (moved < 0 && errno == EINTR);
    readable_ = readable;
}

}  // namespace xf
