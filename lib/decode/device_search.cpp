// SPDX-License-Identifier: Apache-2.0
#include "decode/device_search.h"

#include <algorithm>

namespace xf {

// Lanes without sentences that keep their memory.
constexpr size_t kMostLanes = 4;

void DeviceSearch::clear() {
    for (const auto &lane : lanes_) lane->clear();
    shared_.cells.clear();
    shared_.sentences = 0;
    step_.clear();
}

void DeviceSearch::add(const SearchTask &task) {
    auto lane =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const auto &each) { return each->beam() == task.beam.beam; });
    if (lane == lanes_.end()) {
        lanes_.push_back(std::make_unique<DeviceLane>(&shared_, task.beam.beam));
        lane = lanes_.end() - 1;
    }
    (*lane)->add(task);
    std::rotate(lane, lane + 1, lanes_.end());
    const auto idle = std::find_if(lanes_.begin(), lanes_.end(), [](const auto &each) { return each->active() == 0; });
    if (lanes_.size() <= kMostLanes || idle == lanes_.end()) return;
    (*idle)->release_cells();
    lanes_.erase(idle);
}

int64_t DeviceSearch::active() const {
    int64_t total = 0;
    for (const auto &lane : lanes_) total += lane->active();
    return total;
}

int64_t DeviceSearch::source_tokens() const {
    int64_t total = 0;
    for (const auto &lane : lanes_) total += lane->source_tokens();
    return total;
}

void DeviceSearch::step(const Call &call) {
    for (const auto &lane : lanes_)
        if (lane->active() > 0) lane->step(call);
}

void DeviceSearch::stop(const SentenceOutcome *outcome) {
    for (const auto &lane : lanes_) lane->stop(outcome);
}

Hypothesis DeviceSearch::common_prefix(const SentenceOutcome *outcome) {
    const auto lane =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const auto &each) { return each->contains(outcome); });
    return (*lane)->common_prefix(outcome);
}

}  // namespace xf
