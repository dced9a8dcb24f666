// An encoded corpus on disk: a folder with token ids in parts, for corpora that are larger than memory.
//
// The folder contains part-00000.safetensors and so on, and corpus.safetensors, the index, which is written last. A
// folder without an index is one whose encoding was interrupted: every part in it is complete, because files are
// replaced atomically, and encoding continues after them. All bytes are covered by checksums. The index stores those of
// the parts, so a part that was exchanged later is detected when it is read. The format is in docs/guide/files.md.
//
// Parts are read into memory as a whole and not mapped, because a file that shrinks under a mapping kills the process.
// A batcher reads several at a time, a chunk (batcher.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/safetensors_header.h"
#include "data/encoded_corpus.h"

namespace xf {

// The files of a corpus of text.
struct TextFiles {
    std::string source;  // or of pairs, if there is no target
    std::string target;  // empty: none
};

class CorpusFolder {
public:
    struct Part {
        int64_t pairs, source_tokens, target_tokens;
        std::string sha256;
    };

    // Whether the path is a folder with an index. Throws XF_ERROR_DATA for a folder that has only parts.
    static bool exists(const std::string &path);

    // Encodes texts and writes the folder, or continues. The pairs of two parts are in memory at a time. tokenizer: the
    // content of its file, which is stored in the folder. Throws XF_ERROR_STATE if the folder contains a part of other
    // texts or of another identity. Reports progress as "encode", in bytes of text.
    static CorpusStats encode(const std::string &path, const TextFiles &texts, const CorpusOptions &options,
                              const Encoders &encoders, const std::string &tokenizer, const Corpus::Warn &warn,
                              const Call &call);

    // Reads the index and checks that all parts exist. XF_ERROR_CORRUPT, XF_ERROR_VERSION, XF_ERROR_NOT_FOUND.
    explicit CorpusFolder(const std::string &path);

    const CorpusStats &stats() const { return stats_; }
    const std::vector<Part> &parts() const { return parts_; }
    const std::vector<CorpusFile> &files() const { return files_; }

    // Throws XF_ERROR_INVALID_ARGUMENT if the encoders are not those with which the corpus was encoded.
    void check_identity(const Encoders &encoders) const;

    // Reads parts as one corpus; the pairs keep their order. Throws XF_ERROR_CORRUPT if a part is damaged or not the
    // one of the index.
    EncodedCorpus read(const std::vector<int64_t> &parts, int64_t max_tokens_per_side,
                       const std::shared_ptr<Heap> &heap, const Call &call) const;

    // A hash of all parts.
    uint64_t fingerprint() const { return fingerprint_; }

private:
    std::string path_;
    CorpusStats stats_;
    Metadata identity_;
    std::vector<Part> parts_;
    std::vector<int64_t> first_pairs_;  // [parts + 1]
    std::vector<CorpusFile> files_;
    uint64_t fingerprint_ = 0;
};

}  // namespace xf
