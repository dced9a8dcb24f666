// SPDX-License-Identifier: Apache-2.0
#include "access.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace serve {

namespace {
constexpr std::size_t kMaxClients = 100000;
}

Access::Access(std::int64_t per_minute, const std::string &key_file) : per_minute_(per_minute) {
    if (key_file.empty()) return;
    std::ifstream file(key_file);
    if (!file) throw std::runtime_error("cannot read the API keys in " + key_file);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        std::int64_t limit = per_minute_;
        if (!(words >> key) || key[0] == '#') continue;
        if (!(words >> limit) && !words.eof())
            throw std::runtime_error(key_file + ": expected lines of the form KEY or KEY REQUESTS-PER-MINUTE");
        keys_[key] = limit;
    }
    if (keys_.empty()) throw std::runtime_error(key_file + " contains no API keys");
}

std::int64_t Access::take(const std::string &key, const std::string &address, std::int64_t cost) {
    const auto found = keys_.find(key);
    const std::int64_t limit = found != keys_.end() ? found->second : per_minute_;
    if (limit <= 0) return 0;
    const double rate = static_cast<double>(limit) / 60.0;
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (clients_.size() >= kMaxClients)  // those that have a full allowance again
        std::erase_if(clients_, [&](const auto &client) { return now - client.second.at > std::chrono::minutes(1); });
    if (clients_.size() >= kMaxClients) clients_.clear();
    Allowance &client =
        clients_.try_emplace(key.empty() ? address : "key " + key, Allowance{static_cast<double>(limit), now})
            .first->second;
    const double passed = std::chrono::duration<double>(now - client.at).count();
    client.left = std::min(static_cast<double>(limit), client.left + passed * rate);
    client.at = now;
    // A batch that costs more than the allowance of a minute needs a full allowance.
    const double price = std::min(static_cast<double>(cost), static_cast<double>(limit));
    if (client.left >= price) {
        client.left -= price;
        return 0;
    }
    return static_cast<std::int64_t>(std::ceil((price - client.left) / rate));
}

}  // namespace serve
