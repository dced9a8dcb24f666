// Every allocation of an engine fails in turn, or all from one on: no request is lost, and each result has the same
// bits as without failures.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failing_new.hpp"
#include "decode/decoding.hpp"
#include "decode/engine.h"

namespace {

using namespace xf_test;

XF_TEST(no_request_is_lost) {
    const auto context = open_device({"cpu:ref", "auto", true}, 1);
    const auto model = make_reverser(context);
    const std::vector<Request> requests = random_requests(83, 4, true);
    Answers expected;
    for (const Request &request : requests) expected.push_back(request.alone(model));
    const xf::Options options = options_of({{"engine.thread", "false"}, {"decode.batch_sentences", "6"}});
    int64_t results = 0, without_memory = 0, refused = 0;
    for (const bool lasts : {false, true}) {
        const int failures = fail_each_new([&] {
            const NewPlan plan = new_plan;
            new_plan = {};  // creation is not the subject
            xf::Engine engine({model}, nullptr, options);
            std::vector<size_t> submitted{SIZE_MAX};  // by id
            submitted.reserve(8);
            int64_t last_events = 0;
            new_plan = plan;
            new_plan.lasts = lasts;
            for (size_t i = 0; i < requests.size(); ++i) {
                try {
                    xf::EngineRequest own;
                    own.ids = requests[i].source;
                    own.prefix_ids = requests[i].prefix;
                    own.options = requests[i].options();
                    if (requests[i].constraint != nullptr) own.constraint = *requests[i].constraint;
                    own.stream = i % 2 == 0;
                    engine.submit(std::move(own));
                    submitted.push_back(i);
                } catch (const std::bad_alloc &) {
                    ++refused;
                }
            }
            for (bool more = true; more;) {
                more = engine.step();
                xf::EngineEvent event;
                try {
                    while (engine.next(0, xf::Call(), &event)) {
                        if (!event.last) continue;
                        ++last_events;
                        const bool ok = event.outcome.status == XF_OK;
                        ++(ok ? results : without_memory);
                        CHECK(ok || event.outcome.status == XF_ERROR_NO_MEMORY);
                        if (ok) CHECK(same(event.outcome.hypotheses, expected[submitted.at(event.id)]));
                    }
                } catch (const std::bad_alloc &) {  // the event remains; a partial one is replaced by the last one
                }
            }
            const NewPlan after = new_plan;
            new_plan = {};
            CHECK_EQ(last_events, std::ssize(submitted) - 1);
            CHECK(!engine.next(0, xf::Call(), nullptr));
            new_plan = after;
        });
        CHECK(failures > 50);
    }
    CHECK(results > 0 && without_memory > 0 && refused > 0);
}

}  // namespace
