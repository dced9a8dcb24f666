// SPDX-License-Identifier: Apache-2.0
#include "translator.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

namespace serve {
namespace {

namespace fs = std::filesystem;

xformer::Model load_model(const xformer::Context &context, const std::string &path, const xformer::Config &config) {
    xformer::Model model = xformer::Model::load(context, path, config);
    if (!model.tokenizer())
        throw xformer::Error(XF_ERROR_STATE,
                             "the model " + path + " has no tokenizer; expected a model that translates text");
    return model;
}

// "en" for "en", "en_XX", "eng_Latn", "__en__", or ">>en<<"; "" for other names. Three-letter codes remain.
std::string code_of(std::string_view name) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    while (!name.empty() && !letter(name.front())) name.remove_prefix(1);
    std::size_t size = 0;
    while (size < name.size() && letter(name[size])) ++size;
    return size == 2 || size == 3 ? std::string(name.substr(0, size)) : "";
}

}  // namespace

Translator::Translator(const xformer::Context &context, std::string name, std::string path,
                       const xformer::Config &config)
    : context_(context),
      name_(std::move(name)),
      path_(std::move(path)),
      config_(config),
      stamp_(stamp(path_)),
      model_(load_model(context, path_, config_)),
      max_tokens_(static_cast<std::size_t>(model_.config().value<std::int64_t>("model.max_length"))),
      engine_(model_, config_) {
    // "en_XX=250004,de_DE=250003"
    const auto list = model_.config().value<std::string>("model.languages");
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string language = list.substr(begin, std::min(list.find('=', begin), end) - begin);
        const std::string code = code_of(language);
        if (!code.empty() && codes_.emplace(code, language).second) languages_.push_back(code);
        begin = end + 1;
    }
    receiver_ = std::thread([this] { receive(); });
}

Translator::~Translator() {
    stopped_ = true;
    receiver_.join();
}

void Translator::receive() {
    while (!stopped_) {
        try {
            // The limit of the wait is only for the end of the server.
            const std::optional<xformer::Event> event = engine_.next(std::chrono::milliseconds(100));
            if (event) static_cast<EventTarget *>(event->user)->receive(*event);
        } catch (const std::exception &) {  // no memory: the event remains in the engine
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

std::size_t Translator::token_count(std::string_view text, const xformer::Config &config) const {
    const std::lock_guard lock(model_mutex_);
    return model_.encode(XF_SIDE_SOURCE, text, config).size();
}

std::pair<std::int64_t, std::int64_t> Translator::stamp(const std::string &path) {
    std::error_code ignored;
    const auto time = fs::last_write_time(path, ignored).time_since_epoch().count();
    const auto size = fs::file_size(path, ignored);
    return {static_cast<std::int64_t>(size), static_cast<std::int64_t>(time)};
}

bool Translator::changed() const { return stamp(path_) != stamp_; }

bool Translator::reload() {
    const auto now = stamp(path_);
    xformer::Model model = load_model(context_, path_, config_);
    const auto same = [&](const char *option) {
        return model.config().value<std::string>(option) == model_.config().value<std::string>(option);
    };
    if (!same("model.vocab_size") || !same("model.languages") || !same("model.max_length")) return false;
    engine_.set_model(model);
    stamp_ = now;
    const std::lock_guard lock(model_mutex_);
    model_ = std::move(model);
    return true;
}

Registry::Registry(const xformer::Context &context, xformer::Config config, std::vector<std::string> sources, Log log)
    : context_(context), config_(std::move(config)), sources_(std::move(sources)), log_(std::move(log)) {}

std::map<std::string, std::string> Registry::files() const {
    std::map<std::string, std::string> found;
    const auto add = [&](const std::string &name, const std::string &path) {
        if (!found.emplace(name, path).second)
            throw std::runtime_error("two models have the name " + name + ": " + found[name] + " and " + path);
    };
    for (const std::string &source : sources_) {
        const std::size_t equal = source.find('=');
        if (fs::is_directory(source)) {
            for (const fs::directory_entry &entry : fs::directory_iterator(source))
                if (entry.path().extension() == ".xf") add(entry.path().stem(), entry.path());
        } else if (equal != std::string::npos) {
            add(source.substr(0, equal), source.substr(equal + 1));
        } else {
            add(fs::path(source).stem(), source);
        }
    }
    return found;
}

void Registry::load(bool starting) {
    std::vector<std::pair<std::string_view, std::string>> messages;  // logged after the change
    const std::map<std::string, std::string> wanted = files();
    if (starting && wanted.empty())
        throw std::runtime_error("no model was found; expected --model NAME=FILE or a folder with files NAME.xf");
    std::map<std::string, std::shared_ptr<Translator>> models;
    {
        const std::lock_guard lock(mutex_);
        models = by_name_;
    }
    std::erase_if(models, [&](const auto &model) {
        const auto found = wanted.find(model.first);
        const bool gone = found == wanted.end() || found->second != model.second->path();
        if (gone) messages.emplace_back("info", "removed the model " + model.first);
        return gone;
    });
    for (const auto &[name, path] : wanted) {
        std::shared_ptr<Translator> &model = models[name];
        if (model && !model->changed()) continue;
        try {
            if (model && model->reload()) {
                messages.emplace_back("info", "replaced the model " + name + " by " + path);
                continue;
            }
            auto loaded = std::make_shared<Translator>(context_, name, path, config_);
            if (loaded->languages().empty() && name.find('-') == std::string::npos)
                throw std::runtime_error("the name of the model is '" + name +
                                         "'; expected a pair of languages, such as en-de");
            model = std::move(loaded);
            messages.emplace_back("info", "loaded the model " + name + " from " + path);
        } catch (const std::exception &error) {
            if (starting) throw;
            messages.emplace_back("error", "the model " + name + " was not replaced: " + error.what());
            if (!model) models.erase(name);
        }
    }
    std::unique_lock lock(mutex_);
    for (const auto &[name, model] : by_name_)
        if (!models.count(name) || models[name] != model) retired_.push_back(model);
    by_name_ = std::move(models);
    by_pair_.clear();
    for (const auto &[name, model] : by_name_) {  // a model for a single pair precedes a multilingual one
        const std::size_t dash = name.find('-');
        if (model->languages().empty()) by_pair_[{name.substr(0, dash), name.substr(dash + 1)}] = model;
        for (const std::string &source : model->languages())
            for (const std::string &target : model->languages())
                if (source != target) by_pair_.emplace(std::pair(source, target), model);
    }
    lock.unlock();
    for (const auto &[level, message] : messages) log_(level, message);
}

std::shared_ptr<Translator> Registry::find(const std::string &source, const std::string &target) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_pair_.find({source, target});
    return found != by_pair_.end() ? found->second : nullptr;
}

std::map<std::string, std::vector<std::string>> Registry::pairs() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::vector<std::string>> pairs;
    for (const auto &[pair, model] : by_pair_) pairs[pair.first].push_back(pair.second);
    return pairs;
}

std::vector<std::string> Registry::languages() const {
    std::set<std::string> codes;
    for (const auto &[source, targets] : pairs()) {
        codes.insert(source);
        codes.insert(targets.begin(), targets.end());
    }
    return {codes.begin(), codes.end()};
}

std::vector<std::shared_ptr<Translator>> Registry::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Translator>> models;
    for (const auto &[name, model] : by_name_) models.push_back(model);
    return models;
}

void Registry::free_retired() {
    std::vector<std::shared_ptr<Translator>> freed;  // outside the lock, because it waits for a thread
    const std::lock_guard lock(mutex_);
    for (auto &model : retired_)
        if (model.use_count() == 1) freed.push_back(std::move(model));
    std::erase(retired_, nullptr);
}

}  // namespace serve
