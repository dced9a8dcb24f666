// A cache of recorded calls (CUDA graphs). A sequence of calls is made twice, recorded the third time, and replayed
// afterwards. Recording costs more than the calls, so it does not pay off for sequences that occur only twice.
//
// If a recording fails, because there is no memory for the graph or a library, a driver, or a kernel cannot be
// recorded, the calls are made without it, now and whenever the key is used again. Except for a lack of memory, the
// first failure is logged as a warning.
//
// The key contains everything outside device memory on which the calls depend: sizes and addresses. Sequences with
// equal keys must be equal. If there are too many keys, the least recently used one is removed. A corpus of real
// sentences has about a hundred keys, each of which occurs often.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backend/device.h"

namespace xf {

template <class Key>
class GraphCache {
public:
    static constexpr size_t kMaxKeys = 256;
    static constexpr int64_t kRecordedAt = 3;  // uses

    template <class Calls>
    void run(Stream &stream, const Key &key, const Calls &calls) {
        Entry &entry = find(key);
        entry.last_use = ++now_;
        if (entry.graph) return entry.graph->run();
        if (entry.uses + 1 == kRecordedAt && record(stream, calls, &entry)) return entry.graph->run();
        calls();  // if they throw they do not count: their memory may not be allocated
        entry.uses = std::min(entry.uses + 1, kRecordedAt);
    }

private:
    struct Entry {
        int64_t uses = 0, last_use = 0;
        std::optional<Graph> graph;
    };

    Entry &find(const Key &key) {
        if (const auto at = entries_.find(key); at != entries_.end()) return at->second;
        if (entries_.size() >= kMaxKeys)
            entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto &a, const auto &b) {
                return a.second.last_use < b.second.last_use;
            }));
        return entries_[key];
    }

    // Returns false if the recording fails. If the failure has another cause, such as a lost device, the calls fail
    // too.
    template <class Calls>
    bool record(Stream &stream, const Calls &calls, Entry *entry) {
        try {
            entry->graph.emplace(Graph::record(stream, calls));
        } catch (const Error &error) {
            if (error.status() == XF_ERROR_CANCELLED || error.status() == XF_ERROR_DEADLINE) throw;
            if (error.status() != XF_ERROR_NO_MEMORY && !std::exchange(warned_, true))
                stream.device().warn("graphs", std::string("operations are launched one by one, which is slower, "
                                                           "because they cannot be recorded: ") +
                                                   error.what());
            return false;
        }
        return true;
    }

    std::map<Key, Entry> entries_;
    int64_t now_ = 0;
    bool warned_ = false;
};

}  // namespace xf
