// A corpus from text, by way of a file.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/corpus.h"
#include "support/temp_folder.hpp"

namespace xf_test {

inline std::shared_ptr<const xf::Corpus> corpus_of(const std::string &tsv) {
    return xf::Corpus::open_tsv(TempFolder().write("m.tsv", tsv), {});
}

}  // namespace xf_test
