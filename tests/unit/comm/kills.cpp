// Kills ranks at any time: every other rank must fail with XF_ERROR_PEER within the timeout, and the restarted job must
// write the same file as an undisturbed run.
//
//     comm_kills COUNT [DEATHS [SEED]]
//
// COUNT processes die by SIGKILL, SIGSTOP, or exit(), in jobs of 2 to 4 ranks that are connected by sockets. Half of
// the deaths occur at a random time, half at a point of each phase in turn. A run has 1 to 4 deaths, or DEATHS in a
// longer run, before it may finish. kills.sh is the long form; shards_test.cpp ends threads at each exchange.
//
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "comm/job.hpp"

namespace {

using namespace xf_test;

constexpr int kSteps = 6;  // of most runs
constexpr double kDeadline = 0.5, kLate = 20, kLong = 60;

std::mt19937_64 random_numbers;
int failures = 0;

int64_t draw(int64_t below) { return static_cast<int64_t>(random_numbers() % static_cast<uint64_t>(below)); }

void check(bool good, const std::string &what) {
    if (good) return;
    ++failures;
    std::printf("FAILED: %s\n", what.c_str());
}

struct Totals {
    int deaths = 0, missed = 0, early = 0, finished = 0;
    int ends[kEnds] = {}, phases[kPhases] = {};
    double slowest = 0;
};

class Runs {
public:
    explicit Runs(int64_t steps) : steps_(steps), job_(steps) {
        job_.run(1, file("reference"), kLong, Fate());
        check(job_.diary(0).status == XF_OK, std::string("the reference: ") + job_.diary(0).message);
        reference_ = bytes_of(file("reference"));
        check(!reference_.empty(), "no reference");
        for (int ranks = 2; ranks <= kMost; ++ranks) finish(ranks);
    }

    const Totals &totals() const { return totals_; }

    // One run with `count` deaths, and a last start that finishes it.
    void deaths(int count) {
        for (int done = 0, tries = 0; done < count; ++tries) {
            check(tries < 50 * count + 50, "no rank dies any more");
            if (failures > 20) return;
            const int ranks = 2 + static_cast<int>(draw(kMost - 1));
            const Fate fate = draw_fate(ranks);
            job_.run(ranks, file("file"), kDeadline, fate);
            check(!job_.hung, "a rank hung: " + fate.text());
            if (judge(ranks, fate)) ++done;
        }
        finish(1 + static_cast<int>(draw(kMost)));
    }

private:
    std::string file(const char *name) const { return folder_ / name; }

    Fate draw_fate(int ranks) {
        Fate fate;
        fate.rank = static_cast<int>(draw(ranks));
        const bool timed = draws_ % 2 == 0;
        fate.end = static_cast<End>(draw(timed ? kExit : kEnds));
        if (timed) {
            fate.after = static_cast<double>(draw(1000000)) * 1e-6 * seconds_[static_cast<size_t>(ranks)] * kSteps /
                         static_cast<double>(steps_);
        } else {
            fate.phase = static_cast<Phase>(draws_ / 2 % kPhases);
            const int points[kPhases] = {3, kSteps, 40, 12, 1};
            fate.nth = static_cast<int>(draw(points[fate.phase]));
        }
        ++draws_;
        return fate;
    }

    // Runs all ranks to the end without a death.
    void finish(int ranks) {
        const double took = job_.run(ranks, file("file"), kLong, Fate());
        check(!job_.hung, "a rank hung after a restart");
        if (seconds_[static_cast<size_t>(ranks)] == 0) seconds_[static_cast<size_t>(ranks)] = took;
        for (int rank = 0; rank < ranks; ++rank)
            check(job_.diary(rank).status == XF_OK,
                  xf::format("rank %d of %d after a restart: %s", rank, ranks, job_.diary(rank).message));
        check(bytes_of(file("file")) == reference_, "the file differs from that of an undisturbed run");
        std::filesystem::remove(file("file"));
    }

    // Checks how every other rank ended. Returns whether the death occurred and counts.
    bool judge(int ranks, const Fate &fate) {
        const Diary &victim = job_.diary(fate.rank);
        const double died = victim.died;
        bool early = false;
        for (int rank = 0; rank < ranks; ++rank) {
            const Diary &own = job_.diary(rank);
            if (rank == fate.rank && died != 0) continue;
            const std::string what = xf::format("%s among %d: rank %d: ", fate.text().c_str(), ranks, rank);
            if (own.status == XF_OK && own.left != 0) {
                // A rank may finish if the file is complete.
                check(bytes_of(file("file")) == reference_, what + "went without a whole file");
                if (died != 0) ++totals_.finished;
            } else if (died == 0 || own.left < died) {
                early = own.status == XF_ERROR_PEER;
                check(early, what + own.message);
            } else {
                check(own.status == XF_ERROR_PEER, what + xf::format("status %d: %s", own.status.load(), own.message));
                const double took = own.left - std::max<double>(died, own.called);
                totals_.slowest = std::max(totals_.slowest, took);
                check(took < kDeadline + kLate, what + xf::format("after %.2f s", took));
            }
        }
        if (early) ++totals_.early;
        if (died == 0) ++totals_.missed;
        if (early || died == 0) return false;
        ++totals_.deaths, ++totals_.ends[fate.end], ++totals_.phases[victim.phase];
        return true;
    }

    const int64_t steps_;
    const TempFolder folder_;
    Job job_;
    std::string reference_;
    Totals totals_;
    double seconds_[kMost + 1] = {};
    int64_t draws_ = 0;
};

void die(int count, int each) {
    const double began = seconds_now();
    Runs runs(each > 4 ? 2 * each : kSteps);
    int in_runs = 0;
    while (runs.totals().deaths < count && failures <= 20) {
        const int left = count - runs.totals().deaths;
        runs.deaths(std::min(left, each > 0 ? each : 1 + static_cast<int>(draw(4))));
        ++in_runs;
    }
    const Totals &all = runs.totals();
    std::printf("processes: %d deaths in %d runs, %.1f s;", all.deaths, in_runs, seconds_now() - began);
    for (int i = 0; i < kEnds; ++i) std::printf(" %s %d", kEndNames[i], all.ends[i]);
    std::printf("; in");
    for (int i = 0; i < kPhases; ++i) {
        std::printf(" %s %d", kPhaseNames[i], all.phases[i]);
        check(all.phases[i] > 0 || count < 50, std::string("no death in ") + kPhaseNames[i]);
    }
    std::printf("; slowest %.2f s after it (deadline %.1f); %d others had finished; not counted: %d missed, %d early\n",
                all.slowest, kDeadline, all.finished, all.missed, all.early);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const int count = std::atoi(argv[1]), each = argc > 2 ? std::atoi(argv[2]) : 0;
    const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::random_device()();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    random_numbers.seed(seed);
    die(count, each);
    std::printf("%d failures\n", failures);
    return failures > 0 ? 1 : 0;
}
