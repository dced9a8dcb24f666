// API keys and the number of requests that each client may send.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace serve {

class Access {
public:
    // per_minute: requests of a client without a key; 0: no limit. key_file: lines "KEY [REQUESTS-PER-MINUTE]"; empty:
    // no keys. Throws std::runtime_error.
    Access(std::int64_t per_minute, const std::string &key_file);

    bool has_keys() const { return !keys_.empty(); }
    bool is_key(const std::string &key) const { return keys_.count(key) != 0; }
    // Takes `cost` requests from the allowance of a key, or of an address if the key is empty. Returns 0, or the number
    // of seconds after which the client may try again.
    std::int64_t take(const std::string &key, const std::string &address, std::int64_t cost);

private:
    // An allowance that is refilled continuously; at most that of a minute.
    struct Allowance {
        double left;
        std::chrono::steady_clock::time_point at;
    };

    std::int64_t per_minute_;
    std::unordered_map<std::string, std::int64_t> keys_;
    std::mutex mutex_;
    std::unordered_map<std::string, Allowance> clients_;
};

}  // namespace serve
