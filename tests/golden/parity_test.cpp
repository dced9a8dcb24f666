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
#include "session.hpp"
#include "xformer/experimental.hpp"
#include "xformer/xformer.hpp"

namespace {

using namespace xf_golden;

xformer::Config config_of(const Settings &settings) {
    xformer::Config config;
    for (const auto &[key, value] : settings) config.set(key, value);
    return config;
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

// The bias of keys adds the same number to all scores of a query, which does not change their softmax.
bool has_no_effect(std::string_view name) { return name.ends_with(".k.bias"); }

// Compares one device with one golden file. Options and parameters may be changed, to test that this is noticed.
class Comparison {
public:
    Comparison(const Golden &golden, const xformer::Context &context, const Settings &changes = {})
        : golden_(golden),
          settings_(with(golden.options(), changes)),
          config_(config_of(settings_)),
          model_(context, config_),
          batch0_(golden.pairs("batch0")),
          batch1_(golden.pairs("batch1")) {
        size_t index = 0;
        for (const xf_tensor_info &info : model_.tensors())
            model_.write(index++, golden.floats(std::string("param.") + info.name));
    }

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

    xformer::Model &model() { return model_; }

private:
    static xformer::Batch view(const Batch &batch) { return xformer::Batch(batch.view()); }

    void compare_scores() {
        const std::vector<double> found = xformer::Decoder(model_, config_).score(view(batch0_));
        report_.add("score", "xf_score", relative_error(found, golden_.floats("log_probs")));
    }

    void compare_gradients() {
        xformer::Trainer trainer(model_, config_);
        const xf_step_stats stats = trainer.accumulate(view(batch0_));
        report_.add("loss", "xf_train_accumulate",
                    relative_error(std::vector<double>{stats.loss, stats.nll}, golden_.floats("batch0.loss")));
        if (stats.tgt_tokens != batch0_.view().tgt_offsets[stats.sentences] ||
            stats.src_tokens != batch0_.view().src_offsets[stats.sentences])
            report_.differ("loss", "tokens of xf_train_accumulate");
        size_t index = 0;
        for (const xf_tensor_info &info : model_.tensors()) {
            std::vector<float> found = xformer::read_gradient(trainer, index++);
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
        xformer::Trainer trainer(model_, config_);
        const xformer::Batch both[] = {view(batch0_), view(batch1_)};
        const std::vector<float> expected = golden_.floats("steps");
        for (size_t step = 0; step < expected.size() / 4; ++step) {
            const xf_step_stats stats = trainer.step(both);
            const double found[] = {stats.loss, stats.nll, stats.learning_rate, stats.gradient_norm};
            const char *const names[] = {"loss", "nll", "learning rate", "gradient norm"};
            for (size_t i = 0; i < 4; ++i)
                report_.add("steps", xf::format("%s of step %zu", names[i], step + 1),
                            relative_error(std::vector<double>{found[i]}, {expected[4 * step + i]}));
        }
        size_t index = 0;
        for (const xf_tensor_info &info : model_.tensors())
            report_.add("weights", info.name,
                        relative_error(model_.read(index++), golden_.floats(std::string("after.") + info.name)));
    }

    void compare_search(size_t index) {
        const std::string name = xf::format("decode.%zu.", index);
        xformer::Decoder decoder(model_, config_of(with(settings_, golden_.searches()[index])));
        const Batch sources(golden_.sentences("decode.src_"));
        const xformer::Hypotheses found = decoder.decode(view(sources));
        const std::vector<Ids> ids = golden_.sentences(name);
        const std::vector<int32_t> counts = golden_.ints(name + "count"), finished = golden_.ints(name + "finished");
        const std::vector<float> log_probs = golden_.floats(name + "log_probs"),
                                 scores = golden_.floats(name + "scores");
        if (found.size() != counts.size()) return report_.differ("search", name + " sentences");
        for (size_t sentence = 0, at = 0; sentence < counts.size(); ++sentence) {
            const size_t count = static_cast<size_t>(counts[sentence]);
            const std::string where = xf::format("%s sentence %zu", name.c_str(), sentence);
            if (found[sentence].size() != count) report_.differ("search", where + " answers");
            for (size_t rank = 0; rank < count; ++rank, ++at) {
                if (rank >= found[sentence].size()) continue;
                const auto answer = found[sentence][rank];
                if (!std::equal(answer.ids.begin(), answer.ids.end(), ids[at].begin(), ids[at].end()))
                    report_.differ("search", where + xf::format(" rank %zu: tokens", rank));
                if (answer.finished != (finished[at] != 0)) report_.differ("search", where + ": finished");
                report_.add("search", where + ": score",
                            relative_error(std::vector<double>{answer.score}, {scores[at]}));
                report_.add("search", where + ": log P",
                            relative_error(std::vector<double>{answer.log_probability}, {log_probs[at]}));
            }
        }
    }

    const Golden &golden_;
    Settings settings_;
    xformer::Config config_;
    xformer::Model model_;
    Batch batch0_, batch1_;
    Report report_;
};

xformer::Context open_public(const DeviceName &device) {
    return xformer::Context(
        config_of({{"context.device", device.device}, {"context.isa", device.isa}, {"context.threads", "2"}}));
}

XF_TEST(parameters_have_the_names_shapes_and_order_of_the_reference) {
    const xformer::Context context = open_public(kDevices[0]);
    for (const char *file : kFiles) {
        const Golden golden = open(file);
        Comparison comparison(golden, context);
        const auto found = comparison.model().tensors();
        size_t index = 0;
        for (const xf::TensorInfo &tensor : golden.tensors()) {
            if (!tensor.name.starts_with("param.")) continue;
            CHECK(index < found.size());
            const xf_tensor_info info = found[index++];
            CHECK_EQ(std::string("param.") + info.name, tensor.name);
            CHECK_EQ(static_cast<size_t>(info.dims), tensor.shape.size());
            CHECK(std::equal(tensor.shape.begin(), tensor.shape.end(), info.shape));
        }
        CHECK_EQ(index, found.size());
    }
}

XF_TEST(every_device_agrees_with_the_reference) {
    on_each_device(1, [](const auto &, const DeviceName &device) {
        if (device.bf16()) return;
        const xformer::Context context = open_public(device);
        for (const char *file : kFiles) {
            const Golden golden = open(file);
            const Report report = Comparison(golden, context).run();
            std::printf("  %s:%s\n", file, report.text().c_str());
            if (!report.good()) record(__FILE__, __LINE__, device.text() + ", " + file + ":" + report.text());
        }
    });
}

// Adds 0.01 to the number of each tensor with the largest gradient. Some gradient must differ.
XF_TEST(a_changed_parameter_is_detected) {
    if (has_run_on_cpu()) return;
    const xformer::Context context = open_public(kDevices[0]);
    for (const char *file : kFiles) {
        const Golden golden = open(file);
        const size_t count = Comparison(golden, context).model().tensors().size();
        for (size_t i = 0; i < count; i += XF_TEST_SANITIZED ? 5 : 1) {
            Comparison changed(golden, context);
            const std::string name = changed.model().tensors()[i].name;
            if (has_no_effect(name)) continue;
            std::vector<float> values = golden.floats("param." + name);
            const std::vector<float> grads = golden.floats("grad." + name);
            const auto most = std::max_element(grads.begin(), grads.end(),
                                               [](float a, float b) { return std::fabs(a) < std::fabs(b); });
            values[static_cast<size_t>(most - grads.begin())] += 0.01f;
            changed.model().write(i, values);
            if (changed.gradients().good()) record(__FILE__, __LINE__, std::string(file) + ": " + name);
        }
    }
}

XF_TEST(a_changed_option_is_detected) {
    if (has_run_on_cpu()) return;
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
    const xformer::Context context = open_public(kDevices[0]);
    size_t turn = 0;
    for (const auto &change : changes) {
        if (XF_TEST_SANITIZED && ++turn % 4 != 0) continue;
        const Golden golden = open(change.file);
        const Report report = Comparison(golden, context, {{change.key, change.value}}).run();
        if (report.good()) record(__FILE__, __LINE__, xf::format("%s: %s=%s", change.file, change.key, change.value));
    }
}

}  // namespace
