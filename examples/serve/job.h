// The translation of one HTTP request: its documents are split into sentences, which become requests of the engine.
//
// At most 32 sentences of a job are in the engine at the same time, or 8 while other jobs are active, and later
// sentences have a lower priority, so a long document does not delay short texts.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <xformer/xformer.hpp>

#include "document.h"
#include "http.h"
#include "translator.h"

namespace serve {

struct JobOptions {
    std::string source, target;  // language codes
    int beam = 0;                // 0: that of the server
    int alternatives = 0;        // further translations of each document
    std::string prefix;          // the translation begins with it; the text is not split
    bool has_prefix = false;
    std::vector<std::string> sources;  // the documents, plain text; empty: do not report aligned words
    bool stream = false;               // call Callbacks::partial
    std::chrono::steady_clock::time_point deadline;
};

// Byte offsets in a document and in its translation.
struct AlignedSentence {
    std::size_t source_begin, source_end, target_begin, target_end;
    std::vector<AlignedSpan> words;
};

struct TranslatedDocument {
    std::string text;
    std::vector<std::string> alternatives;
    std::vector<AlignedSentence> sentences;  // only with JobOptions::sources
};

class Job final : public EventTarget, public std::enable_shared_from_this<Job> {
public:
    // Called on the thread of the model, one at a time.
    struct Callbacks {
        // The beginning of a document's translation.
        std::function<void(std::size_t document, const std::string &text)> partial;
        std::function<void(std::size_t done, std::size_t total)> progress;
        // The end: the documents, or an error. Called exactly once.
        std::function<void(std::vector<TranslatedDocument> documents, std::optional<HttpError> error)> done;
    };

    // Splits the texts. Throws HttpError.
    Job(std::shared_ptr<Translator> translator, std::vector<std::unique_ptr<Document>> documents, JobOptions options,
        Callbacks callbacks);

    // Submits the first sentences. The job keeps itself alive until its end.
    void start();
    // Cancels the sentences that remain. Any thread.
    void cancel();

    void receive(const xformer::Event &event) override;

private:
    struct Sentence {
        std::size_t document, text;  // index of the document, and of its text
        std::size_t begin, end;      // bytes of the text
        std::string translation;
        std::vector<std::string> alternatives;
        std::vector<AlignedSpan> words;  // relative to the sentence
        bool done = false;
    };

    void split(std::size_t document, std::size_t text);
    void add(std::size_t document, std::size_t text, std::size_t begin, std::size_t end);
    bool submit_more();
    void fail(HttpError error);
    void take(Sentence &sentence, const xformer::Event &event);
    void report_partial(std::size_t index, const std::string &unfinished);
    std::string_view gap(const Sentence &before, const Sentence &after) const;
    // The translation of a text, whose sentences are [begin, end). choice 0: the best, otherwise an alternative.
    // aligned: NULL, or receives each sentence, with offsets in the text.
    Translation join(const SourceText &source, std::size_t begin, std::size_t end, std::size_t choice,
                     std::vector<AlignedSentence> *aligned = nullptr) const;
    TranslatedDocument assemble(std::size_t document) const;
    void finish(std::unique_lock<std::mutex> lock);

    std::shared_ptr<Translator> translator_;
    std::vector<std::unique_ptr<Document>> documents_;
    JobOptions options_;
    Callbacks callbacks_;
    xformer::Config config_, aligned_config_;

    std::mutex mutex_;
    std::vector<Sentence> sentences_;
    std::vector<std::vector<std::size_t>> first_;                // [document][text] its first sentence, and the end
    std::vector<std::pair<std::uint64_t, std::size_t>> active_;  // requests of the engine, and their sentences
    std::size_t next_ = 0, done_ = 0;
    std::size_t shown_ = 0;  // sentences before this one are done
    std::chrono::steady_clock::time_point next_partial_{};
    std::optional<HttpError> error_;
    bool finished_ = false;
    std::shared_ptr<Job> self_;
};

}  // namespace serve
