// One model with its engine, and the folder or list of models that the server offers.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <xformer/xformer.hpp>

namespace serve {

// Receives the events of the requests of one job: xformer::Request::user points to one of these.
class EventTarget {
public:
    virtual void receive(const xformer::Event &event) = 0;

protected:
    ~EventTarget() = default;
};

// A model for one pair of languages, or for all pairs of a multilingual model. Its events arrive on a separate thread.
class Translator {
public:
    // Loads the model. Throws xformer::Error.
    Translator(const xformer::Context &context, std::string name, std::string path, const xformer::Config &config);
    // All requests must have ended.
    ~Translator();
    Translator(const Translator &) = delete;
    Translator &operator=(const Translator &) = delete;

    const std::string &name() const { return name_; }
    const std::string &path() const { return path_; }
    // Languages of a multilingual model, without those that are not two- or three-letter codes; empty: a pair.
    const std::vector<std::string> &languages() const { return languages_; }
    // The name of a language in the model, such as "de_DE" for "de".
    const std::string &language_in_model(const std::string &code) const { return codes_.at(code); }
    // The width of the beam search if a request does not set it.
    int beam() const { return static_cast<int>(config_.value<std::int64_t>("decode.beam")); }
    // Number of tokens that a source may have.
    std::size_t max_tokens() const { return max_tokens_; }
    std::size_t token_count(std::string_view text, const xformer::Config &config) const;

    std::uint64_t submit(const xformer::Request &request) { return engine_.submit(request); }
    void cancel(std::uint64_t id) { engine_.cancel(id); }
    xf_engine_info info() const { return engine_.info(); }

    std::atomic<int> jobs{0};  // HTTP requests that use the model

    // Returns whether the file has changed since it was loaded.
    bool changed() const;
    // Loads the file again for later requests. Returns false if it needs a new Translator because its vocabulary
    // differs. Throws xformer::Error, and then keeps the earlier model.
    bool reload();

private:
    static std::pair<std::int64_t, std::int64_t> stamp(const std::string &path);
    void receive();

    const xformer::Context &context_;
    std::string name_, path_;
    xformer::Config config_;
    std::pair<std::int64_t, std::int64_t> stamp_;  // of the loaded file: its size and time
    mutable std::mutex model_mutex_;
    xformer::Model model_;
    std::vector<std::string> languages_;
    std::map<std::string, std::string> codes_;
    std::size_t max_tokens_ = 0;
    xformer::Engine engine_;
    std::atomic<bool> stopped_{false};
    std::thread receiver_;
};

// The models of the server by pairs of languages.
class Registry {
public:
    using Log = std::function<void(std::string_view level, const std::string &message)>;
    // sources: "NAME=FILE", FILE, or a folder, whose files NAME.xf are loaded. NAME is the pair, such as en-de.
    Registry(const xformer::Context &context, xformer::Config config, std::vector<std::string> sources, Log log);

    // Loads files that are new or have changed, and removes models whose files are gone. At the start, a file that
    // cannot be loaded is an error; later, it is only logged.
    void load(bool starting);

    // The model for a pair; NULL if there is none.
    std::shared_ptr<Translator> find(const std::string &source, const std::string &target) const;
    // Languages that can be translated, each with its targets, ordered by code.
    std::map<std::string, std::vector<std::string>> pairs() const;
    // Languages that are a source or a target.
    std::vector<std::string> languages() const;
    std::vector<std::shared_ptr<Translator>> all() const;
    // Frees models that were replaced and whose requests have ended. Call it regularly.
    void free_retired();

private:
    std::map<std::string, std::string> files() const;  // name to path

    const xformer::Context &context_;
    xformer::Config config_;
    std::vector<std::string> sources_;
    Log log_;
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Translator>> by_name_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<Translator>> by_pair_;
    std::vector<std::shared_ptr<Translator>> retired_;
};

}  // namespace serve
