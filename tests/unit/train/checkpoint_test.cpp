// Checkpoints: the state of a resumed trainer, the position in the data, and averages of several files.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/average.h"
#include "train/training.hpp"
#include "xformer/xformer.hpp"

namespace {

using namespace xf_test;

XF_TEST(a_resumed_trainer_has_options_step_and_moments) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const TempFolder folder;
        const Settings settings =
            with(kTraining,
                 "train.seed=77 train.label_smoothing=0.25 model.norm=pre model.positions=learned "
                 "train.adam_epsilon=3e-7"_set);
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
            return params_of(*model);
        };
        CHECK(average({paths[0]}) == blocks[0]);  // to the bit
        const std::vector<float> two = average({paths[0], paths[1]}), three = average(paths);
        for (size_t i = 0; i < two.size(); ++i) {
            CHECK_EQ(two[i], static_cast<float>((double{blocks[0][i]} + blocks[1][i]) / 2));
            CHECK_EQ(three[i], static_cast<float>((double{blocks[0][i]} + blocks[1][i] + blocks[2][i]) / 3));
        }
        save(make_trainer(context, with(kTraining, {{"model.window", "2"}})).get(), folder / "other");
        CHECK_FAILS(average({paths[0], folder / "other"}), XF_ERROR_INVALID_ARGUMENT);
        CHECK_FAILS(average({paths[0], folder / "none"}), XF_ERROR_NOT_FOUND);
    });
}

// Corpus, tokenizer, and batches, created with the public API.
struct World {
    std::string said;  // the log
    xformer::Config config;
    xformer::Context context;
    xformer::Corpus corpus;
    xformer::Tokenizer tokenizer;

    World()
        : config([] {
              xformer::Config all;
              for (const auto &[key, value] :
                   with(kTraining,
                        {{"model.vocab_size", "0"}, {"tokenizer.vocab_size", "300"}, {"data.batch_tokens", "120"}}))
                  all.set(key, value);
              return all;
          }()),
          context(config,
                  [this] {
                      xformer::Host host;
                      host.log = [this](const xf_log_line &line) {
                          said += std::string(line.component) + ": " + line.message + "\n";
                      };
                      return host;
                  }()),
          corpus(make_corpus(false)),
          tokenizer(xformer::Tokenizer::train(context, corpus, config)) {}
    xformer::Corpus make_corpus(bool longer) const {
        std::vector<std::pair<std::string, std::string>> pairs;
        for (int i = 0; i < 60; ++i)
            pairs.emplace_back(xf::format("the cat %d sits on mat %d", i, i * 7),
                               xf::format("die Katze %d sitzt auf Matte %d", i, i * 7));
        if (longer) pairs.emplace_back("one pair", "mehr");
        return xformer::Corpus::from_pairs(context, pairs, config);
    }
    xformer::Batcher make_batcher() const { return {corpus, tokenizer, config}; }
    xformer::Trainer resumed(const std::string &path) const { return xformer::Trainer::resume(context, path); }
};

// Makes steps, across the ends of epochs. Returns a line of hexadecimal numbers for each.
std::string steps(xformer::Trainer &trainer, xformer::Batcher &batcher, int count) {
    std::string curve;
    while (count > 0) {
        xformer::Batch batch;
        if (!batcher.next(batch)) continue;
        const xf_step_stats stats = trainer.step(batch);
        curve += xf::format("%a %a %a\n", static_cast<double>(stats.step), stats.loss, stats.gradient_norm);
        --count;
    }
    return curve;
}

int64_t batch_number(const xformer::Batcher &batcher) {
    const xf_batcher_stats stats = batcher.stats();
    return stats.epoch * 1000000 + stats.batch;
}

// The error of resuming at the position of the trainer.
CallOutcome resume_outcome(xformer::Batcher &batcher, const xformer::Trainer &trainer) {
    try {
        batcher.resume(trainer);
    } catch (const xformer::Error &error) {
        return {error.status(), 0, error.what()};
    }
    return {};
}

XF_TEST(the_position_in_the_data_is_found_again_and_only_in_the_same_data) {
    const TempFolder folder;
    World world;
    const std::string path = folder / "run";
    xformer::Trainer trainer(xformer::Model(world.context, world.config, world.tokenizer), world.config);
    xformer::Batcher batcher = world.make_batcher();
    for (int save = 0; save < 4; ++save) {
        steps(trainer, batcher, 9);
        trainer.save(path, batcher);
        xformer::Trainer other = world.resumed(path);
        xformer::Batcher fresh = world.make_batcher();
        fresh.resume(other);
        CHECK_EQ(batch_number(fresh), batch_number(batcher));
        if (save == 3) CHECK_EQ(steps(other, fresh, 12), steps(trainer, batcher, 12));
    }
    CHECK(batch_number(batcher) > 1000000);  // in a later epoch

    xformer::Trainer again = world.resumed(path);
    for (const bool longer : {true, false}) {
        xformer::Batcher found(world.make_corpus(longer), world.tokenizer, world.config);
        steps(again, found, 1);
        const int64_t before = batch_number(found);
        CHECK_EQ(resume_outcome(found, again).status, longer ? XF_ERROR_DATA : XF_OK);
        if (longer) CHECK_EQ(batch_number(found), before);
    }
    // The same pairs in a different order are also refused, and the message names the option that differs.
    const struct {
        const char *key, *other, *own;
    } orders[] = {{"data.seed", "9", "1"}, {"data.shuffle", "false", "true"}};
    for (const auto &order : orders) {
        world.config.set(order.key, order.other);
        xformer::Batcher other = world.make_batcher();
        const CallOutcome found = resume_outcome(other, again);
        CHECK(found.status == XF_ERROR_DATA && found.says(order.key));
        world.config.set(order.key, order.own);
    }
    // With a different batch size, the batcher moves to the same fraction of the epoch and logs it.
    xf_batcher_stats saved = XF_BATCHER_STATS_INIT;  // position of the checkpoint
    for (const char *tokens : {"120", "60", "300"}) {
        world.config.set("data.batch_tokens", tokens);
        xformer::Batcher other = world.make_batcher();
        world.said.clear();
        other.resume(again);
        const xf_batcher_stats stats = other.stats();
        if (saved.batches == 0) saved = stats;
        CHECK_EQ(stats.epoch, saved.epoch);
        CHECK_EQ(stats.batch,
                 std::llround(static_cast<double>(saved.batch * stats.batches) / static_cast<double>(saved.batches)));
        CHECK_EQ(world.said.find("train: data.batch_tokens has changed"),
                 stats.batches == saved.batches ? std::string::npos : 0);
    }
    again.save(path);
    CHECK_EQ(resume_outcome(batcher, world.resumed(path)).status, XF_ERROR_STATE);
}

}  // namespace
