// SPDX-License-Identifier: Apache-2.0
#include "data/mix.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/error.h"
#include "core/numbers.h"
#include "core/philox.h"

namespace xf {
namespace {

// Makes the draws independent of other uses of the seed.
constexpr uint64_t kMixStream = 0x6D69786564212121u;
constexpr double kMostCopies = 1000;

size_t find_file(std::string_view name, const std::vector<CorpusFile> &files) {
    const auto found = std::find_if(files.begin(), files.end(), [&](const CorpusFile &f) { return f.name == name; });
    XF_CHECK(!files.empty(), XF_ERROR_INVALID_ARGUMENT,
             "option 'data.mix' has the file '%.80s', but the corpus was not read from files",
             std::string(name).c_str());
    XF_CHECK(found != files.end(), XF_ERROR_INVALID_ARGUMENT,
             "option 'data.mix' has the file '%.60s', which is not in the corpus (its first file is '%.60s')",
             std::string(name).c_str(), files.front().name.c_str());
    return found - files.begin();
}

}  // namespace

size_t file_of(const std::vector<CorpusFile> &files, int64_t pair) {
    const auto after = std::upper_bound(files.begin(), files.end(), pair,
                                        [](int64_t value, const CorpusFile &file) { return value < file.first; });
    return after - files.begin() - 1;
}

int64_t Mix::count(int64_t pair, uint64_t seed, int64_t epoch) const {
    if (factors.empty()) return 1;
    const double factor = factors[file(pair)], whole = std::floor(factor);
    const uint64_t p = pair, e = epoch;
    const uint32_t draw = philox(seed ^ kMixStream, p, p >> 32, e, e >> 32).word[0];
    return whole + (draw < (factor - whole) * 4294967296.0);
}

std::vector<double> mix_factors(const std::string &mix, const std::vector<CorpusFile> &files) {
    if (mix.empty()) return {};
    constexpr double kNone = -1;
    std::vector<double> factors(files.size(), kNone);
    for (std::string_view rest = mix; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        const size_t equals = std::min(entry.rfind('='), entry.size());
        const std::string_view text = entry.substr(std::min(entry.size(), equals + 1));
        double factor = kNone;
        const auto [end, error] = read_number(text.data(), text.data() + text.size(), &factor);
        const bool valid = error == std::errc() && end == text.data() + text.size() && equals > 0;
        XF_CHECK(valid && factor >= 0 && factor <= kMostCopies, XF_ERROR_INVALID_ARGUMENT,
                 "option 'data.mix' has '%.80s', expected a file of the corpus, '=', and a factor from 0 to %s",
                 std::string(entry).c_str(), number(kMostCopies).c_str());
        double &own = factors[find_file(entry.substr(0, equals), files)];
        XF_CHECK(own == kNone, XF_ERROR_INVALID_ARGUMENT, "option 'data.mix' has the file '%.80s' twice",
                 std::string(entry.substr(0, equals)).c_str());
        own = factor;
    }
    std::replace(factors.begin(), factors.end(), kNone, 1.0);
    return factors;
}

}  // namespace xf
