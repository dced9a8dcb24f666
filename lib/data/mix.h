// The option data.mix: how often the pairs of each file of a corpus occur in an epoch.
//
// A factor of 2.3 means twice, and a third time with probability 0.3, drawn anew in each epoch. The draws come from
// Philox, keyed by (seed, epoch, pair), so they are the same on every machine and after resuming.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xf {

// A file of text, without its folder, and the number of pairs in the files before it.
struct CorpusFile {
    std::string name;
    int64_t first = 0;
};

// The index of the file that contains a pair.
size_t file_of(const std::vector<CorpusFile> &files, int64_t pair);

struct Mix {
    std::vector<double> factors;               // of each file; empty: every pair occurs once
    std::function<size_t(int64_t pair)> file;  // the index of a pair's file

    // How often a pair occurs in an epoch.
    int64_t count(int64_t pair, uint64_t seed, int64_t epoch) const;
};

// The factors of "a.tsv=2,b.tsv=0.5"; 1 for other files. XF_ERROR_INVALID_ARGUMENT for a file that is not there, and
// for a factor that is not a number from 0 to 1000.
std::vector<double> mix_factors(const std::string &mix, const std::vector<CorpusFile> &files);

}  // namespace xf
