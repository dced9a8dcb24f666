// How ranks begin a call together: what each could not do for itself is told to all in the first exchange, and that is
// also where they prove to train the same thing. See trainer.h, comm/word.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iterator>
#include <optional>

#include "core/hash.h"
#include "train/trainer.h"
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

uint64_t hash_order(const Batcher &batcher) {
    uint64_t hash = batcher.fingerprint();
    for (const auto &[key, value] : batcher.order()) hash = hash_text(value, hash);
    return hash;
}

}  // namespace

// Whether the call begins with a comparison: at the start, and every so many steps, the ranks prove to be copies of
// one. The same on all ranks.
bool Trainer::compares(Together call) const {
    if (!has_ranks()) return false;
    return !joined_ || (call == Together::kStep && config_.compare_steps != 0 && step_ % config_.compare_steps == 0);
}

void Trainer::join(Telling *own) {
    joined_ = false;
    Context &context = model_->context();
    Shards::Traits traits = {{{"the library has another version"},
                              {"the model has other options"},
                              {"training has other options"},
                              {"it computes by another backend, instruction set or precision"},
                              {"its devices exchange otherwise (context.comm_device)"},
                              {"its gradients go in other parts (context.comm_buckets)"},
                              {"it stands at another step"},
                              {"the parameters are others"}}};
    own->run([&] {
        check_sound();
        const std::string place =
            context.active().name + " " + context.device().isa() + (context.dtype() == XF_BF16 ? " bf16" : " fp32");
        const uint64_t hashes[] = {static_cast<uint64_t>(XF_VERSION_NUM), hash_group(model_->options(), "model."),
                                   hash_group(options_, "train."),        hash_text(place),
                                   context.lane() != nullptr ? 1u : 0u,   static_cast<uint64_t>(context.comm_buckets()),
                                   static_cast<uint64_t>(step_),          shards_->hash_of(stream_, model_->params())};
        static_assert(std::size(hashes) == std::tuple_size_v<Shards::Traits>);
        for (size_t i = 0; i < traits.size(); ++i) traits[i].hash = hashes[i];
    });
    shards_->compare(*own, traits);
    shards_->open_lane(stream_);
    joined_ = true;
}

// The first exchange of a call, behind what `own` has done so far. A step that does not begin with a comparison tells
// with its report. What this rank could not do is its error, whatever the others say.
void Trainer::begin_together(Together call, Telling *own) {
    try {
        if (compares(call))
            join(own);
        else if (call == Together::kSave)
            shards_->hear(*own, nullptr);
        else if (own->failed())
            conclude_failed(*own);
    } catch (...) {
        own->rethrow();
        throw;
    }
}

void Trainer::tell(Together call) noexcept {
    if (!has_ranks()) return;
    Telling own;
    own.keep();
    try {
        begin_together(call, &own);
    } catch (...) {  // this rank has its error
    }
}

// Throws what this rank could not do, whatever the others say.
void Trainer::conclude_failed(const Telling &own) {
    report_.word = own.word();
    concluded_ = true;
    try {
        shards_->agree(report_, shard_stats_);
    } catch (...) {
    }
    own.rethrow();
}

// Of the batcher's pairs, their order and the place in them.
uint64_t Trainer::place_of(const Batcher &batcher) {
    if (ordered_ != batcher.id()) order_ = hash_order(batcher), ordered_ = batcher.id();
    const Batcher::Position at = batcher.position();
    const uint64_t place[] = {order_, static_cast<uint64_t>(at.epoch), static_cast<uint64_t>(at.batch)};
    return hash64(place, sizeof place);
}

// All go into the next epoch or none: a step that does nothing. False, as Batcher::next().
bool Trainer::end_of_epoch(Batcher *batcher, const Call &call) {
    Shards::Report report;
    Telling own;
    own.run([&] {
        report.data = place_of(*batcher);
        batcher->prepare_epoch(call);
    });
    report.step = step_;
    report_ = report;
    begin_together(Together::kStep, &own);
    shards_->agree(report_, {});
    return batcher->next(&gathered_);
}

// All go back or none, as far as it can be known before: then all see how it ended.
void Trainer::roll_back_together() {
    std::optional<ModelFile> file;
    Whole whole;
    Telling own, reading;
    own.run([&] {
        file.emplace(checkpoint_.path);
        check_checkpoint(*file);
        whole = room();
    });
    shards_->hear(own, nullptr);
    joined_ = false;
    reading.run([&] { load(*file, whole, Call()); });  // who stops halfway has nothing
    shards_->hear(reading, nullptr);
}

}  // namespace xf
