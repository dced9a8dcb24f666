// What a trainer saves, and the two ways back: a trainer made of a file, and the return of one that diverged.
//
// A checkpoint says where it was computed ("run.backend", "run.isa", "run.precision"), because a run that goes on
// elsewhere has other bits, and whoever compares runs must hear of it. See trainer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <functional>

#include "core/safetensors_header.h"
#include "train/trainer.h"

namespace xf {
namespace {

Metadata place_of_context(Context &context) {
    return {{"run.backend", context.active().name},
            {"run.isa", context.device().isa()},
            {"run.precision", context.dtype() == XF_BF16 ? "bf16" : "fp32"}};
}

void compare_place(Context &context, const ModelFile &file) {
    for (const auto &[key, now] : place_of_context(context)) {
        const auto saved = file.contents().extra.find(key);
        if (saved == file.contents().extra.end() || saved->second == now) continue;
        context.log(XF_LOG_WARNING, "train",
                    "'%s' was computed with %s '%.64s', now it is '%s': the run goes on with other bits",
                    file.path().c_str(), key.c_str() + std::string_view("run.").size(), saved->second.c_str(),
                    now.c_str());
    }
}

}  // namespace

// What a checkpoint has beside the parameters.
std::vector<ExtraBlock> Trainer::blocks(float *m, float *v, float *ema) const {
    std::vector<ExtraBlock> list = {{"adam.m.", m}, {"adam.v.", v, 0.0f}};
    if (config_.ema > 0) list.push_back({"ema.", ema});
    return list;
}

void Trainer::check_savable(const std::string &path) const {
    check_sound();
    XF_CHECK(waiting_ == 0, XF_ERROR_STATE, "gradients of %u batches wait for xf_train_update()", waiting_);
    XF_CHECK(bad_steps_ == 0, XF_ERROR_NONFINITE,
             "the last step was not finite: '%s' is left as it is until a step is good", path.c_str());
}

FileContents Trainer::contents_of(const std::string &tokenizer, const DataPosition &position) const {
    FileContents contents;
    contents.kind = "checkpoint";
    contents.tokenizer = tokenizer;
    contents.extra = place_of_context(model_->context());
    contents.extra["step"] = std::to_string(steps_done());
    position.write(&contents.extra);
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with("train."))
            contents.extra[option(i).key] = options_.text(option(i).key);
    return contents;
}

void Trainer::save(const std::string &path, const std::string &tokenizer, const DataPosition &position,
                   const Call &call) {
    if (has_ranks()) return save_of_all(path, tokenizer, position, call);
    check_savable(path);
    const auto state = blocks(m_.floats(), v_.floats(), averages_ ? ema_.floats() : model_->params());
    std::string place = path;  // once the file is there nothing may fail
    checkpoint_.digest = save_model_file(path, *model_, stream_, contents_of(tokenizer, position), state, call);
    checkpoint_.path = std::move(place);
}

void Trainer::load(const ModelFile &file, const Whole &whole, const Call &call) {
    const int64_t step = read_count(file, "step");
    std::snprintf(lost_, sizeof lost_, "a return to '%.160s' failed halfway", file.path().c_str());
    if (has_ranks())
        load_slices(file, whole, call);
    else
        file.load(*model_, stream_, blocks(m_.floats(), v_.floats(), ema_.floats()), call);
    lost_[0] = 0;
    joined_ = false;
    step_ = step;
    averages_ = config_.ema > 0;
}

// What is here is kept until the file has proved to be what was saved.
void Trainer::check_checkpoint(const ModelFile &file) const {
    XF_CHECK(file.require(kDigestKey) == checkpoint_.digest, XF_ERROR_CORRUPT,
             "'%s' is no longer the checkpoint that this trainer saved or resumed from", checkpoint_.path.c_str());
    file.verify();
}

void Trainer::roll_back() {
    const ModelFile file(checkpoint_.path);
    check_checkpoint(file);
    load(file, {}, Call());  // who stops halfway has nothing
}

std::unique_ptr<Trainer> Trainer::resume(const std::shared_ptr<Context> &context, const ModelFile &file,
                                         const Options &changes, const Call &call) {
    XF_CHECK(file.kind() == "checkpoint", XF_ERROR_INVALID_ARGUMENT,
             "'%s' is a model without optimizer state, not a checkpoint", file.path().c_str());
    read_count(file, "step");  // like the rest of the header before anything is allocated
    DataPosition position = DataPosition::read(file);
    const Options options = resumed_options(file.options(), changes);
    auto trainer = std::make_unique<Trainer>(file.make_model(context), options);
    trainer->load(file, trainer->room(), call);
    trainer->position_ = std::move(position);
    trainer->checkpoint_ = {file.path(), file.require(kDigestKey)};
    compare_place(*context, file);
    context->log(XF_LOG_INFO, "train", "goes on after step %lld of '%s'", static_cast<long long>(trainer->steps_done()),
                 file.path().c_str());
    return trainer;
}

void Trainer::seek(Batcher *batcher, uint64_t fingerprint, const Metadata &order, const Call &call) const {
    if (position_.seek(batcher, fingerprint, order, call)) return;
    model_->context().log(XF_LOG_WARNING, "train",
                          "data.batch_tokens is not what it was: the run goes on at batch %lld of %lld, which "
                          "was %lld of %lld; some pairs of this epoch are seen twice or not at all",
                          static_cast<long long>(batcher->position().batch),
                          static_cast<long long>(batcher->batches_in_epoch()), static_cast<long long>(position_.batch),
                          static_cast<long long>(position_.batches));
}

std::shared_ptr<Model> Trainer::average(const std::function<void(const std::shared_ptr<Model> &)> &take) {
    std::shared_ptr<Model> model;
    std::unique_ptr<Stream> stream;
    Buffer scratch;
    Telling own;
    own.run([&] {
        XF_CHECK(config_.ema > 0, XF_ERROR_STATE, "train.ema is 0: no average is kept");
        check_sound();
        model = std::make_shared<Model>(model_->context_ptr(), model_->options());
        model->metadata() = model_->metadata();
        stream = std::make_unique<Stream>(model_->context().device(), model_->dtype());
        if (take) take(model);
        if (!has_ranks()) return;
        shards_->make_room();
        scratch = Buffer(stream->device(), block_bytes());
    });
    if (has_ranks()) begin_together(Together::kSave, &own);
    own.rethrow();
    if (has_ranks() && averages_)
        together([&] { shards_->all_gather(*stream, ema_.floats(), model->params(), scratch.floats()); });
    else
        stream->copy(model->params(), averages_ ? ema_.floats() : model_->params(), block_bytes());
    model->parameters_written(*stream);
    stream->sync();
    return model;
}

}  // namespace xf
