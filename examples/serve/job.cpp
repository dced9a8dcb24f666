// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <algorithm>

#include "html_entities.h"
#include "words.h"

namespace serve {
namespace {

constexpr const char *kNoMemory = "the server has not enough memory for this request";
constexpr std::size_t kWindow = 32;             // sentences of a job in the engine
constexpr std::size_t kSharedWindow = 8;        // the same while other jobs are active
constexpr std::size_t kMostSentences = 200000;  // bounds the memory of a job
constexpr std::size_t kStreamed = 32;           // only the first sentences report parts of them

// Returns whether sentences are written without spaces between them.
bool without_spaces(std::string_view language) {
    const std::string_view code = language.substr(0, 2);
    return code == "zh" || code == "ja" || code == "th" || code == "lo" || code == "km" || code == "my";
}

}  // namespace

Job::Job(std::shared_ptr<Translator> translator, std::vector<std::unique_ptr<Document>> documents, JobOptions options,
         Callbacks callbacks)
    : translator_(std::move(translator)),
      documents_(std::move(documents)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)) {
    if (options_.has_prefix && options_.alternatives > 0)
        config_.set("decode.beam", 1).set("decode.alternatives", true);
    else if (options_.beam > 0 || options_.alternatives > 0)
        config_.set("decode.beam",
                    std::max(options_.beam > 0 ? options_.beam : translator_->beam(), options_.alternatives + 1));
    if (options_.alternatives > 0) config_.set("decode.n_best", options_.alternatives + 1);
    if (!translator_->languages().empty()) {
        config_.set("text.source_language", translator_->language_in_model(options_.source))
            .set("text.target_language", translator_->language_in_model(options_.target));
    }
    aligned_config_ = config_;
    aligned_config_.set("decode.alignment", true);
    first_.resize(documents_.size());
    for (std::size_t d = 0; d < documents_.size(); ++d) {
        for (std::size_t t = 0; t < documents_[d]->texts().size(); ++t) {
            first_[d].push_back(sentences_.size());
            split(d, t);
        }
        first_[d].push_back(sentences_.size());
    }
}

void Job::split(std::size_t document, std::size_t text) {
    const std::string &whole = documents_[document]->texts()[text].text;
    if (options_.has_prefix) {
        add(document, text, 0, whole.size());
        return;
    }
    for (const std::string_view sentence : xformer::split_sentences(whole, options_.source.c_str())) {
        const auto begin = static_cast<std::size_t>(sentence.data() - whole.data());
        add(document, text, begin, begin + sentence.size());
    }
}

void Job::add(std::size_t document, std::size_t text, std::size_t begin, std::size_t end) {
    const std::string_view sentence =
        std::string_view(documents_[document]->texts()[text].text).substr(begin, end - begin);
    // A token has at least one byte, and the model adds at most three tokens: most sentences need not be encoded here.
    const std::size_t most = translator_->max_tokens();
    if (sentence.size() + 3 > most && !options_.has_prefix) {
        const std::size_t tokens = translator_->token_count(sentence, config_);
        const std::size_t characters = code_points(sentence);
        if (tokens > most && characters > 1) {
            // A quarter less than proportional, as tokens are not evenly distributed.
            const std::size_t length = std::max<std::size_t>(1, characters * most / tokens * 3 / 4);
            for (const std::string_view part : xformer::split_sentences(sentence, options_.source.c_str(), length)) {
                const std::size_t at = begin + static_cast<std::size_t>(part.data() - sentence.data());
                add(document, text, at, at + part.size());
            }
            return;
        }
    }
    if (sentences_.size() == kMostSentences)
        throw HttpError{413, "Invalid request: the text has more than 200,000 sentences; send it in parts"};
    sentences_.push_back({document, text, begin, end, "", {}, {}, false});
}

void Job::start() {
    std::unique_lock lock(mutex_);
    active_.reserve(kWindow);  // a submitted request must never be lost
    self_ = shared_from_this();
    ++translator_->jobs;
    if (submit_more()) finish(std::move(lock));
}

// Submits sentences until the window is full. Returns whether the job has ended.
bool Job::submit_more() {
    const std::size_t window = translator_->jobs > 1 ? kSharedWindow : kWindow;
    while (!error_ && next_ < sentences_.size() && active_.size() < window) {
        Sentence &sentence = sentences_[next_];
        const SourceText &source = documents_[sentence.document]->texts()[sentence.text];
        const std::string_view text =
            std::string_view(source.text).substr(sentence.begin, sentence.end - sentence.begin);
        if (!has_letter(text)) {
            sentence.translation = text;
            sentence.done = true;
            ++done_;
            ++next_;
            continue;
        }
        xformer::Request request;
        request.text = text;
        request.prefix = options_.prefix;
        request.config = !options_.sources.empty() || source.needs_alignment ? aligned_config_ : config_;
        request.stream = options_.stream && next_ < kStreamed;
        request.user = static_cast<EventTarget *>(this);
        // The later sentences of a long document wait for the first ones of others.
        request.priority = -static_cast<std::int32_t>(std::min<std::size_t>(next_ / kSharedWindow, 32));
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline - std::chrono::steady_clock::now());
        request.deadline = std::max(left, std::chrono::milliseconds(1));
        try {
            active_.emplace_back(translator_->submit(request), next_);
            ++next_;
        } catch (const xformer::Error &error) {
            if (error.status() == XF_ERROR_BUSY && !active_.empty()) break;  // again after the next event
            if (error.status() == XF_ERROR_BUSY)
                fail({503, "the server has too many requests; try again later", 1});
            else if (error.status() == XF_ERROR_INVALID_ARGUMENT || error.status() == XF_ERROR_OUT_OF_RANGE)
                fail({400, std::string("Invalid request: ") + error.what()});
            else
                fail({500, std::string("Cannot translate text: ") + error.what()});
        } catch (const std::exception &) {
            fail({503, kNoMemory, 1});
        }
    }
    return !finished_ && active_.empty() && (error_ || done_ == sentences_.size());
}

// Ends the job after the requests in the engine have ended.
void Job::fail(HttpError error) {
    if (error_) return;
    error_ = std::move(error);
    for (const auto &[id, index] : active_) translator_->cancel(id);
}

void Job::cancel() {
    const std::lock_guard lock(mutex_);
    if (!finished_) fail({499, "the client disconnected"});
}

void Job::receive(const xformer::Event &event) {
    std::unique_lock lock(mutex_);
    const auto found =
        std::find_if(active_.begin(), active_.end(), [&](const auto &request) { return request.first == event.id; });
    if (found == active_.end()) return;
    const std::size_t index = found->second;
    if (!event.last) {
        if (!error_) report_partial(index, std::string(event.text()));
        return;
    }
    active_.erase(found);
    try {
        if (!error_) take(sentences_[index], event);
        if (!error_) {
            ++done_;
            if (callbacks_.progress && sentences_.size() > 1) callbacks_.progress(done_, sentences_.size());
            report_partial(index, "");
        }
    } catch (const std::exception &) {
        fail({503, kNoMemory, 1});
    }
    if (submit_more()) finish(std::move(lock));
}

void Job::take(Sentence &sentence, const xformer::Event &event) {
    const std::string too_late = "the translation took too long; send a shorter text";
    if (event.status == XF_ERROR_DEADLINE) return fail({503, too_late});
    if (event.status != XF_OK) {
        std::string message = xf_status_name(event.status);
        if (event.hypotheses.get() != nullptr) message = event.hypotheses.status(0).message;
        const bool input = event.status == XF_ERROR_OUT_OF_RANGE || event.status == XF_ERROR_DATA ||
                           event.status == XF_ERROR_LIMIT || event.status == XF_ERROR_INVALID_ARGUMENT;
        return fail({input ? 400u : 500u, "Cannot translate text: " + message});
    }
    const xformer::Sentence found = event.hypotheses[0];
    const xformer::Hypothesis best = found.front();
    if (!best.complete) return fail({503, too_late});
    sentence.translation = best.text;
    for (std::size_t i = 1; i < found.size(); ++i) sentence.alternatives.emplace_back(found[i].text);
    const SourceText &source = documents_[sentence.document]->texts()[sentence.text];
    xf_hypothesis aligned = XF_HYPOTHESIS_INIT;
    xf_hypotheses_get(event.hypotheses.get(), 0, 0, &aligned, nullptr);
    if (aligned.alignment != nullptr) {
        const std::string_view text = source.text;
        sentence.words = align_words(text.substr(sentence.begin, sentence.end - sentence.begin),
                                     event.hypotheses.status(0), aligned);
    }
    sentence.done = true;
}

// White space between two sentences of a text in the translation.
std::string_view Job::gap(const Sentence &before, const Sentence &after) const {
    const std::string &text = documents_[before.document]->texts()[before.text].text;
    const std::string_view given = std::string_view(text).substr(before.end, after.begin - before.end);
    if (given.empty() && without_spaces(options_.source) && !without_spaces(options_.target)) return " ";
    if (given == " " && without_spaces(options_.target)) return "";
    return given;
}

Translation Job::join(const SourceText &source, std::size_t begin, std::size_t end, std::size_t choice,
                      std::vector<AlignedSentence> *aligned) const {
    Translation joined;
    if (begin == end) return {source.text, {}};  // white space
    joined.text = source.text.substr(0, sentences_[begin].begin);
    for (std::size_t i = begin; i < end; ++i) {
        const Sentence &sentence = sentences_[i];
        if (i > begin) joined.text += gap(sentences_[i - 1], sentence);
        const std::size_t at = joined.text.size();
        const bool best = choice == 0 || sentence.alternatives.size() < choice;
        joined.text += best ? sentence.translation : sentence.alternatives[choice - 1];
        const std::size_t first = joined.spans.size();
        for (const AlignedSpan &word : sentence.words)
            joined.spans.push_back({sentence.begin + word.source_begin, sentence.begin + word.source_end,
                                    at + word.target_begin, at + word.target_end});
        if (aligned != nullptr)
            aligned->push_back({sentence.begin,
                                sentence.end,
                                at,
                                joined.text.size(),
                                {joined.spans.begin() + static_cast<std::ptrdiff_t>(first), joined.spans.end()}});
    }
    joined.text += source.text.substr(sentences_[end - 1].end);
    return joined;
}

// Reports the beginning of the translation of the document that contains a sentence, if it has grown.
void Job::report_partial(std::size_t index, const std::string &unfinished) {
    if (!options_.stream || !callbacks_.partial) return;
    while (shown_ < sentences_.size() && sentences_[shown_].done) ++shown_;
    const auto now = std::chrono::steady_clock::now();
    if (unfinished.empty() ? index > shown_ : index != shown_) return;
    if (shown_ == sentences_.size() || now < next_partial_) return;
    const std::size_t document = sentences_[shown_].document;
    const auto &texts = documents_[document]->texts();
    std::vector<Translation> translations(texts.size());
    for (std::size_t t = 0; t < texts.size() && first_[document][t] <= shown_; ++t) {
        const std::size_t begin = first_[document][t], end = std::min(first_[document][t + 1], shown_);
        if (begin < end) translations[t] = join(texts[t], begin, end, 0);
        if (shown_ >= begin && shown_ < first_[document][t + 1]) {
            if (begin < end) {
                const std::size_t rest = texts[t].text.size() - sentences_[end - 1].end;
                translations[t].text.resize(translations[t].text.size() - rest);
                if (!unfinished.empty()) translations[t].text += gap(sentences_[end - 1], sentences_[shown_]);
            }
            translations[t].text += unfinished;
        }
    }
    const std::string text = documents_[document]->assemble(translations);
    // Long documents are reported less often: at most 1 MB each second.
    next_partial_ = now + std::chrono::microseconds(5000 + text.size());
    callbacks_.partial(document, text);
}

TranslatedDocument Job::assemble(std::size_t document) const {
    const auto &texts = documents_[document]->texts();
    const std::vector<std::size_t> &first = first_[document];
    TranslatedDocument result;
    std::vector<Translation> translations(texts.size());
    for (std::size_t choice = 0; choice <= static_cast<std::size_t>(options_.alternatives); ++choice) {
        for (std::size_t t = 0; t < texts.size(); ++t) translations[t] = join(texts[t], first[t], first[t + 1], choice);
        std::string text = documents_[document]->assemble(translations);
        auto &others = result.alternatives;
        if (choice == 0)
            result.text = std::move(text);
        else if (text != result.text && std::find(others.begin(), others.end(), text) == others.end())
            others.push_back(std::move(text));
    }
    if (options_.sources.empty()) return result;
    // Plain text contains its lines unchanged and in order, so their offsets are found by searching.
    const std::string &source = options_.sources[document];
    std::size_t from = 0, to = 0;
    for (std::size_t t = 0; t < texts.size(); ++t) {
        std::vector<AlignedSentence> aligned;
        const Translation translation = join(texts[t], first[t], first[t + 1], 0, &aligned);
        from = source.find(texts[t].text, from);
        to = result.text.find(translation.text, to);
        if (from == std::string::npos || to == std::string::npos) break;
        for (AlignedSentence &sentence : aligned) {
            sentence.source_begin += from, sentence.source_end += from;
            sentence.target_begin += to, sentence.target_end += to;
            for (AlignedSpan &word : sentence.words) {
                word.source_begin += from, word.source_end += from;
                word.target_begin += to, word.target_end += to;
            }
            result.sentences.push_back(std::move(sentence));
        }
        from += texts[t].text.size();
        to += translation.text.size();
    }
    return result;
}

void Job::finish(std::unique_lock<std::mutex> lock) {
    finished_ = true;
    --translator_->jobs;
    const std::shared_ptr<Job> self = std::move(self_);
    std::vector<TranslatedDocument> results;
    try {
        if (!error_)
            for (std::size_t d = 0; d < documents_.size(); ++d) results.push_back(assemble(d));
        lock.unlock();
        callbacks_.done(std::move(results), error_);
    } catch (const std::exception &) {
        if (lock.owns_lock()) lock.unlock();
        callbacks_.done({}, HttpError{503, kNoMemory, 1});
    }
}

}  // namespace serve
