// A thread beside its caller: jobs one behind the other, and what is left of it in a process that was forked.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/background.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/failing_new.hpp"
#include "support/test.hpp"

namespace {

using xf::Background;

struct Seen {
    std::thread::id id;
    int jobs = 0, open_signals = 0;
};

void look(void *arg) {
    auto &seen = *static_cast<Seen *>(arg);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int signal = 1; signal < 32; ++signal)
        if (signal != SIGKILL && signal != SIGSTOP && sigismember(&mask, signal) == 0) ++seen.open_signals;
    seen.id = std::this_thread::get_id();
    ++seen.jobs;
}

XF_TEST(jobs_are_done_on_a_thread_that_takes_no_signals) {
    Background background;
    CHECK(background.alive());
    background.wait();  // for nothing
    Seen seen;
    for (int i = 0; i < 1000; ++i) {
        background.start(look, &seen);
        background.wait();
    }
    CHECK_EQ(seen.jobs, 1000);
    CHECK_EQ(seen.open_signals, 0);
    CHECK(seen.id != std::this_thread::get_id());
    background.start(look, &seen);  // which its end waits for
}

XF_TEST(there_is_none_where_no_thread_can_be_had) {
    xf_test::new_plan = {0, SIZE_MAX, false};
    {
        const Background background;
        CHECK(!background.alive());
    }
    CHECK(xf_test::new_plan.failed);
    xf_test::new_plan = {};
}

XF_TEST(a_forked_process_has_none) {
    Background background;
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        Background *const inherited = &background;
        const bool alive = inherited->alive();
        inherited->wait();
        inherited->~Background();
        _exit(alive ? 1 : 0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK(background.alive());
}

}  // namespace
