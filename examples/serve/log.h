// Log lines as JSON on standard output, one object per line. Texts and API keys are never logged.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http.h"

namespace serve {

class Log {
public:
    // requests: also log each request.
    explicit Log(bool requests) : requests_(requests) {}
    void message(std::string_view level, std::string_view text) const;
    void request(const Exchange &exchange, unsigned status, double seconds) const;

private:
    bool requests_;
};

}  // namespace serve
