// Counters of the server, as Prometheus text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "translator.h"

namespace serve {

class Metrics {
public:
    // A request has ended. route: the path of the API, not that of the request, which a client chooses.
    void add(const std::string &route, unsigned status, double seconds);
    void add_characters(std::uint64_t count);
    std::string text(const std::vector<std::shared_ptr<Translator>> &models, std::size_t connections,
                     std::size_t active) const;

private:
    static constexpr std::array<double, 13> kBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
    struct Histogram {
        std::array<std::uint64_t, 14> counts{};
        double sum = 0;
    };

    mutable std::mutex mutex_;
    std::map<std::pair<std::string, unsigned>, std::uint64_t> requests_;
    std::map<std::string, Histogram> seconds_;
    std::uint64_t characters_ = 0;
};

}  // namespace serve
