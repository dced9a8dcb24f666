// Beam search with its state on the device (xf_beam_step), in one lane for each beam size (device_lane.h). Sentences
// with equal beam sizes share the steps of the decoder; their other options may differ.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "decode/device_lane.h"
#include "decode/search.h"

namespace xf {

class DeviceSearch final : public Search {
public:
    // The arguments must outlive the search.
    DeviceSearch(const Model &model, Stream &stream) : Search(model, stream), shared_{model, stream, step_} {}

    static bool is_supported(const Device &device) { return device.ops().beam_step != nullptr; }

    void clear() override;
    void add(const SearchTask &task) override;
    int64_t active() const override;
    int64_t source_tokens() const override;
    void step(const Call &call) override;
    void stop(const SentenceOutcome *outcome) override;
    Hypothesis common_prefix(const SentenceOutcome *outcome) override;

private:
    DeviceLane::Shared shared_;
    std::vector<std::unique_ptr<DeviceLane>> lanes_;  // the most recently used one is the last
};

}  // namespace xf
