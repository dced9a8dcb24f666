// See checkpoint.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <optional>
#include <string_view>

#include "core/atomic_file.h"
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

Checkpoint::Checkpoint(Model &model, Stream &stream, const TrainConfig &config, const Options &options,
                       Optimizer &optimizer, GradientSum &sum, RankProtocol *ranks)
    : model_(model),
      stream_(stream),
      config_(config),
      options_(options),
      optimizer_(optimizer),
      sum_(sum),
      ranks_(ranks) {}

// The tensors of a checkpoint besides the parameters.
std::vector<ExtraBlock> Checkpoint::tensors(float *m, float *v, float *average) const {
    std::vector<ExtraBlock> list = {{"adam.m.", m}, {"adam.v.", v, 0.0f}};
    if (config_.ema > 0) list.push_back({"ema.", average});
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

Checkpoint::Blocks Checkpoint::allocate_blocks() const {
    if (ranks_ == nullptr) return {};
    const auto block = [&] { return Buffer(stream_.device(), model_.table().total * sizeof(float)); };
    return {block(), block(), config_.ema > 0 ? block() : Buffer()};
}

CheckpointTarget CheckpointTarget::file(const std::string &path) {
    return {path, path, [path](const Write &write) {
                AtomicFile output(path);
                write(&output);
            }};
}

void Checkpoint::save(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
                      DeferredError *own, const Call &call) {
    if (ranks_ != nullptr) return save_collective(target, tokenizer, position, own, call);
    own->rethrow();
    save_local(target, tokenizer, position, call);
}

void Checkpoint::save_local(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
                            const Call &call) {
    float *const average = optimizer_.has_average() ? optimizer_.average() : model_.params();
    const auto state = tensors(optimizer_.m(), optimizer_.v(), average);
    std::string path = target.path, digest;  // copied first: nothing may fail after the file is written
    target.save([&](Output *output) {
        digest = save_model(output, target.name, model_, stream_, contents(tokenizer, position), state, call);
    });
    if (!path.empty()) path_.swap(path), digest_.swap(digest);
}

void Checkpoint::save_collective(const CheckpointTarget &target, const std::string &tokenizer,
                                 const DataPosition &position, DeferredError *own, const Call &call) {
    RankGroup &group = ranks_->group();
    BlockExchange &exchange = ranks_->exchange();
    const bool writes = group.rank() == 0, has_average = config_.ema > 0 && optimizer_.has_average();
    FileContents file_contents;
    Blocks blocks;
    std::string saved_path, digest;
    own->run([&] {
        file_contents = contents(tokenizer, position);
        saved_path = target.path;
        digest.reserve(RankGroup::kMaxText);
        exchange.reserve_host_block();
        if (!writes) return;
        const size_t bytes = model_.table().total * sizeof(float);
        for (Buffer *block : {&blocks.m, &blocks.v}) *block = Buffer(stream_.device(), bytes);
        if (has_average) blocks.average = Buffer(stream_.device(), bytes);
    });
    // May compare the ranks: a file with slices of ranks at different steps would be of no run.
    ranks_->begin(Collective::kSave, own);
    float *const scratch = sum_.scratch();
    ranks_->run_exchange([&] {
        exchange.gather(stream_, optimizer_.m(), blocks.m.floats(), scratch);
        exchange.gather(stream_, optimizer_.v(), blocks.v.floats(), scratch);
        if (has_average) exchange.gather(stream_, optimizer_.average(), blocks.average.floats(), scratch);
    });
    DeferredError writing;
    writing.run([&] {
        if (!writes) return;
        float *const average = has_average ? blocks.average.floats() : model_.params();
        const auto state = tensors(blocks.m.floats(), blocks.v.floats(), average);
        target.save([&](Output *output) {
            digest = save_model(output, target.name, model_, stream_, file_contents, state, call);
        });
    });
    group.exchange_status(writing, &digest);
    if (!saved_path.empty()) path_.swap(saved_path), digest_.swap(digest);
}

void Checkpoint::load(const ModelFile &file, const Blocks &blocks, const Call &call) {
    const int64_t step = read_count(file, "step");
    optimizer_.begin_load(file.path().c_str());
    if (ranks_ != nullptr) {
        float *const m = blocks.m.floats(), *const v = blocks.v.floats(), *const average = blocks.average.floats();
        file.load(model_, stream_, tensors(m, v, average), call);
        optimizer_.load_slices(m, v, average);
        stream_.sync();
        ranks_->require_comparison();
    } else {
        file.load(model_, stream_, tensors(optimizer_.m(), optimizer_.v(), optimizer_.average()), call);
    }
    optimizer_.end_load(step);
}

void Checkpoint::resume(const ModelFile &file, const Call &call) {
    load(file, allocate_blocks(), call);
    path_ = file.is_path() ? file.path() : std::string();
    digest_ = file.require(kDigestKey);
    Context &context = model_.context();
    warn_of_other_device(context, file);
    context.log(XF_LOG_INFO, "train", "resumed from '%s' after step %lld", file.path().c_str(),
                static_cast<long long>(optimizer_.steps_done()));
}

// The current state is kept until the file has proved to be the one that was saved.
void Checkpoint::verify(const ModelFile &file) const {
    XF_CHECK(file.require(kDigestKey) == digest_, XF_ERROR_CORRUPT,
             "'%s' has changed, expected the checkpoint that this trainer saved or resumed from", path_.c_str());
    file.verify();
}

// Loading cannot be cancelled: an incomplete state would be lost.
void Checkpoint::roll_back() {
    if (ranks_ != nullptr) return roll_back_collective();
    const ModelFile file(path_);
    verify(file);
    load(file, {}, Call());
}

// Either all ranks return, or none does, as far as errors occur before the file is read. An error while it is read is
// an error on all ranks.
void Checkpoint::roll_back_collective() {
    std::optional<ModelFile> file;
    Blocks blocks;
    DeferredError own, loading;
    own.run([&] {
        file.emplace(path_);
        verify(*file);
        blocks = allocate_blocks();
    });
    ranks_->group().exchange_status(own, nullptr);
    ranks_->require_comparison();
    loading.run([&] { load(*file, blocks, Call()); });
    ranks_->group().exchange_status(loading, nullptr);
}

}  // namespace xf
