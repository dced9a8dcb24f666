// Compares the library with an independent Transformer in PyTorch (reference.py), through the public API.
//
// Covers scores, training losses, every gradient, ten Adam steps, and beam searches of tiny models, on every backend
// and instruction set of this machine. logits_test.cpp covers the losses of an evaluation. Errors are relative per
// tensor, max|a - b| / max|b|, and must be at most 1e-4; an fp32 run of the reference itself has an error below 1e-5.
// Searches must return the same tokens.
//
// The last two tests show that the comparison can fail: they change a parameter or an option, which must be noticed.
//
// SPDX-License-Identifier: Apache-2.0
#include "../support/api.h"
#include "session.hpp"
#include "support/test.hpp"

namespace {

using namespace xf_golden;

#ifndef XF_HAVE_OPENBLAS
#define XF_HAVE_OPENBLAS false
#endif
struct Device {
    const char *name, *isa;
    bool required;  // part of this build, so it must open
};
constexpr Device kDevices[] = {
    {"cpu:ref", "auto", true},       {"cpu:openblas", "base", XF_HAVE_OPENBLAS},
    {"cpu:openblas", "avx2", false}, {"cpu:openblas", "avx512", false},
    {"cuda", "auto", false},
};

Settings device_settings(const Device &device) {
    return {{"context.device", device.name}, {"context.isa", device.isa}, {"context.threads", "2"}};
}

// The result of a comparison: the largest relative error of each topic, and its location.
class Report {
public:
    void add(const std::string &topic, const std::string &where, double error) {
        Worst &worst = topics_[topic];
        if (!(error <= worst.error)) worst = {error, where};
    }
    void differ(const std::string &topic, const std::string &where) { add(topic, where, INFINITY); }

    bool good() const {
        return !topics_.empty() && std::all_of(topics_.begin(), topics_.end(),
                                               [](const auto &topic) { return topic.second.error <= kTolerance; });
    }
    std::string text() const {
        std::ostringstream line;
        line.precision(2);
        for (const auto &[topic, worst] : topics_)
            line << "  " << topic << ' ' << worst.error << " (" << worst.where << ')';
        return line.str();
    }

private:
    struct Worst {
        double error = -1;
        std::string where;
    };
    std::map<std::string, Worst> topics_;
};

struct Batch {
    Batch(const Golden &golden, const std::string &name, bool targets) {
        const auto offsets = [&](const char *side) {
            const std::vector<int32_t> stored = golden.ints(name + side);
            return std::vector<int64_t>(stored.begin(), stored.end());
        };
        src_ids = golden.ints(name + ".src_ids");
        src_offsets = offsets(".src_offsets");
        view.sentences = static_cast<int64_t>(src_offsets.size()) - 1;
        view.src_ids = src_ids.data();
        view.src_offsets = src_offsets.data();
        if (!targets) return;
        tgt_ids = golden.ints(name + ".tgt_ids");
        tgt_offsets = offsets(".tgt_offsets");
        view.tgt_ids = tgt_ids.data();
        view.tgt_offsets = tgt_offsets.data();
    }
    std::vector<int32_t> src_ids, tgt_ids;
    std::vector<int64_t> src_offsets, tgt_offsets;
    xf_batch view = XF_BATCH_INIT;
};

xf_tensor_info param_info(const xf_model *model, size_t index) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    XF_GOLDEN_OK(xf_model_get_tensor, model, index, &info);
    return info;
}

// The bias of keys adds the same number to all scores of a query, which does not change their softmax.
bool has_no_effect(std::string_view name) { return name.ends_with(".k.bias"); }

// Compares one device with one golden file. Options and parameters may be changed, to test that this is noticed.
class Comparison {
public:
    Comparison(const Golden &golden, xf_context *context, const Settings &changes = {})
        : golden_(golden), batch0_(golden, "batch0", true), batch1_(golden, "batch1", true) {
        settings_ = golden.options();
        for (const auto &[key, value] : changes) settings_[key] = value;
        config_ = make_config(settings_);
        xf_model *model = nullptr;
        XF_GOLDEN_OK(xf_model_create, context, nullptr, config_.get(), &model);
        model_.reset(model);
        for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
            const std::vector<float> values = golden.floats(std::string("param.") + param_info(model, i).name);
            XF_GOLDEN_OK(xf_model_write_tensor, model, i, values.data(), values.size());
        }
    }

    xf_model *model() { return model_.get(); }

    Report run() {
        compare_scores();
        compare_gradients();
        for (size_t i = 0; i < golden_.searches().size(); ++i) compare_search(i);
        compare_steps();  // last: it changes the model
        return report_;
    }

    // The gradient of batch0 alone.
    Report gradients() {
        compare_gradients();
        return report_;
    }

private:
    Trainer make_trainer() {
        xf_trainer *trainer = nullptr;
        XF_GOLDEN_OK(xf_trainer_create, model_.get(), config_.get(), &trainer);
        return Trainer(trainer);
    }

    Decoder make_decoder(const Settings &search) {
        Settings all = settings_;
        for (const auto &[key, value] : search) all[key] = value;
        xf_decoder *decoder = nullptr;
        XF_GOLDEN_OK(xf_decoder_create, model_.get(), make_config(all).get(), &decoder);
        return Decoder(decoder);
    }

    void compare_scores() {
        const Decoder decoder = make_decoder({});
        std::vector<double> found(static_cast<size_t>(batch0_.view.sentences));
        XF_GOLDEN_OK(xf_score, decoder.get(), &batch0_.view, nullptr, found.data());
        report_.add("score", "xf_score", relative_error(found, golden_.floats("log_probs")));
    }

    void compare_gradients() {
        const Trainer trainer = make_trainer();
        xf_step_stats stats = XF_STEP_STATS_INIT;
        XF_GOLDEN_OK(xf_train_accumulate, trainer.get(), &batch0_.view, nullptr, &stats);
        report_.add("loss", "xf_train_accumulate",
                    relative_error(std::vector<double>{stats.loss, stats.nll}, golden_.floats("batch0.loss")));
        if (stats.tgt_tokens != batch0_.tgt_offsets.back() || stats.src_tokens != batch0_.src_offsets.back())
            report_.differ("loss", "tokens of xf_train_accumulate");
        for (size_t i = 0; i < xf_model_tensor_count(model_.get()); ++i) {
            const xf_tensor_info info = param_info(model_.get(), i);
            std::vector<float> found(number_count(&info));
            XF_GOLDEN_OK(xf_trainer_read_gradient, trainer.get(), i, found.data(), found.size());
            const std::string name = info.name;
            std::vector<float> expected = golden_.floats("grad." + name);
            if (has_no_effect(name)) {  // compare the sum with the gradient of the query bias
                expected = golden_.floats("grad." + std::string(name, 0, name.size() - 6) + "q.bias");
                for (size_t j = 0; j < found.size(); ++j) found[j] += expected[j];
            }
            report_.add("gradient", name, relative_error(found, expected));
        }
    }

    void compare_steps() {
        const Trainer trainer = make_trainer();
        const xf_batch both[] = {batch0_.view, batch1_.view};
        const std::vector<float> expected = golden_.floats("steps");
        for (size_t step = 0; step < expected.size() / 4; ++step) {
            xf_step_stats stats = XF_STEP_STATS_INIT;
            XF_GOLDEN_OK(xf_train_step, trainer.get(), both, 2, nullptr, &stats);
            const double found[] = {stats.loss, stats.nll, stats.learning_rate, stats.gradient_norm};
            const char *const names[] = {"loss", "nll", "learning rate", "gradient norm"};
            for (size_t i = 0; i < 4; ++i)
                report_.add("steps", xf::format("%s of step %zu", names[i], step + 1),
                            relative_error(std::vector<double>{found[i]}, {expected[4 * step + i]}));
        }
        for (size_t i = 0; i < xf_model_tensor_count(model_.get()); ++i) {
            const xf_tensor_info info = param_info(model_.get(), i);
            std::vector<float> found(number_count(&info));
            XF_GOLDEN_OK(xf_model_read_tensor, model_.get(), i, found.data(), found.size());
            report_.add("weights", info.name, relative_error(found, golden_.floats(std::string("after.") + info.name)));
        }
    }

    void compare_search(size_t index) {
        const std::string name = xf::format("decode.%zu", index);
        const Decoder decoder = make_decoder(golden_.searches()[index]);
        const Batch sources(golden_, "decode", false);
        xf_hypotheses *raw = nullptr;
        XF_GOLDEN_OK(xf_decode, decoder.get(), &sources.view, nullptr, nullptr, &raw);
        const Hypotheses answers(raw);
        const std::vector<int32_t> ids = golden_.ints(name + ".ids"), offsets = golden_.ints(name + ".offsets"),
                                   counts = golden_.ints(name + ".count"), finished = golden_.ints(name + ".finished");
        const std::vector<float> log_probs = golden_.floats(name + ".log_probs"),
                                 scores = golden_.floats(name + ".scores");
        if (xf_hypotheses_sentence_count(raw) != counts.size()) return report_.differ("search", name + " sentences");
        for (size_t sentence = 0, at = 0; sentence < counts.size(); ++sentence) {
            const size_t count = static_cast<size_t>(counts[sentence]);
            const std::string where = xf::format("%s sentence %zu", name.c_str(), sentence);
            if (hypothesis_count(raw, sentence) != count) report_.differ("search", where + " answers");
            for (size_t rank = 0; rank < count; ++rank, ++at) {
                if (rank >= hypothesis_count(raw, sentence)) continue;
                xf_hypothesis answer = XF_HYPOTHESIS_INIT;
                XF_GOLDEN_OK(xf_hypotheses_get, raw, sentence, rank, &answer);
                if (!std::equal(answer.ids, answer.ids + answer.id_count, ids.begin() + offsets[at],
                                ids.begin() + offsets[at + 1]))
                    report_.differ("search", where + xf::format(" rank %zu: tokens", rank));
                if (answer.finished != finished[at]) report_.differ("search", where + ": finished");
                report_.add("search", where + ": score",
                            relative_error(std::vector<double>{answer.score}, {scores[at]}));
                report_.add("search", where + ": log P",
                            relative_error(std::vector<double>{answer.log_probability}, {log_probs[at]}));
            }
        }
    }

    const Golden &golden_;
    Batch batch0_, batch1_;
    Settings settings_;
    Config config_{nullptr};
    Model model_{nullptr};
    Report report_;
};

// Creates the context of a device. If it is not available, prints the reason and returns null.
Context open_device(const Device &device) {
    xf_context *raw = nullptr;
    xf_error err{};
    const xf_status status = xf_context_create(make_config(device_settings(device)).get(), nullptr, &raw, &err);
    if (status != XF_OK && device.required) xf::fail(status, "%s does not open: %s", device.name, err.message);
    if (status != XF_OK) std::printf("skipped: %s with %s: %s\n", device.name, device.isa, err.message);
    return Context(raw);
}

XF_TEST(parameters_have_the_names_shapes_and_order_of_the_reference) {
    const Context context = open_device(kDevices[0]);
    for (const char *file : kFiles) {
        const Golden golden = open(file);
        Comparison comparison(golden, context.get());
        size_t index = 0;
        for (const xf::TensorInfo &tensor : golden.tensors()) {
            if (!tensor.name.starts_with("param.")) continue;
            CHECK(index < xf_model_tensor_count(comparison.model()));
            const xf_tensor_info info = param_info(comparison.model(), index++);
            CHECK_EQ(std::string("param.") + info.name, tensor.name);
            CHECK_EQ(static_cast<size_t>(info.dims), tensor.shape.size());
            CHECK(std::equal(tensor.shape.begin(), tensor.shape.end(), info.shape));
        }
        CHECK_EQ(index, xf_model_tensor_count(comparison.model()));
    }
}

XF_TEST(every_device_agrees_with_the_reference) {
    const char *const kind = std::getenv("XF_TEST_DEVICES");  // as in nn/fixture.hpp
    for (const Device &device : kDevices) {
        if (kind != nullptr && std::string_view(device.name).rfind(kind, 0) != 0) continue;
        const Context context = open_device(device);
        CHECK(context || kind == nullptr || std::string_view(kind) != "cuda");
        if (!context) continue;
        std::printf("%s\n", device_of(context.get()));
        for (const char *file : kFiles) {
            const Golden golden = open(file);
            const Report report = Comparison(golden, context.get()).run();
            std::printf("  %s:%s\n", file, report.text().c_str());
            if (!report.good())
                xf_test::record(__FILE__, __LINE__,
                                xf::format("%s %s, %s:%s", device.name, device.isa, file, report.text().c_str()));
        }
    }
}

// Adds 0.01 to the number of each tensor with the largest gradient. Some gradient must differ.
XF_TEST(a_changed_parameter_is_detected) {
    if (xf_test::has_run_on_cpu()) return;
    const Context context = open_device(kDevices[0]);
    for (const char *file : kFiles) {
        const Golden golden = open(file);
        Comparison original(golden, context.get());
        for (size_t i = 0; i < xf_model_tensor_count(original.model()); i += XF_TEST_SANITIZED ? 5 : 1) {
            Comparison changed(golden, context.get());
            const xf_tensor_info info = param_info(changed.model(), i);
            if (has_no_effect(info.name)) continue;
            std::vector<float> values = golden.floats(std::string("param.") + info.name);
            const std::vector<float> grads = golden.floats(std::string("grad.") + info.name);
            const auto most = std::max_element(grads.begin(), grads.end(),
                                               [](float a, float b) { return std::fabs(a) < std::fabs(b); });
            values[static_cast<size_t>(most - grads.begin())] += 0.01f;
            XF_GOLDEN_OK(xf_model_write_tensor, changed.model(), i, values.data(), values.size());
            if (changed.gradients().good()) xf_test::record(__FILE__, __LINE__, std::string(file) + ": " + info.name);
        }
    }
}

XF_TEST(a_changed_option_is_detected) {
    if (xf_test::has_run_on_cpu()) return;
    const struct {
        const char *file, *key, *value;
    } changes[] = {
        {"post", "model.norm_epsilon", "1e-3"},
        {"post", "model.window", "6"},
        {"post", "train.label_smoothing", "0.11"},
        {"post", "train.label_smoothing_kind", "uniform"},
        {"post", "train.schedule", "constant"},
        {"post", "train.learning_rate", "0.031"},
        {"post", "train.warmup_steps", "9"},
        {"post", "train.adam_beta1", "0.91"},
        {"post", "train.adam_beta2", "0.97"},
        {"shapes", "train.adam_epsilon", "2e-4"},
        {"shapes", "train.label_smoothing_kind", "others"},
        {"pre", "model.window", "6"},
        {"pre", "model.window", "2"},
        {"pre", "train.warmup_steps", "5"},
        {"pre", "train.dropout", "0.01"},
        {"post", "train.attention_dropout", "0.05"},
        {"swish", "model.activation", "gelu"},
        {"swish", "model.start_token", "3"},
        {"swish", "model.banned_tokens", "3,4,5,6,7,8,9,10"},
        {"swish", "train.activation_dropout", "0.05"},
        {"post", "train.activation_dropout", "0.05"},
        {"gelu", "model.activation", "relu"},
        {"gelu", "model.embedding_scale", "true"},
        {"gelu", "model.first_token", "-1"},
        {"gated", "model.start_token", "0"},
        {"gated", "model.activation", "swiglu"},
        {"rms", "model.activation", "geglu"},
    };
    const Context context = open_device(kDevices[0]);
    size_t turn = 0;
    for (const auto &change : changes) {
        if (XF_TEST_SANITIZED && ++turn % 4 != 0) continue;
        const Golden golden = open(change.file);
        const Report report = Comparison(golden, context.get(), {{change.key, change.value}}).run();
        if (report.good())
            xf_test::record(__FILE__, __LINE__, xf::format("%s: %s=%s", change.file, change.key, change.value));
    }
}

}  // namespace
