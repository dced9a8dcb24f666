// Calls that repeat: made once, recorded when they come again, replayed from then on (CUDA graphs).
//
// A key stands for everything the calls depend on that does not lie in device memory: sizes and addresses. Calls with
// equal keys must be equal calls.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "backend/device.h"

namespace xf {

template <class Key>
class GraphCache {
public:
    template <class Calls>
    void run(Stream &stream, const Key &key, const Calls &calls) {
        if (graphs_.size() > kMost) graphs_.clear();
        const auto [at, first] = graphs_.try_emplace(key);
        if (first) {  // what they need is allocated now
            try {
                calls();
            } catch (...) {  // not all of it
                graphs_.erase(at);
                throw;
            }
            return;
        }
        if (!at->second) at->second.emplace(Graph::record(stream, calls));
        at->second->run();
    }

private:
    static constexpr size_t kMost = 64;           // about a megabyte each
    std::map<Key, std::optional<Graph>> graphs_;  // empty: the calls were made once
};

}  // namespace xf
