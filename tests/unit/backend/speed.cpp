// The speed mode: each shape of speed_shapes.txt on each backend, best and median of repeated calls.
//
// GF/s for what multiplies matrices, GB/s of the traffic that can't be avoided for what only passes over memory. All
// hardware threads are workers (XF_TEST_WORKERS changes that). Not run by ctest.
//
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
namespace {

Case parse(const std::string &line) {
    static const std::map<std::string, int64_t Case::*> kSizes = {
        {"M", &Case::M}, {"N", &Case::N}, {"K", &Case::K},   {"D", &Case::D},   {"V", &Case::V},
        {"H", &Case::H}, {"t", &Case::t}, {"dk", &Case::dk}, {"dv", &Case::dv}, {"k", &Case::k}};
    std::istringstream in(line);
    Case c;
    in >> c.op;
    for (std::string word; in >> word;) {
        const std::string letter = word.substr(0, word.find('=')), text = word.substr(word.find('=') + 1);
        const int64_t value = std::atoll(text.c_str());
        if (const auto size = kSizes.find(letter); size != kSizes.end())
            c.*size->second = value;
        else if (letter == "flags")
            c.flags = static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 16));
        else if (letter == "rate")
            c.rate = std::strtof(text.c_str(), nullptr);
        else if (letter == "smoothing")
            c.smoothing = std::strtof(text.c_str(), nullptr);
        else if (letter == "T")
            c.T.assign(std::strtoul(text.c_str() + text.find('*') + 1, nullptr, 10), static_cast<int32_t>(value));
        else
            xf::fail(XF_ERROR_DATA, "speed_shapes.txt: unknown letter in \"%s\"", word.c_str());
    }
    return c;
}

std::vector<double> seconds_of(Placed &placed) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> all;
    double total = 0.0;
    for (int i = 0; i < 3 || (total < 0.3 && i < 1000); ++i) {
        const auto begin = Clock::now();
        xf_error err{};
        if (placed.call(&err) != XF_OK) xf::fail(XF_ERROR_BACKEND, "%s", err.message);
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (i > 0) all.push_back(seconds), total += seconds;  // the first call packs, grows scratch, starts threads
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

int speed(const std::string &op) {
    std::ifstream file(XF_TEST_SHAPES);
    if (!file) xf::fail(XF_ERROR_IO, "cannot read speed_shapes.txt");
    const char *wanted = std::getenv("XF_TEST_WORKERS");
    const int32_t workers = wanted ? std::atoi(wanted) : static_cast<int32_t>(std::thread::hardware_concurrency());
    const std::vector<Backend> backends = load_backends();
    std::printf("%d workers\n%-18s %-26s %10s %10s %10s  shape\n", workers, "backend", "call", "best ms", "median ms",
                "best");
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        const Case c = parse(line);
        if (op != "all" && c.op != op) continue;
        // Results for backward passes come from the fastest backend at hand: ref would take minutes.
        const Reference quick = [&](const Problem &problem) {
            Opened opened(backends.back(), workers);
            return run(opened, problem).words;
        };
        for (const Problem &problem : make_problems(c, quick).problems)
            for (const Backend &backend : backends) {
                Opened opened(backend, workers);
                Placed placed(opened, problem, 0);
                const std::vector<double> seconds = seconds_of(placed);
                const double work = problem.flops > 0.0 ? problem.flops : problem.bytes;
                std::printf("%-18s %-26s %10.3f %10.3f %7.1f %s  %s\n", backend.name().c_str(), problem.name.c_str(),
                            seconds.front() * 1e3, seconds[seconds.size() / 2] * 1e3, work / seconds.front() / 1e9,
                            problem.flops > 0.0 ? "GF" : "GB", line.c_str());
                std::fflush(stdout);
            }
    }
    return 0;
}

}  // namespace xf_test
