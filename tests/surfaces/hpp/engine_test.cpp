// Engine: results of requests, further models, partial events, cancellation, and errors as exceptions.
//
// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"
#include "world.hpp"

namespace {

TEST(engine) {
    const World world;
    xformer::Decoder decoder(world.model);
    xformer::Engine engine(world.model);
    const char *const texts[] = {"one two three", "four", ""};
    for (const char *const text : texts) {
        xformer::Request request;
        request.text = text;
        request.user = &engine;
        const std::uint64_t id = engine.submit(request);
        const std::optional<xformer::Event> event = engine.next();
        CHECK(event && event->id == id && event->user == &engine && event->last && event->status == XF_OK);
        CHECK(event->text() == decoder.translate(text));
    }
    xformer::Request request;
    request.text = "\xFF";
    engine.submit(request);
    const std::optional<xformer::Event> event = engine.next();
    CHECK(event->status == XF_ERROR_DATA);
    CHECK_THROWS(XF_ERROR_DATA, event->text());
    request.text = {};
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, engine.submit(request));
    CHECK_THROWS(XF_ERROR_STATE, engine.step());
    CHECK(!engine.next(std::chrono::milliseconds(0)));
    xformer::CancelToken token;
    token.cancel();
    xformer::Call call;
    call.cancel = &token;
    try {
        engine.next(std::chrono::milliseconds(-1), call);
        FAIL("it returned");
    } catch (const xformer::Cancelled &) {
    }
    CHECK(engine.info().submitted == 4 && engine.info().descriptor >= 0);
}

TEST(further_models) {
    const World world;
    const auto greedy = xformer::Config().set("decode.beam", 1);
    const std::string expected = xformer::Decoder(world.model, greedy).translate("one two");
    xformer::Model copy = xformer::Model::copy(world.model);
    const xformer::ModelView others[] = {copy};
    xformer::Decoder ensemble(world.model, greedy, {others, {}}), drafted(world.model, greedy, {{}, copy});
    xformer::Engine engine(world.model, greedy, {others, {}});
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Decoder(world.model, greedy, {others, copy}));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Engine(world.model, greedy, {others, copy}));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, engine.set_model(world.model, {others, copy}));
    const std::uint64_t hash = engine.info().model_hash;
    engine.set_model(world.model, {{}, copy});
    CHECK(engine.info().model_hash != hash);
    xf_model_free(copy.release());  // the decoders and the engine keep it alive
    CHECK(ensemble.translate("one two") == expected && drafted.translate("one two") == expected);
    xformer::Request request;
    request.text = "one two";
    engine.submit(request);
    CHECK(engine.next()->text() == expected);
}

TEST(engine_steps) {
    const World world;
    xformer::Engine engine(world.model, xformer::Config().set("engine.thread", false).set("decode.beam", 1));
    xformer::Request request;
    request.text = "one two";
    request.stream = true;
    const std::uint64_t first = engine.submit(request), second = engine.submit(request);
    CHECK(engine.cancel(second));
    engine.set_model(world.model);
    while (engine.step()) {
    }
    CHECK(!engine.cancel(second));
    int ended = 0;
    while (const std::optional<xformer::Event> event = engine.next(std::chrono::milliseconds(0))) {
        ended += event->last ? 1 : 0;
        CHECK(event->status == (event->id == first ? XF_OK : XF_ERROR_CANCELLED));
    }
    CHECK(ended == 2);
}

}  // namespace
