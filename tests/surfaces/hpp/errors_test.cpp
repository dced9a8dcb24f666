// Errors of each class, objects that were moved from, and handles that come and go.
//
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "check.hpp"
#include "world.hpp"

namespace {

TEST(files) {
    World w;
    const Folder folder;
    CHECK(CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::Model::load(w.context, folder / "none")).native_code() == ENOENT);
    CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::Trainer::resume(w.context, folder / "none"));
    CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::Tokenizer::load(w.context, folder / "none"));
    CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::Corpus::open(w.context, folder / "none"));
    CHECK(CHECK_THROWS(XF_ERROR_IO, xformer::Tokenizer::load(w.context, folder.path())).native_code() == EISDIR);
    CHECK_THROWS(XF_ERROR_DATA, xformer::Corpus::open(w.context, folder.path()));  // may be a folder, but has files
    CHECK_THROWS(XF_ERROR_NOT_FOUND, w.model.save(folder / "no/folder"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.model.save(std::string("a\0b", 3)));

    w.model.save(folder / "model.xf");
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Trainer::resume(w.context, folder / "model.xf"));
}

// The host's allocator, which says no from some call on.
TEST(an_allocator) {
    struct Host {
        int left, held;
    } host{1000, 0};
    xf_host services = XF_HOST_INIT;
    services.alloc_user = &host;
    services.alloc = [](void *user, std::size_t size, std::size_t alignment) -> void * {
        auto *const h = static_cast<Host *>(user);
        if (h->left-- <= 0) return nullptr;
        ++h->held;
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    };
    services.free = [](void *user, void *ptr, std::size_t) {
        --static_cast<Host *>(user)->held;
        std::free(ptr);
    };
    {
        const auto config = small_config().set("model.vocab_size", 9);
        xformer::Host with;
        with.services = services;
        const xformer::Context context(config, std::move(with));
        const xformer::Model model(context, config);
        CHECK(host.held > 0);
        host.left = 0;
        CHECK_THROWS(XF_ERROR_NO_MEMORY, xformer::Trainer(model, config));
    }
    CHECK(host.held == 0);
}

TEST(arguments_data_and_state) {
    World w;
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Decoder(w.model, w.config.set("decode.n_best", 9)));
    w.config.set("decode.n_best", 1);
    const std::vector<std::string> none, one{"a"};
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::bleu(none, none));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::bleu(one, none));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::chrf(none, one));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Model::average(w.context, none));
    std::vector<float> wrong(3);
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.model.read(0, wrong));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.model.write(0, wrong));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.trainer.step(xformer::span<const xformer::Batch>()));

    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.model.read(9999));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.model.tensors()[9999]);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.corpus[kPairs.size()]);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.corpus[~std::size_t{0}]);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.tokenizer.decode(std::vector<std::int32_t>{1 << 30}));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.tokenizer.piece(-1));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.batcher.seek(0, 1 << 30));
    xformer::BatchBuffer buffer;
    buffer.add(std::vector<std::int32_t>{5000}, std::vector<std::int32_t>{-3});
    const xformer::Hypotheses refused = w.decoder.decode(buffer.batch());
    CHECK(refused.size() == 1 && refused[0].size() == 0);  // it is the sentence's own error
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.trainer.step(buffer.batch()));

    CHECK_THROWS(XF_ERROR_DATA, w.tokenizer.encode("\xFF"));
    CHECK_THROWS(XF_ERROR_DATA, w.decoder.translate("\xFF"));
    CHECK_THROWS(XF_ERROR_DATA, from_text(w.context, {}));

    CHECK_THROWS(XF_ERROR_STATE, w.trainer.update());
    CHECK_THROWS(XF_ERROR_STATE, xformer::read_gradient(w.trainer, 0));
    CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::Context(small_config().set("context.device", "cpu:none")));
    auto config = small_config();
    config.set("context.precision", "bf16");
    CHECK_THROWS(XF_ERROR_UNSUPPORTED, xformer::Context(config.set("context.device", "cpu:ref")));
    CHECK(w.trainer.steps() == 0);
}

TEST(moved_from_objects) {
    World w;
    const World other(std::move(w));
    const xformer::Batch batch;
    CHECK(other.model.get() != nullptr && !w.model && !w.context && w.corpus.size() == 0);
    CHECK(w.trainer.steps() == -1 && !w.trainer.model() && !w.trainer.config() && !w.model.config());
    CHECK(w.model.tensors().empty() && w.context.backends().empty());
    w.context.cancel();
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.config.set("data.seed", 3));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Config(w.config));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.context.memory());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.corpus.stats());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.tokenizer.encode("one"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.batcher.stats());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.batcher.begin());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.model.save("x"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.trainer.step(batch));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.tokenizer.size());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.context.info());
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.decoder.translate("one"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Trainer(w.model));
    w = World();  // and may be given another
    w.train(1);
}

TEST(handles_are_created_and_freed_by_threads) {
    xf_config *raw = nullptr;
    CHECK(xf_config_create(&raw, nullptr) == XF_OK);
    xformer::Config adopted(raw);
    CHECK(adopted.get() == raw);
    adopted.set("data.seed", 3);
    CHECK(adopted.release() == raw && adopted.get() == nullptr && !adopted && adopted.release() == nullptr);
    CHECK(xformer::ConfigView(raw).value<std::int64_t>("data.seed") == 3);
    xformer::Config again(raw);
    xformer::Config &self = again;
    again = std::move(self);
    CHECK(again.get() == raw);
    const xformer::View<const xf_config> none;
    CHECK(!none && none.get() == nullptr && xformer::ConfigView(again).get() == raw);
}

// An object works after the objects that it was created from have been freed, in any order.
TEST(any_order) {
    auto world = std::make_unique<World>();
    world->train(3);
    const std::string expected = world->decoder.translate("one two");
    xformer::Decoder decoder = std::move(world->decoder);
    xformer::Hypotheses answers = decoder.translate({"one two"});
    xformer::Trainer trainer = std::move(world->trainer);
    world.reset();
    CHECK(decoder.translate("one two") == expected &&
          xformer::Decoder(trainer.model(), small_config()).translate("one two") == expected);
    decoder = xformer::Decoder(nullptr);
    CHECK(answers[0].front().text == expected);
}

}  // namespace
