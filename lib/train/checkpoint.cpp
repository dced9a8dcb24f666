// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <optional>
#include <string_view>

#include "core/safetensors_header.h"

namespace xf {
namespace {

Metadata device_metadata(Context &context) {
    return {{"run.backend", context.active().name},
            {"run.isa", context.device().isa()},
            {"run.precision", context.dtype() == XF_BF16 ? "bf16" : "fp32"}};
}

void warn_of_other_device(Context &context, const ModelFile &file) {
    for (const auto &[key, now] : device_metadata(context)) {
        const auto saved = file.contents().extra.find(key);
        if (saved == file.contents().extra.end() || saved->second == now) continue;
        context.log(XF_LOG_WARNING, "train",
                    "'%s' was computed with %s '%.64s', this context has '%s': the results will have different bits",
                    file.path().c_str(), key.c_str() + std::string_view("run.").size(), saved->second.c_str(),
                    now.c_str());
    }
}

}  // namespace

Checkpoint::Checkpoint(const TrainPart &part, const Options &options, Optimizer &optimizer, GradientSum &sum,
                       RankProtocol *ranks)
    : TrainPart(part), options_(options), optimizer_(optimizer), sum_(sum), ranks_(ranks) {}

// The tensors of a checkpoint besides the parameters.
std::vector<ExtraBlock> Checkpoint::tensors(const State &state) const {
    std::vector<ExtraBlock> list = {{"adam.m.", state.m}, {"adam.v.", state.v, 0.0f}};
    if (config_.ema > 0) list.push_back({"ema.", state.average});
    return list;
}

FileContents Checkpoint::contents(const std::string &tokenizer, const DataPosition &position) const {
    FileContents contents;
    contents.kind = "checkpoint";
    contents.tokenizer = tokenizer;
    contents.extra = device_metadata(model_.context());
    contents.extra["step"] = std::to_string(optimizer_.steps_done());
    position.write(&contents.extra);
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with("train."))
            contents.extra[option(i).key] = options_.text(option(i).key);
    return contents;
}

Checkpoint::Blocks Checkpoint::allocate_blocks(bool average) const {
    if (ranks_ == nullptr) return {};
    const auto block = [&] { return Buffer(stream_.device(), model_.table().total * sizeof(float)); };
    return {block(), block(), average ? block() : Buffer()};
}

void Checkpoint::exchange_status(const DeferredError &own, std::string *text) {
    if (ranks_ != nullptr)
        ranks_->group().exchange_status(own, text);
    else
        own.rethrow();
}

void Checkpoint::save(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
                      DeferredError *own, const Call &call) {
    const bool writes = ranks_ == nullptr || ranks_->group().rank() == 0, has_average = optimizer_.has_average();
    FileContents file_contents;
    Blocks blocks;
    std::string path, digest;
    own->run([&] {  // all allocations: nothing may fail on one rank only, or after the file is written
        file_contents = contents(tokenizer, position);
        path = target.path;
        digest.reserve(RankGroup::kMaxText);
        if (ranks_ != nullptr) ranks_->exchange().reserve_host_block();
        if (writes) blocks = allocate_blocks(has_average);
    });
    State state{optimizer_.m(), optimizer_.v(), has_average ? optimizer_.average() : model_.params()};
    if (ranks_ != nullptr)
        gather(own, blocks, &state);
    else
        own->rethrow();
    DeferredError writing;
    writing.run([&] {
        if (!writes) return;
        target.save([&](Output *output) {
            digest = save_model(output, target.name, model_, stream_, file_contents, tensors(state), call);
        });
    });
    exchange_status(writing, &digest);
    if (!path.empty()) path_.swap(path), digest_.swap(digest);
}

// Collects the slices of all ranks on rank 0, in blocks, and sets *state to them.
void Checkpoint::gather(DeferredError *own, const Blocks &blocks, State *state) {
    // May compare the ranks: a file with slices of ranks at different steps would be of no run.
    ranks_->begin(Collective::kSave, own);
    float *const scratch = sum_.scratch();
    ranks_->run_exchange([&] {
        const auto gather_block = [&](const Buffer &block, float **slice) {
            ranks_->exchange().gather(stream_, *slice, block.floats(), scratch);
            *slice = block.floats();
        };
        gather_block(blocks.m, &state->m);
        gather_block(blocks.v, &state->v);
        if (optimizer_.has_average()) gather_block(blocks.average, &state->average);
    });
}

void Checkpoint::load(const ModelFile &file, const Blocks &blocks, const Call &call) {
    const int64_t step = read_count(file, "step");
    optimizer_.begin_load(file.path().c_str());
    if (ranks_ != nullptr) {
        const State state{blocks.m.floats(), blocks.v.floats(), blocks.average.floats()};
        file.load(model_, stream_, tensors(state), call);
        optimizer_.load_slices(state.m, state.v, state.average);
        stream_.sync();
        ranks_->require_comparison();
    } else {
        file.load(model_, stream_, tensors({optimizer_.m(), optimizer_.v(), optimizer_.average()}), call);
    }
    optimizer_.end_load(step);
}

void Checkpoint::resume(const ModelFile &file, const Call &call) {
    load(file, allocate_blocks(config_.ema > 0), call);
    path_ = file.is_path() ? file.path() : std::string();
    digest_ = file.require(kDigestKey);
    Context &context = model_.context();
    warn_of_other_device(context, file);
    context.log(XF_LOG_INFO, "train", "resumed from '%s' after step %" PRId64, file.path().c_str(),
                optimizer_.steps_done());
}

// The current state is kept until the file has proved to be the one that was saved.
void Checkpoint::verify(const ModelFile &file) const {
    XF_CHECK(file.require(kDigestKey) == digest_, XF_ERROR_CORRUPT,
             "'%s' has changed, expected the checkpoint that this trainer saved or resumed from", path_.c_str());
    file.verify();
}

// Loading cannot be cancelled: an incomplete state would be lost. Either all ranks return, or none does, as far as
// errors occur before the file is read. An error while it is read is an error on all ranks.
void Checkpoint::roll_back() {
    std::optional<ModelFile> file;
    Blocks blocks;
    DeferredError own, loading;
    own.run([&] {
        file.emplace(path_);
        verify(*file);
        blocks = allocate_blocks(config_.ema > 0);
    });
    exchange_status(own, nullptr);
    if (ranks_ != nullptr) ranks_->require_comparison();
    loading.run([&] { load(*file, blocks, Call()); });
    exchange_status(loading, nullptr);
}

}  // namespace xf
