// Calls that repeat: made twice, recorded when they come a third time, replayed from then on (CUDA graphs). Recording
// costs more than making the calls, so what comes twice is not worth it.
//
// A key stands for everything the calls depend on that does not lie in device memory: sizes and addresses. Calls with
// equal keys must be equal calls. The key that has waited longest gives way when there are too many: a corpus of real
// sentences has about a hundred, and each comes again.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "backend/device.h"

namespace xf {

template <class Key>
class GraphCache {
public:
    static constexpr size_t kMost = 256;       // keys
    static constexpr int64_t kRecordedAt = 3;  // uses

    template <class Calls>
    void run(Stream &stream, const Key &key, const Calls &calls) {
        Entry &entry = find(key);
        entry.last_use = ++now_;
        if (entry.graph) return entry.graph->run();
        if (entry.uses + 1 == kRecordedAt && record(stream, calls, &entry)) return entry.graph->run();
        calls();  // when they throw they don't count: not all they need is allocated
        entry.uses = std::min(entry.uses + 1, kRecordedAt);
    }

private:
    struct Entry {
        int64_t uses = 0, last_use = 0;
        std::optional<Graph> graph;
    };

    Entry &find(const Key &key) {
        if (const auto at = entries_.find(key); at != entries_.end()) return at->second;
        if (entries_.size() >= kMost)
            entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto &a, const auto &b) {
                return a.second.last_use < b.second.last_use;
            }));
        return entries_[key];
    }

    // False when there is no memory for a graph: the calls are made one by one then, and no harm is done.
    template <class Calls>
    bool record(Stream &stream, const Calls &calls, Entry *entry) {
        try {
            entry->graph.emplace(Graph::record(stream, calls));
        } catch (const Error &error) {
            if (error.status() != XF_ERROR_NO_MEMORY) throw;
            return false;
        }
        return true;
    }

    std::map<Key, Entry> entries_;
    int64_t now_ = 0;
};

}  // namespace xf
