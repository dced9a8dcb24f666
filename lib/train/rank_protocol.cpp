// SPDX-License-Identifier: Apache-2.0
#include "train/rank_protocol.h"

#include <iterator>
#include <string>
#include <string_view>
#include <tuple>

#include "core/hash.h"
#include "xformer/version.h"

namespace xf {
namespace {

uint64_t hash_text(const std::string &text, uint64_t seed = 0) { return hash64(text.data(), text.size(), seed); }

uint64_t hash_group(const Options &options, std::string_view prefix) {
    uint64_t hash = 0;
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with(prefix)) hash = hash_text(options.text(option(i).key), hash);
    return hash;
}

}  // namespace

RankProtocol::RankProtocol(const TrainPart &part, const Options &train_options, Optimizer &optimizer, RankGroup &group,
                           BlockExchange &exchange)
    : TrainPart(part), train_options_(train_options), optimizer_(optimizer), group_(group), exchange_(exchange) {}

bool RankProtocol::must_compare(Collective call) const {
    if (!compared_) return true;
    return call == Collective::kStep && optimizer_.steps_done() % config_.compare_steps == 0;
}

void RankProtocol::compare(DeferredError *own) {
    compared_ = false;
    Context &context = model_.context();
    RankGroup::Traits traits = {{{"a different library version"},
                                 {"different model options"},
                                 {"different training options"},
                                 {"a different backend, instruction set, or precision"},
                                 {"a different choice of NCCL (context.comm)"},
                                 {"a different number of ranks per machine"},
                                 {"a different step"},
                                 {"different parameters"}}};
    own->run([&] {
        optimizer_.check_consistent();
        const std::string device =
            context.active().name + " " + context.device().isa() + (context.dtype() == XF_BF16 ? " bf16" : " fp32");
        const uint64_t step = optimizer_.steps_done();
        const uint64_t hashes[] = {XF_VERSION_NUM,
                                   hash_group(model_.options(), "model."),
                                   hash_group(train_options_, "train."),
                                   hash_text(device),
                                   context.transport() != nullptr ? 1u : 0u,
                                   group_.ranks_per_machine(),
                                   step,
                                   exchange_.hash(stream_, model_.params())};
        static_assert(std::size(hashes) == std::tuple_size_v<RankGroup::Traits>);
        for (size_t i = 0; i < traits.size(); ++i) traits[i].hash = hashes[i];
    });
    group_.compare(*own, traits);
    exchange_.connect(stream_);
    compared_ = true;
}

void RankProtocol::begin(Collective call, DeferredError *own) {
    try {
        if (must_compare(call))
            compare(own);
        else if (call == Collective::kSave)
            group_.exchange_status(*own, nullptr);
        else if (own->failed())
            fail_step(*own);
    } catch (...) {
        own->rethrow();
        throw;
    }
}

void RankProtocol::report_failure(Collective call) noexcept {
    DeferredError own;
    own.capture();
    try {
        begin(call, &own);
    } catch (...) {  // the caller throws the error of this rank
    }
}

void RankProtocol::fail_step(const DeferredError &own) {
    StepReport report;
    report.status = own.status();
    try {
        group_.exchange_reports(report, {});
    } catch (...) {  // the error of this rank is the one to throw
    }
    own.rethrow();
}

void RankProtocol::abort(const std::exception &error) noexcept {
    const auto *const own = dynamic_cast<const Error *>(&error);
    if (own == nullptr || own->status() != XF_ERROR_NONFINITE) group_.abort(error.what());
}

}  // namespace xf
