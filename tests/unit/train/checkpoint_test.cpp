// Checkpoints: the state of a resumed trainer, the position in the data, and averages of several files.
//
// SPDX-License-Identifier: Apache-2.0
#include "../../support/api.h"
#include "train/average.h"
#include "train/training.hpp"
#include "xformer/xformer.h"

namespace {

using namespace xf_test;

XF_TEST(a_resumed_trainer_has_options_step_and_moments) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const TempFolder folder;
        Settings settings = kTraining;
        for (const auto &[key, value] : Settings{{"train.seed", "77"},
                                                 {"train.label_smoothing", "0.25"},
                                                 {"model.norm", "pre"},
                                                 {"model.positions", "learned"},
                                                 {"train.adam_epsilon", "3e-7"}})
            settings[key] = value;
        const Task task;
        const auto first = make_trainer(context, settings);
        train_to(first.get(), task, 7);
        save(first.get(), folder / "seven");
        const auto second = resume(context, folder / "seven");
        CHECK_EQ(second->steps_done(), 7);
        for (size_t i = 0; i < xf::option_count(); ++i) {
            const std::string key = xf::option(i).key;
            if (key.starts_with("train.")) CHECK_EQ(second->options().text(key), first->options().text(key));
            if (key.starts_with("model."))
                CHECK_EQ(second->model()->options().text(key), first->model()->options().text(key));
        }
        CHECK(params_of(*first) == params_of(*second));
        save(second.get(), folder / "again");
        CHECK(bytes_of(folder / "seven") == bytes_of(folder / "again"));
        CHECK_EQ(train_to(first.get(), task, 12), train_to(second.get(), task, 12));
        CHECK(params_of(*first) == params_of(*second));
    });
}

XF_TEST(a_model_is_not_a_checkpoint) {
    const TempFolder folder;
    const auto context = any_device();
    const auto model = make_model(context, kTraining);
    xf::Stream stream(context->device());
    xf::FileContents contents;
    contents.kind = "model";
    xf::AtomicFile file(folder / "model");
    xf::save_model(&file, "model", *model, stream, contents, {});
    CHECK_FAILS(resume(context, folder / "model"), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(resume(context, folder / "none"), XF_ERROR_NOT_FOUND);
}

XF_TEST(averages) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const TempFolder folder;
        const auto trainer = make_trainer(context, kTraining);
        std::vector<std::vector<float>> blocks;
        std::vector<std::string> paths;
        for (int64_t i = 1; i <= 3; ++i) {
            train_to(trainer.get(), Task(), i * 2);
            paths.push_back(folder / std::to_string(i));
            save(trainer.get(), paths.back());
            blocks.push_back(params_of(*trainer));
        }
        const auto average = [&](const std::vector<std::string> &files) {
            std::string tokenizer;
            const auto open = [&](size_t i) { return std::make_shared<xf::InputFile>(files[i]); };
            const auto model = xf::average_files(context, files.size(), open, &tokenizer, xf::Call());
            std::vector<float> block(blocks[0].size());
            xf::Stream stream(context->device());
            stream.download(block.data(), model->params(), block.size() * sizeof(float));
            return block;
        };
        CHECK(average({paths[0]}) == blocks[0]);  // to the bit
        const std::vector<float> two = average({paths[0], paths[1]}), three = average(paths);
        for (size_t i = 0; i < two.size(); ++i) {
            CHECK_EQ(two[i], static_cast<float>((double{blocks[0][i]} + blocks[1][i]) / 2));
            CHECK_EQ(three[i], static_cast<float>((double{blocks[0][i]} + blocks[1][i] + blocks[2][i]) / 3));
        }
        Settings other = with(kTraining, {{"model.window", "2"}});
        save(make_trainer(context, other).get(), folder / "other");
        CHECK_FAILS(average({paths[0], folder / "other"}), XF_ERROR_INVALID_ARGUMENT);
        CHECK_FAILS(average({paths[0], folder / "none"}), XF_ERROR_NOT_FOUND);
    });
}

// Makes a call that must succeed.
#define OK(function, ...)                                                                \
    do {                                                                                 \
        xf_error err{};                                                                  \
        if (function(__VA_ARGS__, &err) != XF_OK)                                        \
            xf::fail(static_cast<xf_status>(err.status), #function ": %s", err.message); \
    } while (0)

struct Freer {
    void operator()(xf_context *p) const { xf_context_free(p); }
    void operator()(xf_config *p) const { xf_config_free(p); }
    void operator()(xf_corpus *p) const { xf_corpus_free(p); }
    void operator()(xf_tokenizer *p) const { xf_tokenizer_free(p); }
    void operator()(xf_batcher *p) const { xf_batcher_free(p); }
    void operator()(xf_model *p) const { xf_model_free(p); }
    void operator()(xf_trainer *p) const { xf_trainer_free(p); }
};
template <class T>
using Handle = std::unique_ptr<T, Freer>;

// Corpus, tokenizer, and batches, created with the public API.
struct World {
    mutable std::string said;  // the log
    World() {
        xf_config *c = nullptr;
        OK(xf_config_create, &c);
        config.reset(c);
        Settings settings =
            with(kTraining, {{"model.vocab_size", "0"}, {"tokenizer.vocab_size", "300"}, {"data.batch_tokens", "120"}});
        for (const auto &[key, value] : settings) OK(xf_config_set, c, key.c_str(), value.c_str());
        xf_context *x = nullptr;
        xf_host host = XF_HOST_INIT;
        host.log_user = &said;
        host.log = [](void *user, const xf_log_line *line) {
            *static_cast<std::string *>(user) += std::string(line->component) + ": " + line->message + "\n";
        };
        OK(xf_context_create, c, &host, &x);
        context.reset(x);
        corpus = make_corpus("");
        xf_tokenizer *t = nullptr;
        OK(xf_tokenizer_train, x, corpus.get(), c, nullptr, &t);
        tokenizer.reset(t);
    }
    Handle<xf_corpus> make_corpus(const std::string &more) const {
        std::string text;
        for (int i = 0; i < 60; ++i)
            text += xf::format("the cat %d sits on mat %d\tdie Katze %d sitzt auf Matte %d\n", i, i * 7, i, i * 7);
        text += more;
        xf_corpus *p = nullptr;
        OK(corpus_from_text, context.get(), config.get(), text.data(), text.size(), &p);
        return Handle<xf_corpus>(p);
    }
    Handle<xf_batcher> make_batcher(const xf_corpus *from) const {
        xf_batcher *p = nullptr;
        OK(xf_batcher_create, from, tokenizer.get(), config.get(), nullptr, &p);
        return Handle<xf_batcher>(p);
    }
    Handle<xf_trainer> new_trainer() const {
        xf_model *m = nullptr;
        OK(xf_model_create, context.get(), tokenizer.get(), config.get(), &m);
        const Handle<xf_model> model(m);
        xf_trainer *p = nullptr;
        OK(xf_trainer_create, m, config.get(), &p);
        return Handle<xf_trainer>(p);
    }
    Handle<xf_trainer> resumed(const std::string &path) const {
        xf_trainer *p = nullptr;
        OK(resume_trainer, context.get(), path.c_str(), nullptr, &p);
        return Handle<xf_trainer>(p);
    }
    Handle<xf_config> config;
    Handle<xf_context> context;
    Handle<xf_corpus> corpus;
    Handle<xf_tokenizer> tokenizer;
};

// Makes steps, across the ends of epochs. Returns a line of hexadecimal numbers for each.
std::string steps(xf_trainer *trainer, xf_batcher *batcher, int count) {
    std::string curve;
    while (count > 0) {
        xf_batch batch = XF_BATCH_INIT;
        const xf_status status = xf_batcher_next(batcher, nullptr, &batch, nullptr);
        if (status == XF_DONE) continue;
        xf_step_stats stats{};
        stats.struct_size = sizeof stats;
        OK(xf_train_step, trainer, &batch, 1, nullptr, &stats);
        curve += xf::format("%lld %a %a\n", static_cast<long long>(stats.step), stats.loss, stats.gradient_norm);
        --count;
    }
    return curve;
}

int64_t batch_number(const xf_batcher *batcher) {
    xf_batcher_stats stats{};
    stats.struct_size = sizeof stats;
    OK(xf_batcher_get_stats, batcher, &stats);
    return stats.epoch * 1000000 + stats.batch;
}

XF_TEST(the_position_in_the_data_is_found_again_and_only_in_the_same_data) {
    const TempFolder folder;
    World world;
    const Handle<xf_trainer> trainer = world.new_trainer();
    const Handle<xf_batcher> batcher = world.make_batcher(world.corpus.get());
    const std::string path = folder / "run";
    for (int save = 0; save < 4; ++save) {
        steps(trainer.get(), batcher.get(), 9);
        OK(save_trainer, trainer.get(), batcher.get(), path.c_str());
        const Handle<xf_trainer> other = world.resumed(path);
        const Handle<xf_batcher> fresh = world.make_batcher(world.corpus.get());
        OK(xf_batcher_resume, fresh.get(), other.get(), nullptr);
        CHECK_EQ(batch_number(fresh.get()), batch_number(batcher.get()));
        if (save == 3) CHECK_EQ(steps(other.get(), fresh.get(), 12), steps(trainer.get(), batcher.get(), 12));
    }
    CHECK(batch_number(batcher.get()) > 1000000);  // in a later epoch

    const Handle<xf_trainer> again = world.resumed(path);
    for (const char *more : {"one pair\tmehr\n", ""}) {
        const Handle<xf_corpus> corpus = world.make_corpus(more);
        const Handle<xf_batcher> found = world.make_batcher(corpus.get());
        steps(again.get(), found.get(), 1);
        const int64_t before = batch_number(found.get());
        CHECK_EQ(xf_batcher_resume(found.get(), again.get(), nullptr, nullptr), *more ? XF_ERROR_DATA : XF_OK);
        if (*more) CHECK_EQ(batch_number(found.get()), before);
    }
    // The same pairs in a different order are also refused, and the message names the option that differs.
    const struct {
        const char *key, *other, *own;
    } orders[] = {{"data.seed", "9", "1"}, {"data.shuffle", "false", "true"}};
    for (const auto &order : orders) {
        OK(xf_config_set, world.config.get(), order.key, order.other);
        const Handle<xf_batcher> other = world.make_batcher(world.corpus.get());
        xf_error why{};
        CHECK_EQ(xf_batcher_resume(other.get(), again.get(), nullptr, &why), XF_ERROR_DATA);
        CHECK(std::string(why.message).find(order.key) != std::string::npos);
        OK(xf_config_set, world.config.get(), order.key, order.own);
    }
    // With a different batch size, the batcher moves to the same fraction of the epoch and logs it.
    std::string &said = world.said;
    xf_batcher_stats saved = XF_BATCHER_STATS_INIT;  // position of the checkpoint
    for (const char *tokens : {"120", "60", "300"}) {
        OK(xf_config_set, world.config.get(), "data.batch_tokens", tokens);
        const Handle<xf_batcher> other = world.make_batcher(world.corpus.get());
        said.clear();
        OK(xf_batcher_resume, other.get(), again.get(), nullptr);
        xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
        OK(xf_batcher_get_stats, other.get(), &stats);
        if (saved.batches == 0) saved = stats;
        CHECK_EQ(stats.epoch, saved.epoch);
        CHECK_EQ(stats.batch,
                 std::llround(static_cast<double>(saved.batch * stats.batches) / static_cast<double>(saved.batches)));
        CHECK_EQ(said.find("train: data.batch_tokens has changed"),
                 stats.batches == saved.batches ? std::string::npos : 0);
    }
    OK(xf_config_set, world.config.get(), "data.batch_tokens", "120");
    OK(save_trainer, again.get(), nullptr, path.c_str());
    CHECK_EQ(xf_batcher_resume(batcher.get(), world.resumed(path).get(), nullptr, nullptr), XF_ERROR_STATE);
}

}  // namespace
